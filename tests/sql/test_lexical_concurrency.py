"""Eight writers at once, with packing, folding and searches beside them: no deadlock, no miscount."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

WRITERS = 8
DOCUMENTS = 200
TERMS = [f"term{number}" for number in range(50)]


def write(dsn: str, writer: int) -> None:
    """200 documents of shared terms in random order, some deleted or replaced again, in transactions of several
    calls."""
    rng = random.Random(writer)
    keys = [f"{writer}-{number}" for number in range(DOCUMENTS)]
    with psycopg.connect(dsn, autocommit=True) as conn:
        while keys:
            with conn.transaction():
                for _ in range(rng.randrange(1, 4)):
                    batch = [keys.pop() for _ in range(min(len(keys), rng.randrange(1, 12)))]
                    documents = [
                        {
                            "key": key,
                            "chunks": [{"body": "b", "tokens": " ".join(rng.choices(TERMS, k=12))}] * 2,
                        }
                        for key in batch
                    ]
                    if rng.random() < 0.1:
                        documents[:1] = (
                            [{"key": f"{writer}-big", "chunks": documents[0]["chunks"] * 150}]
                            if batch
                            else []
                        )
                    conn.execute(
                        "SELECT count(*) FROM sift.put_documents('t', %s, sift.analyzer_fingerprint('standard'))",
                        (json.dumps(documents),),
                    )
            if rng.random() < 0.5:
                gone = [f"{writer}-{rng.randrange(DOCUMENTS)}" for _ in range(rng.randrange(1, 9))]
                conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", (gone,))


def until(stop: threading.Event, dsn: str, *statements: str) -> int:
    """Runs the statements over and over; returns how many rounds."""
    rounds = 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        while not stop.is_set():
            for statement in statements:
                conn.execute(statement)  # type: ignore[arg-type]
            rounds += 1
            stop.wait(0.02)
    return rounds


def read(stop: threading.Event, dsn: str) -> int:
    """Searches; each answer holds both chunks of a document or none, since both hold the same terms."""
    rounds = 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        while not stop.is_set():
            rows = conn.execute(
                "SELECT key, count(*) FROM sift.lexical_search('t', %s, 10000, '{public}') WHERE key NOT LIKE %s GROUP BY key",
                (random.choice(TERMS), "%big"),
            ).fetchall()
            assert {count for _, count in rows} <= {2}
            rounds += 1
    return rounds


def test_eight_writers(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.set_default_access('t', '{public}')")
        stop = threading.Event()
        with ThreadPoolExecutor(WRITERS + 4) as pool:
            beside: list[Future[int]] = [
                pool.submit(until, stop, dsn, "SELECT count(*) FROM sift.pack_postings('t', true)"),
                pool.submit(until, stop, dsn, "SELECT count(*) FROM sift.pack_postings()", "SELECT count(*) FROM sift.fold_statistics()"),
                pool.submit(until, stop, dsn, "SELECT count(*) FROM sift.fold_statistics('t')"),
                pool.submit(read, stop, dsn),
            ]  # fmt: skip
            writers = [pool.submit(write, dsn, number) for number in range(WRITERS)]
            errors = [error for future in writers if (error := future.exception()) is not None]
            stop.set()
            assert errors == []
            assert all(future.result() > 0 for future in beside)
        assert conn.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone() == (0,)
        assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
        for finish in (
            "SELECT 1",
            "SELECT count(*) FROM sift.fold_statistics()",
            "SELECT count(*) FROM sift.pack_postings('t', true)",
        ):
            conn.execute(finish)  # type: ignore[arg-type]
            for terms in (TERMS[:1], TERMS[3:6], TERMS[10:22]):
                results = [
                    conn.execute(
                        f"SELECT x.* FROM sift.{function}(1, %s, sift._visible_lists(1, '{{public}}', current_user::regrole), NULL, NULL, 50, 1.2, 0.75) AS x",  # type: ignore[arg-type]
                        (terms,),
                    ).fetchall()
                    for function in ("_lexical_leg", "_lexical_exhaustive")
                ]
                assert results[0] == results[1]
            assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


@pytest.mark.parametrize("outcome", ["COMMIT", "ROLLBACK"])
def test_a_replacement_passes_over_what_is_being_packed(dsn: str, outcome: str) -> None:
    """Nobody waits: a replacement commits while a packing that holds the old postings goes on, whether that is
    then committed or rolled back."""
    with packing(dsn, outcome) as (packer, writer):
        writer.execute("SET lock_timeout = '5s'")
        writer.execute(
            "SELECT count(*) FROM sift.put_documents('t', %s)",
            (json.dumps([{"key": f"{outcome}3", "text": "other"}]),),
        )
        packer.execute(outcome)  # type: ignore[arg-type]
        for _ in range(2):
            found = writer.execute(
                "SELECT count(*) FROM sift.lexical_search('t', 'shared', 1000, '{public}') WHERE key LIKE %s",
                (f"{outcome}%",),
            ).fetchone()
            assert found == (19,)
            assert writer.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
            writer.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
        left = writer.execute("SELECT count(*) FROM sift.posting_blocks WHERE term = 'word3'").fetchone()
        rows = writer.execute("SELECT count(*) FROM sift.chunk_terms").fetchone()
        assert (left, rows) == ((0,), (0,))


@pytest.mark.parametrize("outcome", ["COMMIT", "ROLLBACK"])
def test_a_delete_waits_for_what_is_being_packed(dsn: str, outcome: str) -> None:
    """Whether the chunk's postings end up in the new block or stay rows, the delete takes them along."""
    with packing(dsn, outcome) as (packer, writer), ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(
            writer.execute, "SELECT count(*) FROM sift.delete_documents('t', %s)", ([f"{outcome}3"],)
        )
        wait_for_a_lock(packer)
        packer.execute(outcome)  # type: ignore[arg-type]
        deleting.result(timeout=30)
        no_trace(writer, "word3")


