"""What PostgreSQL cannot hold: replaced in text and counted, refused in names.

``text`` and ``jsonb`` refuse exactly two things a Python string may contain: the character NUL, and lone
surrogates (half of a UTF-16 pair, as broken PDF producers and ``surrogateescape`` leave behind). In text NUL
becomes a space, so that what it stood between stays apart; a lone surrogate becomes U+FFFD; two surrogates
that make a pair become the character they stand for. Everything else, other control characters included, is
kept as it is: a body is verbatim.

Names (keys, principals, tenants, models, roles) are never altered, since the altered one may be another's:
:func:`checked_name` refuses them.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import os
import re
import uuid
from collections.abc import Mapping, Sequence, Set
from typing import Any

from pgsift.errors import InvalidArgument, InvalidDocument, PgsiftError

#: Part of every content hash: raised when cleaning changes what is stored.
CLEANING_VERSION = "2"

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_MAX_DEPTH = 200
#: Digits of an integer that ``jsonb`` (as ``numeric``) and Python's own conversion both take.
_MAX_INTEGER = 10**4000


def clean_text(text: str) -> tuple[str, int]:
    """The text as PostgreSQL can hold it, and how many characters were replaced."""
    if text.isascii():
        nul = text.count("\0")
        return (text.replace("\0", " "), nul) if nul else (text, 0)
    cleaned = 0
    if "\0" in text:
        cleaned = text.count("\0")
        text = text.replace("\0", " ")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text, surrogates = _SURROGATES.subn(_replacement, text)
        cleaned += surrogates
    return text, cleaned


def _replacement(match: re.Match[str]) -> str:
    found = match.group()
    if len(found) == 2:
        return found.encode("utf-16", "surrogatepass").decode("utf-16")
    return "\ufffd"


def checked_name(value: Any, what: str, error: type[PgsiftError] = InvalidArgument) -> str:
    """The name as it is. Raises ``error`` when it is no string, or one that PostgreSQL cannot hold."""
    if not isinstance(value, str):
        raise error(f"{what} must be a string, not {type(value).__name__}")
    if "\0" in value:
        found = "a NUL character"
    elif not value.isascii() and _SURROGATES.search(value):
        found = "half of a surrogate pair"
    else:
        return value
    raise error(
        f"{what} {value!r:.200} holds {found}",
        hint="Names are not altered: leave the character out, where that is what is meant.",
    )


def clean_file_name(name: str) -> tuple[str, int]:
    """A file name as text: bytes that are not UTF-8 are written ``\\xNN``, so that different names stay
    different."""
    if name.isascii():
        return clean_text(name)
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    text, cleaned = clean_text(text)
    return text, cleaned + sum(1 for character in name if "\udc80" <= character <= "\udcff")


def clean_json(value: Any) -> tuple[Any, int]:
    """A value as ``jsonb`` can hold it, keys and values cleaned at every depth, and the number of changes.

    Numbers that ``jsonb`` or a double cannot hold are kept as text, and count as a change: ``"NaN"``,
    ``"Infinity"``, ``"-Infinity"``, ``"1E+400"``. Dates, UUIDs, decimals, paths, enumerations,
    numpy scalars, tuples and sets become their JSON counterparts and do not. A mapping key that cleaning
    makes equal to another gets ``_`` appended.

    Raises :class:`~pgsift.errors.InvalidDocument` for what has no JSON form, or lies deeper than 200 levels.
    """
    return _clean_json(value, 0)


def _not_finite(value: float | decimal.Decimal) -> str:
    if value != value:
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _clean_json(value: Any, depth: int) -> tuple[Any, int]:
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value, 0
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, int):
        if abs(value) >= _MAX_INTEGER:
            raise InvalidDocument("metadata holds an integer of more than 4,000 digits")
        return int(value), 0
    if isinstance(value, float):
        return (float(value), 0) if math.isfinite(value) else (_not_finite(value), 1)
    if depth >= _MAX_DEPTH:
        raise InvalidDocument(f"metadata is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        result: dict[str, Any] = {}
        cleaned = 0
        for key, item in value.items():
            name, changes = clean_text(key if isinstance(key, str) else str(key))
            cleaned += changes
            while name in result:
                name += "_"
                cleaned += 1
            result[name], changes = _clean_json(item, depth + 1)
            cleaned += changes
        return result, cleaned
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        pairs = [_clean_json(item, depth + 1) for item in value]
        return [item for item, _ in pairs], sum(changes for _, changes in pairs)
    if isinstance(value, Set):
        pairs = [_clean_json(item, depth + 1) for item in value]
        return sorted((item for item, _ in pairs), key=repr), sum(changes for _, changes in pairs)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat(), 0
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return _not_finite(value), 1
        number = float(value)
        return (number, 0) if math.isfinite(number) and bool(number) == bool(value) else (str(value), 1)
    if isinstance(value, uuid.UUID | os.PathLike):
        return clean_text(str(value))
    plain = getattr(value, "tolist", None)  # numpy scalars and arrays
    if callable(plain):
        return _clean_json(plain(), depth + 1)
    raise InvalidDocument(
        f"metadata holds a value of type {type(value).__name__}, which has no JSON form",
        hint="Use strings, numbers, booleans, null, lists and objects.",
    )
