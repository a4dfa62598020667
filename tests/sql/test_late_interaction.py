"""Token vectors in the database: what is refused, that they live and go with their chunks, and who is told what."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

Row = dict[str, Any]


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('m2', 2), sift.register_token_model('late', 2, 'r1')")
    put(conn, [{"key": "a", "chunks": [{"body": "pump one"}, {"body": "pump two", "embedding": [1, 0]}]}, {"key": "b", "text": "pump three"}])
    for number, chunk in enumerate(chunks(conn)):
        tokens(conn, chunk, [[1, 0], [0, number]])
    return conn


def put(conn: psycopg.Connection, documents: list[Row]) -> None:
    conn.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'm2')", (json.dumps(documents),))


def chunks(conn: psycopg.Connection) -> list[int]:
    return [chunk for (chunk,) in conn.execute("SELECT chunk_id FROM sift.chunks ORDER BY chunk_id").fetchall()]


def tokens(conn: psycopg.Connection, chunk: int, vectors: Any, model: str | None = "late") -> int:
    text = vectors if isinstance(vectors, str) or vectors is None else json.dumps(vectors)
    row = conn.execute(
        "SELECT sift.put_token_embeddings('t', %s, ARRAY[%s]::bigint[], ARRAY[%s]::text[])", (model, chunk, text)
    ).fetchone()
    assert row is not None
    return int(row[0])


def search(conn: psycopg.Connection, query: str = "pump", **options: Any) -> list[Row]:
    casts = {"query_token_embeddings": "::real[]", "principals": "::text[]", "as_of": "::timestamptz"}
    options = {"principals": ["public"], **options}
    listed = ", ".join(f"{name} => %({name})s{casts.get(name, '')}" for name in options)
    cursor = conn.execute(f"SELECT * FROM sift.search('t', %(query)s, {listed})".encode(), {"query": query, **options})
    names = [column.name for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def refused(conn: psycopg.Connection, sqlstate: str, statement: str, *values: Any) -> str:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement.encode(), values)
    assert caught.value.sqlstate == sqlstate, caught.value
    assert caught.value.diag.message_hint
    return str(caught.value.diag.message_primary)


def stored(conn: psycopg.Connection) -> set[int]:
    return {chunk for (chunk,) in conn.execute("SELECT chunk_id FROM sift.chunk_token_embeddings").fetchall()}


# --- storing --------------------------------------------------------------------------------------

PUT = "SELECT sift.put_token_embeddings('t', 'late', ARRAY[%s]::bigint[], ARRAY[%s]::text[])"


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ("", "are not a list of lists"), ("[]", "are not a list of lists"), ("[[]]", "are not a list of lists"),
        ("[1,2]", "are not a list of lists"), ("[[1,2],3]", "are not a list of lists"), ("{{1,2}}", "are not a list of lists"),
        ('[["1","2"]]', "are not a list of lists"), ("[[1,null]]", "are not a list of lists"), ("[[1,NaN]]", "are not a list of lists"),
        ("[[1,2]],[[3,4]]", "are not a list of lists"), ("[[1,2]]; DROP TABLE sift.chunks", "are not a list of lists"),
        ("[[1,inf]]", "are not a list of lists"), ("[[1,1e9]]", "cannot be stored in half precision"), ("[[1,,2]]", "cannot be stored"),
        ("[[1,--2]]", "cannot be stored"), ("[[1,2,3]]", "token 1 has 3 dimensions"), ("[[1,2],[1]]", "token 2 has 1 dimensions"),
        ("[" + ",".join(["[1,2]"] * 4097) + "]", "4097 tokens"),
    ],
)  # fmt: skip
def test_vectors_that_are_refused(store: psycopg.Connection, vectors: str, message: str) -> None:
    chunk = chunks(store)[0]
    before = store.execute("SELECT embeddings::text FROM sift.chunk_token_embeddings WHERE chunk_id = %s", (chunk,)).fetchone()
    assert message in refused(store, "PS005", PUT, chunk, vectors)
    assert store.execute("SELECT embeddings::text FROM sift.chunk_token_embeddings WHERE chunk_id = %s", (chunk,)).fetchone() == before


def test_storing(store: psycopg.Connection) -> None:
    first, second, third = chunks(store)
    assert tokens(store, first, " [ [ 0.5 , -1e-2 ] ,\n[ 3 , 4 ] ] ") == 1
    (vectors,) = store.execute("SELECT embeddings::text[] FROM sift.chunk_token_embeddings WHERE chunk_id = %s", (first,)).fetchone() or ()
    assert [json.loads(vector) for vector in vectors] == [[0.5, pytest.approx(-0.01, abs=1e-5)], [3, 4]]
    assert tokens(store, second, None) == 0
    assert tokens(store, 10**12, [[1, 2]]) == 0
    assert stored(store) == {first, second, third}
    assert "no token model" in refused(store, "PS006", "SELECT sift.put_token_embeddings('t', 'none', '{1}', '{[[1]]}')")
    assert "name the model" in refused(store, "PS002", "SELECT sift.put_token_embeddings('t', NULL, '{1}', '{[[1]]}')")
    assert "1 chunks and 2 lists" in refused(store, "PS002", "SELECT sift.put_token_embeddings('t', 'late', '{1}', '{x,y}')")
    assert "no tenant" in refused(store, "PS001", "SELECT sift.put_token_embeddings('nobody', 'late', '{}', '{}')")


def test_registering(store: psycopg.Connection) -> None:
    (number,) = store.execute("SELECT sift.register_token_model('late', 2, 'r1')").fetchone() or (None,)
    assert store.execute("SELECT sift.register_token_model('late', 2, 'r1')").fetchone() == (number,)
    for arguments in ("'late', 3, 'r1'", "'late', 2, 'r2'", "'late', 2"):
        assert "registered with" in refused(store, "PS011", f"SELECT sift.register_token_model({arguments})")
    for arguments in ("'', 2", "NULL, 2", "'x', 0", "'x', 4001", "'x', NULL", "E'a\\nb', 2"):
        refused(store, "PS002", f"SELECT sift.register_token_model({arguments})")
    assert store.execute("SELECT * FROM sift.list_token_models() AS m WHERE m.model = 'late'").fetchall() == [("late", "r1", 2)]


def test_the_chunks_without(store: psycopg.Connection) -> None:
    put(store, [{"key": "c", "title": "C", "text": "new"}, {"key": "secret", "text": "kept", "classification": "secret"}])
    listed = "SELECT title, body FROM sift.chunks_without_token_embedding('t'{})"
    assert store.execute(listed.format("").encode()).fetchall() == [("C", "new"), (None, "kept")]
    assert store.execute(listed.format(", k => 1").encode()).fetchall() == [("C", "new")]
    store.execute("SELECT sift.register_token_model('other', 3)")
    assert len(store.execute(listed.format(", 'other'").encode()).fetchall()) == 5
    store.execute("""SELECT sift.set_tenant('t', '{"remote_classifications": ["open"]}')""")
    assert store.execute(listed.format(", remote => true").encode()).fetchall() == []
    store.execute("SELECT sift.create_tenant('empty', 'standard')")
    refused(store, "PS006", "SELECT * FROM sift.chunks_without_token_embedding('empty')")
    refused(store, "PS002", "SELECT * FROM sift.chunks_without_token_embedding('t', k => -1)")


# --- searching ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "sqlstate", "message"),
    [
        ("'{1,0}'", "PS005", "array of arrays"), ("'{}'", "PS005", "array of arrays"), ("'{{{1,0}}}'", "PS005", "array of arrays"),
        ("'{{1,0,0}}'", "PS005", "have 3 dimensions"), ("'{{1,NULL}}'", "PS005", "NULL"), ("'{{1,NaN}}'", "PS005", "NaN"),
        ("'{{1,Infinity}}'", "PS005", "beyond 65504"), ("'{{1,70000}}'", "PS005", "beyond 65504"),
        ("array_fill(1::real, ARRAY[1025, 2])", "PS005", "1025 tokens"),
        ("'{{1,0}}', token_model => 'none'", "PS006", "no token model"),
        ("'{{1,0}}', as_of => now()", "PS002", "as_of"), ("'{{1,0}}', mmr => 2", "PS002", "mmr must lie"),
        ("'{{1,0}}', mmr => 'NaN'", "PS002", "mmr must lie"), ("'{{1,0}}', token_budget => 0", "PS002", "token_budget must"),
        ("'{{1,0}}', per_document => 0", "PS002", "per_document must"), ("'{{1,0}}', mmr => 0.5, k => 1001", "PS002", "1000 rows"),
    ],
)  # fmt: skip
def test_queries_that_are_refused(store: psycopg.Connection, vectors: str, sqlstate: str, message: str) -> None:
    found = refused(store, sqlstate, f"SELECT * FROM sift.search('t', 'pump', principals => '{{public}}', query_token_embeddings => {vectors})")
    assert message in found


def test_a_tenant_without_a_token_model(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.create_tenant('u', 'standard')")
    refused(store, "PS006", "SELECT * FROM sift.search('u', 'pump', query_token_embeddings => '{{1,0}}')")


def test_each_model_has_its_own_vectors(store: psycopg.Connection) -> None:
    first, second, third = chunks(store)
    store.execute("SELECT sift.register_token_model('other', 2)")
    tokens(store, first, [[0, 9]], "other")
    by_first = {row["chunk_id"]: row["rerank_score"] for row in search(store, query_token_embeddings=[[0.0, 1.0]])}
    assert by_first == {first: 0, second: 1, third: 2}
    other = search(store, query_token_embeddings=[[0.0, 1.0]], token_model="other")
    assert [(row["chunk_id"], row["rerank_score"]) for row in other] == [(first, 9), (second, None), (third, None)]


def test_one_leg_is_reranked_as_deep_as_two(store: psycopg.Connection) -> None:
    put(store, [{"key": f"n{number}", "text": f"pump and {'filler ' * number}"} for number in range(40)])
    (last,) = store.execute("SELECT chunk_id FROM sift.chunks ORDER BY length(body) DESC LIMIT 1").fetchone() or (0,)
    tokens(store, last, [[100, 100]])
    # The last of the lexical ranking, far beyond k, is the first after reranking.
    (row,) = search(store, k=1, mode="lexical", query_token_embeddings=[[1.0, 1.0]])
    assert row["chunk_id"] == last
    assert row["former_rank"] > 30


# --- living and dying with the chunk --------------------------------------------------------------


def test_token_vectors_go_with_their_chunks(store: psycopg.Connection) -> None:
    first, second, third = chunks(store)
    store.execute("SELECT sift.set_access('t', '{b}', '{group:x}')")
    assert stored(store) == {first, second, third}
    put(store, [{"key": "a", "chunks": [{"body": "pump anew"}]}])
    assert stored(store) == {third}
    tokens(store, max(chunks(store)), [[1, 1]])
    store.execute("SELECT sift.delete_documents('t', '{b}')")
    assert stored(store) == set(chunks(store))
    store.execute("SELECT sift.purge_documents('t', '{a,b}')")
    assert stored(store) == set()


def test_an_audit_looks_for_them(store: psycopg.Connection) -> None:
    found = dict(store.execute("SELECT place, found FROM sift.audit_deletion('t', 'a') WHERE kind = 'search'").fetchall())
    assert found["chunk_token_embeddings"] == 2
    store.execute("SELECT sift.purge_documents('t', '{a}')")
    found = dict(store.execute("SELECT place, found FROM sift.audit_deletion('t', 'a') WHERE kind = 'search'").fetchall())
    assert found["chunk_token_embeddings"] == 0


def test_they_go_with_the_tenant(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.drop_tenant('t')")
    assert stored(store) == set()


def test_the_doctor_finds_and_mends_orphans(store: psycopg.Connection) -> None:
    store.execute("ALTER TABLE sift.chunk_token_embeddings DROP CONSTRAINT chunk_token_embeddings_chunk_id_fkey")
    store.execute("INSERT INTO sift.chunk_token_embeddings SELECT tenant_id, 999999, token_model_id, embeddings FROM sift.chunk_token_embeddings LIMIT 1")
    findings = [
        row for row in store.execute("SELECT check_name, object, finding FROM sift.doctor('t')").fetchall() if row[0] == "orphans"
    ]
    assert [(check, "chunk_token_embeddings" in finding) for check, _, finding in findings] == [("orphans", True)]
    mended = [text for (text,) in store.execute("SELECT mended FROM sift.repair('t')").fetchall()]
    assert any("token vectors of 1 chunks" in text for text in mended)
    assert stored(store) == set(chunks(store))


# --- permissions ----------------------------------------------------------------------------------


def test_what_may_not_be_seen_is_neither_shown_nor_weighed(store: psycopg.Connection) -> None:
    first, second, third = chunks(store)
    store.execute("SELECT sift.set_access('t', '{b}', '{group:x}')")
    tokens(store, third, [[100, 100]])
    alone = search(store, query_token_embeddings=[[1.0, 1.0]], mmr=0.5)
    assert {row["chunk_id"] for row in alone} == {first, second}
    store.execute("SELECT sift.delete_documents('t', '{b}')")
    again = search(store, query_token_embeddings=[[1.0, 1.0]], mmr=0.5)
    columns = ("rank", "former_rank", "chunk_id", "rerank_score")
    assert [[row[name] for name in columns] for row in again] == [[row[name] for name in columns] for row in alone]
    assert search(store, principals=[], query_token_embeddings=[[1.0, 1.0]]) == []


def test_only_writers_store(dsn: str, make_login: Any) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT sift.create_tenant('t', 'standard'), sift.register_token_model('late', 2)")
        admin.execute("""SELECT sift.put_documents('t', '[{"key": "a", "text": "pump"}]')""")
    for role, allowed in (("sift_writer", True), ("sift_app", False), ("sift_reader", False)):
        with psycopg.connect(make_login(dsn, role), autocommit=True) as login:
            for statement in (
                "SELECT sift.put_token_embeddings('t', 'late', '{1}', '{\"[[1,2]]\"}')",
                "SELECT * FROM sift.chunks_without_token_embedding('t', 'late')",
                "SELECT sift.register_token_model('late', 2)",
            ):
                if allowed:
                    login.execute(statement.encode())
                else:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        login.execute(statement.encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                login.execute("SELECT * FROM sift.chunk_token_embeddings")


# --- scores of one's own --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'{1,2}', '{1}'", "2 chunks and 1 scores"), ("'{NULL}', '{1}'", "hold no NULL"), ("'{1}', '{NaN}'", "finite"),
        ("'{1}', '{Infinity}'", "finite"), ("'{1}', '{1}', k => -1", "k must lie"), ("'{1}', '{1}', k => NULL", "k must lie"),
        ("'{1}', '{1}', per_document => 0", "per_document"), ("'{1}', '{1}', mmr => -0.1", "mmr must lie"),
        ("'{1}', '{1}', token_budget => -5", "token_budget"),
        ("array_fill(1::bigint, ARRAY[10001]), array_fill(1::float8, ARRAY[10001])", "at most"),
    ],
)  # fmt: skip
def test_choices_that_are_refused(store: psycopg.Connection, arguments: str, message: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        store.execute(f"SELECT * FROM sift.choose_chunks('t', {arguments}, principals => '{{public}}')".encode())
    assert caught.value.sqlstate == "PS002"
    assert message in f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}"


def test_nothing_to_choose_from(store: psycopg.Connection) -> None:
    for arguments in ("'{}', '{}'", "NULL, NULL", "'{999999}', '{1}'", "'{}', '{}', mmr => 0.5, token_budget => 1"):
        assert store.execute(f"SELECT * FROM sift.choose_chunks('t', {arguments}, principals => '{{public}}')".encode()).fetchall() == []
    first = chunks(store)[0]
    twice = store.execute("SELECT * FROM sift.choose_chunks('t', %s::bigint[], '{1,3}', principals => '{public}')", ([first, first],)).fetchall()
    assert twice == [(1, first, 3.0)]
