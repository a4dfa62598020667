"""Who sees what: the four roles, principals, and what stands behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

DOCUMENTS = [
    {"key": "open", "text": "turbine manual for everybody", "acl": ["public"]},
    {"key": "hr", "text": "turbine salaries", "acl": ["group:hr"]},
    {"key": "eng", "text": "turbine blades", "acl": ["group:eng", "user:7"]},
    {"key": "nobody", "text": "turbine secret", "acl": []},
    {"key": "default", "text": "turbine without a list"},
]


@pytest.fixture
def store(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('acme', 'standard')")
        connection.execute("SELECT sift.create_tenant('other', 'standard', default_principals => '{public}')")
        connection.execute("SELECT sift.put_documents('acme', %s::jsonb)", (json.dumps(DOCUMENTS),))
        connection.execute(
            """SELECT sift.put_documents('other', '[{"key": "theirs", "text": "turbine of theirs"}]')"""
        )
        yield connection


def keys(connection: psycopg.Connection, principals: list[str] | None, tenant: str = "acme") -> list[str]:
    found = connection.execute(
        "SELECT key FROM sift.search(%s, 'turbine', principals => %s::text[]) ORDER BY key", (tenant, principals)
    ).fetchall()
    listed = connection.execute(
        "SELECT key FROM sift.list_documents(%s, %s::text[]) ORDER BY key", (tenant, principals)
    ).fetchall()
    assert found == listed
    return [key for (key,) in found]


@pytest.mark.parametrize("role", ["sift_app", "sift_writer", "sift_owner"])
@pytest.mark.usefixtures("store")
def test_trusted_roles_see_what_the_principals_see(
    dsn: str, make_login: Callable[..., str], role: str
) -> None:
    with psycopg.connect(make_login(dsn, role), autocommit=True) as connection:
        assert keys(connection, ["public"]) == ["open"]
        assert keys(connection, ["group:hr"]) == ["hr"]
        assert keys(connection, ["group:hr", "public", "user:7"]) == ["eng", "hr", "open"]
        assert keys(connection, ["group:unknown"]) == []
        assert keys(connection, []) == []
        assert keys(connection, None) == []
        assert keys(connection, [None]) == []  # type: ignore[list-item]
        assert keys(connection, ["public"], tenant="other") == ["theirs"]


@pytest.mark.usefixtures("store")
def test_documents_without_a_list_are_seen_by_writers_alone(
    dsn: str, make_login: Callable[..., str]
) -> None:
    with psycopg.connect(make_login(dsn, "sift_writer"), autocommit=True) as connection:
        assert keys(connection, ["sift:writer"]) == ["default", "eng", "hr", "nobody", "open"]
    with psycopg.connect(make_login(dsn, "sift_app"), autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as caught:
            keys(connection, ["public", "sift:writer"])
        assert caught.value.sqlstate == "PS008"


def test_reserved_and_empty_principals_are_refused_in_lists(store: psycopg.Connection) -> None:
    for principals, sqlstate in ((["sift:writer"], "PS002"), ([""], "PS002"), ([None], "PS012")):
        with pytest.raises(psycopg.Error) as caught:
            store.execute(
                "SELECT sift.put_documents('acme', %s::jsonb)",
                (json.dumps([{"key": "x", "text": "x y", "acl": principals}]),),
            )
        assert caught.value.sqlstate == sqlstate


def test_a_reader_has_the_principals_its_roles_are_mapped_to(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    login = make_login(dsn, "sift_reader")
    name = str(conninfo_to_dict(login)["user"])
    with psycopg.connect(login, autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as caught:
            keys(connection, None)  # not mapped yet
        assert caught.value.sqlstate == "PS001"
        store.execute("SELECT sift.map_role('acme', %s, '{public,group:hr}')", (name,))
        assert keys(connection, None) == ["hr", "open"]
        with pytest.raises(psycopg.Error) as caught:
            keys(connection, None, tenant="other")  # mapped in one tenant, not in the other
        assert caught.value.sqlstate == "PS001"
        for principals in (["group:eng"], ["public"], []):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute("SELECT sift.search('acme', 'turbine', principals => %s::text[])", (principals,))
            assert caught.value.sqlstate == "PS008"
        store.execute("SELECT sift.map_role('acme', %s, NULL)", (name,))
        with pytest.raises(psycopg.Error) as caught:
            keys(connection, None)
        assert caught.value.sqlstate == "PS001"


def test_views_show_what_the_role_is_mapped_to(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    login = make_login(dsn, "sift_reader")
    name = str(conninfo_to_dict(login)["user"])
    with psycopg.connect(login, autocommit=True) as connection:
        for view in ("my_documents", "my_chunks"):
            statement = f"SELECT tenant, key FROM sift.{view} ORDER BY key"
            store.execute("SELECT sift.map_role('acme', %s, NULL)", (name,))
            assert connection.execute(statement).fetchall() == []  # type: ignore[arg-type]
            store.execute("SELECT sift.map_role('acme', %s, '{public,group:hr}')", (name,))
            assert connection.execute(statement).fetchall() == [("acme", "hr"), ("acme", "open")]  # type: ignore[arg-type]
        # A function that talks about its argument sees no row the caller may not.
        connection.execute(
            "CREATE FUNCTION pg_temp.tattle(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001"
            " AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        heard: list[str] = []
        connection.add_notice_handler(lambda diagnostic: heard.append(diagnostic.message_primary or ""))
        connection.execute("SELECT key FROM sift.my_chunks WHERE pg_temp.tattle(body)")
        assert sorted(heard) == ["turbine manual for everybody", "turbine salaries"]


def test_a_reader_inherits_what_a_group_role_is_mapped_to(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    group = str(conninfo_to_dict(make_login(dsn))["user"])
    login = make_login(dsn, "sift_reader", group)
    store.execute("SELECT sift.map_role('acme', %s, '{group:eng}')", (group,))
    with psycopg.connect(login, autocommit=True) as connection:
        assert keys(connection, None) == ["eng"]


def test_set_role_acts_as_the_role_that_was_set(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    """An application's login that becomes a reader is a reader, whatever it was."""
    store.execute("SELECT sift.map_role('acme', 'sift_reader', '{public}')")
    login = make_login(dsn, "sift_app", "sift_reader")
    with psycopg.connect(login, autocommit=True) as connection:
        assert keys(connection, ["group:hr"]) == ["hr"]
        connection.execute("SET ROLE sift_reader")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT sift.search('acme', 'turbine', principals => '{group:hr}')")
        assert caught.value.sqlstate == "PS008"


