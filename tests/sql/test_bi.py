"""Views for BI: their columns, who may read them, what tools send; and every query of docs/bi.md, run by a login of the role it is for."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

PAGE = (Path(__file__).resolve().parents[2] / "docs/bi.md").read_text(encoding="utf-8")

# Stable: dashboards of others hang on names, order and types. A column may be added at the end, with a line here.
COLUMNS = {
    "my_documents": "tenant text, key text, title text, version integer, source_uri text, source_version text, language text, license text,"
    " metadata jsonb, length integer, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz, updated_at timestamptz",
    "my_chunks": "tenant text, key text, title text, chunk_id bigint, ordinal integer, kind text, section text, page integer, char_start integer,"
    " char_end integer, body text",
    "my_topics": "tenant text, topic integer, key text, title text, observed_at timestamptz",
    "all_documents": "tenant text, document_id bigint, key text, title text, version integer, source_uri text, source_version text, language text,"
    " license text, classification text, metadata jsonb, length integer, parser text, chunker text, observed_at timestamptz, valid_from timestamptz,"
    " valid_to timestamptz, retain_until timestamptz, current_from timestamptz, updated_at timestamptz, run_id bigint, visible_to text[], denied_to text[]",
    "all_chunks": "tenant text, chunk_id bigint, document_id bigint, key text, ordinal integer, kind text, section text[], page integer,"
    " char_start integer, char_end integer, tokens integer, ranked boolean, body text",
    "all_postings": "tenant text, term text, chunk_id bigint, tf integer, document_id bigint",
    "all_terms": "tenant text, term text, df bigint, chunks bigint, idf double precision",
    "all_runs": "tenant text, run_id bigint, source text, started_by text, started_at timestamptz, finished_at timestamptz, seconds double precision,"
    " created bigint, replaced bigint, updated bigint, unchanged bigint, deleted bigint, failed bigint, chunks bigint, tokens bigint,"
    " vectors_computed bigint, interrupted text, parameters jsonb, summary jsonb",
    "all_dead_letters": "tenant text, dead_letter_id bigint, run_id bigint, key text, source_uri text, stage text, reason text, failures integer,"
    " created_at timestamptz, failed_at timestamptz",
    "all_queries": "tenant text, query_id bigint, asked_at timestamptz, asked_by text, query text, principals text[], mode text, hits integer,"
    " first_key text, best_score double precision, milliseconds double precision, payload_bytes bigint, settings jsonb",
    "all_topics": "tenant text, topic integer, documents bigint, share double precision, terms text[], nearest_keys text[], run integer, model text,"
    " made_at timestamptz",
    "all_document_topics": "tenant text, document_id bigint, key text, title text, topic integer, strength double precision, distance double precision,"
    " x double precision, y double precision, observed_at timestamptz",
}


@dataclass
class World:
    admin: psycopg.Connection
    reader: str
    writer: str
    app: str


@pytest.fixture(scope="module")
def world(server_dsn: str, _template: str) -> Iterator[World]:
    """A store with two years of documents of three departments, topics, runs, failures and queries; a login of each role."""
    database = f"sift_bi_{uuid.uuid4().hex[:12]}"
    roles: list[str] = []
    with psycopg.connect(server_dsn, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(database), sql.Identifier(_template)))
        try:
            with psycopg.connect(make_conninfo(server_dsn, dbname=database), autocommit=True) as admin:
                admin.execute("SELECT sift.create_tenant('acme', 'english', default_principals => '{public}'), sift.create_tenant('other')")
                admin.execute("SELECT sift.register_model('m2', 2)")
                run = admin.execute("SELECT sift.start_run('acme', 'demo')").fetchone()
                documents = [
                    {
                        "key": f"{department}/{i}", "title": f"{department} {i}", "observed_at": f"2024-{i + 1:02}-15",
                        "metadata": {"department": department}, "acl": ["group:board"] if i == 5 else ["public"],
                        "chunks": [{"body": f"The winch of {department} {'had an accident' if i % 2 else 'is fine'}, {word} {'zzsecret' * (i == 5)}",
                                    "embedding": [1, n]}],
                    }
                    for n, (department, word) in enumerate({"yard": "crane", "office": "contract", "lab": "sample"}.items()) for i in range(6)
                ]  # fmt: skip
                admin.execute("SELECT sift.put_documents('acme', %s::jsonb, model => 'm2', run_id => %s)", (json.dumps(documents), run[0]))  # type: ignore[index]
                admin.execute("SELECT sift.pack_postings('acme', purge => true)")
                late = {"key": "late", "metadata": {"department": "yard"}, "text": "a late winch"}
                gone = {"key": "gone", "text": "winch that went"}
                admin.execute("SELECT sift.put_documents('acme', %s::jsonb)", (json.dumps([late, gone]),))
                admin.execute("SELECT sift.pack_postings('acme', purge => true), sift.delete_documents('acme', '{gone}')")
                admin.execute("SELECT sift.put_documents('acme', '[{\"key\": \"rows\", \"text\": \"winch as a row\"}]')")
                admin.execute(
                    "SELECT sift.put_topics('acme', array_agg(d.document_id), array_agg(d.version), array_agg(CASE WHEN d.key LIKE 'yard%' THEN 0 WHEN d.key"
                    " LIKE 'lab%' THEN 1 ELSE -1 END), array_agg(1::float8), array_agg(0.5::float8), array_agg(0::float8), array_agg(0::float8), 'm2')"
                    " FROM sift.documents_with_vectors('acme') AS d"
                )
                admin.execute("SELECT sift.finish_run('acme', %s, '{\"created\": 18, \"replaced\": 0, \"chunks\": 18, \"failed\": 1, \"tokens\": \"many\"}')", run)
                admin.execute("SELECT sift.start_run('acme', 'goes on')")
                admin.execute("SELECT sift.add_dead_letter('acme', 'parse', 'no text layer', 'scan.pdf')")
                admin.execute("SELECT sift.log_query('acme', ' Anchor '), sift.log_query('acme', 'anchor'), sift.log_query('acme', 'winch', hits => ("
                              "SELECT jsonb_agg(to_jsonb(s)) FROM sift.search('acme', 'winch', k => 3, principals => '{public}') AS s))")  # fmt: skip
                logins = {}
                for role in ("sift_reader", "sift_writer", "sift_app"):
                    name, password = f"bi_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
                    admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(sql.Identifier(name), sql.Literal(password), sql.Identifier(role)))
                    roles.append(name)
                    logins[role] = make_conninfo(server_dsn, dbname=database, user=name, password=password)
                admin.execute("SELECT sift.map_role('acme', %s, '{public}')", (roles[0],))
                yield World(admin, logins["sift_reader"], logins["sift_writer"], logins["sift_app"])
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            for name in roles:
                server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_columns_are_stable_and_commented(conn: psycopg.Connection) -> None:
    rows = conn.execute(
        "SELECT c.relname::text, a.attname || ' ' || format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum)"
        " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'v' AND NOT starts_with(c.relname, '_') AND a.attnum > 0 ORDER BY c.oid, a.attnum"
    ).fetchall()
    found: dict[str, list[str]] = {}
    for view, column, comment in rows:
        found.setdefault(view, []).append(column.replace("timestamp with time zone", "timestamptz"))
        assert comment, f"{view}.{column} has no comment"
    assert {view: ", ".join(columns) for view, columns in found.items()} == COLUMNS


def test_who_may_read_which(world: World) -> None:
    for login, own in ((world.reader, "my_"), (world.writer, "all_"), (world.app, "none")):
        with psycopg.connect(login, autocommit=True) as connection:
            for view in COLUMNS:
                statement = f"SELECT count(*) FROM sift.{view}".encode()
                if view.startswith(own):
                    assert connection.execute(statement).fetchone() != (0,), view
                else:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(statement)


def test_a_reader_sees_topics_of_what_he_may_see(world: World) -> None:
    with psycopg.connect(world.reader, autocommit=True) as connection:
        rows = connection.execute("SELECT tenant, topic, key FROM sift.my_topics ORDER BY key").fetchall()
        assert len(rows) == 15 and {row[0] for row in rows} == {"acme"}
        assert not [key for _, _, key in rows if key.endswith("/5")]
        # No condition of the reader's comes below the check.
        connection.execute("SELECT 1 FROM sift.my_topics WHERE 1 / (CASE WHEN key = 'yard/5' THEN 0 ELSE 1 END) = 1")
        for value in ("yard/5", "yard/6"):
            plan = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.my_topics WHERE key = '{value}'".encode()).fetchall()
            assert "Rows Removed by Filter: 15" in str(plan)


def test_postings_and_terms_are_those_of_the_chunks(world: World) -> None:
    """Packed, as rows, of deleted documents: all as if counted from the texts."""
    expected = world.admin.execute(
        "SELECT w.term, c.chunk_id, count(*)::integer FROM sift.chunks AS c CROSS JOIN LATERAL unnest(string_to_array(c.tokens, ' ')) AS w (term)"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    with psycopg.connect(world.writer, autocommit=True) as connection:
        assert connection.execute("SELECT term, chunk_id, tf FROM sift.all_postings WHERE tenant = 'acme' ORDER BY term COLLATE \"C\", chunk_id").fetchall() == sorted(
            expected, key=lambda row: (row[0].encode(), row[1])
        )
        terms = connection.execute("SELECT term, df, chunks, idf FROM sift.all_terms WHERE tenant = 'acme'").fetchall()
        statistics = connection.execute("SELECT term, df, chunks FROM sift.term_statistics('acme', %s)", ([row[0] for row in terms],)).fetchall()
        assert sorted(row[:3] for row in terms) == sorted(statistics)
        assert {row[0] for row in terms} == {row[0] for row in expected}
        for _, df, chunks, idf in terms:
            assert idf == pytest.approx(math.log(1 + (chunks - df + 0.5) / (df + 0.5)))


def test_runs_and_queries(world: World) -> None:
    with psycopg.connect(world.writer, autocommit=True) as connection:
        rows = connection.execute("SELECT source, created, failed, tokens, seconds >= 0, interrupted FROM sift.all_runs ORDER BY run_id").fetchall()
        assert rows == [("demo", 18, 1, None, True, None), ("goes on", None, None, None, None, None)]
        queries = connection.execute("SELECT query, hits, mode, first_key IS NULL, best_score IS NULL FROM sift.all_queries ORDER BY query_id").fetchall()
        assert queries == [(" Anchor ", 0, "hybrid", True, True), ("anchor", 0, "hybrid", True, True), ("winch", 3, "hybrid", False, False)]
        assert connection.execute("SELECT topic, documents FROM sift.all_topics").fetchall() == [(0, 6), (1, 6), (-1, 6)]


def blocks(kind: str) -> list[str]:
    """Statements of the fences of a kind, without their comments."""
    found = re.findall(rf"^```sql {kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    parts = [part.strip() for block in found for part in re.split(r";\s*$", block, flags=re.MULTILINE)]
    return [part for part in parts if part]


@pytest.mark.parametrize("query", blocks("reader"))
def test_queries_of_the_page(world: World, query: str) -> None:
    with psycopg.connect(world.reader, autocommit=True) as connection:
        rows = connection.execute(query.encode()).fetchall()
    assert rows and "zzsecret" not in repr(rows) and "/5" not in repr(rows)


@pytest.mark.parametrize("query", blocks("writer"))
def test_queries_of_the_page_for_writers(world: World, query: str) -> None:
    with psycopg.connect(world.writer, autocommit=True) as connection:
        assert connection.execute(query.encode()).fetchall()


HOSTILE = "winch'); DROP TABLE x; --"


def sent_by(tool: str, query: str, text: str) -> tuple[str, tuple[str, ...]]:
    """What a tool makes of a template for a search for *text*, by its documentation, and the parameters beside it."""
    quoted = "'" + text.replace("'", "''") + "'"
    if tool == "metabase":
        query = query.replace("[[", "").replace("]]", "")
        return query.replace("{{query}}", "$1").replace("{{department}}", "$2"), (text, "yard")
    if tool == "superset":
        query = query.replace("{{ filter_values('query')|where_in }}", f"({quoted})")
        query = re.sub(r'\{\{ (?:from|to)_dttm or "([^"]+)" \}\}', r"\1", query)
        return f'SELECT "department" AS "department", count(*) AS "n" FROM ({query}) AS "virtual_table" GROUP BY "department" LIMIT 1000', ()
    if tool == "grafana":
        query = query.replace("${query:sqlstring}", quoted)
        return re.sub(r"\$__timeFilter\(([^)]+)\)", r"\1 BETWEEN '2024-01-01T00:00:00Z' AND '2024-12-31T00:00:00Z'", query), ()
    assert tool == "odbc"
    return query.replace("?", "$1"), (text,)


@pytest.mark.parametrize("tool", ["metabase", "superset", "grafana", "odbc"])
def test_templates_of_the_page(world: World, tool: str) -> None:
    (template,) = blocks(tool)
    for text in ("winch accident", HOSTILE):
        query, parameters = sent_by(tool, template, text)
        assert not re.search(r"\{\{|\}\}|\$__|\$\{|\[\[", query)
        with psycopg.connect(world.reader, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
            assert connection.execute(query.encode(), parameters or None).fetchall()
            if tool == "metabase":
                # Without a value the clause goes, and the query still runs.
                without = re.sub(r"\[\[.*?\]\]", "", template).replace("{{query}}", "$1")
                assert connection.execute(without.encode(), (text,)).fetchall()


QUERY = "SELECT key, score FROM sift.search('acme', 'winch', k => 5)"


@pytest.mark.parametrize("table", ["sift.my_documents", "sift.my_chunks", "sift.my_topics", f"({QUERY})"])
def test_what_tools_send(world: World, table: str) -> None:
    """Looking at a table without reading it, counting it, paging it, in a transaction that only reads, with cursors and prepared statements."""
    with psycopg.connect(world.reader) as connection:
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        cursor = connection.execute(f"SELECT * FROM {table} AS x LIMIT 0".encode())
        assert cursor.fetchall() == [] and len(cursor.description or ()) >= 2
        (number,) = connection.execute(f"SELECT count(*) FROM (SELECT * FROM {table} AS x) AS y".encode()).fetchone() or (0,)
        assert number > 0
        assert len(connection.execute(f"SELECT * FROM {table} AS x ORDER BY 1 LIMIT 2 OFFSET 1".encode()).fetchall()) == 2
        connection.execute(f"PREPARE s AS SELECT key FROM {table} AS x WHERE key > $1".encode())
        assert len(connection.execute("EXECUTE s ('')").fetchall()) == number
        connection.execute(f"DECLARE c CURSOR FOR SELECT key FROM {table} AS x".encode())
        assert len(connection.execute("FETCH 2 FROM c").fetchall()) == 2
        for options in ("", "(FORMAT JSON) ", "ANALYZE "):
            assert connection.execute(f"EXPLAIN {options}SELECT * FROM {table} AS x".encode()).fetchall()
        connection.rollback()


def test_what_tools_find_out_about_columns(world: World) -> None:
    with psycopg.connect(world.reader, autocommit=True) as connection:
        named = "SELECT table_name::text FROM information_schema.views WHERE table_schema = 'sift' AND NOT starts_with(table_name, '_') ORDER BY 1"
        assert [name for (name,) in connection.execute(named).fetchall()] == ["my_chunks", "my_documents", "my_topics"]
        columns = connection.execute("SELECT column_name::text FROM information_schema.columns WHERE table_schema = 'sift' AND table_name = 'my_topics' ORDER BY ordinal_position")
        assert [name for (name,) in columns.fetchall()] == ["tenant", "topic", "key", "title", "observed_at"]
        assert connection.execute("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'sift' AND table_name IN ('documents', 'all_documents')").fetchone() == (0,)
