"""A PostgreSQL with pgvector for the tests, and databases on it.

Which server: ``PGSIFT_TEST_DSN`` (a superuser's DSN) when set; else a container, where Docker answers and
testcontainers is installed; else the embedded server in a temporary directory. So the suite runs whole on a
machine without Docker.

Which database:

``schema_dsn``  one installed database for the whole session; for tests that read, or clean up after
themselves ``conn``        a superuser's connection to it, rolled back at the end of the test; never commit
through it ``dsn``         a database of the test's own, a copy of an installed one, dropped afterwards
``empty_dsn``   the same, with nothing installed

``new_home`` gives homes for embedded servers of a test's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgsift import _resources, server

CONTAINER_IMAGE = "pgvector/pgvector:0.8.6-pg18"

_server = contextlib.ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    # With pytest-xdist the process that hands out the tests runs none. Each worker has a server of its own:
    # roles belong to a whole server, and tests make some.
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return
    config.stash[_dsn_key] = _start_server()


def pytest_unconfigure() -> None:
    _server.close()


_dsn_key = pytest.StashKey[tuple[str, str]]()


def pytest_report_header(config: pytest.Config) -> str:
    if _dsn_key not in config.stash:
        return "postgresql: a server for each worker"
    dsn, origin = config.stash[_dsn_key]
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT current_setting('server_version'),"
            " (SELECT default_version FROM pg_catalog.pg_available_extensions WHERE name = 'vector')"
        ).fetchone()
    assert row is not None
    return f"postgresql: {row[0]}, pgvector {row[1]} ({origin})"


def _start_server() -> tuple[str, str]:
    """A superuser's DSN, and where the server came from."""
    configured = os.environ.get("PGSIFT_TEST_DSN")
    if configured:
        return configured, "PGSIFT_TEST_DSN"
    container = _start_container()
    if container is not None:
        return container, f"container {CONTAINER_IMAGE}"
    running = _server.enter_context(server.temporary())
    assert running.dsn is not None
    return make_conninfo(running.dsn, dbname="postgres"), "embedded"


def _start_container() -> str | None:
    docker = shutil.which("docker")
    if docker is None:
        return None
    try:
        subprocess.run([docker, "info"], check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from testcontainers.postgres import PostgresContainer  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return None
        container = _server.enter_context(PostgresContainer(CONTAINER_IMAGE, driver=None))
    return str(container.get_connection_url())


def _unique(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


def _execute(dsn: str, *statements: sql.Composed | sql.SQL) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def _create_database(server_dsn: str, name: str, template: str = "template0") -> str:
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        # Copying files is quicker, unless the checkpoints it takes have to reach the disk.
        row = connection.execute("SELECT current_setting('fsync')").fetchone()
        strategy = "file_copy" if row == ("off",) else "wal_log"
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8' STRATEGY {}").format(
                sql.Identifier(name), sql.Identifier(template), sql.Identifier(strategy)
            )
        )
    return make_conninfo(server_dsn, dbname=name)


def _drop_database(server_dsn: str, name: str) -> None:
    _execute(server_dsn, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def install_sql(dsn: str) -> None:
    """Run ``sql/install.sql`` as psql would, in one transaction."""
    directory: Path = _resources.sql_directory()
    with psycopg.connect(dsn) as connection:
        for name in _resources.install_order(directory / "install.sql"):
            text = (directory / name).read_bytes()
            try:
                connection.execute(text)
            except psycopg.Error as error:
                error.add_note(f"while running sql/{name}")
                raise


@pytest.fixture(scope="session")
def server_dsn(pytestconfig: pytest.Config) -> str:
    """DSN of a superuser on the test server, its database ``postgres`` or what ``PGSIFT_TEST_DSN`` names."""
    return pytestconfig.stash[_dsn_key][0]


@pytest.fixture(scope="session")
def _template(server_dsn: str) -> Iterator[str]:
    name = _unique("sift_template")
    try:
        install_sql(_create_database(server_dsn, name))
        yield name
    finally:
        _drop_database(server_dsn, name)


@pytest.fixture(scope="session")
def schema_dsn(server_dsn: str, _template: str) -> Iterator[str]:
    """DSN of one installed database that the whole session shares."""
    name = _unique("sift_shared")
    try:
        yield _create_database(server_dsn, name, _template)
    finally:
        _drop_database(server_dsn, name)


@pytest.fixture
def conn(schema_dsn: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the shared database, in a transaction that is rolled back."""
    with psycopg.connect(schema_dsn) as connection:
        try:
            yield connection
        finally:
            connection.rollback()


@pytest.fixture
def dsn(server_dsn: str, _template: str) -> Iterator[str]:
    """DSN of a fresh installed database of this test's own."""
    name = _unique("sift_test")
    try:
        yield _create_database(server_dsn, name, _template)
    finally:
        _drop_database(server_dsn, name)


@pytest.fixture
def new_database(server_dsn: str) -> Iterator[Callable[[], str]]:
    """A function that makes one more empty database and returns its DSN."""
    names: list[str] = []

    def create() -> str:
        names.append(_unique("sift_empty"))
        return _create_database(server_dsn, names[-1])

    try:
        yield create
    finally:
        for name in names:
            _drop_database(server_dsn, name)


@pytest.fixture
def empty_dsn(new_database: Callable[[], str]) -> str:
    """DSN of a fresh database with nothing installed."""
    return new_database()


@pytest.fixture
def make_login(server_dsn: str) -> Iterator[Callable[..., str]]:
    """A function ``make_login(dsn, *roles)``: a new login that is a member of *roles*, as a DSN for the
    same database.

    ``psycopg.conninfo.conninfo_to_dict(result)["user"]`` is its name. It and all it owns is gone after the
    test.
    """
    made: list[tuple[str, str]] = []

    def create(dsn: str, *roles: str) -> str:
        name = _unique("login")
        password = uuid.uuid4().hex
        made.append((dsn, name))
        _execute(
            dsn,
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password)),
            *(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(name)) for role in roles),
        )
        return make_conninfo(dsn, user=name, password=password)

    try:
        yield create
    finally:
        for dsn, name in made:
            with contextlib.suppress(psycopg.OperationalError):  # its database is gone already
                _execute(dsn, sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
            _execute(server_dsn, sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def role_dsn(make_login: Callable[..., str], schema_dsn: str) -> Callable[[str], str]:
    """A function ``role_dsn("sift_reader")``: DSN of a new login with that role, on the shared database."""
    return lambda role: make_login(schema_dsn, role)


@pytest.fixture(scope="session")
def new_home() -> Iterator[Callable[[], Path]]:
    """A function that gives one more home for an embedded server; it is stopped and removed at the end.

    pytest's own directories are closed to other accounts, so under root such a server would keep its data
    elsewhere on the machine, where no test cleans up.
    """
    made: list[Path] = []

    def create() -> Path:
        base = Path(tempfile.mkdtemp(prefix="sift-home-")).resolve()
        base.chmod(0o711)
        made.append(base / "a home")
        return made[-1]

    try:
        yield create
    finally:
        for home in made:
            server.stop(home)
            shutil.rmtree(home.parent)
