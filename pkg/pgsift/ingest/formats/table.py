"""CSV: each row is a document. The first row names the columns.

Columns ``id``, ``key`` or ``_id`` give the key (else the number of the row, from 1); ``title`` or ``name`` the
title; ``text``, ``body``, ``content``, ``abstract``, ``description`` or ``summary`` the text, the first of
these that is there; ``language``, ``license``, ``classification``, ``source_uri`` or ``url`` and the dates what
they say. All others are metadata. Without a column of text the text is the row itself, ``name: value`` line by
line. A column that would say who may see a row is refused, as in JSON lines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, Member
from pgsift.ingest.formats.charset import decoded

_KEYS = ("id", "key", "_id")
_TITLES = ("title", "name", "subject")
_TEXTS = ("text", "body", "content", "abstract", "description", "summary")
_PLAIN = ("language", "license", "classification", "observed_at", "valid_from", "valid_to", "retain_until")
_DELIMITERS = ",;\t|"
_MOST_COLUMNS = 1000


def expand(content: bytes, limits: Limits, format: str) -> Iterator[Member]:
    """The rows."""
    del format
    text, _ = decoded(content)
    text = text.removeprefix("\ufeff")
    csv.field_size_limit(min(limits.archive_bytes, 2**31 - 1))
    # newline="" leaves line ends in quoted fields as they are.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=False)
    header: list[str] | None = None
    number = 0
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = _header(row)
                continue
            number += 1
            yield _row(header, row, number)
    except csv.Error as error:
        raise InvalidDocument(f"the CSV file is broken at line {reader.line_num}: {error}") from None
    if header is None:
        raise InvalidDocument("the CSV file holds no row")
    if not number:
        raise InvalidDocument("the CSV file holds the names of columns and no row")


def _delimiter(text: str) -> str:
    """The one that parts the first lines into the same number of fields, more than one; the most of these."""
    lines = []
    for row in io.StringIO(text[:100_000], newline=""):
        lines.append(row)
        if len(lines) == 50:
            break
    best, most = ",", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        alike = sum(width == widths[0] for width in widths) / len(widths)
        if alike * min(widths[0], 50) > most and alike > 0.5:
            best, most = delimiter, alike * min(widths[0], 50)
    return best


def _header(row: list[str]) -> list[str]:
    if len(row) > _MOST_COLUMNS:
        raise InvalidDocument(f"the CSV file has {len(row):,} columns, more than {_MOST_COLUMNS:,}")
    names: list[str] = []
    for number, cell in enumerate(row, 1):
        name = " ".join(cell.split()) or f"column {number}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def _row(header: list[str], row: list[str], number: int) -> Member:
    if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
        return Member(
            str(number), error=f"the row has {len(row):,} fields, and {len(header):,} columns have names"
        )
    values = {name: cell.strip() for name, cell in zip(header, row, strict=False) if cell.strip()}
    lower = {name.casefold(): name for name in reversed(header)}

    def take(*names: str) -> str | None:
        for name in names:
            if name in lower and lower[name] in values:
                return values.pop(lower[name])
        return None

    whole = "\n".join(f"{name}: {value}" for name, value in values.items())
    key = take(*_KEYS)
    record: dict[str, Any] = {name: value for name in _PLAIN if (value := take(name)) is not None}
    uri = take("source_uri", "url")
    if uri is not None:
        record["source_uri"] = uri
    title = take(*_TITLES)
    if title is not None:
        record["title"] = title
    text = take(*_TEXTS)
    record["text"] = whole if text is None else text
    # Members that a record has are those above; a column of another name is metadata, unless it looks like access.
    metadata: dict[str, str] = {}
    for name, value in values.items():
        if _says_access(name):
            record[name] = value
        else:
            metadata[name] = value
    record["metadata"] = metadata
    return Member(key or str(number), record=record)


def _says_access(name: str) -> bool:
    from pgsift.ingest.sources import _ACCESS

    return bool(_ACCESS.match(name.strip()))
