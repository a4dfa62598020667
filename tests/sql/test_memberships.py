"""Memberships of database roles count as they are when a statement runs, in a transaction that is open too."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

READS = {
    "search": "SELECT key FROM sift.search('t', 'salary')",
    "lexical_search": "SELECT key FROM sift.lexical_search('t', 'salary')",
    "as_of": "SELECT key FROM sift.search('t', 'salary', as_of => now())",
    "lexical_candidates": "SELECT key FROM sift.lexical_candidates('t', '{salary}')",
    "chunks_by_entity": "SELECT key FROM sift.chunks_by_entity('t', 'bob')",
    "list_documents": "SELECT key FROM sift.list_documents('t', key_prefix => 'hr/')",
    "document_at": "SELECT version FROM sift.document_at('t', 'hr/1')",
    "document_history": "SELECT version FROM sift.document_history('t', 'hr/1')",
    "my_documents": "SELECT key FROM sift.my_documents WHERE key = 'hr/1'",
    "my_chunks": "SELECT key FROM sift.my_chunks WHERE key = 'hr/1'",
}


def name(dsn: str) -> sql.Identifier:
    return sql.Identifier(str(conninfo_to_dict(dsn)["user"]))


@pytest.fixture
def admin(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard')")
        documents = [
            {"key": "hr/1", "acl": {"allow": ["group:hr"], "deny": ["outcast"]}, "chunks": [{"body": "the salary of bob", "entities": ["bob"]}]},
            {"key": "n/1", "acl": ["public"], "text": "nothing"},
        ]
        connection.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps(documents),))
        yield connection


def mapped(admin: psycopg.Connection, role: str, principals: list[str]) -> None:
    admin.execute("SELECT sift.map_role('t', %s, %s)", (conninfo_to_dict(role)["user"], principals))


@pytest.mark.parametrize("how", READS)
def test_a_membership_taken_away_counts_in_the_next_statement(
    how: str, dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    bob, staff = make_login(dsn, "sift_reader"), make_login(dsn)
    mapped(admin, bob, ["public"])
    mapped(admin, staff, ["group:hr"])
    admin.execute(sql.SQL("GRANT {} TO {}").format(name(staff), name(bob)))
    with psycopg.connect(bob) as connection:
        # Until every lock is held: a statement that takes none learns nothing new from the server's own caches.
        for _ in range(7):
            assert len(connection.execute(READS[how].encode()).fetchall()) == 1
        admin.execute(sql.SQL("REVOKE {} FROM {}").format(name(staff), name(bob)))
        assert connection.execute(READS[how].encode()).fetchall() == []


def test_a_membership_that_denies_counts_in_the_next_statement(
    dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    bob, outcasts = make_login(dsn, "sift_reader"), make_login(dsn)
    mapped(admin, bob, ["group:hr"])
    mapped(admin, outcasts, ["outcast"])
    with psycopg.connect(bob) as connection:
        for _ in range(7):
            assert connection.execute(READS["search"].encode()).fetchall() == [("hr/1",)]
        admin.execute(sql.SQL("GRANT {} TO {}").format(name(outcasts), name(bob)))
        assert connection.execute(READS["search"].encode()).fetchall() == []


@pytest.mark.parametrize("how", READS)
def test_whoever_is_no_reader_any_more_is_refused_in_the_next_statement(
    how: str, dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    bob = make_login(dsn, "sift_reader")
    mapped(admin, bob, ["group:hr"])
    with psycopg.connect(bob) as connection:
        for _ in range(7):
            assert len(connection.execute(READS[how].encode()).fetchall()) == 1
        admin.execute(sql.SQL("REVOKE sift_reader FROM {}").format(name(bob)))
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(READS[how].encode())
        assert caught.value.sqlstate in ("PS008", "42501")


@pytest.mark.parametrize("role", ["sift_app", "sift_writer", "sift_owner"])
def test_whoever_is_trusted_no_more_is_refused_in_the_next_statement(
    role: str, dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    """As a reader he may still call; whom he asks for he may not say any more, nor be a writer as an application."""
    principals = "{group:hr}" if role == "sift_app" else "{sift:writer}"
    login = make_login(dsn, "sift_reader" if role == "sift_app" else "sift_app", role)
    with psycopg.connect(login) as connection:
        statement = "SELECT key FROM sift.search('t', 'salary', principals => %s)"
        for _ in range(7):
            assert connection.execute(statement, (principals,)).fetchall() == [("hr/1",)]
        admin.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(role), name(login)))
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(statement, (principals,))
        assert caught.value.sqlstate == "PS008"


def test_with_one_snapshot_a_membership_ends_no_later_than_in_the_server(
    dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    """A snapshot of before the revoke, given to a session that began after it."""
    bob, staff, other = make_login(dsn, "sift_reader"), make_login(dsn), make_login(dsn)
    mapped(admin, bob, ["public"])
    mapped(admin, staff, ["group:hr"])
    admin.execute(sql.SQL("GRANT {} TO {}").format(name(staff), name(bob)))
    with psycopg.connect(other) as keeper:
        keeper.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        (snapshot,) = keeper.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        admin.execute(sql.SQL("REVOKE {} FROM {}").format(name(staff), name(bob)))
        with psycopg.connect(bob) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
            assert connection.execute(READS["search"].encode()).fetchall() == []


def test_the_statements_of_the_manual_end_old_snapshots(
    dsn: str, admin: psycopg.Connection, make_login: Callable[..., str]
) -> None:
    """An access list is read from the snapshot, wherever that comes from; the block of docs/security.md, run as it stands, ends those that
    are older than it."""
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    start = page.index("SELECT a.pid, pg_terminate_backend")
    statement = page[start : page.index("```", start)].replace(":'changed'", "%s")
    bob, other = make_login(dsn, "sift_reader"), make_login(dsn)
    mapped(admin, bob, ["group:hr"])

    def again(snapshot: str) -> list[Any]:
        with psycopg.connect(bob) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
            return connection.execute(READS["search"].encode()).fetchall()

    keeper = psycopg.connect(other)
    try:
        keeper.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        (snapshot,) = keeper.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        admin.execute("SELECT sift.set_access('t', '{hr/1}', '{}')")
        assert again(snapshot) == [("hr/1",)], "told by design"
        (changed,) = admin.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text").fetchone() or ("",)
        ended = admin.execute(statement.encode(), (changed,)).fetchall()
        assert (keeper.info.backend_pid, True) in ended
        for _ in range(100):
            if admin.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (keeper.info.backend_pid,)).fetchone() is None:
                break
            admin.execute("SELECT pg_sleep(0.1)")
        with pytest.raises(psycopg.Error):
            again(snapshot)
    finally:
        keeper.close()


def test_the_roles_of_a_role_are_those_whose_privileges_it_has(conn: psycopg.Connection) -> None:
    """Any graph of memberships, with and without INHERIT, a superuser and the owner of the database: the server's own answer."""
    version = conn.info.server_version
    draw = random.Random(20260101)
    roles = [sql.Identifier(f"membership_{n}") for n in range(12)]
    for n, role in enumerate(roles):
        option = "SUPERUSER" if n == 11 else "NOINHERIT" if n % 4 == 3 else "INHERIT"
        conn.execute(sql.SQL("CREATE ROLE {} {}").format(role, sql.SQL(option)))
    for n, role in enumerate(roles):
        for other in draw.sample(roles[:n], min(n, draw.randint(0, 3))):
            how = sql.SQL(draw.choice(["", " WITH INHERIT TRUE", " WITH INHERIT FALSE"]) if version >= 160000 else "")
            conn.execute(sql.SQL("GRANT {} TO {}{}").format(other, role, how))
    differences = """
        SELECT r.rolname FROM pg_roles AS r
        WHERE ARRAY(SELECT o.oid FROM pg_roles AS o WHERE pg_has_role(r.oid, o.oid, 'USAGE') ORDER BY o.oid)
              <> ARRAY(SELECT u.id FROM unnest(sift._roles_of(r.oid)) AS u (id) ORDER BY u.id)"""
    assert conn.execute(differences.encode()).fetchall() == []
    conn.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(conn.info.dbname), roles[5]))
    assert conn.execute("SELECT pg_has_role('membership_5', 'pg_database_owner', 'USAGE')").fetchone() == (True,)
    assert conn.execute(differences.encode()).fetchall() == []
