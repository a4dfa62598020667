"""What a page is asked for: the parameters of its address, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from pgsift.errors import InvalidArgument, InvalidFilter

MODES = ("hybrid", "lexical", "dense")
MOST = 100


@dataclass(frozen=True, slots=True)
class Params:
    """A search as the address of the page says it. ``principals`` is ``None`` where the database login's are
    meant."""

    tenant: str
    principals: tuple[str, ...] | None
    query: str = ""
    mode: str = "hybrid"
    k: int = 10
    filter: str = ""
    per_document: int = 3
    page: int = 1

    def pairs(self, **other: Any) -> list[tuple[str, str]]:
        """The names and values of a form or an address, with some of them replaced."""
        one = replace(self, **other)
        pairs = [("tenant", one.tenant)]
        if one.principals is None:
            pairs.append(("mapped", "1"))
        else:
            pairs += [("as", name) for name in one.principals or ("",)]
        pairs += [("q", one.query), ("mode", one.mode), ("k", str(one.k)), ("filter", one.filter)]
        pairs += [("per_document", str(one.per_document)), ("page", str(one.page))]
        return pairs

    def url(self, path: str = "./", *more: tuple[str, Any], **other: Any) -> str:
        """The address of this search, relative to the page."""
        pairs = self.pairs(**other) + [(name, str(value)) for name, value in more]
        return f"{path}?{urlencode(pairs)}"

    @property
    def skip(self) -> int:
        """How many hits come before this page."""
        return (self.page - 1) * self.k

    def conditions(self) -> Mapping[str, Any] | str | None:
        """The filter: JSON where it looks like it, else SQL syntax, which the library parses."""
        text = self.filter.strip()
        if not text.startswith("{"):
            return text or None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidFilter(
                f"the filter is not JSON: {error}", hint="""For example {"metadata.year": {"$gte": 2020}}."""
            ) from error
        assert isinstance(found, dict)
        return found


def read(given: Sequence[tuple[str, str]], default: Params) -> Params:
    """The search that names and values say; what they leave out is as in ``default``.

    Raises :class:`~pgsift.errors.InvalidArgument` for a number that is none or out of range, and for an unknown
    mode.
    """
    named = dict(reversed(given))  # of several, the first
    chosen = [value for name, value in given if name == "as" and value.strip()]
    principals: tuple[str, ...] | None
    if "mapped" in named:
        principals = None
    elif any(name == "as" for name, _ in given):
        principals = tuple(dict.fromkeys(chosen))
    else:
        principals = default.principals
    mode = named.get("mode", default.mode)
    if mode not in MODES:
        raise InvalidArgument(f"unknown mode {mode!r}", hint=f"Use {', '.join(MODES)}.")
    return Params(
        tenant=named.get("tenant") or default.tenant,
        principals=principals,
        query=named.get("q", default.query),
        mode=mode,
        k=_number(named, "k", default.k, 1, MOST),
        filter=named.get("filter", default.filter),
        per_document=_number(named, "per_document", default.per_document, 0, MOST),
        page=_number(named, "page", default.page, 1, 100_000),
    )


def as_far(given: Sequence[tuple[str, str]], default: Params) -> Params:
    """What of a search that :func:`read` refuses can be kept in the form: everything but mode and numbers."""
    return read([pair for pair in given if pair[0] not in ("mode", "k", "page", "per_document")], default)


def whole(named: Mapping[str, str], name: str) -> int | None:
    """A number of an address that may be left out."""
    if not named.get(name, "").strip():
        return None
    return _number(named, name, 0, 0, 2**62)


def _number(named: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = named.get(name, "").strip()
    if not text:
        return default
    # Digits of ASCII alone, and few enough: int() takes time for many.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise InvalidArgument(
            f"{name.replace('_', ' ')} must be a number between {least} and {most}, not {text[:40]!r}",
            hint="Change it and search again.",
        )
    return int(text)
