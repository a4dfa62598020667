"""sift.put_documents and sift.delete_documents: what is stored, what a second call changes, who waits for whom."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    return conn


def put(conn: psycopg.Connection, *documents: dict[str, Any], **options: Any) -> list[tuple[Any, ...]]:
    extra = "".join(f", {name} => %s" for name in options)
    return conn.execute(
        f"SELECT key, status, version, chunks FROM sift.put_documents('t', %s::jsonb{extra})",  # type: ignore[arg-type]
        [json.dumps(documents), *options.values()],
    ).fetchall()


def refused(conn: psycopg.Connection, sqlstate: str, *documents: Any, **options: Any) -> str:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        put(conn, *documents, **options)
    assert caught.value.sqlstate == sqlstate, caught.value
    return str(caught.value.diag.message_primary)


def found(conn: psycopg.Connection, query: str) -> set[str]:
    return {key for (key,) in conn.execute(
        "SELECT key FROM sift.lexical_search('t', %s, 100, '{public}')", (query,)).fetchall()}


def test_the_four_states_of_a_document(store: psycopg.Connection) -> None:
    document = {"key": "a", "title": "T", "text": "quick fox", "metadata": {"n": 1}}
    assert put(store, document) == [("a", "created", 1, 1)]
    assert put(store, document) == [("a", "unchanged", 1, 1)]
    assert put(store, {**document, "metadata": {"n": 2}}) == [("a", "updated", 1, 1)]
    assert put(store, {**document, "text": "slow snail"}) == [("a", "replaced", 2, 1)]
    assert found(store, "fox") == set()
    assert found(store, "snail") == {"a"}
    assert store.execute("SELECT version, revision, event FROM sift.document_versions ORDER BY version, revision").fetchall() == [
        (1, 0, "created"), (1, 1, "updated"), (2, 0, "replaced")]
    store.execute("SELECT sift.delete_documents('t', '{a}', 'no longer true')")
    assert store.execute("SELECT version, event, reason FROM sift.document_versions ORDER BY version").fetchall()[-1] == (
        3, "deleted", "no longer true")


def test_a_long_document_takes_memory_in_proportion_to_its_size(store: psycopg.Connection) -> None:
    """800 chunks of one kilobyte. Sorted together with the document each of them is from, they would fill 800 MB of temporary files."""
    bodies = [f"fox{number} " + " ".join(f"w{number * 7 + place}" for place in range(150)) for number in range(800)]
    store.execute("SET temp_file_limit = '32MB'")
    assert put(store, {"key": "long", "title": "T", "chunks": [{"body": body} for body in bodies]}) == [("long", "created", 1, 800)]
    assert store.execute("SELECT array_agg(c.body ORDER BY c.ordinal) FROM sift.chunks AS c").fetchone() == (bodies,)
    assert found(store, "fox799") == {"long"}


def test_the_hash_of_the_source_decides(store: psycopg.Connection) -> None:
    document = {"key": "a", "text": "quick fox", "content_hash": "ab" * 32}
    put(store, document)
    assert put(store, {**document, "text": "other words"}) == [("a", "unchanged", 1, 1)]
    assert put(store, {**document, "content_hash": "cd" * 32}) == [("a", "replaced", 2, 1)]


def test_nothing_of_a_deleted_document_is_left(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('toy', 2)")
    put(store, {"key": "a", "chunks": [{"body": "gone soon", "embedding": [1, 0], "entities": ["e"]}]}, model="toy")
    store.execute("SELECT sift.delete_documents('t', '{a}')")
    for table in ("documents", "chunks", "chunk_terms", "posting_blocks", "chunk_embeddings", "chunk_entities"):
        assert store.execute(f"SELECT count(*) FROM sift.{table}").fetchone() == (0,), table  # type: ignore[arg-type]
    assert store.execute("SELECT sum(chunks), sum(total_length) FROM sift.corpus_stats").fetchone() == (0, 0)
    assert store.execute("SELECT count(*) FROM sift.term_stats").fetchone() == (0,)
    assert store.execute("SELECT sum(vectors) FROM sift.embedding_stats").fetchone() == (0,)


def test_deleting_says_which_keys_there_were(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "one"}, {"key": "b", "text": "two"})
    assert store.execute("SELECT key, deleted FROM sift.delete_documents('t', '{b,zz,a}')").fetchall() == [
        ("b", True), ("zz", False), ("a", True)]


def test_tokens_of_a_client_need_its_fingerprint(store: psycopg.Connection) -> None:
    fingerprint = store.execute("SELECT sift.analyzer_fingerprint('standard')").fetchone()
    assert fingerprint is not None
    document = {"key": "a", "chunks": [{"body": "quick fox", "tokens": "quick fox quick"}]}
    refused(store, "PS007", document)
    message = refused(store, "PS007", document, fingerprint="another")
    assert "another" in message and fingerprint[0] in message
    put(store, document, fingerprint=fingerprint[0])
    assert store.execute("SELECT tokens, doc_length FROM sift.chunks").fetchall() == [("quick fox quick", 3)]


@pytest.mark.parametrize(
    "document",
    ["text", {"text": "no key"}, {"key": ""}, {"key": "x" * 2001}, {"key": "a", "metadata": []}, {"key": "a", "chunks": {}},
     {"key": "a", "content_hash": "abc"}, {"key": "a", "acl": "public"}, {"key": "a", "chunks": [{"body": "x", "kind": "poem"}]},
     {"key": "a", "chunks": [{"kind": "text"}]}, {"key": "a", "chunks": [{"body": "x", "start": 5, "end": 1}]},
     {"key": "a", "chunks": ["text"]}, {"key": "a", "observed_at": "yesterday-ish"}],
)
def test_malformed_documents_are_refused(store: psycopg.Connection, document: Any) -> None:
    refused(store, "PS012", document)


def test_a_batch_is_an_array_without_repeated_keys(store: psycopg.Connection) -> None:
    refused(store, "PS012", {"key": "a", "text": "x1"}, {"key": "a", "text": "x2"})
    for documents in ("{}", "null", '"x"'):
        with pytest.raises(psycopg.Error) as caught, store.transaction():
            store.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents,))
        assert caught.value.sqlstate == "PS012"
    assert put(store) == []


def test_one_bad_vector_stores_nothing_of_the_batch(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('toy', 2)")
    good = {"key": "good", "chunks": [{"body": "fine words", "embedding": [1, 0]}]}
    for vector in ([1, 2, 3], [0, 0], [1]):
        bad = {"key": "bad", "chunks": [{"body": "odd words", "embedding": vector}]}
        refused(store, "PS005", good, bad, model="toy")
    assert store.execute("SELECT count(*) FROM sift.documents").fetchone() == (0,)
    refused(store, "PS006", good, model="unheard of")


def test_a_document_without_text_has_no_chunks(store: psycopg.Connection) -> None:
    assert put(store, {"key": "a", "text": "  \n"}, {"key": "b"}, {"key": "c", "chunks": []}) == [
        ("a", "created", 1, 0), ("b", "created", 1, 0), ("c", "created", 1, 0)]


def test_words_too_long_for_an_index_are_cut(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "x" * 300_000 + " fine"}, {"key": "b", "text": "https://e.org/" + "y" * 5000})
    assert found(store, "fine") == {"a"}
    assert found(store, "x" * 300_000) == {"a"}


def write(dsn: str, number: int, barrier: threading.Barrier) -> str:
    document = {"key": "one", "chunks": [{"body": f"version of writer{number} part{i}"} for i in range(5)]}
    with psycopg.connect(dsn, autocommit=True) as connection:
        barrier.wait()
        row = connection.execute("SELECT status FROM sift.put_documents('t', %s::jsonb)", (json.dumps([document]),)).fetchone()
    assert row is not None
    return str(row[0])


def test_two_writers_of_one_key_end_as_one_version(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        barrier = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            statuses = sorted(pool.map(lambda n: write(dsn, n, barrier), range(2)))
        assert statuses == ["created", "replaced"]
        bodies = connection.execute("SELECT DISTINCT split_part(body, ' ', 3), count(*) FROM sift.chunks GROUP BY 1").fetchall()
        assert len(bodies) == 1 and bodies[0][1] == 5
        assert connection.execute("SELECT version FROM sift.documents").fetchall() == [(2,)]
        assert connection.execute("SELECT sum(chunks) FROM sift.corpus_stats").fetchone() == (5,)


def test_readers_see_a_whole_document_or_the_one_before(dsn: str) -> None:
    """A document shrinks from nine chunks to two and grows again; every reader counts nine or two."""

    def document(size: int) -> str:
        return json.dumps([{"key": "one", "chunks": [{"body": f"marker size{size} part{i}"} for i in range(size)]}])

    stop = threading.Event()
    counts: set[int] = set()

    def read() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            while not stop.is_set():
                counts.add(len(connection.execute(
                    "SELECT chunk_id FROM sift.lexical_search('t', 'marker', 50, '{public}')").fetchall()))

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        connection.execute("SELECT sift.put_documents('t', %s::jsonb)", (document(9),))
        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            for _ in range(40):
                for size in (2, 9):
                    connection.execute("SELECT sift.put_documents('t', %s::jsonb)", (document(size),))
            stop.set()
            for reader in readers:
                reader.result()
    assert counts == {2, 9}
