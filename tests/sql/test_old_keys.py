"""A key that is used again opens nothing of what lay under it before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict


def put(conn: psycopg.Connection, key: str, text: str, acl: list[str]) -> Any:
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps([{"key": key, "text": text, "acl": acl}]),))
    row = conn.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    return row[0]


def seen(conn: psycopg.Connection, key: str, at: Any, who: list[str]) -> tuple[int, int, int]:
    """Rows of the search of the past, of the document then, and of its history up to then."""
    counts = conn.execute(
        "SELECT (SELECT count(*) FROM sift.lexical_search('t', 'xyzzy', principals => %(w)s, as_of => %(t)s)),"
        " (SELECT count(*) FROM sift.document_at('t', %(k)s, %(t)s, %(w)s)),"
        " (SELECT count(*) FROM sift.document_history('t', %(k)s, %(w)s) AS h WHERE h.current_from <= %(t)s)",
        {"w": who, "t": at, "k": key},
    ).fetchone()
    assert counts is not None
    return counts


@pytest.fixture
def conn_own(dsn: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard')")
        yield connection


HR, PUBLIC = ["group:hr"], ["public"]


def test_a_public_document_under_the_key_of_a_deleted_one(conn_own: psycopg.Connection) -> None:
    then = put(conn_own, "k", "the secret is xyzzy", HR)
    conn_own.execute("SELECT sift.delete_documents('t', '{k}')")
    assert seen(conn_own, "k", then, PUBLIC) == (0, 0, 0)
    assert seen(conn_own, "k", then, HR) == (1, 1, 1)
    put(conn_own, "k", "nothing to hide", PUBLIC)
    assert seen(conn_own, "k", then, PUBLIC) == (0, 0, 0)
    assert seen(conn_own, "k", then, HR) == (0, 0, 0), "shut out of the one, shut out of its past"
    assert seen(conn_own, "k", then, [*HR, *PUBLIC]) == (1, 1, 1)
    assert seen(conn_own, "k", then, ["sift:writer"]) == (1, 1, 1)
    # What is granted on the document of today is not granted on the one before it.
    for call in (
        "SELECT sift.grant_access('t', '{k}', '{user:1}')",
        "SELECT sift.set_access('t', '{k}', '{user:1,public,group:hr}')",
        "SELECT sift.set_access('t', NULL, '{user:1,public,group:hr}', key_prefix => '')",
    ):
        conn_own.execute(call.encode())
        assert seen(conn_own, "k", then, ["user:1"]) == (0, 0, 0), call
    conn_own.execute("SELECT sift.delete_documents('t', '{k}')")
    assert seen(conn_own, "k", then, PUBLIC) == (0, 0, 0)
    assert seen(conn_own, "k", then, HR) == (1, 1, 1)


@pytest.mark.parametrize(
    "call",
    [
        "SELECT sift.set_access('t', '{k}', '{group:hr}')",
        "SELECT sift.set_access('t', '{k}', '{}')",
        "SELECT sift.set_access('t', NULL, '{group:hr}', key_prefix => 'k')",
        "SELECT sift.revoke_access('t', '{k}', '{public}')",
        "SELECT sift.revoke_access('t', NULL, '{public}', key_prefix => '')",
        "SELECT sift.grant_access('t', '{k}', NULL, '{public}')",
        "SELECT sift.grant_access('t', NULL, NULL, '{public}', key_prefix => '')",
    ],
)
@pytest.mark.parametrize(
    "gone",
    [
        "SELECT sift.delete_documents('t', '{k}')",
        "SELECT sift.purge_documents('t', '{k}')",
        "SELECT sift.move_documents('t', '{k}', '{elsewhere}')",
    ],
)
def test_what_is_closed_for_a_key_stays_closed_when_its_document_is_gone(
    conn_own: psycopg.Connection, call: str, gone: str
) -> None:
    then = put(conn_own, "k", "the first is xyzzy", PUBLIC)
    conn_own.execute("SELECT sift.delete_documents('t', '{k}')")
    put(conn_own, "k", "the second", PUBLIC)
    assert seen(conn_own, "k", then, PUBLIC) == (1, 1, 1)
    conn_own.execute(call.encode())
    assert seen(conn_own, "k", then, PUBLIC) == (0, 0, 0)
    conn_own.execute(gone.encode())
    assert seen(conn_own, "k", then, PUBLIC)[:2] == (0, 0), "the past is open again"


def test_a_public_document_under_the_old_key_of_one_that_was_moved_and_deleted(conn_own: psycopg.Connection) -> None:
    then = put(conn_own, "k", "the secret is xyzzy", HR)
    conn_own.execute("SELECT sift.move_documents('t', '{k}', '{moved}')")
    conn_own.execute("SELECT sift.delete_documents('t', '{moved}')")
    put(conn_own, "k", "nothing to hide", PUBLIC)
    assert seen(conn_own, "k", then, PUBLIC)[:2] == (0, 0)
    conn_own.execute("SELECT sift.delete_documents('t', '{k}')")
    assert seen(conn_own, "k", then, PUBLIC)[:2] == (0, 0)
    assert seen(conn_own, "k", then, HR)[:2] == (1, 1)


def test_readers_do_not_search_in_serializable_transactions(dsn: str, make_login: Callable[..., str]) -> None:
    reader, app = make_login(dsn, "sift_reader"), make_login(dsn, "sift_app")
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("SELECT sift.create_tenant('t', 'standard')")
        owner.execute("SELECT sift.map_role('t', %s, '{public}')", (conninfo_to_dict(reader)["user"],))
        put(owner, "k", "the pump", PUBLIC)
    for statement in ("SELECT key FROM sift.search('t', 'pump')", "SELECT key FROM sift.my_chunks",
                      "SELECT key FROM sift.my_documents", "SELECT key FROM sift.document_at('t', 'k') AS key"):
        with psycopg.connect(reader) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            assert len(connection.execute(statement.encode()).fetchall()) == 1
            connection.rollback()
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(statement.encode())
            assert caught.value.sqlstate == "PS008"
            connection.rollback()
    with psycopg.connect(app) as connection:
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        found = connection.execute("SELECT key FROM sift.search('t', 'pump', principals => '{public}')").fetchall()
        assert found == [("k",)]
