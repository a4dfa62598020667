"""Embedding models, and vectors in and out: what is stored, counted, refused, reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('m', 3)")
    conn.execute(
        "SELECT sift.put_documents('t', %s::jsonb)",
        (json.dumps([{"key": f"d{i}", "title": f"Title {i}", "text": f"text {i}"} for i in range(4)]),),
    )
    return conn


def chunk_ids(conn: psycopg.Connection) -> list[int]:
    return [
        i
        for (i,) in conn.execute(
            "SELECT c.chunk_id FROM sift.chunks AS c JOIN sift.tenants AS t USING (tenant_id) WHERE"
            " t.name = 't' ORDER BY 1"
        )
    ]


def put(
    conn: psycopg.Connection,
    ids: list[int],
    vectors: list[str | None],
    model: str = "m",
    hashes: list[bytes] | None = None,
) -> int:
    row = conn.execute(
        "SELECT sift.put_embeddings('t', %s, %s::bigint[], %s, %s)", (model, ids, vectors, hashes)
    ).fetchone()
    assert row is not None
    return int(row[0])


def refusal(
    conn: psycopg.Connection, sqlstate: str, statement: str, *parameters: Any
) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement, parameters)  # type: ignore[arg-type]
    assert caught.value.sqlstate == sqlstate, caught.value
    return caught.value.diag


def assert_counts_right(conn: psycopg.Connection) -> None:
    counted = conn.execute(
        "SELECT tenant_id, model_id, access_list_id, sum(vectors) FROM sift.embedding_stats GROUP BY"
        " 1, 2, 3"
        " HAVING sum(vectors) <> 0 ORDER BY 1, 2, 3"
    ).fetchall()
    there = conn.execute(
        "SELECT tenant_id, model_id, access_list_id, count(*) FROM sift.chunk_embeddings GROUP BY 1,"
        " 2, 3 ORDER BY 1, 2, 3"
    ).fetchall()
    assert counted == there
    wrong = conn.execute(
        "SELECT count(*) FROM sift.chunk_embeddings AS e JOIN sift.chunks AS c USING (tenant_id, chunk_id)"
        " WHERE e.access_list_id <> c.access_list_id"
    ).fetchone()
    assert wrong == (0,)


# --- models


@pytest.mark.parametrize(
    ("dimensions", "precision"),
    [(1, "vector"), (2000, "vector"), (2001, "halfvec"), (3072, "halfvec"), (4000, "halfvec")],
)
def test_precision_follows_from_dimensions(conn: psycopg.Connection, dimensions: int, precision: str) -> None:
    conn.execute("SELECT sift.register_model('m', %s)", (dimensions,))
    assert conn.execute("SELECT m.precision FROM sift.list_models() AS m WHERE m.model = 'm'").fetchone() == (
        precision,
    )


def test_registering_again_is_harmless_and_a_difference_is_named(conn: psycopg.Connection) -> None:
    first = conn.execute("SELECT sift.register_model('m', 3, 'r1', query_prefix => 'query: ')").fetchone()
    assert (
        conn.execute("SELECT sift.register_model('m', 3, 'r1', query_prefix => 'query: ')").fetchone()
        == first
    )
    assert (
        conn.execute(
            "SELECT sift.register_model('m', 3, 'r1', vector_type => 'vector', query_prefix => 'query: ')"
        ).fetchone()
        == first
    )
    said = str(refusal(conn, "PS011", "SELECT sift.register_model('m', 4, 'r2')").message_primary)
    assert 'revision is "r1", not "r2"' in said
    assert 'dimensions is "3", not "4"' in said
    assert 'query_prefix is "query: ", not ""' in said
    assert "metric" not in said


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("'m', 5000", ["5000", "4000", "2000"]),
        ("'m', 4001", ["4001"]),
        ("'m', 2500, vector_type => 'vector'", ["2500", "2000"]),
        ("'m', 0", ["0"]),
        ("'m', NULL", ["NULL"]),
        ("'m', 3, metric => 'manhattan'", ["manhattan", "cosine, ip or l2"]),
        ("'m', 3, vector_type => 'int8'", ["int8", "vector or halfvec"]),
        ("'m', 3, dense_weight => 'NaN'", ["NaN"]),
        ("'m', 3, lexical_weight => -1", ["-1"]),
        ("'', 3", ["name"]),
        ("NULL, 3", ["name"]),
    ],
)
def test_models_that_are_refused(conn: psycopg.Connection, call: str, words: list[str]) -> None:
    said = str(refusal(conn, "PS002", f"SELECT sift.register_model({call})").message_primary)
    assert [word for word in words if word not in said] == []


def test_5000_dimensions_come_with_advice(conn: psycopg.Connection) -> None:
    assert "fewer dimensions" in str(
        refusal(conn, "PS002", "SELECT sift.register_model('m', 5000)").message_hint
    )


def test_two_sessions_register_the_same_model_at_once(dsn: str) -> None:
    """One does it, the other gets the same number; and neither fails."""
    start = Barrier(4)

    def register(_: int) -> int:
        with psycopg.connect(dsn) as connection:
            start.wait()
            row = connection.execute("SELECT sift.register_model('m', 3)").fetchone()
            assert row is not None
            return int(row[0])

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(register, range(4)))) == 1
    with psycopg.connect(dsn) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'sift.chunk_embeddings'::regclass"
        ).fetchone() == (1,)


def test_registering_does_not_wait_for_readers(dsn: str) -> None:
    with psycopg.connect(dsn) as reader, psycopg.connect(dsn) as writer:
        reader.execute(
            "SELECT count(*) FROM sift.chunk_embeddings"
        )  # its lock is held until the transaction ends
        writer.execute("SET lock_timeout = '2s'")
        writer.execute("SELECT sift.register_model('m', 3)")


def test_partitions_are_as_private_as_their_table(store: psycopg.Connection) -> None:
    guarded = store.execute(
        "SELECT relrowsecurity FROM pg_class WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE"
        " inhparent = 'sift.chunk_embeddings'::regclass)"
    ).fetchall()
    assert guarded
    assert set(guarded) == {(True,)}


def test_a_writer_who_owns_nothing_registers_and_others_do_not(
    dsn: str, make_login: Callable[..., str]
) -> None:
    with psycopg.connect(make_login(dsn, "sift_writer")) as writer:
        writer.execute("SELECT sift.register_model('m', 3)")
    for role in ("sift_app", "sift_reader"):
        with psycopg.connect(make_login(dsn, role)) as connection:
            assert connection.execute("SELECT model FROM sift.list_models()").fetchall() == [("m",)]
            refusal(connection, "42501", "SELECT sift.register_model('n', 3)")
            refusal(connection, "42501", "SELECT * FROM sift.chunks_without_embedding('t', 'm')")
            refusal(connection, "42501", "SELECT * FROM sift.known_embeddings('t', 'm', '{}')")
            refusal(connection, "42501", "SELECT sift.put_embeddings('t', 'm', '{1}', '{[1,2,3]}')")
            refusal(connection, "42501", "SELECT * FROM sift.chunk_embeddings_m1")


@pytest.mark.parametrize("dimensions", [384, 768, 1536, 2000])
def test_vectors_stay_in_the_row(dsn: str, dimensions: int) -> None:
    """A scan that computes distances finds each vector in its row, not through the TOAST index; and the rows
    per page are what sift._dense_leg reckons with."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard')")
        connection.execute("SELECT sift.register_model('m', %s)", (dimensions,))
        connection.execute(
            "SELECT sift.put_documents('t', %s::jsonb, model => 'm')",
            (
                json.dumps(
                    [
                        {
                            "key": "k",
                            "chunks": [
                                {
                                    "body": f"text {i}",
                                    "embedding": [(i * j % 7) + 0.5 for j in range(dimensions)],
                                }
                                for i in range(20)
                            ],
                        }
                    ]
                ),
            ),
        )
        row = connection.execute(
            "SELECT pg_relation_size(reltoastrelid), pg_relation_size(oid) / 8192 FROM pg_class"
            " WHERE relname = 'chunk_embeddings_m1'"
        ).fetchone()
        # A partition without anything to store out of line may have no such table at all.
        if row is None:
            row = (
                0,
                connection.execute("SELECT pg_relation_size('sift.chunk_embeddings_m1') / 8192").fetchone()[
                    0
                ],
            )  # type: ignore[index]
    assert row[0] in (0, None)
    per_page = 8168 // (4 + (76 + 7 + 4 * dimensions) // 8 * 8)
    assert per_page == {384: 5, 768: 2, 1536: 1, 2000: 1}[dimensions]
    assert row[1] == -(-20 // per_page)


# --- vectors in


def test_vectors_are_stored_counted_and_replaced(store: psycopg.Connection) -> None:
    ids = chunk_ids(store)
    assert put(store, ids, ["[1,2,3]", "[1, 0, 0]", None, "[0,1e-3,0]"]) == 3
    assert_counts_right(store)
    assert (
        put(store, [ids[0], ids[2], 10**15], ["[3,2,1]", "[1,1,1]", "[1,1,1]"]) == 2
    )  # the last chunk does not exist
    assert_counts_right(store)
    assert store.execute(
        "SELECT embedding::text FROM sift.chunk_embeddings WHERE chunk_id = %s", (ids[0],)
    ).fetchone() == ("[3,2,1]",)
    assert put(store, [ids[0], ids[0]], ["[1,1,1]", "[2,2,2]"]) == 1  # the later one counts
    assert store.execute(
        "SELECT embedding::text FROM sift.chunk_embeddings WHERE chunk_id = %s", (ids[0],)
    ).fetchone() == ("[2,2,2]",)
    assert_counts_right(store)
    assert put(store, [], []) == 0
    assert put(store, [ids[0]], [None]) == 0
    store.execute("SELECT sift.delete_documents('t', '{d0,d1}')")
    assert_counts_right(store)
    assert store.execute("SELECT count(*) FROM sift.chunk_embeddings").fetchone() == (2,)


def test_the_first_model_a_tenant_gets_vectors_of_is_its_active_one(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('other', 2)")
    ids = chunk_ids(store)
    assert put(store, ids[:1], [None]) == 0
    assert store.execute("SELECT model_id FROM sift.tenants WHERE name = 't'").fetchone() == (None,)
    put(store, ids[:1], ["[1,2,3]"])
    put(store, ids[:1], ["[1,2]"], model="other")
    active = store.execute(
        "SELECT m.name FROM sift.tenants AS t JOIN sift.embedding_models AS m USING (model_id) WHERE"
        " t.name = 't'"
    )
    assert active.fetchone() == ("m",)
    assert_counts_right(store)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ("[1,2]", ["2 dimensions", "has 3"]),
        ("[1,2,3,4]", ["4 dimensions", "has 3"]),
        ("[0,0,0]", ["zero norm"]),
        ("[1e-30,0,0]", ["zero norm"]),
        ("[1,NaN,0]", ["NaN", "position 2"]),
        ("[1,0,Infinity]", ["infinite", "position 3"]),
        ("[-Infinity,0,0]", ["infinite", "position 1"]),
        ("[1,null,0]", ["no number", "position 2"]),
        ("[1e30,0,0]", ["too large"]),
        ("[1e400,0,0]", ["1e400"]),
        ("nonsense", ["list of numbers"]),
        ("", ["list of numbers"]),
        ("[]", ["0 dimensions", "has 3"]),
        ("[[1,2,3]]", ["array of 2 dimensions"]),
    ],
)
def test_a_vector_that_cannot_be_searched_is_refused_by_name(
    store: psycopg.Connection, vector: str, words: list[str]
) -> None:
    ids = chunk_ids(store)
    diagnostic = refusal(
        store,
        "PS005",
        "SELECT sift.put_embeddings('t', 'm', %s::bigint[], %s)",
        ids,
        ["[1,2,3]", vector, "[3,2,1]", None],
    )
    said = str(diagnostic.message_primary)
    assert said.startswith('the vector of chunk 1 of "d1" ')
    assert [word for word in words if word not in said] == []
    assert store.execute("SELECT count(*) FROM sift.chunk_embeddings").fetchone() == (0,)
    assert store.execute("SELECT count(*) FROM sift.embedding_stats").fetchone() == (0,)


