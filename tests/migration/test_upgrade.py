"""Upgrades and downgrades on a real database."""

from __future__ import annotations

import multiprocessing
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from catalog import describe
from psycopg.conninfo import conninfo_to_dict

from pgsift import _replaceable, _resources, schema, server
from pgsift.errors import (
    InvalidArgument,
    MissingExtra,
    NotPermitted,
    PgsiftError,
    SchemaVersionMismatch,
    ServerUnavailable,
)

PACKAGE_HEAD = schema.head()


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def psql(dsn: str, *arguments: str, text: str | None = None) -> str:
    try:
        program = server.program("psql")
    except MissingExtra:
        pytest.skip("no psql")
    result = subprocess.run(
        [program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, *arguments],
        input=text, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def migrated_dsn(empty_dsn: str) -> str:
    assert schema.upgrade(empty_dsn) == PACKAGE_HEAD
    return empty_dsn


def test_head_equals_a_fresh_install(migrated_dsn: str, dsn: str) -> None:
    migrated, installed = describe(migrated_dsn, "sift"), describe(dsn, "sift")
    assert len(installed) > 300
    assert migrated.keys() == installed.keys()
    assert [key for key in installed if migrated[key] != installed[key]] == []
    with psycopg.connect(migrated_dsn) as one, psycopg.connect(dsn) as other:
        query = "SELECT v.version_num FROM sift.alembic_version AS v"
        assert one.execute(query).fetchall() == other.execute(query).fetchall() == [(PACKAGE_HEAD,)]


def test_install_by_psql_equals_it_too_and_is_continued(empty_dsn: str, dsn: str) -> None:
    psql(empty_dsn, "-1", "-f", str(_resources.sql_directory() / "install.sql"))
    assert describe(empty_dsn, "sift") == describe(dsn, "sift")
    assert schema.current(empty_dsn) == PACKAGE_HEAD
    assert schema.upgrade(empty_dsn) == PACKAGE_HEAD
    assert schema.check(empty_dsn) == []


def test_up_down_up(migrated_dsn: str) -> None:
    before = describe(migrated_dsn, "sift")
    for revision in [*reversed(schema.revisions()[:-1]), "base"]:
        schema.downgrade(migrated_dsn, revision)
    assert schema.current(migrated_dsn) is None
    for revision in schema.revisions():
        assert schema.upgrade(migrated_dsn, revision) == revision
    assert describe(migrated_dsn, "sift") == before


def test_downgrade_leaves_no_trace(empty_dsn: str) -> None:
    execute(
        empty_dsn,
        "CREATE EXTENSION vector",
        "CREATE TABLE public.documents (id bigint PRIMARY KEY, body text)",
        "CREATE FUNCTION public.search(q text) RETURNS text LANGUAGE sql RETURN q",
        "CREATE SCHEMA other CREATE VIEW other.things AS SELECT * FROM public.documents",
    )
    before = describe(empty_dsn)
    schema.upgrade(empty_dsn)
    assert describe(empty_dsn, without=("sift",)) == before, (
        "an installation changes nothing outside its schema"
    )
    # Objects that come with use, such as the partition of a model, go too.
    execute(empty_dsn, "SELECT sift.register_model('m', 3)")
    assert schema.downgrade(empty_dsn, "base") is None
    assert describe(empty_dsn) == before
    assert schema.downgrade(empty_dsn, "base") is None, "twice does no harm"


def test_each_revision_down_is_the_state_before(empty_dsn: str) -> None:
    states = {}
    for revision in schema.revisions():
        schema.upgrade(empty_dsn, revision)
        states[revision] = describe(empty_dsn, "sift")
    for revision in reversed(schema.revisions()[:-1]):
        schema.downgrade(empty_dsn, revision)
        assert describe(empty_dsn, "sift") == states[revision]


def test_offline_sql_applies(migrated_dsn: str, new_database: Callable[[], str], tmp_path: Path) -> None:
    other = new_database()
    untouched = describe(other)
    script = tmp_path / "upgrade.sql"
    script.write_text(schema.render_sql(), encoding="utf-8")
    psql(other, "-f", str(script))
    assert describe(other, "sift") == describe(migrated_dsn, "sift")
    assert schema.check(other) == []
    psql(other, text=schema.render_sql("head", "base"))
    assert schema.current(other) is None
    # The extension stays: its functions are not listed, and it is no schema.
    assert describe(other) == untouched


def test_offline_sql_has_one_transaction_per_revision() -> None:
    text = schema.render_sql("base", PACKAGE_HEAD)
    assert text.count("\nBEGIN;") == text.count("\nCOMMIT;") == len(schema.revisions())


def _upgrade(dsn: str) -> str:
    return schema.upgrade(dsn)


def test_four_processes_upgrade_at_once(empty_dsn: str) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.map(_upgrade, [empty_dsn] * 4, chunksize=1) == [PACKAGE_HEAD] * 4
    assert schema.check(empty_dsn) == []


def test_four_threads_upgrade_at_once(empty_dsn: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(schema.upgrade, [empty_dsn] * 4)) == [PACKAGE_HEAD] * 4
    assert schema.check(empty_dsn) == []


def test_two_databases_upgrade_at_once(new_database: Callable[[], str]) -> None:
    """The roles belong to the cluster: two installations may want to create them at the same moment."""
    names = [new_database() for _ in range(2)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_upgrade, names, chunksize=1) == [PACKAGE_HEAD] * 2


def test_an_upgrade_that_fails_leaves_nothing_and_can_be_run_again(empty_dsn: str) -> None:
    execute(empty_dsn, "CREATE SCHEMA sift", "CREATE TABLE sift.chunks (mine text)")
    with pytest.raises(PgsiftError, match="chunks"):
        schema.upgrade(empty_dsn)
    assert schema.current(empty_dsn) is None
    assert [key for key in describe(empty_dsn, "sift") if key.startswith("routine")] == []
    execute(empty_dsn, "DROP TABLE sift.chunks")
    assert schema.upgrade(empty_dsn) == PACKAGE_HEAD
    assert schema.check(empty_dsn) == []


def test_a_locked_table_is_waited_for_and_reported(
    migrated_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_ATTEMPTS", 2)
    monkeypatch.setattr(schema, "_LOCK_TIMEOUT_MS", 50)
    with psycopg.connect(migrated_dsn) as reader:
        reader.execute("SELECT count(*) FROM sift.documents")
        with pytest.raises(ServerUnavailable, match="locked by another session") as caught:
            schema.downgrade(migrated_dsn, "base")
        assert caught.value.sqlstate == "55P03"
        assert schema.check(migrated_dsn) == [], "nothing was changed"
    assert schema.downgrade(migrated_dsn, "base") is None


def test_a_lock_that_goes_away_does_not_matter(migrated_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_LOCK_TIMEOUT_MS", 50)
    released = threading.Event()
    with psycopg.connect(migrated_dsn) as reader:
        reader.execute("SELECT count(*) FROM sift.documents")

        def tried_again(_seconds: float) -> None:
            if not released.is_set():
                reader.rollback()
                released.set()

        monkeypatch.setattr(schema.time, "sleep", tried_again)
        assert schema.downgrade(migrated_dsn, "base") is None
    assert released.is_set()


def test_objects_of_others_stop_a_downgrade(migrated_dsn: str) -> None:
    execute(migrated_dsn, "CREATE VIEW public.report AS SELECT d.key FROM sift.documents AS d")
    before = describe(migrated_dsn)
    with pytest.raises(PgsiftError, match="other objects depend on it") as caught:
        schema.downgrade(migrated_dsn, "base")
    assert "report" in str(caught.value)
    assert describe(migrated_dsn) == before
    assert schema.current(migrated_dsn) == PACKAGE_HEAD
    execute(migrated_dsn, "DROP VIEW public.report", "CREATE TABLE sift.notes (mine text)")
    schema.downgrade(migrated_dsn, "base")
    assert [key for key in describe(migrated_dsn, "sift") if key.startswith("relation")] == [
        "relation sift.notes"
    ]


def test_a_newer_schema_is_left_alone(migrated_dsn: str) -> None:
    execute(migrated_dsn, "UPDATE sift.alembic_version SET version_num = '9999'")
    for call in (lambda: schema.upgrade(migrated_dsn), lambda: schema.downgrade(migrated_dsn, "base")):
        with pytest.raises(SchemaVersionMismatch, match="9999") as caught:
            call()
        assert caught.value.hint is not None and "pip install --upgrade" in caught.value.hint
    assert "9999" in schema.check(migrated_dsn)[0]


def test_wrong_directions(empty_dsn: str) -> None:
    with pytest.raises(SchemaVersionMismatch, match="not installed"):
        schema.downgrade(empty_dsn, PACKAGE_HEAD)
    with pytest.raises(InvalidArgument):
        schema.upgrade(empty_dsn, "7777")


def test_status(empty_dsn: str) -> None:
    found = schema.status(empty_dsn)
    assert found.current is None and found.vector_version is None and not found.up_to_date
    assert found.pending == tuple(schema.revisions())
    schema.upgrade(empty_dsn)
    found = schema.status(empty_dsn)
    assert found.current == found.head == PACKAGE_HEAD and found.pending == () and found.up_to_date
    assert found.vector_schema == "public" and found.vector_version is not None
    assert found.database == conninfo_to_dict(empty_dsn)["dbname"]


def test_schema_version_is_for_readers_too(dsn: str, make_login: Callable[..., str]) -> None:
    for role in schema.ROLES:
        login = make_login(dsn, role)
        with psycopg.connect(login) as connection:
            assert connection.execute("SELECT sift.schema_version()").fetchone() == (PACKAGE_HEAD,)
        assert schema.current(login) == PACKAGE_HEAD
    with psycopg.connect(make_login(dsn)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT sift.schema_version()")


@pytest.mark.parametrize(
    "form", ["postgresql://", "postgres://", "postgresql+psycopg://", "postgresql+asyncpg://"]
)
def test_forms_of_the_dsn(dsn: str, form: str) -> None:
    from urllib.parse import quote, urlencode

    parts = {key: str(value) for key, value in conninfo_to_dict(dsn).items()}
    user, name = quote(parts.pop("user")), quote(parts.pop("dbname"))
    password = f":{quote(parts.pop('password'))}" if "password" in parts else ""
    url = f"{form}{user}{password}@/{name}?{urlencode(parts, quote_via=quote)}"
    assert schema.current(url) == PACKAGE_HEAD
    assert schema.upgrade(url) == PACKAGE_HEAD


def test_servers_that_do_not_answer() -> None:
    with pytest.raises(ServerUnavailable):
        schema.current("host=/nonexistent dbname=x")
    with pytest.raises(InvalidArgument):
        schema.current("this is = not a dsn")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("DROP FUNCTION sift.schema_version", "function sift.schema_version is missing"),
        ("DROP TABLE sift.dead_letters CASCADE", "table sift.dead_letters is missing"),
        ("DROP VIEW sift.my_documents CASCADE", "view sift.my_documents is missing"),
        (
            "CREATE OR REPLACE FUNCTION sift.schema_version() RETURNS text LANGUAGE sql AS $$ SELECT '0' $$",
            "function sift.schema_version is not the one of revision",
        ),
        ("GRANT EXECUTE ON FUNCTION sift.schema_version() TO PUBLIC", "may be executed by everybody"),
        (
            "CREATE FUNCTION sift.schema_version(x int) RETURNS text LANGUAGE sql RETURN 'x'",
            "exists 2 times with different arguments",
        ),
        (
            "CREATE FUNCTION sift.extra() RETURNS text LANGUAGE sql RETURN 'x'",
            "sift.extra is not part of pgsift",
        ),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sift.documents_pkey'::regclass",
            "index sift.documents_pkey is invalid",
        ),
    ],
)
def test_check_finds(dsn: str, damage: str, expected: str) -> None:
    assert schema.check(dsn) == []
    execute(dsn, damage)
    assert any(expected in problem for problem in schema.check(dsn)), schema.check(dsn)


def test_check_of_a_bare_database(empty_dsn: str) -> None:
    problems = schema.check(empty_dsn)
    assert any("vector is not installed" in problem for problem in problems)
    assert "pgsift db upgrade" in problems[-1]


def test_installing_needs_a_right(empty_dsn: str, make_login: Callable[..., str]) -> None:
    execute(empty_dsn, "CREATE EXTENSION vector")
    with pytest.raises(NotPermitted) as caught:
        schema.upgrade(make_login(empty_dsn))
    assert caught.value.hint is not None and "CREATE on the database" in caught.value.hint


def test_statements_reach_the_server_untouched(empty_dsn: str) -> None:
    """Colons, percent signs and backslashes are characters, not parameters."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(empty_dsn), poolclass=NullPool
    )
    with engine.begin() as connection:
        op = Operations(MigrationContext.configure(connection))
        _replaceable.execute(
            op,
            r"CREATE TABLE t AS SELECT ':not_a_bind 100% %s %(x)s a\b'::text AS x;"
            " INSERT INTO t VALUES (':b');",
        )
    with psycopg.connect(empty_dsn) as check:
        assert check.execute("SELECT x FROM t").fetchall() == [(r":not_a_bind 100% %s %(x)s a\b",), (":b",)]
