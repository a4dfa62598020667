"""A page to search with, on this machine alone (docs/browse.md).

:func:`create_app` makes the application, :func:`serve` runs it on 127.0.0.1. Both need the extra ``browse``, which
:func:`require_extra` asks for.
"""

from __future__ import annotations

import importlib.util

from pgsift.browse._app import create_app
from pgsift.browse._pages import Settings
from pgsift.browse._serve import serve
from pgsift.errors import MissingExtra

__all__ = ["Settings", "create_app", "require_extra", "serve"]


def require_extra() -> None:
    """Raise :class:`~pgsift.errors.MissingExtra` where the packages of the page are not installed."""
    missing = [name for name in ("jinja2", "starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the page needs {', '.join(missing)}, which cannot be imported here",
            hint="Run: pip install 'pgsift[browse]'",
        )