def test_a_delete_waits_for_a_merge_and_finds_the_new_block(dsn: str) -> None:
    with packing(dsn, "a") as (packer, writer), ThreadPoolExecutor(1) as pool:
        packer.execute("COMMIT")
        # A replaced chunk, for the block to be rewritten without; then a merge that is held open.
        writer.execute(
            "SELECT count(*) FROM sift.put_documents('t', %s)",
            (json.dumps([{"key": "a5", "text": "other"}]),),
        )
        packer.execute("BEGIN")
        packer.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
        deleting = pool.submit(writer.execute, "SELECT count(*) FROM sift.delete_documents('t', '{a3,a4}')")
        wait_for_a_lock(packer)
        packer.execute("COMMIT")
        deleting.result(timeout=30)
        no_trace(writer, "word3")
        no_trace(writer, "word5")


@contextlib.contextmanager
def packing(dsn: str, prefix: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    """Twenty small documents, and a transaction that has just packed them; it and another connection."""
    with (
        psycopg.connect(dsn, autocommit=True) as packer,
        psycopg.connect(dsn, autocommit=True) as writer,
    ):
        writer.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        documents = [{"key": f"{prefix}{number}", "text": f"word{number} shared"} for number in range(20)]
        writer.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))
        packer.execute("BEGIN")
        packer.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
        yield packer, writer


def wait_for_a_lock(conn: psycopg.Connection) -> None:
    """Until another session of this database waits for a lock; a minute at most."""
    for _ in range(600):
        conn.execute("SELECT pg_stat_clear_snapshot()")
        waiting = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        if waiting != (0,):
            return
        time.sleep(0.1)
    raise AssertionError("nobody waits")


def no_trace(conn: psycopg.Connection, term: str) -> None:
    for table in ("posting_blocks", "chunk_terms"):
        left = conn.execute(f"SELECT count(*) FROM sift.{table} WHERE term = %s", (term,))  # type: ignore[arg-type]
        assert left.fetchone() == (0,)
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    assert conn.execute(
        "SELECT count(*) FROM sift.posting_blocks AS b, unnest(b.postings) AS p WHERE NOT EXISTS"
        " (SELECT FROM sift.chunks AS c WHERE c.chunk_id = p >> 23)"
    ).fetchone() == (0,)


def test_deleters_of_the_same_blocks_do_not_deadlock(dsn: str) -> None:
    """Four deleters of random documents out of many blocks, with merging beside them."""
    keys = [f"{block}-{number}" for block in range(6) for number in range(300)]
    random.Random(3).shuffle(keys)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        for block in range(6):
            documents = [
                {"key": f"{block}-{number}", "text": f"shared w{number % 7} own{block}x{number}"}
                for number in range(300)
            ]
            conn.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))

        def delete(part: int) -> None:
            with psycopg.connect(dsn, autocommit=True) as mine:
                for start in range(part * 400, part * 400 + 400, 20):
                    mine.execute(
                        "SELECT count(*) FROM sift.delete_documents('t', %s)", (keys[start : start + 20],)
                    )

        stop = threading.Event()
        with ThreadPoolExecutor(5) as pool:
            upkeep = pool.submit(until, stop, dsn, "SELECT count(*) FROM sift.pack_postings('t', true)")
            errors = [future.exception() for future in [pool.submit(delete, part) for part in range(4)]]
            stop.set()
            assert errors == [None] * 4
            assert upkeep.result() > 0
        assert conn.execute("SELECT sum(chunks) FROM sift.packed_chunks").fetchone() == (200,)
        no_trace(conn, f"own{keys[0].replace('-', 'x')}")
        assert conn.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone() == (0,)
