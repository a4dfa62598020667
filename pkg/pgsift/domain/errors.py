"""The exceptions that pure code raises; :mod:`pgsift.errors` re-exports them beside the others."""

from __future__ import annotations


class PgsiftError(Exception):
    """Base of everything pgsift raises on purpose."""

    default_sqlstate: str | None = None
    exit_code: int = 1

    def __init__(self, message: str, *, hint: str | None = None, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.sqlstate = sqlstate or self.default_sqlstate


class InvalidArgument(PgsiftError):
    """An argument is outside its domain; the message names it and its value."""

    default_sqlstate = "PS002"
    exit_code = 2


class UnknownAnalyzer(PgsiftError):
    """No analyzer has this name."""

    default_sqlstate = "PS010"
    exit_code = 2


class InvalidFilter(PgsiftError):
    """A filter has an unknown operator or field, or a value of the wrong type."""

    default_sqlstate = "PS004"
    exit_code = 2


class UnknownTenant(PgsiftError):
    """The tenant named does not exist."""

    default_sqlstate = "PS001"
    exit_code = 3


class AlreadyExists(PgsiftError):
    """The thing to be created exists with other properties."""

    default_sqlstate = "PS011"
    exit_code = 2
