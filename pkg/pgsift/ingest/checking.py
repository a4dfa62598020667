"""Documents and chunks as callers make them, checked once before anything else is done with them.

A field of the wrong type is refused here by its name, not where it first does harm. Names (keys, principals)
are never altered: one that PostgreSQL cannot hold is refused, since a name made fit could be another's.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from pgsift.errors import InvalidDocument
from pgsift.ingest.cleaning import checked_name
from pgsift.ingest.formats import BINARY
from pgsift.ingest.parsers import Format
from pgsift.models import Acl, Chunk, Document

FORMATS = frozenset(get_args(Format))
KINDS = frozenset({"text", "abstract", "title", "section_header", "table", "figure", "reference", "claim"})
MAX_KEY_BYTES = 2000

_DATES = tuple(
    name
    for name in Document.__dataclass_fields__
    if name in ("observed_at", "valid_from", "valid_to", "retain_until")
)
_TEXTS = tuple(
    name
    for name in Document.__dataclass_fields__
    if name not in ("key", "text", "format", "metadata", "acl", "chunks", *_DATES)
)
_MAX_INTEGER = 2**31 - 1


def checked_key(key: Any) -> str:
    """A key, or :class:`~pgsift.errors.InvalidDocument`."""
    if key is None or key == "":
        raise InvalidDocument("the document has no key: a string that is not empty")
    checked_name(key, "key", InvalidDocument)
    if len(key.encode()) > MAX_KEY_BYTES:
        raise InvalidDocument(f"the key has more than {MAX_KEY_BYTES} bytes")
    return str(key)


def checked_document(document: Document) -> Document:
    """The document with its access list and chunks as tuples.

    Raises :class:`~pgsift.errors.InvalidDocument` naming the field that is of the wrong type.
    """
    checked_key(document.key)
    if not isinstance(document.text, str | bytes):
        raise _wrong("text", "a string or bytes", document.text)
    format: Any = document.format
    if not isinstance(format, str) or format not in FORMATS:
        raise InvalidDocument(f"unknown format {format!r:.100}", hint=f"Use {', '.join(get_args(Format))}.")
    if isinstance(document.text, str) and document.text and format in BINARY:
        raise InvalidDocument(f"a document of format {format} is bytes, not a text")
    for name in _TEXTS:
        value = getattr(document, name)
        if value is not None and not isinstance(value, str):
            raise _wrong(name, "a string", value)
    for name in _DATES:
        value = getattr(document, name)
        if value is not None and not isinstance(value, str | datetime.date):
            raise _wrong(name, "a datetime or a string", value)
    if not isinstance(document.metadata, Mapping):
        raise _wrong("metadata", "an object", document.metadata)
    acl = None if document.acl is None else checked_acl(document.acl)
    chunks = None if document.chunks is None else _checked_chunks(document.chunks)
    if chunks is not None and document.text.strip():
        raise InvalidDocument(
            "text and chunks are both given", hint="Leave text out: the text is that of the chunks."
        )
    if acl is document.acl and chunks is document.chunks:
        return document
    return replace(document, acl=acl, chunks=chunks)


def checked_acl(acl: Any) -> Acl:
    """An access list as a tuple of names, or as a mapping of such, or
    :class:`~pgsift.errors.InvalidDocument`."""
    if isinstance(acl, Mapping):
        if not acl or not acl.keys() <= {"allow", "deny"}:
            raise InvalidDocument(
                "acl as an object has the members allow and deny",
                hint='For example {"allow": ["public"], "deny": ["user:1042"]}.',
            )
        return {name: _names(names) for name, names in acl.items() if names is not None}
    return _names(acl)


def _names(acl: Any) -> tuple[str, ...]:
    if isinstance(acl, str | bytes | Mapping) or not isinstance(acl, Iterable):
        raise InvalidDocument(
            "acl must be a list of principals", hint='For example ["group:hr", "user:1042"].'
        )
    names = tuple(acl)
    if not all(isinstance(name, str) for name in names):
        raise InvalidDocument("acl must be a list of strings")
    for name in names:
        checked_name(name, "principal", InvalidDocument)
    return names


def _checked_chunks(chunks: Any) -> tuple[Chunk, ...]:
    if isinstance(chunks, str | bytes | Mapping) or not isinstance(chunks, Iterable):
        raise _wrong("chunks", "a list of chunks", chunks)
    return tuple(_checked_chunk(chunk, f"chunk {number}") for number, chunk in enumerate(chunks))


def _checked_chunk(given: Any, place: str) -> Chunk:
    if isinstance(given, Chunk):
        chunk = given
    elif isinstance(given, Mapping):
        known = Chunk.__dataclass_fields__
        unknown = sorted(str(name) for name in given if name not in known)
        if unknown:
            raise InvalidDocument(
                f"{place}: unknown member {unknown[0][:100]!r}", hint=f"Members are {', '.join(known)}."
            )
        if given.get("body") is None:
            raise InvalidDocument(f"{place} has no body: a string")
        chunk = Chunk(**{name: value for name, value in given.items() if value is not None})
    else:
        raise _wrong(place, "an object", given)
    if not isinstance(chunk.body, str):
        raise _wrong(f"{place}: body", "a string", chunk.body)
    kind: Any = chunk.kind
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidDocument(
            f"{place} has the unknown kind {kind!r:.100}", hint=f"Kinds are {', '.join(sorted(KINDS))}."
        )
    if chunk.evidence_span is not None and not isinstance(chunk.evidence_span, str):
        raise _wrong(f"{place}: evidence_span", "a string", chunk.evidence_span)
    if chunk.effect is not None and not isinstance(chunk.effect, Mapping):
        raise _wrong(f"{place}: effect", "an object", chunk.effect)
    for name in ("page", "start", "end"):
        value = getattr(chunk, name)
        if value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _wrong(f"{place}: {name}", "an integer", value)
        if not 0 <= value.__index__() <= _MAX_INTEGER:
            raise InvalidDocument(f"{place}: {name} is out of range: {value.__index__()}")
    breaks = _breaks(chunk.page_breaks, f"{place}: page_breaks")
    return replace(
        chunk,
        page_breaks=breaks,
        page=None if chunk.page is None else chunk.page.__index__(),
        start=None if chunk.start is None else chunk.start.__index__(),
        end=None if chunk.end is None else chunk.end.__index__(),
        section=_strings(chunk.section, f"{place}: section"),
        entities=_strings(chunk.entities, f"{place}: entities"),
        supports=None if chunk.supports is None else _ordinals(chunk.supports, f"{place}: supports"),
    )


def _strings(values: Any, place: str) -> tuple[str, ...]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _wrong(place, "a list of strings", values)
    strings = tuple(values)
    for value in strings:
        if not isinstance(value, str):
            raise InvalidDocument(f"{place} must be a list of strings, but holds {type(value).__name__}")
    return strings


def _breaks(values: Any, place: str) -> tuple[tuple[int, int], ...]:
    expected = "a list of pairs: the character at which another page begins, and the page"
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _wrong(place, expected, values)
    pairs = tuple(values)
    for pair in pairs:
        if (
            isinstance(pair, str | bytes | Mapping)
            or not isinstance(pair, Sequence)
            or len(pair) != 2
            or any(isinstance(value, bool) or not hasattr(value, "__index__") for value in pair)
        ):
            raise InvalidDocument(f"{place} must be {expected}")
    return tuple((at.__index__(), page.__index__()) for at, page in pairs)


def _ordinals(values: Any, place: str) -> tuple[int, ...]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _wrong(place, "a list of numbers of chunks", values)
    numbers = tuple(values)
    for value in numbers:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise InvalidDocument(
                f"{place} must be a list of numbers of chunks, but holds {type(value).__name__}"
            )
    return tuple(value.__index__() for value in numbers)


def _wrong(place: str, expected: str, value: object) -> InvalidDocument:
    return InvalidDocument(f"{place} must be {expected}, not {type(value).__name__}")
