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
    ├── QueryCancelled            SQLSTATE 57014, 55P03: cancelled, or out of time
    ├── Conflict                  SQLSTATE 40001, 40P01: another transaction was in the way
    ├── OutOfResources            SQLSTATE class 53: the server's disk, memory or connections are used up
    └── MissingExtra              an optional dependency is not installed

Every exception carries ``sqlstate`` (``None`` where no server was involved) and ``hint``: one sentence that
says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from pgsift.domain.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidFilter,
    PgsiftError,
    UnknownAnalyzer,
    UnknownTenant,
)

if TYPE_CHECKING:
    from pgsift.models import IngestReport

__all__ = [
    "AlreadyExists",
    "AnalyzerMismatch",
    "Conflict",
    "InvalidArgument",
    "InvalidDocument",
    "InvalidFilter",
    "InvalidVector",
    "MissingExtra",
    "ModelUnavailable",
    "NotPermitted",
    "NothingToSearch",
    "OutOfResources",
    "PgsiftError",
    "QueryCancelled",
    "SchemaVersionMismatch",
    "ServerUnavailable",
    "UnknownAnalyzer",
    "UnknownModel",
    "UnknownTenant",
    "connection_failed",
    "from_psycopg",
    "report_of",
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


class QueryCancelled(PgsiftError):
    """The statement was cancelled or ran out of time; nothing of it was kept."""

    exit_code = 8


class Conflict(PgsiftError):
    """Another transaction was in the way; nothing was kept, and the same call can be repeated."""

    exit_code = 8


class OutOfResources(PgsiftError):
    """The server's disk is full, its memory is used up, or it takes no more connections; nothing was kept."""

    exit_code = 9


class MissingExtra(PgsiftError):
    """An optional dependency is not installed; the hint names the extra."""

    exit_code = 4


_LOST = (
    "Check that the server runs and that --dsn or PGSIFT_DSN names it. What was committed stays; the call "
    "can be repeated."
)
_AGAIN = "Nothing of it was kept; repeat it."
_TIME = "Nothing of it was kept. Give it more time (statement_timeout, lock_timeout), or less to do."
_HINTS: dict[str, tuple[type[PgsiftError], str]] = {
    "57014": (QueryCancelled, _TIME),
    "55P03": (QueryCancelled, _TIME),
    "40001": (Conflict, _AGAIN),
    "40P01": (Conflict, _AGAIN),
    "25006": (NotPermitted, "It is a standby or was set read-only: name the primary to write."),
    "53100": (OutOfResources, "The server's disk is full: free some space there, then repeat it."),
    "53200": (OutOfResources, "The server's memory is used up: repeat it with less at once, or later."),
    "53300": (OutOfResources, "Raise max_connections or use a pool, or wait until connections are free."),
}
# What servers and poolers say when they take no more connections.
_NO_MORE = (
    "too many clients",
    "too many connections",
    "remaining connection slots are reserved",
    "no more connections allowed",
)

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
    if state in _HINTS:
        kind, advice = _HINTS[state]
        return kind(message, hint=advice, sqlstate=state)
    if state is not None and state.startswith("53"):
        return OutOfResources(message, hint=hint or "Free some there, then repeat it.", sqlstate=state)
    if state is not None and state.startswith(("08", "57P", "58", "25P03", "25P04")):
        return ServerUnavailable(message, hint=_LOST, sqlstate=state)
    if isinstance(error, psycopg.OperationalError) and state is None:
        return connection_failed(error)
    return None


def connection_failed(error: psycopg.Error) -> PgsiftError:
    """The exception for an error without SQLSTATE: no connection was made, or it broke.

    The reason of a refusal comes as text alone, in English where the server was not told otherwise.
    """
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()] or ["no connection"]
    # Several addresses were tried: each has a line; otherwise the first line tells the reason.
    message = "; ".join(lines) if lines[0].startswith("Multiple") else lines[0]
    if any(part in str(error) for part in _NO_MORE):
        return OutOfResources(
            message,
            hint="Raise max_connections or use a pool, or wait until connections are free.",
            sqlstate="53300",
        )
    return ServerUnavailable(message, hint=_LOST)


def report_of(error: BaseException) -> IngestReport | None:
    """What an ingest had done when this exception ended it; ``None`` for any other exception."""
    report: IngestReport | None = getattr(error, "ingest_report", None)
    return report


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
