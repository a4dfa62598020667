"""A revision is applied while writers and readers work: nobody waits long, and an interruption can be made good.

The history has as many revisions as it has; so one is made up that changes two tables in use and a function.
"""

from __future__ import annotations

import json
import shutil
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgsift import _resources, schema
from pgsift.errors import PgsiftError

HEAD = schema.head()
NEXT = f"{int(HEAD) + 1:04}"

REVISION = """
    from alembic import op
    from pgsift._replaceable import execute, install, restore

    revision = {next!r}
    down_revision = {head!r}
    branch_labels = None
    depends_on = None

    def upgrade():
        execute(op, "ALTER TABLE sift.chunks ADD COLUMN note text;")
        execute(op, "ALTER TABLE sift.documents ADD COLUMN note text;")
        execute(op, "SELECT pg_catalog.pg_sleep({pause});")
        install(op, revision, "functions/schema_version", "owner")

    def downgrade():
        restore(op, revision, "functions/schema_version")
        execute(op, "ALTER TABLE sift.documents DROP COLUMN note;")
        execute(op, "ALTER TABLE sift.chunks DROP COLUMN note;")
"""


@pytest.fixture
def next_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that adds the made-up revision to a copy of the history, with a pause while it holds its locks."""
    copy = tmp_path / "migrations"
    shutil.copytree(_resources.migrations_directory(), copy, ignore=shutil.ignore_patterns("__pycache__"))

    def add(pause: float) -> None:
        text = textwrap.dedent(REVISION.format(next=NEXT, head=HEAD, pause=pause))
        (copy / "versions" / f"{NEXT}_made_up.py").write_text(text, encoding="utf-8")
        changed = copy / "snapshots" / NEXT / "functions" / "schema_version.sql"
        changed.parent.mkdir(parents=True, exist_ok=True)
        before = (copy / "snapshots" / HEAD / "functions" / "schema_version.sql").read_text(encoding="utf-8")
        changed.write_text(before.replace("BEGIN", "BEGIN  -- of the next revision", 1), encoding="utf-8")
        monkeypatch.setattr(_resources, "migrations_directory", lambda: copy)
        assert schema.head() == NEXT

    return add


def load(dsn: str, chunks: int) -> int:
    """So many chunks of about 40 terms; returns the number of postings."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        for start in range(0, chunks, 2000):
            documents = [
                {"key": f"d{n}", "text": " ".join(f"w{(n * 31 + term * term) % 5000}" for term in range(44))}
                for n in range(start, min(start + 2000, chunks))
            ]
            conn.execute("SELECT count(*) FROM sift.put_documents('t', %s::jsonb)", [json.dumps(documents)])
        (postings,) = conn.execute(
            "SELECT (SELECT sum(b.df) FROM sift.posting_blocks AS b) + (SELECT count(*) FROM sift.chunk_terms)"
        ).fetchone() or (0,)
    return int(postings)


class Worker(threading.Thread):
    """Runs a statement again and again; the server refuses it any lock it would wait a second for."""

    def __init__(self, dsn: str, work: Callable[[psycopg.Connection, int], None], patience: str) -> None:
        super().__init__()
        self.dsn = make_conninfo(dsn, options=f"-c lock_timeout={patience}")
        self.work = work
        self.ended = threading.Event()
        self.turns = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as conn:
                while not self.ended.is_set():
                    self.work(conn, self.turns)
                    self.turns += 1
        except BaseException as error:
            self.failure = error


def write(conn: psycopg.Connection, turn: int) -> None:
    documents = [{"key": f"new{turn % 50}", "text": f"written in turn {turn}"}, {"key": f"d{turn % 40}", "text": f"again {turn}"}]
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s::jsonb)", [json.dumps(documents)])
    if turn % 7 == 0:
        conn.execute("SELECT count(*) FROM sift.delete_documents('t', ARRAY[%s])", [f"new{turn % 50}"])


def read(conn: psycopg.Connection, _turn: int) -> None:
    """A report that takes its time, holding the tables in the way of an upgrade."""
    with conn.transaction():
        conn.execute("SELECT count(*) FROM sift.search('t', 'w7 w12 again', principals => '{public}')")
        conn.execute("SELECT count(*) FROM sift.documents AS d")
        conn.execute("SELECT pg_sleep(0.15)")
    time.sleep(0.1)


@pytest.fixture
def under_load(dsn: str) -> Iterator[Callable[[], list[Worker]]]:
    """A function that starts two writers and a reader; what fails in them fails the test."""
    workers: list[Worker] = []

    def start() -> list[Worker]:
        workers.extend([Worker(dsn, write, "1s"), Worker(dsn, write, "1s"), Worker(dsn, read, "1s")])
        for worker in workers:
            worker.start()
        return workers

    try:
        yield start
    finally:
        for worker in workers:
            worker.ended.set()
        for worker in workers:
            worker.join(60)


def turns(workers: list[Worker], more: int = 2) -> None:
    """Wait until each has gone on."""
    before = [worker.turns for worker in workers]
    deadline = time.monotonic() + 60
    while any(worker.turns < count + more for worker, count in zip(workers, before, strict=True)):
        assert time.monotonic() < deadline
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure
        time.sleep(0.02)


def end(workers: list[Worker]) -> None:
    for worker in workers:
        worker.ended.set()
        worker.join(60)
        if worker.failure is not None:
            raise worker.failure


@pytest.mark.parametrize(
    "chunks", [500, pytest.param(25_000, marks=pytest.mark.slow)], ids=["20,000 postings", "1,000,000 postings"]
)
def test_no_write_waits_for_an_upgrade(
    dsn: str, next_revision: Callable[[float], None], under_load: Callable[[], list[Worker]], chunks: int
) -> None:
    assert load(dsn, chunks) >= 40 * chunks
    next_revision(0.05)
    workers = under_load()
    turns(workers)
    assert schema.upgrade(dsn) == NEXT
    turns(workers)
    assert schema.downgrade(dsn, HEAD) == HEAD
    turns(workers)
    end(workers)
    assert schema.upgrade(dsn) == NEXT and schema.check(dsn) == []
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_an_interrupted_upgrade_is_run_again(
    dsn: str, next_revision: Callable[[float], None], under_load: Callable[[], list[Worker]]
) -> None:
    load(dsn, 500)
    next_revision(30)
    failures: list[PgsiftError] = []

    def upgrade() -> None:
        try:
            schema.upgrade(dsn)
        except PgsiftError as error:
            failures.append(error)

    thread = threading.Thread(target=upgrade)
    thread.start()
    with psycopg.connect(dsn, autocommit=True) as conn:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgsift db' AND wait_event = 'PgSleep' AND datname = current_database()"
        while (row := conn.execute(query).fetchone()) is None:
            thread.join(0.02)
            assert thread.is_alive()
        conn.execute("SELECT pg_terminate_backend(%s)", row)
        thread.join(60)
        assert len(failures) == 1
        assert schema.current(dsn) == HEAD
        columns = "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'sift' AND column_name = 'note' AND table_name <> 'judgments'"
        assert conn.execute(columns).fetchone() == (0,)
        next_revision(0.0)
        workers = under_load()
        turns(workers)
        assert schema.upgrade(dsn) == NEXT
        turns(workers)
        end(workers)
        assert conn.execute(columns).fetchone() == (2,)
    assert schema.check(dsn) == []