def test_zero_is_a_vector_like_others_where_it_has_distances(store: psycopg.Connection) -> None:
    for metric in ("ip", "l2"):
        store.execute("SELECT sift.register_model(%s, 3, metric => %s)", (metric, metric))
        assert put(store, chunk_ids(store)[:1], ["[0,0,0]"], model=metric) == 1


@pytest.mark.parametrize(("number", "word"), [("70000", "65504"), ("1e-9", "zero norm")])
def test_half_precision_has_narrower_bounds(store: psycopg.Connection, number: str, word: str) -> None:
    store.execute("SELECT sift.register_model('h', 2, vector_type => 'halfvec')")
    said = refusal(
        store,
        "PS005",
        "SELECT sift.put_embeddings('t', 'h', %s::bigint[], %s)",
        chunk_ids(store)[:1],
        [f"[{number},{number}]"],
    )
    assert word in str(said.message_primary)


def test_arrays_of_different_lengths_are_refused(store: psycopg.Connection) -> None:
    ids = chunk_ids(store)
    refusal(store, "PS002", "SELECT sift.put_embeddings('t', 'm', %s::bigint[], %s)", ids, ["[1,2,3]"])
    refusal(
        store,
        "PS002",
        "SELECT sift.put_embeddings('t', 'm', %s::bigint[], %s, %s)",
        ids[:1],
        ["[1,2,3]"],
        [b"a", b"b"],
    )
    refusal(
        store, "PS006", "SELECT sift.put_embeddings('t', 'unheard', %s::bigint[], %s)", ids[:1], ["[1,2,3]"]
    )
    refusal(store, "PS002", "SELECT sift.put_embeddings('t', NULL, %s::bigint[], %s)", ids[:1], ["[1,2,3]"])
    refusal(
        store, "PS001", "SELECT sift.put_embeddings('unheard', 'm', %s::bigint[], %s)", ids[:1], ["[1,2,3]"]
    )


