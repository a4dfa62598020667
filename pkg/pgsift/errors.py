"""Exceptions of pgsift, one per SQLSTATE the database raises.

The tree::

    PgsiftError
    ├── UnknownTenant             PS001
    ├── InvalidArgument           PS002
    ├── NothingToSearch           PS003
    ├── InvalidFilter             PS004
    ├── InvalidVector             PS005
    ├── UnknownModel              PS006
    ├── AnalyzerMismatch          PS007
    ├── NotPermitted              PS008, and SQLSTATE 42501
    ├── SchemaVersionMismatch     PS009
    ├── UnknownAnalyzer           PS010
    ├── AlreadyExists             PS011
    ├── InvalidDocument           PS012
    ├── ModelUnavailable          PS013
    ├── ServerUnavailable         no server, or it went away
    └── MissingExtra              an optional dependency is not installed

Every exception carries ``sqlstate`` (``None`` where no server was involved) and ``hint``: one sentence that
says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from pgsift.domain.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidFilter,
    PgsiftError,
    UnknownAnalyzer,
    UnknownTenant,
)

__all__ = [
    "AlreadyExists",
    "AnalyzerMismatch",
    "InvalidArgument",
    "InvalidDocument",
    "InvalidFilter",
    "InvalidVector",
    "MissingExtra",
    "ModelUnavailable",
    "NotPermitted",
    "NothingToSearch",
    "PgsiftError",
    "SchemaVersionMismatch",
    "ServerUnavailable",
    "UnknownAnalyzer",
    "UnknownModel",
    "UnknownTenant",
    "from_psycopg",
    "translated",
]


class NothingToSearch(PgsiftError):
    """Neither a searchable term nor a query vector is left."""

    default_sqlstate = "PS003"
    exit_code = 2


class InvalidVector(PgsiftError):
    """A vector has the wrong length, holds NaN or infinity, or has no direction."""

    default_sqlstate = "PS005"
    exit_code = 2


class UnknownModel(PgsiftError):
    """The embedding model named is not registered."""

    default_sqlstate = "PS006"
    exit_code = 3


class AnalyzerMismatch(PgsiftError):
    """Client and tenant do not make the same terms of text; both fingerprints are named."""

    default_sqlstate = "PS007"
    exit_code = 4


class NotPermitted(PgsiftError):
    """The database role may not do this."""

    default_sqlstate = "PS008"
    exit_code = 5


class SchemaVersionMismatch(PgsiftError):
    """The schema in the database is not the one this version of pgsift was written for."""

    default_sqlstate = "PS009"
    exit_code = 4


class InvalidDocument(PgsiftError):
    """A document cannot be stored as it was given."""

    default_sqlstate = "PS012"
    exit_code = 2


class ModelUnavailable(PgsiftError):
    """The embedding model cannot be loaded, or holds no vectors of this tenant."""

    default_sqlstate = "PS013"
    exit_code = 4


class ServerUnavailable(PgsiftError):
    """No PostgreSQL server answers, or the connection was lost."""

    exit_code = 6


class MissingExtra(PgsiftError):
    """An optional dependency is not installed; the hint names the extra."""

    exit_code = 4


_BY_SQLSTATE: dict[str, type[PgsiftError]] = {
    cls.default_sqlstate: cls
    for cls in PgsiftError.__subclasses__()
    if cls.default_sqlstate is not None
}


def from_psycopg(error: psycopg.Error) -> PgsiftError | None:
    """The pgsift exception that stands for a database error, or ``None`` when it is not one of ours."""
    state = error.sqlstate
    message = error.diag.message_primary or str(error)
    hint = error.diag.message_hint
    if state in _BY_SQLSTATE:
        return _BY_SQLSTATE[state](message, hint=hint, sqlstate=state)
    if state == "42501":
        return NotPermitted(
            message,
            hint=hint or "Ask an administrator for one of the roles sift_reader, sift_app or sift_writer.",
            sqlstate=state,
        )
    if state == "3F000" or (state in ("42883", "42P01") and "sift." in message):
        return SchemaVersionMismatch(
            "the schema sift is not installed in this database, or is of another version",
            hint="Run: pgsift db upgrade",
            sqlstate=state,
        )
    if isinstance(error, psycopg.OperationalError) and (state is None or state.startswith(("08", "57P"))):
        return ServerUnavailable(
            message, hint="Check that the server runs and that --dsn or PGSIFT_DSN names it.", sqlstate=state
        )
    return None


@contextmanager
def translated() -> Iterator[None]:
    """Re-raise database errors of the block as pgsift exceptions, the original as their cause."""
    try:
        yield
    except psycopg.Error as error:
        ours = from_psycopg(error)
        if ours is None:
            raise
        raise ours from error