@pytest.mark.parametrize("role", ["sift_reader", "sift_app", "sift_writer"])
def test_tables_are_refused(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str], role: str
) -> None:
    tables = store.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p')"
    ).fetchall()
    with psycopg.connect(make_login(dsn, role), autocommit=True) as connection:
        for (table,) in tables:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql.SQL("SELECT * FROM sift.{}").format(sql.Identifier(table)))


def test_row_level_security_stands_behind_a_grant_made_by_mistake(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    login = make_login(dsn, "sift_reader")
    name = sql.Identifier(str(conninfo_to_dict(login)["user"]))
    store.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA sift TO {}").format(name))
    try:
        with psycopg.connect(login, autocommit=True) as connection:
            for table in ("documents", "chunks", "chunk_terms", "posting_blocks", "term_stats", "access_lists"):
                assert store.execute(f"SELECT count(*) > 0 FROM sift.{table}").fetchone() is not None
                assert connection.execute(f"SELECT count(*) FROM sift.{table}").fetchone() == (0,)
    finally:
        store.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA sift FROM {}").format(name))


@pytest.mark.usefixtures("store")
def test_readers_and_applications_cannot_write(
    dsn: str, make_login: Callable[..., str]
) -> None:
    for role in ("sift_reader", "sift_app"):
        with psycopg.connect(make_login(dsn, role), autocommit=True) as connection:
            for call in (
                """sift.put_documents('acme', '[{"key": "x", "text": "x"}]')""",
                "sift.delete_documents('acme', '{open}')",
                "sift.set_access('acme', '{hr}', '{public}')",
                "sift.set_default_access('acme', '{public}')",
                "sift.map_role('acme', session_user, '{group:hr}')",
                "sift.create_tenant('mine', 'standard')",
                "sift.drop_tenant('acme')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT {call}")


def test_access_changes_take_effect_in_the_next_statement(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.set_access('acme', '{hr,eng}', '{public}')")
    assert keys(store, ["public"]) == ["eng", "hr", "open"]
    store.execute("SELECT sift.set_access('acme', '{hr}', NULL)")
    assert keys(store, ["public"]) == ["eng", "open"]
    assert keys(store, ["group:hr"]) == []


def test_reingest_without_a_list_keeps_the_list_a_document_has(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.set_default_access('acme', '{public}')")
    for text in ("turbine salaries", "turbine salaries of this year"):
        store.execute(
            "SELECT sift.put_documents('acme', %s::jsonb)", (json.dumps([{"key": "hr", "text": text}]),)
        )
        assert "hr" not in keys(store, ["public"])
        assert keys(store, ["group:hr"]) == ["hr"]


def test_permissions_and_filters_never_change_a_score(store: psycopg.Connection) -> None:
    every = dict(
        store.execute(
            "SELECT key, score FROM sift.lexical_search('acme', 'turbine blades', principals => '{sift:writer}')"
        ).fetchall()
    )
    for principals in (["public"], ["group:eng"], ["group:hr", "public"]):
        some = store.execute(
            "SELECT key, score FROM sift.lexical_search('acme', 'turbine blades', principals => %s)", (principals,)
        ).fetchall()
        assert some
        assert all(every[key] == score for key, score in some)