def test_moving_access_moves_the_vectors_and_their_counts(store: psycopg.Connection) -> None:
    put(store, chunk_ids(store), ["[1,2,3]"] * 4)
    store.execute("SELECT sift.set_access('t', '{d0,d1}', '{group:hr}')")
    assert_counts_right(store)
    assert store.execute("SELECT count(DISTINCT access_list_id) FROM sift.chunk_embeddings").fetchone() == (
        2,
    )


def test_counts_of_vectors_are_folded(store: psycopg.Connection) -> None:
    for chunk in chunk_ids(store):
        put(store, [chunk], ["[1,2,3]"])
    store.execute("SELECT sift.set_access('t', '{d0,d1,d2}', '{group:hr}')")
    store.execute("SELECT sift.delete_documents('t', '{d3}')")
    assert store.execute("SELECT count(*) > 8 FROM sift.embedding_stats").fetchone() == (True,)
    store.execute("SELECT sift.fold_statistics('t')")
    assert store.execute("SELECT array_agg(vectors) FROM sift.embedding_stats").fetchone() == ([3],)
    assert_counts_right(store)


def test_a_backfill_beside_a_change_of_access(dsn: str) -> None:
    """Whichever comes first, the list beside the vector is the chunk's, and the counts are right."""
    with psycopg.connect(dsn) as setup:
        setup.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        setup.execute("SELECT sift.register_model('m', 3)")
        setup.execute(
            'SELECT sift.put_documents(\'t\', \'[{"key": "a", "text": "x"}, {"key": "b", "text": "y"}]\')'
        )
        ids = chunk_ids(setup)
    with psycopg.connect(dsn) as mover, psycopg.connect(dsn) as filler, ThreadPoolExecutor(1) as pool:
        # Of two documents on one list one moves: were it the only one, its list would be edited and nothing wait.
        mover.execute("SELECT sift.set_access('t', '{a}', '{group:hr}')")
        waiting = pool.submit(put, filler, ids, ["[1,2,3]", "[3,2,1]"])
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        mover.commit()
        assert waiting.result(20) == 2
        filler.commit()
        assert_counts_right(filler)
        filler.rollback()
        mover.execute("SELECT sift.set_access('t', '{b}', '{group:hr}')")
        mover.commit()
        put(filler, ids, ["[1,1,1]", "[1,1,1]"])
        moving = pool.submit(mover.execute, "SELECT sift.set_access('t', '{a}', '{group:it}')")
        with pytest.raises(TimeoutError):
            moving.result(0.3)
        filler.commit()
        moving.result(20)
        mover.commit()
        assert_counts_right(mover)


