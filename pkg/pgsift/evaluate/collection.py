"""Judged collections: documents, queries, and which document answers which query.

A collection is a folder of three files::

    corpus.jsonl    one object a line: id, title (may be missing or empty), text, format (markdown or html
                    where the text has headings; else missing)
    queries.jsonl   one object a line: id, text
    qrels.tsv       query id, document id, grade (integer; above 0 is relevant), separated by tabs

Blank lines are skipped, and so is a heading line in qrels.tsv. TREC's four columns (query, iteration,
document, grade) are read as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsift.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    """One document of a collection; its id is the key under which it is stored."""

    key: str
    title: str
    text: str
    format: str = "text"


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection. ``qrels[query][document]`` is a grade; every query in it has at least one
    judgment."""

    name: str
    documents: tuple[CollectionDocument, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    @property
    def judged_queries(self) -> dict[str, str]:
        """The queries that are measured: those with judgments, in the order of queries.jsonl."""
        return {key: text for key, text in self.queries.items() if key in self.qrels}

    @property
    def judgments(self) -> int:
        """Number of judged pairs of query and document."""
        return sum(len(grades) for grades in self.qrels.values())


def load_collection(folder: str | os.PathLike[str]) -> Collection:
    """Read and check a collection.

    Raises :class:`~pgsift.errors.InvalidArgument` naming file and line: a file missing or unreadable, a field
    missing or of the wrong type, an id twice, a judgment of a query that is not there, no judgment at all. A
    judged document that is not in the corpus is allowed, as sampled corpora have them: it counts as not
    found.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidArgument(
            f"{str(root)!r} is not a folder",
            hint="A collection is a folder with corpus.jsonl, queries.jsonl and qrels.tsv.",
        )
    documents: dict[str, CollectionDocument] = {}
    for where, row in _objects(root / "corpus.jsonl"):
        key = _field(row, "id", where)
        _refuse_twice(key, documents, where)
        title = row.get("title") or ""
        if not isinstance(title, str):
            raise InvalidArgument(f"{where}: title is {type(title).__name__}, not a string")
        kind = row.get("format", "text")
        if kind not in ("text", "markdown", "html"):
            raise InvalidArgument(f"{where}: format is {kind!r}", hint="Use text, markdown or html.")
        documents[key] = CollectionDocument(key, title, _field(row, "text", where, blank=True), kind)
    queries, qrels = _read_judged(root)
    if not documents:
        raise InvalidArgument(f"{root / 'corpus.jsonl'} holds no document")
    return Collection(
        name=root.resolve().name, documents=tuple(documents.values()), queries=queries, qrels=qrels
    )


def load_judged_queries(folder: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """The judged queries of a folder, and grades by query and document: a collection without its documents.

    Raises :class:`~pgsift.errors.InvalidArgument` as :func:`load_collection` does.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidArgument(
            f"{str(root)!r} is not a folder", hint="It is to hold queries.jsonl and qrels.tsv."
        )
    queries, qrels = _read_judged(root)
    return {key: text for key, text in queries.items() if key in qrels}, qrels


def _read_judged(root: Path) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    queries: dict[str, str] = {}
    for where, row in _objects(root / "queries.jsonl"):
        key = _field(row, "id", where)
        _refuse_twice(key, queries, where)
        queries[key] = _field(row, "text", where, blank=True)
    return queries, _read_qrels(root / "qrels.tsv", queries)


def _read_qrels(path: Path, queries: Mapping[str, str]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) == 4:
            del columns[1]
        if len(columns) != 3:
            raise InvalidArgument(f"{where}: {len(columns)} columns, expected query, document and grade")
        query, document, grade = (column.strip() for column in columns)
        try:
            value = int(grade)
        except ValueError:
            if number == 1 and not qrels:
                continue
            raise InvalidArgument(f"{where}: grade {grade!r} is not an integer") from None
        if query not in queries:
            raise InvalidArgument(f"{where}: query {query!r} is not in queries.jsonl")
        if document in qrels.setdefault(query, {}):
            raise InvalidArgument(f"{where}: query {query!r} and document {document!r} are judged twice")
        qrels[query][document] = value
    if not qrels:
        raise InvalidArgument(f"{path} holds no judgment")
    return qrels


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        # Split at line feeds alone: JSON strings may hold U+2028 and its like as they are.
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"{path} cannot be read: {error}",
            hint="A collection is a folder with corpus.jsonl, queries.jsonl and qrels.tsv in UTF-8.",
        ) from error


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidArgument(f"{where}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InvalidArgument(f"{where}: {type(row).__name__} instead of an object")
        yield where, row


def _field(row: Mapping[str, Any], name: str, where: str, *, blank: bool = False) -> str:
    value = row.get(name)
    if name == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InvalidArgument(f"{where}: {name} is {'missing' if value is None else type(value).__name__}")
    if not blank and not value.strip():
        raise InvalidArgument(f"{where}: {name} is blank")
    return value


def _refuse_twice(key: str, seen: Mapping[str, object], where: str) -> None:
    if key in seen:
        raise InvalidArgument(f"{where}: id {key!r} occurs twice")
