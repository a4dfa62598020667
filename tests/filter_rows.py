"""Runs a compiled filter over rows given as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from pgsift.domain import filters

# The predicate reads rows that look like those of the tables; no table is needed.
ROWS = """
WITH types AS (SELECT $1::jsonb)
SELECT coalesce(({predicate})::text, 'NULL')
FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS q (item, position)
CROSS JOIN LATERAL jsonb_to_record(q.item -> 'document') AS d (
    key text, title text, source_uri text, source_version text, parser text, chunker text, language text,
    license text, classification text, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz,
    retain_until timestamptz, version integer, length integer, updated_at timestamptz, metadata jsonb)
CROSS JOIN LATERAL (
    SELECT r.kind, r.page, r.ordinal, r.doc_length, r.section AS section_path
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
    with conn.transaction(), psycopg.RawCursor(conn) as cursor:
        cursor.execute(
            "SELECT f.predicate, f.bound::text FROM sift._compile_filter($1::text::jsonb) AS f",
            [filters.to_json(filter)],
        )
        ((predicate, bound),) = cursor.fetchall()
        cursor.execute(ROWS.replace("{predicate}", predicate).encode(), [bound, rows])
        return [row[0] for row in cursor.fetchall()]


def as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
