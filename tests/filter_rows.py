"""Runs a compiled filter over rows given as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from pgsift.domain import filters

# The predicate reads rows that look like those of the tables; mentions alone are looked up in theirs.
_TENANT = 2147483647
ROWS = """
WITH types AS (SELECT $1::jsonb, $2::integer)
SELECT coalesce(({predicate})::text, 'NULL')
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS q (item, position)
CROSS JOIN LATERAL jsonb_to_record(q.item -> 'document') AS d (
    key text, title text, source_uri text, source_version text, parser text, chunker text, language text,
    license text, classification text, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz,
    retain_until timestamptz, version integer, length integer, updated_at timestamptz, metadata jsonb)
CROSS JOIN LATERAL (
    SELECT q.position AS chunk_id, r.kind, r.page, r.ordinal, r.doc_length, r.section AS section_path
    FROM jsonb_to_record(q.item -> 'chunk') AS r (
        kind text, page integer, ordinal integer, section text[], doc_length integer)) AS c
ORDER BY q.position
"""


def evaluate_in_database(
    conn: psycopg.Connection, filter: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]
) -> list[str]:
    """true, false or NULL for each document, by the predicate the database makes of the filter."""
    rows = json.dumps(
        [
            {part: {name: as_json(value) for name, value in fields.items()} for part, fields in item.items()}
            for item in documents
        ]
    )
    mentions = [
        (_TENANT, entity, position)
        for position, item in enumerate(documents, start=1)
        for entity in dict.fromkeys(item["chunk"].get("entity") or ())
    ]
    with conn.transaction(force_rollback=True), psycopg.RawCursor(conn) as cursor:
        if mentions:
            # Of chunks that are not there: the foreign key is out of force until the rollback.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.executemany(
                "INSERT INTO sift.chunk_entities (tenant_id, entity, chunk_id) VALUES ($1, $2, $3)", mentions
            )
        cursor.execute(
            "SELECT f.predicate, f.bound::text FROM sift._compile_filter($1::text::jsonb) AS f",
            [filters.to_json(filter)],
        )
        ((predicate, bound),) = cursor.fetchall()
        cursor.execute(ROWS.replace("{predicate}", predicate).encode(), [bound, _TENANT, rows])
        return [row[0] for row in cursor.fetchall()]


def as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
