"""Eight writers at once, with packing, folding and searches beside them: no deadlock, no miscount."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg

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
                        f"SELECT x.* FROM sift.{function}(1, %s, sift._visible_lists(1, '{{public}}'), NULL, NULL, 50, 1.2, 0.75) AS x",  # type: ignore[arg-type]
                        (terms,),
                    ).fetchall()
                    for function in ("_lexical_leg", "_lexical_exhaustive")
                ]
                assert results[0] == results[1]
            assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_a_remover_passes_over_what_is_being_packed(dsn: str) -> None:
    """Nobody waits: a deletion commits while a packing that holds its postings goes on, whether that is then
    committed or rolled back."""
    for outcome in ("COMMIT", "ROLLBACK"):
        with (
            psycopg.connect(dsn, autocommit=True) as packer,
            psycopg.connect(dsn, autocommit=True) as remover,
        ):
            remover.execute("SELECT sift.create_tenant('t', 'standard', exist_ok => true)")
            remover.execute("SELECT sift.set_default_access('t', '{public}')")
            documents = [
                {"key": f"{outcome}{number}", "text": f"word{number} shared"} for number in range(20)
            ]
            remover.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))
            packer.execute("BEGIN")
            packer.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
            remover.execute("SET lock_timeout = '5s'")
            remover.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", ([f"{outcome}3"],))
            packer.execute(outcome)  # type: ignore[arg-type]
            for _ in range(2):
                found = remover.execute(
                    "SELECT count(*) FROM sift.lexical_search('t', 'shared', 1000, '{public}') WHERE key LIKE %s",
                    (f"{outcome}%",),
                ).fetchone()
                assert found == (19,)
                assert remover.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
                remover.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
            left = remover.execute("SELECT count(*) FROM sift.posting_blocks WHERE term = 'word3'").fetchone()
            rows = remover.execute("SELECT count(*) FROM sift.chunk_terms").fetchone()
            assert (left, rows) == ((0,), (0,))
            remover.execute("SELECT sift.drop_tenant('t')")