def test_backfills_of_the_same_chunks_at_once(dsn: str) -> None:
    with psycopg.connect(dsn) as setup:
        setup.execute("SELECT sift.create_tenant('t', 'standard')")
        setup.execute("SELECT sift.register_model('m', 3)")
        documents = json.dumps([{"key": f"{i:03}", "text": f"text {i}"} for i in range(60)])
        setup.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents,))
        ids = chunk_ids(setup)

    def fill(seed: int) -> None:
        with psycopg.connect(dsn) as connection:
            for step in range(6):
                part = [ids[(seed * 17 + step * 11 + i * 7) % len(ids)] for i in range(25)]
                if step == 4:
                    connection.execute("SELECT sift.delete_documents('t', %s)", ([f"{seed * 3:03}"],))
                else:
                    put(connection, part, [f"[{seed + 1},{step},{i}]" for i in range(25)])
                connection.commit()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(fill, range(6)))
    with psycopg.connect(dsn) as connection:
        assert_counts_right(connection)


# --- vectors out


def test_the_chunks_that_lack_a_vector(store: psycopg.Connection) -> None:
    ids = chunk_ids(store)
    put(store, [ids[1]], ["[1,2,3]"])

    def lacking(arguments: str) -> list[tuple[Any, ...]]:
        return store.execute(  # type: ignore[arg-type]
            f"SELECT w.chunk_id, w.title, w.body FROM sift.chunks_without_embedding({arguments}) AS w"
        ).fetchall()

    assert lacking("'t', 'm'") == [(ids[i], f"Title {i}", f"text {i}") for i in (0, 2, 3)]
    assert lacking("'t'") == lacking("'t', 'm'")
    assert lacking("'t', 'm', 1") == [(ids[0], "Title 0", "text 0")]
    assert lacking(f"'t', 'm', 5, {ids[2]}") == [(ids[3], "Title 3", "text 3")]
    assert lacking("'t', 'm', 0") == []
    refusal(store, "PS002", "SELECT * FROM sift.chunks_without_embedding('t', 'm', -1)")
    store.execute("SELECT sift.create_tenant('bare', 'standard')")
    refusal(store, "PS006", "SELECT * FROM sift.chunks_without_embedding('bare')")


