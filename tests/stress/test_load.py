"""Readers and writers at once, with maintenance beside them: nothing is lost, torn, shown to the wrong people,
or blocked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import load
import psycopg
import pytest

from pgsift import schema

#: The long form, of ``make stress``.
SECONDS = float(os.environ.get("STRESS_SECONDS", "180"))


@pytest.mark.parametrize(
    ("seconds", "writers", "readers"),
    [
        pytest.param(3.0, 4, 2, id="short"),
        pytest.param(SECONDS, 8, 4, id="long", marks=[pytest.mark.stress, pytest.mark.timeout(SECONDS + 600)]),
    ],
)
def test_readers_and_writers(
    dsn: str, make_login: Callable[..., str], seconds: float, writers: int, readers: int
) -> None:
    load.prepare(dsn)
    begun = time.monotonic()
    with load.reader_login(dsn, make_login) as reader_dsn:
        total = load.run(dsn, reader_dsn, seconds, writers=writers, readers=readers)
    lost = load.compare_with_ledger(dsn, total["ledger"], total["versions"])
    derived = load.compare_derived(dsn)
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT count(*), (SELECT count(*) FROM sift.chunks) FROM sift.documents").fetchone()
    assert row is not None
    print(
        f"\n{writers} writers, {readers} readers, {time.monotonic() - begun:.0f} s\n"
        f"  operations: {total['written']:,} writing, {total['read']:,} reading, {total['maintained']:,} of"
        f" maintenance\n  {dict(sorted(total['done'].items()))}\n"
        f"  versions committed: {len(total['versions']):,}; at the end {row[0]:,} documents, {row[1]:,} chunks\n"
        f"  deadlocks: {total['deadlocks']}, serialization failures:"
        f" {total['errors'][load.SERIALIZATION]}, errors: {total['errors'].total()},"
        f" lost or wrong documents: {len(lost)}, wrong derivatives: {len(derived)}\n"
        f"  wrong answers: {total['wrong'].total()} {dict(total['wrong'])}"
    )
    faults = "\n".join([*total["details"], *lost[:20], *derived[:20]])
    assert (total["deadlocks"], dict(total["errors"]), dict(total["wrong"]), lost, derived) == (
        0,
        {},
        {},
        [],
        [],
    ), faults
    # It was a load: every kind of operation happened.
    assert total["written"] > 20 and total["read"] > 10 and total["maintained"] > 0
    if seconds >= 60:
        operations = [name for name in dir(load.Writer) if name in total["done"]]
        assert len(operations) >= 13
        assert sum(name.startswith("read_") for name in total["done"]) == 9
        assert total["done"]["reindex"] and total["done"]["new index"] and total["done"]["vacuum vectors"]


@pytest.mark.stress
@pytest.mark.timeout(1200)
def test_throughput(new_database: Callable[[], str]) -> None:
    """Documents per second with 1, 2, 4 and 8 writers, without vectors."""
    dsn = new_database()
    schema.upgrade(dsn)
    documents = int(os.environ.get("STRESS_DOCUMENTS", "4000"))
    print(f"\n{documents:,} documents, divided among the writers, on {os.cpu_count()} processors")
    print("writers  documents/s  chunks/s")
    for writers in (1, 2, 4, 8):
        documents_per_second, chunks_per_second = load.throughput(dsn, writers, documents)
        print(f"{writers:>7}  {documents_per_second:>11,.0f}  {chunks_per_second:>8,.0f}")
        assert documents_per_second > 0
