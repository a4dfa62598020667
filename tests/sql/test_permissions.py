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


def doctor_remedy(store: psycopg.Connection) -> tuple[str, str]:
    (found,) = store.execute("SELECT finding, remedy FROM sift.doctor('acme') WHERE check_name = 'role_mappings'").fetchall()
    return found


@pytest.mark.parametrize("renamed", ["login", "group"])
def test_a_renamed_role_does_not_escape_what_is_denied_to_it(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str], renamed: str
) -> None:
    """Its principals are gone with its name, and the denies with them: it sees nothing until it is mapped again."""
    staff, group = (str(conninfo_to_dict(make_login(dsn))["user"]) for _ in range(2))
    login = make_login(dsn, "sift_reader", staff, group)
    name = str(conninfo_to_dict(login)["user"])
    denied = name if renamed == "login" else group
    see = "SELECT key FROM sift.list_documents('acme') ORDER BY key"
    views = "SELECT key FROM sift.my_documents UNION ALL SELECT key FROM sift.my_chunks"
    store.execute("SELECT sift.map_role('acme', %s, '{public}'), sift.map_role('acme', %s, '{user:8}')", (staff, denied))
    store.execute("SELECT sift.set_access('acme', '{open}', '{public}', denied => '{user:8}')")
    store.execute("SELECT sift.set_access('acme', '{eng}', '{public}')")

    def change(old: str, new: str) -> None:
        store.execute(sql.SQL("ALTER ROLE {} RENAME TO {}").format(sql.Identifier(old), sql.Identifier(new)))

    with psycopg.connect(login, autocommit=True) as connection:
        assert connection.execute(see).fetchall() == [("eng",)]
        change(denied, denied + "_x")
        try:
            assert connection.execute(see).fetchall() == []
            assert connection.execute(views).fetchall() == []
            finding, remedy = doctor_remedy(store)
            assert f"the role is called {denied}_x now" in finding
            assert remedy == f"SELECT sift.map_role('acme', '{denied}_x', '{{user:8}}')"
            store.execute(remedy.encode())
            assert connection.execute(see).fetchall() == [("eng",)]
            assert store.execute("SELECT * FROM sift.remap_roles('acme')").fetchall() == []
            assert store.execute("SELECT count(*) FROM sift.doctor('acme') WHERE check_name = 'role_mappings'").fetchone() == (0,)
            # Another role comes to bear the former name: nobody is let in by it, whichever is meant.
            store.execute("UPDATE sift.role_principals SET role_name = %s WHERE role_name = %s", (denied, denied + "_x"))
            store.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(denied)))
            try:
                assert connection.execute(see).fetchall() == []
                finding, remedy = doctor_remedy(store)
                assert remedy == "SELECT * FROM sift.remap_roles('acme')"  # which it is, only an administrator knows
                renaming, remapping = finding.partition("; if it was renamed, ")[2].split("; if this store was restored and the role is the same person's, ")
                assert remapping == f"SELECT * FROM sift.remap_roles('acme', '{{{denied}}}')"
                store.execute(renaming.encode())
                assert connection.execute(see).fetchall() == [("eng",)]
            finally:
                store.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(denied)))
        finally:
            change(denied + "_x", denied)


def test_what_a_document_was_is_seen_by_who_sees_it_today(store: psycopg.Connection) -> None:
    """Told by design, and the remedies (docs/security.md)."""
    see = "SELECT body FROM sift.lexical_search('acme', 'draft', principals => '{public}', as_of => %s)"
    put = "SELECT sift.put_documents('acme', %s::jsonb)"
    moments = []
    for key in ("over", "deleted", "purged"):
        store.execute(put, (json.dumps([{"key": key, "text": f"draft {key}", "acl": ["group:hr"]}]),))
        moments.append(store.execute("SELECT clock_timestamp()").fetchone())
    store.execute("SELECT sift.delete_documents('acme', '{deleted}'), sift.purge_documents('acme', '{purged}')")
    assert [store.execute(see, moment).fetchall() for moment in moments] == [[], [], []]
    for key in ("over", "deleted", "purged"):
        store.execute(put, (json.dumps([{"key": key, "text": "for all", "acl": ["public"]}]),))
    assert [store.execute(see, moment).fetchall() for moment in moments] == [[("draft over",)]] * 3


def test_a_list_that_is_the_same_as_the_rule_s_follows_the_rule(store: psycopg.Connection) -> None:
    """Whether it was given explicitly or not (docs/security.md); one of its own stays."""
    store.execute("SELECT sift.set_access('acme', NULL, '{group:hr}', key_prefix => 'hr/')")
    store.execute("SELECT sift.set_access('acme', NULL, '{public}', key_prefix => 'open/')")
    documents = [{"key": "hr/rule", "text": "turbine r"}, {"key": "hr/same", "text": "turbine s", "acl": ["group:hr"]},
                 {"key": "hr/own", "text": "turbine o", "acl": ["group:eng"]}]  # fmt: skip
    store.execute("SELECT sift.put_documents('acme', %s::jsonb)", (json.dumps(documents),))
    store.execute("SELECT sift.move_documents('acme', '{hr/rule,hr/same,hr/own}', '{open/rule,open/same,open/own}')")
    assert keys(store, ["public"]) == ["open", "open/rule", "open/same"]
    assert keys(store, ["group:hr"]) == ["hr"]
    store.execute("SELECT sift.set_access('acme', '{open/same}', '{group:hr}')")
    assert keys(store, ["group:hr"]) == ["hr", "open/same"]


def test_denies_hold_for_what_a_login_may_become(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    """SET ROLE to a mapped role leaves the login's own principals behind; WITH SET FALSE keeps it from that (docs/security.md)."""
    staff = str(conninfo_to_dict(make_login(dsn, "sift_reader"))["user"])
    login = make_login(dsn, "sift_reader", staff)
    name = str(conninfo_to_dict(login)["user"])
    store.execute("SELECT sift.map_role('acme', %s, '{public}'), sift.map_role('acme', %s, '{public,user:8}')", (staff, name))
    store.execute("SELECT sift.set_access('acme', '{open}', '{public}', denied => '{user:8}')")
    become = sql.SQL("SET ROLE {}").format(sql.Identifier(staff))
    with psycopg.connect(login, autocommit=True) as connection:
        assert keys(connection, None) == []
        connection.execute(become)
        assert keys(connection, None) == ["open"]
        connection.execute("RESET ROLE")
        if store.info.server_version >= 160000:
            store.execute(sql.SQL("GRANT {} TO {} WITH INHERIT TRUE, SET FALSE").format(sql.Identifier(staff), sql.Identifier(name)))
        else:
            store.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(staff), sql.Identifier(name)))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(become)
        assert keys(connection, None) == []
        store.execute("SELECT sift.map_role('acme', %s, NULL)", (name,))
        # Without its mapping the denies are gone as well; what its other roles are mapped to is left: nothing, where the
        # only way to keep it from a role was to take the role away.
        if store.info.server_version >= 160000:
            assert keys(connection, None) == ["open"]
        else:
            with pytest.raises(psycopg.ProgrammingError, match='no tenant "acme"'):
                keys(connection, None)


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
