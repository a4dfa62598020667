"""A tenant that came after the last ANALYZE is read by the same plans as the others: no lookup of a row by its key
reads the rest of the tenant."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

CHUNKS = 1200


def _documents(prefix: str, number: int) -> str:
    return json.dumps(
        [
            {
                "key": f"{prefix}{document}",
                "chunks": [
                    {"body": f"common word{document % 97} term{document}x{part} part{part}"}
                    for part in range(4)
                ],
            }
            for document in range(number // 4)
        ]
    )


def test_no_table_keeps_statistics_of_the_tenant(conn: psycopg.Connection[Any]) -> None:
    conn.execute("SELECT sift.register_model('statistics toy', 3)")
    tables = conn.execute(
        "SELECT c.relname, a.attstattarget FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p') AND a.attname = 'tenant_id'"
        " AND c.relname <> 'tenants'"
    ).fetchall()
    assert len(tables) > 30
    assert any(name.startswith("chunk_embeddings_m") for name, _ in tables)
    assert [name for name, target in tables if target != 0] == []


@pytest.mark.parametrize("cache", ["auto", "force_custom_plan", "force_generic_plan"])
def test_rows_read_grow_with_what_is_asked(dsn: str, cache: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('old', 'standard', default_principals => '{public}')")
        conn.execute("SELECT sift.put_documents('old', %s::jsonb)", [_documents("o", 6000)])
        for (table,) in conn.execute(
            "SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace"
            " AND c.relkind = 'r'"
        ).fetchall():
            conn.execute(f"ANALYZE {table}".encode())
        conn.execute("SELECT sift.create_tenant('new', 'standard', default_principals => '{public}')")
        conn.execute(f"SET plan_cache_mode = {cache}".encode())
        steps = (
            ("SELECT sift.put_documents('new', %s::jsonb)", [_documents("n", CHUNKS)], 20),
            ("SELECT sift.put_documents('new', %s::jsonb)", [_documents("m", CHUNKS)], 20),
            ("SELECT * FROM sift.pack_postings('new')", [], 12),
            ("SELECT * FROM sift.verify_statistics('new')", [], 30),
            ("SELECT * FROM sift.list_documents('new', '{public}', k => 1000)", [], 12),
            ("SELECT sift.search('new', 'common part1', k => 100, principals => '{public}', depth => 1000)", [], 12),
            ("SELECT sift.delete_documents('new', (SELECT array_agg('m' || n) FROM generate_series(0, 299) AS n))", [], 30),
            ("SELECT * FROM sift.pack_postings('new', purge => true)", [], 12),
            ("SELECT sift.search('new', 'common part1', k => 100, principals => '{public}', as_of => now() - interval '1 us')", [], 12),
        )  # fmt: skip
        for statement, values, times in steps:
            with conn.transaction():
                # Counts of transactions before may not have been handed over yet.
                before = _read(conn)
                conn.execute(statement.encode(), values)
                read = {table: number - before.get(table, 0) for table, number in _read(conn).items()}
            # All of the tenant a few times over, or the whole table once or twice: never all of it for each row.
            assert max(read.values()) < times * 4 * CHUNKS, (statement, read)


def _read(conn: psycopg.Connection[Any]) -> dict[str, int]:
    """How many rows this transaction read of the tables that grow."""
    return dict(
        conn.execute(
            "SELECT s.relname::text, coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0)"
            " FROM pg_stat_xact_user_tables AS s WHERE s.schemaname = 'sift'"
            " AND s.relname IN ('chunks', 'documents', 'chunk_history', 'document_versions', 'packed_chunks')"
        ).fetchall()
    )
