"""What a store of chunks does for ranking, whatever it is made of: the port :class:`ChunkStore`.

Two adapters implement it, :class:`pgsift.domain.memory.InMemoryChunkStore` and
:class:`pgsift.chunk_store.PostgresChunkStore`, and one suite of tests holds them to the same answers.

A *source* is a document with its chunks; it is stored, replaced and deleted as a whole. Tokens come from the
caller (:mod:`pgsift.domain.analyzer` makes them): a store counts them and knows nothing of languages. Reading
fails closed: principals are taken exactly as passed, and who passes none sees nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, TypeVar, runtime_checkable

from pgsift.domain import bm25
from pgsift.domain.errors import InvalidArgument

__all__ = [
    "WRITER",
    "Candidate",
    "ChunkStore",
    "LexicalCandidates",
    "Source",
    "SourceChunk",
    "Status",
    "StoredChunk",
    "read_methods",
    "writes",
]

#: The principal that sees everything of a tenant; for writers only.
WRITER: Final = "sift:writer"

KINDS: Final = ("text", "abstract", "title", "section_header", "table", "figure", "reference", "claim")

Status = Literal["created", "replaced", "updated", "unchanged"]
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A chunk to store. ``char_start`` and ``char_end`` count characters of the source's text from 0."""

    body: str
    tokens: Sequence[str] = ()
    kind: str = "text"
    section: Sequence[str] = ()
    page: int | None = None
    char_start: int = 0
    char_end: int | None = None
    entities: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document to store, with its chunks in the order of its text.

    ``principals`` says who may see it: ``None`` leaves a stored source's access as it is and gives a new
    one the tenant's default, ``()`` is nobody but writers. Timestamps are aware datetimes.
    """

    key: str
    chunks: Sequence[SourceChunk]
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    principals: Sequence[str] | None = None
    source_uri: str | None = None
    source_version: str | None = None
    language: str | None = None
    license: str | None = None
    classification: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retain_until: datetime | None = None

    def content_hash(self) -> str:
        """sha256, in hexadecimal, of what ranking sees: the title and the chunks. Equal ones are one
        content."""
        content = [
            self.title,
            [
                [chunk.body, *map(list, (chunk.tokens, chunk.section, chunk.entities)), chunk.kind,
                 chunk.page, chunk.char_start, chunk.char_end]
                for chunk in self.chunks
            ],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def validate(self) -> None:
        """Raise :class:`InvalidArgument` for what no store can hold."""
        if not self.key or len(self.key.encode("utf-8", "replace")) > 2000:
            raise InvalidArgument("the key of a source has 1 to 2000 bytes")
        if _unstorable([self.key, self.title, self.source_uri, self.source_version, self.language,
                        self.license, self.classification, self.metadata, self.principals]):  # fmt: skip
            raise InvalidArgument(
                f"the source {self.key!r} holds a NUL character or half of a surrogate pair"
            )
        for number, chunk in enumerate(self.chunks):
            where = f"chunk {number} of {self.key!r}"
            if chunk.kind not in KINDS:
                raise InvalidArgument(
                    f"{where} has the unknown kind {chunk.kind!r}", hint=f"Kinds: {', '.join(KINDS)}."
                )
            if chunk.char_start < 0 or (chunk.char_end is not None and chunk.char_end < chunk.char_start):
                raise InvalidArgument(f"{where} ends before it starts, or starts before the text")
            if _unstorable([chunk.body, chunk.tokens, chunk.section, chunk.entities]):
                raise InvalidArgument(f"{where} holds a NUL character or half of a surrogate pair")
            for token in chunk.tokens:
                if not token or any(character.isspace() for character in token):
                    raise InvalidArgument(
                        f"{where} has the token {token!r}: empty, or with white space in it"
                    )


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as a store returns it. ``index`` counts the chunks of its source from 0."""

    chunk_id: int
    source: str
    index: int
    body: str
    title: str | None
    kind: str
    section: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    doc_length: int
    version: int
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that holds at least one term of a query.

    ``frequencies`` has how often each distinct term it holds occurs in it, ``doc_length`` the number of its
    tokens, repeats included.
    """

    chunk_id: int
    source: str
    index: int
    doc_length: int
    frequencies: dict[str, int]


@dataclass(frozen=True, slots=True)
class LexicalCandidates:
    """Candidates for some terms, with the statistics that rank them.

    ``candidates`` are ordered by the number of distinct terms matched, descending, then by chunk id.
    ``doc_frequencies`` has every distinct term asked for, 0 included. Statistics are the tenant's, over all
    chunks with at least one term, whoever may see them: neither a permission nor a filter changes a score.
    """

    candidates: tuple[Candidate, ...]
    doc_frequencies: dict[str, int]
    chunks: int
    total_length: int
    k1: float
    b: float

    @property
    def average_length(self) -> float:
        """Mean number of tokens of the chunks that have any; 0 for an empty corpus."""
        return bm25.average_length(self.chunks, self.total_length)


def _unstorable(value: object) -> bool:
    """Whether a text in the value is one no database text can hold."""
    if isinstance(value, str):
        return "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, Mapping):
        return any(_unstorable(key) or _unstorable(item) for key, item in value.items())
    return isinstance(value, Sequence) and any(_unstorable(item) for item in value)


def writes(method: _F) -> _F:
    """Marks a method of the port that changes the store. Every other public method is one that reads."""
    method.__changes_the_store__ = True  # type: ignore[attr-defined]
    return method


@runtime_checkable
class ChunkStore(Protocol):
    """Sources in, candidates and chunks out, per tenant."""

    @writes
    def create_tenant(
        self,
        tenant: str,
        *,
        k1: float = bm25.K1,
        b: float = bm25.B,
        default_principals: Sequence[str] = (),
    ) -> None:
        """Make a tenant. :class:`InvalidArgument` for BM25 parameters outside their domain."""

    @writes
    def replace_source(self, source: Source, tenant: str) -> Status:
        """Store one source in place of what is stored under its key.

        Its chunks get new ids, unless its content is what is stored already: then they stay, and the status
        is ``updated`` when anything else changed, ``unchanged`` when nothing did.
        """

    @writes
    def upsert_many(self, sources: Sequence[Source], tenant: str) -> list[Status]:
        """Store many sources, all or none, as :meth:`replace_source` does; statuses in the order given.

        Ids of new chunks rise with key and index. :class:`InvalidArgument` when a key stands twice.
        """

    @writes
    def delete_source(self, key: str, tenant: str) -> bool:
        """Delete a source with its chunks; whether there was one."""

    def lexical_candidates(
        self,
        terms: Sequence[str],
        tenant: str,
        limit: int,
        *,
        principals: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> LexicalCandidates:
        """The first ``limit`` visible chunks that hold a term and pass the filter, and the statistics.

        :class:`InvalidArgument` for a negative limit; 0 gives the statistics and no candidates.
        """
        ...

    def get_by_entity(
        self, entity: str, tenant: str, *, principals: Sequence[str] | None = None
    ) -> list[StoredChunk]:
        """The visible chunks that mention an entity, ordered by source (by code point), index, id."""
        ...


def read_methods(port: type = ChunkStore) -> tuple[str, ...]:
    """Names of the methods of a port that read: all public ones not marked by :func:`writes`."""
    return tuple(
        sorted(
            name
            for name in dir(port)
            if not name.startswith("_")
            and callable(getattr(port, name))
            and not getattr(getattr(port, name), "__changes_the_store__", False)
        )
    )
