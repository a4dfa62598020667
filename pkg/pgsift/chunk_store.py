"""The chunk store in PostgreSQL: :class:`pgsift.domain.ports.ChunkStore` over the functions of the schema.

For search there is :class:`pgsift.Store`. This is for code written against the port: rankings of one's own,
and tests that run on :class:`pgsift.domain.memory.InMemoryChunkStore` as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgsift.domain import bm25
from pgsift.domain.errors import InvalidArgument, UnknownTenant
from pgsift.domain.filters import to_json
from pgsift.domain.ports import Candidate, LexicalCandidates, Source, SourceChunk, Status, StoredChunk
from pgsift.errors import translated

__all__ = ["PostgresChunkStore"]

_CHUNK_COLUMNS = (
    "chunk_id, key AS source, ordinal AS index, body, title, kind, section_path AS section, page, char_start,"
    " char_end, doc_length, document_version AS version, metadata"
)


class PostgresChunkStore:
    """Implements :class:`pgsift.domain.ports.ChunkStore` on a connection, in the caller's transaction.

    Writing and the statistics in :meth:`lexical_candidates` need the role ``sift_writer``. The caller
    vouches that tokens were made by the tenant's analyzer; ``analyzer`` is that of the tenants this store
    creates.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, analyzer: str = "standard") -> None:
        self._connection = connection
        self._analyzer = analyzer

    def create_tenant(
        self,
        tenant: str,
        *,
        k1: float = bm25.K1,
        b: float = bm25.B,
        default_principals: Sequence[str] = (),
    ) -> None:
        self._rows(
            "SELECT sift.create_tenant(tenant => %s, analyzer => %s, k1 => %s::float8, b => %s::float8,"
            " default_principals => %s::text[])",
            [tenant, self._analyzer, k1, b, list(default_principals)],
        )

    def replace_source(self, source: Source, tenant: str) -> Status:
        return self.upsert_many([source], tenant)[0]

    def upsert_many(self, sources: Sequence[Source], tenant: str) -> list[Status]:
        doubled = [key for key, count in Counter(source.key for source in sources).items() if count > 1]
        if doubled:
            raise InvalidArgument(f"the key {doubled[0]!r} stands twice in one batch")
        for source in sources:
            source.validate()
        fingerprint = self._tenant(tenant)["analyzer_fingerprint"]
        rows = self._rows(
            "SELECT status FROM sift.put_documents("
            "tenant => %s, documents => %s::text::jsonb, fingerprint => %s)",
            [tenant, json.dumps([_document(source) for source in sources]), fingerprint],
        )
        return [row["status"] for row in rows]

    def delete_source(self, key: str, tenant: str) -> bool:
        rows = self._rows(
            "SELECT deleted FROM sift.delete_documents(tenant => %s, keys => %s::text[])", [tenant, [key]]
        )
        return bool(rows[0]["deleted"])

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
        wanted = list(dict.fromkeys(terms))
        # One statement, so that candidates and statistics are of one moment.
        rows = self._rows(
            """
            SELECT t.k1, t.b, s.indexed_chunks, s.total_length,
                   (SELECT jsonb_object_agg(f.term, f.df)
                    FROM sift.term_statistics(tenant => %(tenant)s, terms => %(terms)s::text[]) AS f)
                       AS frequencies,
                   (SELECT jsonb_agg(jsonb_build_array(
                               m.chunk_id, m.key, m.ordinal, m.doc_length, m.frequencies)
                           ORDER BY m.matched DESC, m.chunk_id)
                    FROM sift.lexical_candidates(
                        tenant => %(tenant)s, terms => %(terms)s::text[], k => %(limit)s::integer,
                        principals => %(principals)s::text[], filter => %(filter)s::text::jsonb) AS m)
                       AS candidates
            FROM sift.list_tenants() AS t
            CROSS JOIN LATERAL sift.corpus_statistics(tenant => t.tenant) AS s
            WHERE t.tenant = %(tenant)s
            """,
            {
                "tenant": tenant,
                "terms": wanted,
                "limit": min(limit, 2**31 - 1),
                "principals": None if principals is None else list(principals),
                "filter": to_json(filter),
            },
        )
        if not rows:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        row = rows[0]
        found: Mapping[str, int] = row["frequencies"] or {}
        return LexicalCandidates(
            candidates=tuple(Candidate(*values) for values in row["candidates"] or ()),
            doc_frequencies={term: found[term] for term in wanted},
            chunks=row["indexed_chunks"],
            total_length=row["total_length"],
            k1=row["k1"],
            b=row["b"],
        )

    def get_by_entity(
        self, entity: str, tenant: str, *, principals: Sequence[str] | None = None
    ) -> list[StoredChunk]:
        rows = self._rows(
            f"SELECT {_CHUNK_COLUMNS} FROM sift.chunks_by_entity("
            "tenant => %s, entity => %s, principals => %s::text[])",
            [tenant, entity, None if principals is None else list(principals)],
        )
        return [StoredChunk(**{**row, "section": tuple(row["section"])}) for row in rows]

    def _tenant(self, tenant: str) -> dict[str, Any]:
        rows = self._rows("SELECT analyzer_fingerprint FROM sift.list_tenants() WHERE tenant = %s", [tenant])
        if not rows:
            raise UnknownTenant(f"there is no tenant {tenant!r}")
        return rows[0]

    def _rows(self, statement: str, parameters: Any) -> list[dict[str, Any]]:
        with translated(), self._connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(statement.encode(), parameters)
            return cursor.fetchall()


def _end(chunk: SourceChunk) -> int:
    return chunk.char_start + len(chunk.body) if chunk.char_end is None else chunk.char_end


def _document(source: Source) -> dict[str, Any]:
    chunks = [
        {
            "body": chunk.body,
            "tokens": " ".join(chunk.tokens),
            "kind": chunk.kind,
            "section": list(chunk.section),
            "page": chunk.page,
            "start": chunk.char_start,
            "end": _end(chunk),
            "entities": list(chunk.entities),
        }
        for chunk in source.chunks
    ]
    return {
        "key": source.key,
        "title": source.title,
        "metadata": dict(source.metadata),
        "acl": None if source.principals is None else list(source.principals),
        "content_hash": source.content_hash(),
        "source_uri": source.source_uri,
        "source_version": source.source_version,
        "language": source.language,
        "license": source.license,
        "classification": source.classification,
        "valid_from": None if source.valid_from is None else source.valid_from.isoformat(),
        "valid_to": None if source.valid_to is None else source.valid_to.isoformat(),
        "retain_until": None if source.retain_until is None else source.retain_until.isoformat(),
        "length": max((_end(chunk) for chunk in source.chunks), default=0),
        "chunks": chunks,
    }
