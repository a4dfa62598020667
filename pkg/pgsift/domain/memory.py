"""A chunk store in memory: the reference that the database is compared with, and a double for tests."""

from __future__ import annotations

import copy
import itertools
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pgsift.domain import bm25, filters
from pgsift.domain.errors import AlreadyExists, InvalidArgument, UnknownTenant
from pgsift.domain.ports import (
    WRITER,
    Candidate,
    LexicalCandidates,
    Source,
    SourceChunk,
    Status,
    StoredChunk,
)

__all__ = ["InMemoryChunkStore"]


@dataclass(slots=True)
class _Chunk:
    chunk_id: int
    key: str
    index: int
    body: str
    kind: str
    section: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    doc_length: int
    frequencies: dict[str, int]
    entities: frozenset[str]


@dataclass(slots=True)
class _Document:
    source: Source
    content_hash: str
    version: int
    principals: frozenset[str]
    stored_at: datetime
    chunks: list[_Chunk]


@dataclass(slots=True)
class _Tenant:
    k1: float
    b: float
    default_principals: frozenset[str]
    documents: dict[str, _Document] = field(default_factory=dict)
    postings: dict[str, dict[int, _Chunk]] = field(default_factory=dict)
    entities: dict[str, dict[int, _Chunk]] = field(default_factory=dict)
    chunks: int = 0
    total_length: int = 0