def test_the_same_text_is_not_embedded_twice(store: psycopg.Connection) -> None:
    ids = chunk_ids(store)
    known, other = hashlib.sha256(b"a").digest(), hashlib.sha256(b"b").digest()
    put(store, ids[:2], ["[1,2,3]", "[1,2,3]"], hashes=[known, known])
    put(store, ids[2:3], ["[4,5,6]"])  # without a hash: it is found by none
    found = store.execute(
        "SELECT hash, embedding FROM sift.known_embeddings('t', 'm', %s)", ([known, other, known],)
    ).fetchall()
    assert found == [(known, [1.0, 2.0, 3.0])]
    assert store.execute(
        "SELECT count(*) FROM sift.known_embeddings('t', 'm', %s)",
        ([hashlib.sha256(b"[4,5,6]").digest(), hashlib.sha256(b"text 2").digest()],),
    ).fetchone() == (0,)
    store.execute("SELECT sift.register_model('h', 3, vector_type => 'halfvec')")
    put(store, ids[:1], ["[0.5,0.25,1]"], model="h", hashes=[known])
    assert store.execute(
        "SELECT embedding FROM sift.known_embeddings('t', 'h', %s)", ([known],)
    ).fetchone() == ([0.5, 0.25, 1.0],)
    store.execute("SELECT sift.create_tenant('other', 'standard')")
    assert store.execute("SELECT * FROM sift.known_embeddings('other', 'm', %s)", ([known],)).fetchall() == []


def test_the_vector_of_a_query_is_kept_by_its_trimmed_text(store: psycopg.Connection) -> None:
    ids = chunk_ids(store)
    put(store, ids, ["[1,0,0]", "[0,1,0]", "[0,0,1]", "[1,1,1]"])
    store.execute("SELECT sift.cache_query_embedding('t', E'  zebra \\n', '{0,1,0}')")
    found = store.execute("SELECT key, legs FROM sift.search('t', 'zebra', 1, '{public}')").fetchall()
    assert [key for key, _ in found] == ["d1"]
    store.execute("SELECT sift.cache_query_embedding('t', 'zebra', '{0,0,1}', 'm')")
    assert store.execute("SELECT key FROM sift.search('t', ' zebra', 1, '{public}')").fetchall() == [("d2",)]
    assert store.execute("SELECT count(*) FROM sift.query_embeddings").fetchone() == (1,)


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "words"),
    [
        ("'t', 'q', '{1,2}', 'm'", "PS005", ["2 dimensions", "has 3"]),
        ("'t', 'q', '{0,0,0}', 'm'", "PS005", ["zero norm"]),
        ("'t', 'q', '{1,NaN,0}', 'm'", "PS005", ["NaN"]),
        ("'t', 'q', NULL, 'm'", "PS005", ["missing"]),
        ("'t', '  ', '{1,2,3}', 'm'", "PS002", ["2000 bytes"]),
        ("'t', repeat('x', 2001), '{1,2,3}', 'm'", "PS002", ["2001"]),
        ("'t', NULL, '{1,2,3}', 'm'", "PS002", []),
        ("'t', 'q', '{1,2,3}'", "PS006", ["no embedding model yet"]),
        ("'t', 'q', '{1,2,3}', 'unheard'", "PS006", ["unheard"]),
        ("'unheard', 'q', '{1,2,3}', 'm'", "PS001", ["unheard"]),
    ],
)
def test_query_vectors_that_are_not_kept(
    store: psycopg.Connection, arguments: str, sqlstate: str, words: list[str]
) -> None:
    said = str(refusal(store, sqlstate, f"SELECT sift.cache_query_embedding({arguments})").message_primary)
    assert [word for word in words if word not in said] == []
