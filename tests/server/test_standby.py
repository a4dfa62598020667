"""A physical standby: the answers of the primary, searches while it writes, and a promotion while it serves."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from clusters import PATIENCE, Cluster, embedded_binaries
from clusters import new_cluster as new_cluster
from psycopg.conninfo import make_conninfo
from reading import answers, check_meaningful, fill, read_functions, write

from pgsift import Store, schema

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no embedded server there")


def caught_up(primary: str, standby: str) -> None:
    """Wait until the standby has replayed what the primary has written."""
    with psycopg.connect(primary, autocommit=True) as conn:
        row = conn.execute("SELECT pg_current_wal_lsn()").fetchone()
        assert row is not None
    with psycopg.connect(standby, autocommit=True) as conn:
        deadline = time.monotonic() + PATIENCE
        while conn.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() != (True,):
            assert time.monotonic() < deadline
            time.sleep(0.05)


class Reader(threading.Thread):
    """Searches in a loop on one connection; every state it sees has to be a whole one."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.stopped = threading.Event()
        self.searches = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as conn:
                while not self.stopped.is_set():
                    rows = conn.execute(
                        "SELECT s.key, s.document_version FROM sift.search('t', 'second green', k => 50,"
                        " query_embedding => '{1,2,2}', principals => '{public}') AS s"
                    ).fetchall()
                    assert rows
                    versions = conn.execute(
                        "SELECT count(DISTINCT s.document_version), count(*) FROM sift.search('t', 'whole', k => 50,"
                        " mode => 'lexical', collapse => false, principals => '{public}') AS s"
                    ).fetchone()
                    assert versions in ((0, 0), (1, 3)), versions
                    self.searches += 1
        except BaseException as error:
            self.failure = error

    def end(self) -> int:
        """How many searches it made; its failure is raised here."""
        self.stopped.set()
        self.join(PATIENCE)
        if self.failure is not None:
            raise self.failure
        return self.searches


def rewrite(dsn: str, turns: int) -> None:
    """One document of three chunks, replaced again and again, and what ingest does now and then."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        for turn in range(turns):
            chunks = ", ".join(f'{{"body": "whole part {part} of turn {turn}", "embedding": [1, {part}, 1]}}' for part in range(3))
            conn.execute(
                "SELECT count(*) FROM sift.put_documents('t', %s::jsonb, model => 'toy')",
                [f'[{{"key": "rewritten", "acl": ["public"], "chunks": [{chunks}]}}]'],
            )
            if turn % 10 == 0:
                conn.execute("SELECT * FROM sift.fold_statistics('t')")
                conn.execute("SELECT * FROM sift.pack_postings('t', purge => true)")
            if turn % 25 == 0:
                conn.execute("VACUUM sift.chunks, sift.term_stats, sift.posting_blocks")


def test_a_standby_answers_and_takes_over(new_cluster: Callable[[Path], Cluster]) -> None:
    first, second = (new_cluster(embedded_binaries()) for _ in range(2))
    first.initialize()
    first.start()
    primary = make_conninfo(first.dsn(), dbname="store")
    with psycopg.connect(first.dsn(), autocommit=True) as conn:
        conn.execute("CREATE DATABASE store TEMPLATE template0")
    schema.upgrade(primary)
    fill(primary)
    second.copy(first)
    second.start(hot_standby_feedback="on")
    standby = make_conninfo(second.dsn(), dbname="store")

    # Every function that reads gives the same bytes.
    caught_up(primary, standby)
    expected = answers(primary)
    check_meaningful(expected)
    assert answers(standby) == expected
    with psycopg.connect(standby) as conn:
        assert len(read_functions(conn)) > 20
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            conn.execute("SELECT sift.start_run('t')")
    with Store(standby) as store:
        report = store.doctor(sample=None)
        assert {f.check_name for f in report.findings if f.severity == "error"} == set()
    read_only = make_conninfo(primary, options="-c default_transaction_read_only=on")
    assert answers(read_only) == expected

    # Searches go on while the primary writes, and see each document whole.
    readers = [Reader(standby) for _ in range(2)]
    for reader in readers:
        reader.start()
    rewrite(primary, 60)
    caught_up(primary, standby)
    assert all(reader.end() > 5 for reader in readers)
    assert answers(standby) == answers(primary)

    # The primary dies, the standby is promoted while it serves.
    before = answers(standby)
    readers = [Reader(standby) for _ in range(2)]
    for reader in readers:
        reader.start()
    first.kill()
    second.promote()
    searched = [reader.searches for reader in readers]
    deadline = time.monotonic() + PATIENCE
    while any(reader.searches < count + 3 for reader, count in zip(readers, searched, strict=True)):
        assert time.monotonic() < deadline and all(reader.failure is None for reader in readers)
        time.sleep(0.05)
    assert all(reader.end() > 0 for reader in readers)
    assert answers(standby) == before
    write(standby)
    rewrite(standby, 3)
    with Store(standby) as store:
        store.fold_statistics()
        errors = [f for f in store.doctor(sample=None).findings if f.severity == "error"]
        assert errors == []
    with psycopg.connect(standby) as conn:
        assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