class InMemoryChunkStore:
    """Implements :class:`pgsift.domain.ports.ChunkStore`; safe for threads, nothing is kept after the
    process.

    What goes in and what comes out is copied: changing it afterwards changes nothing here.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, _Tenant] = {}
        self._ids = itertools.count(1)
        self._lock = threading.RLock()

    def create_tenant(
        self,
        tenant: str,
        *,
        k1: float = bm25.K1,
        b: float = bm25.B,
        default_principals: Sequence[str] = (),
    ) -> None:
        bm25.validate_parameters(k1, b)
        with self._lock:
            if tenant in self._tenants:
                raise AlreadyExists(f"the tenant {tenant!r} exists")
            self._tenants[tenant] = _Tenant(k1, b, frozenset(default_principals))

    def replace_source(self, source: Source, tenant: str) -> Status:
        return self.upsert_many([source], tenant)[0]

    def upsert_many(self, sources: Sequence[Source], tenant: str) -> list[Status]:
        # Whatever can be refused is refused before anything changes.
        doubled = [key for key, count in Counter(source.key for source in sources).items() if count > 1]
        if doubled:
            raise InvalidArgument(f"the key {doubled[0]!r} stands twice in one batch")
        for source in sources:
            source.validate()
        with self._lock:
            held = self._tenant(tenant)
            statuses = {
                source.key: self._put(held, copy.deepcopy(source))
                for source in sorted(sources, key=lambda source: source.key)
            }
        return [statuses[source.key] for source in sources]

    def delete_source(self, key: str, tenant: str) -> bool:
        with self._lock:
            held = self._tenant(tenant)
            document = held.documents.pop(key, None)
            if document is None:
                return False
            self._unindex(held, document.chunks)
            return True

    def lexical_candidates(
        self,
        terms: Sequence[str],
        tenant: str,
        limit: int,
        *,
        principals: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> LexicalCandidates:
        if limit < 0:
            raise InvalidArgument(f"limit must not be negative, not {limit}")
        condition = filters.parse(filter)
        wanted = list(dict.fromkeys(terms))
        with self._lock:
            held = self._tenant(tenant)
            found: dict[int, _Chunk] = {}
            for term in wanted:
                found.update(held.postings.get(term, {}))
            candidates = []
            for chunk in found.values():
                document = held.documents[chunk.key]
                if self._visible(document, principals) and self._passes(condition, document, chunk):
                    frequencies = {
                        term: chunk.frequencies[term] for term in wanted if term in chunk.frequencies
                    }
                    candidates.append(
                        Candidate(chunk.chunk_id, chunk.key, chunk.index, chunk.doc_length, frequencies)
                    )
            candidates.sort(key=lambda candidate: (-len(candidate.frequencies), candidate.chunk_id))
            return LexicalCandidates(
                candidates=tuple(candidates[:limit]),
                doc_frequencies={term: len(held.postings.get(term, {})) for term in wanted},
                chunks=held.chunks,
                total_length=held.total_length,
                k1=held.k1,
                b=held.b,
            )

    def get_by_entity(
        self, entity: str, tenant: str, *, principals: Sequence[str] | None = None
    ) -> list[StoredChunk]:
        with self._lock:
            held = self._tenant(tenant)
            chunks = [
                chunk
                for chunk in held.entities.get(entity, {}).values()
                if self._visible(held.documents[chunk.key], principals)
            ]
            chunks.sort(key=lambda chunk: (chunk.key, chunk.index, chunk.chunk_id))
            return [self._stored(held.documents[chunk.key], chunk) for chunk in chunks]

    def _tenant(self, name: str) -> _Tenant:
        if name not in self._tenants:
            raise UnknownTenant(f"there is no tenant {name!r}")
        return self._tenants[name]

    def _put(self, held: _Tenant, source: Source) -> Status:
        known = held.documents.get(source.key)
        content_hash = source.content_hash()
        now = datetime.now(UTC)
        if source.principals is not None:
            principals = frozenset(source.principals)
        else:
            principals = known.principals if known else held.default_principals
        if known is not None and known.content_hash == content_hash:
            same = known.principals == principals and _described(known.source) == _described(source)
            if not same:
                known.source, known.principals, known.stored_at = source, principals, now
            return "unchanged" if same else "updated"
        if known is not None:
            self._unindex(held, known.chunks)
        document = _Document(
            source=source,
            content_hash=content_hash,
            version=known.version + 1 if known else 1,
            principals=principals,
            stored_at=now,
            chunks=[self._chunk(source.key, index, chunk) for index, chunk in enumerate(source.chunks)],
        )
        held.documents[source.key] = document
        self._index(held, document.chunks)
        return "replaced" if known else "created"

    def _chunk(self, key: str, index: int, chunk: SourceChunk) -> _Chunk:
        return _Chunk(
            chunk_id=next(self._ids),
            key=key,
            index=index,
            body=chunk.body,
            kind=chunk.kind,
            section=tuple(chunk.section),
            page=chunk.page,
            char_start=chunk.char_start,
            char_end=chunk.char_start + len(chunk.body) if chunk.char_end is None else chunk.char_end,
            doc_length=len(chunk.tokens),
            frequencies=dict(Counter(chunk.tokens)),
            entities=frozenset(entity for entity in chunk.entities if entity),
        )

    def _index(self, held: _Tenant, chunks: Sequence[_Chunk]) -> None:
        for chunk in chunks:
            for term in chunk.frequencies:
                held.postings.setdefault(term, {})[chunk.chunk_id] = chunk
            for entity in chunk.entities:
                held.entities.setdefault(entity, {})[chunk.chunk_id] = chunk
            if chunk.doc_length:
                held.chunks += 1
                held.total_length += chunk.doc_length

    def _unindex(self, held: _Tenant, chunks: Sequence[_Chunk]) -> None:
        for chunk in chunks:
            for index, names in ((held.postings, chunk.frequencies), (held.entities, chunk.entities)):
                for name in names:
                    del index[name][chunk.chunk_id]
                    if not index[name]:
                        del index[name]
            if chunk.doc_length:
                held.chunks -= 1
                held.total_length -= chunk.doc_length

    @staticmethod
    def _visible(document: _Document, principals: Sequence[str] | None) -> bool:
        return principals is not None and (
            WRITER in principals or not document.principals.isdisjoint(principals)
        )

    @staticmethod
    def _passes(condition: filters.Node | None, document: _Document, chunk: _Chunk) -> bool:
        if condition is None:
            return True
        source = document.source
        document_fields = {
            **_described(source),
            "key": source.key,
            "title": source.title,
            "version": document.version,
            "length": max((one.char_end for one in document.chunks), default=0),
            "observed_at": document.stored_at,
            "updated_at": document.stored_at,
        }
        chunk_fields = {
            "kind": chunk.kind,
            "page": chunk.page,
            "ordinal": chunk.index,
            "section": chunk.section,
            "doc_length": chunk.doc_length,
        }
        return filters.evaluate(condition, document_fields, chunk_fields)

    @staticmethod
    def _stored(document: _Document, chunk: _Chunk) -> StoredChunk:
        return StoredChunk(
            chunk_id=chunk.chunk_id,
            source=chunk.key,
            index=chunk.index,
            body=chunk.body,
            title=document.source.title,
            kind=chunk.kind,
            section=chunk.section,
            page=chunk.page,
            char_start=chunk.char_start,
            char_end=chunk.char_end,
            doc_length=chunk.doc_length,
            version=document.version,
            metadata=copy.deepcopy(dict(document.source.metadata)),
        )


def _described(source: Source) -> dict[str, Any]:
    """What may change without the content changing."""
    return {
        "metadata": dict(source.metadata),
        "source_uri": source.source_uri,
        "source_version": source.source_version,
        "language": source.language,
        "license": source.license,
        "classification": source.classification,
        "valid_from": source.valid_from,
        "valid_to": source.valid_to,
        "retain_until": source.retain_until,
    }
