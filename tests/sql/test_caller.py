"""Whom a call is made for: the role the code runs as, proved, wherever the server runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

SALARY = "The salary of Bob is 90210 dollars"
MERGER = "Merger with Initech at 42 per share"


@dataclass
class Store:
    """A superuser's connection, and two logins with a schema of their own each: anna, mapped to public in a,
    and bob, mapped to public and group:hr there. Nobody is mapped in b."""

    admin: psycopg.Connection
    anna_dsn: str
    bob_dsn: str

    @property
    def anna(self) -> str:
        return str(conninfo_to_dict(self.anna_dsn)["user"])

    @property
    def bob(self) -> str:
        return str(conninfo_to_dict(self.bob_dsn)["user"])


@pytest.fixture
def store(dsn: str, make_login: Callable[..., str]) -> Iterator[Store]:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT sift.create_tenant('a'), sift.create_tenant('b')")
        admin.execute(
            "SELECT sift.put_documents('a', %s::jsonb)",
            (json.dumps([
                {"key": "note/1", "title": "Note", "text": "The pump of pier 2 is back.", "acl": ["public"]},
                {"key": "hr/salaries", "title": "Z", "text": SALARY, "acl": ["group:hr"]},
            ]),),
        )
        admin.execute(
            "SELECT sift.put_documents('b', %s::jsonb)",
            (json.dumps([{"key": "b/merger", "text": MERGER, "acl": ["public"]}]),),
        )
        store = Store(admin, make_login(dsn, "sift_reader"), make_login(dsn, "sift_reader"))
        for name in (store.anna, store.bob):
            admin.execute(sql.SQL("CREATE SCHEMA {0} AUTHORIZATION {0}").format(sql.Identifier(name)))
        admin.execute("SELECT sift.map_role('a', %s, '{public}'), sift.map_role('a', %s, '{public,group:hr}')", (store.anna, store.bob))
        yield store


# What the code of anna's finds out wherever it runs: by the views, by a search, by a search as a writer, by the tables.
STEAL = """
    CREATE TABLE loot (who text, what text, found text);
    GRANT ALL ON loot TO PUBLIC;
    CREATE FUNCTION steal() RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE
        v_call text;
    BEGIN
        FOREACH v_call IN ARRAY ARRAY[
            'SELECT body FROM sift.my_chunks', 'SELECT key FROM sift.my_documents',
            'SELECT body FROM sift.search(''a'', ''salary pump merger'')',
            'SELECT body FROM sift.search(''a'', ''salary pump merger'', principals => ''{sift:writer}'')',
            'SELECT body FROM sift.lexical_search(''b'', ''salary pump merger'', principals => ''{sift:writer}'')',
            'SELECT key FROM sift.list_documents(''b'', ''{public}'')',
            'SELECT key FROM sift.list_documents(''a'')',
            'SELECT body FROM sift.chunks'
        ] LOOP
            BEGIN
                EXECUTE format('INSERT INTO %I.loot SELECT session_user || ''/'' || current_user, $1, x FROM (%s) AS q (x)', TG, v_call) USING v_call;
                EXECUTE format('INSERT INTO %I.loot VALUES (session_user || ''/'' || current_user, $1, ''ran'')', TG) USING v_call;
            EXCEPTION WHEN OTHERS THEN
                EXECUTE format('INSERT INTO %I.loot VALUES (session_user || ''/'' || current_user, $1, ''refused'')', TG) USING v_call;
            END;
        END LOOP;
        RETURN 1;
    END $$;
"""


def prepare(store: Store, statements: str) -> None:
    """Runs *statements* as anna, in her schema."""
    with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
        anna.execute(sql.SQL("SET search_path = {}, pg_catalog").format(sql.Identifier(store.anna)))
        anna.execute(STEAL.replace("TG", f"'{store.anna}'").encode())
        anna.execute(statements.encode())


def loot(store: Store) -> list[tuple[str, str, str]]:
    return store.admin.execute(sql.SQL("SELECT who, what, found FROM {}.loot").format(sql.Identifier(store.anna))).fetchall()


def assert_only_annas(found: list[tuple[str, str, str]], ran_as: str) -> None:
    """The code did run, in the session of *ran_as*, and found what anna may see and nothing else."""
    assert {who for who, _, _ in found} == {ran_as}
    seen = {what for _, _, what in found} - {"ran", "refused"}
    assert "The pump of pier 2 is back." in seen
    assert seen <= {"The pump of pier 2 is back.", "note/1", "Note\nThe pump of pier 2 is back."}, seen
    refused = {call for _, call, what in found if what == "refused"}
    assert {call for _, call, _ in found if "sift:writer" in call or "sift.chunks" in call or "'b'" in call} == refused


def test_an_index_expression_that_is_analyzed_by_a_superuser(store: Store) -> None:
    """What autovacuum does, too: the expression runs as the owner of the table in the superuser's session."""
    prepare(store, """
        CREATE TABLE t (i int);
        CREATE FUNCTION f(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
            IF session_user <> current_user THEN RETURN %s.steal(); END IF; RETURN i; END $$;
        CREATE INDEX ON t (f(i));
        INSERT INTO t VALUES (1);
    """.replace("%s", f'"{store.anna}"'))
    store.admin.execute(sql.SQL("ANALYZE {}.t").format(sql.Identifier(store.anna)))
    assert_only_annas(loot(store), f"postgres/{store.anna}")


def test_a_materialized_view_that_a_superuser_refreshes(store: Store) -> None:
    # A refresh may not write outside of its view, so that the loot is its rows.
    prepare(store, f"""
        CREATE FUNCTION rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
        DECLARE v_call text; v_row text;
        BEGIN
            RETURN NEXT session_user || '/' || current_user;
            FOREACH v_call IN ARRAY ARRAY[
                'SELECT body FROM sift.my_chunks', 'SELECT body FROM sift.search(''a'', ''salary pump merger'')',
                'SELECT body FROM sift.search(''a'', ''salary'', principals => ''{{sift:writer}}'')'
            ] LOOP
                BEGIN
                    FOR v_row IN EXECUTE v_call LOOP RETURN NEXT v_row; END LOOP;
                EXCEPTION WHEN OTHERS THEN RETURN NEXT sqlstate;
                END;
            END LOOP;
        END $$;
        CREATE MATERIALIZED VIEW m AS SELECT * FROM "{store.anna}".rows() AS x;
    """)
    store.admin.execute(sql.SQL("REFRESH MATERIALIZED VIEW {}.m").format(sql.Identifier(store.anna)))
    found = [x for (x,) in store.admin.execute(sql.SQL("SELECT x FROM {}.m").format(sql.Identifier(store.anna)))]
    assert found == [f"postgres/{store.anna}", "The pump of pier 2 is back.", "The pump of pier 2 is back.", "PS008"]


def test_a_trigger_under_a_cascade_of_a_superuser(store: Store) -> None:
    prepare(store, f"""
        CREATE TABLE parent (i int PRIMARY KEY);
        CREATE TABLE child (i int REFERENCES parent ON DELETE CASCADE);
        INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1);
        CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "{store.anna}".steal(); RETURN OLD; END $$;
        CREATE TRIGGER fired BEFORE DELETE ON child FOR EACH ROW EXECUTE FUNCTION fired();
    """)
    store.admin.execute(sql.SQL("DELETE FROM {}.parent").format(sql.Identifier(store.anna)))
    assert_only_annas(loot(store), f"postgres/{store.anna}")


def test_a_definer_function_acts_as_its_owner_everywhere(store: Store) -> None:
    """Bob's function gives anna bob's rows, by the views and by searching alike; hers give bob hers."""
    for dsn, name in ((store.bob_dsn, store.bob), (store.anna_dsn, store.anna)):
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute(sql.SQL("""
                CREATE FUNCTION {0}.seen() RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
                    RETURN ARRAY[(SELECT string_agg(key, ',' ORDER BY key) FROM sift.my_documents),
                                 (SELECT string_agg(key, ',' ORDER BY key) FROM sift.search('a', 'salary pump')),
                                 (SELECT string_agg(key, ',' ORDER BY key) FROM sift.list_documents('a'))];
                END $$;
                GRANT USAGE ON SCHEMA {0} TO PUBLIC""").format(sql.Identifier(name)))
    for dsn, name, keys in ((store.anna_dsn, store.bob, "hr/salaries,note/1"), (store.bob_dsn, store.anna, "note/1")):
        with psycopg.connect(dsn, autocommit=True) as caller:
            statement = sql.SQL("SELECT {}.seen()").format(sql.Identifier(name))
            assert caller.execute(statement).fetchone() == ([keys] * 3,)


def test_set_role_settings_and_renamed_roles(store: Store, make_login: Callable[..., str], dsn: str) -> None:
    """The setting "role" is the name a role had when it was set; what counts is the role."""
    names = []
    for principal in ("public", "group:hr"):
        login = make_login(dsn, "sift_reader")
        names.append(str(conninfo_to_dict(login)["user"]))
        store.admin.execute("SELECT sift.map_role('a', %s, ARRAY[%s])", (names[-1], principal))
    low, high = (sql.Identifier(name) for name in names)
    store.admin.execute(sql.SQL("GRANT {} TO {}").format(low, sql.Identifier(store.anna)))
    see = "SELECT key FROM sift.search('a', 'salary pump') ORDER BY key"
    view = "SELECT key FROM sift.my_documents ORDER BY key"
    with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
        anna.execute(sql.SQL("SET ROLE {}").format(low))
        assert anna.execute(see).fetchall() == [("note/1",)]
        away = sql.Identifier(names[0] + "x")
        store.admin.execute(sql.SQL("ALTER ROLE {} RENAME TO {}").format(low, away))
        store.admin.execute(sql.SQL("ALTER ROLE {} RENAME TO {}").format(high, low))
        try:
            with pytest.raises(psycopg.Error) as caught:
                anna.execute(see)
            assert caught.value.sqlstate == "PS001"
            assert anna.execute(view).fetchall() == []
        finally:
            store.admin.execute(sql.SQL("ALTER ROLE {} RENAME TO {}").format(low, high))
            store.admin.execute(sql.SQL("ALTER ROLE {} RENAME TO {}").format(away, low))
        for setting in ("SET session_replication_role = replica", "SET SESSION AUTHORIZATION postgres",
                        "SELECT set_config('role', 'postgres', false)", "SELECT set_config('session_authorization', 'postgres', false)",
                        "SET ROLE sift_owner"):
            with pytest.raises(psycopg.Error):
                anna.execute(setting)
        anna.execute("SET row_security = off; SET search_path = pg_temp; SET plan_cache_mode = force_generic_plan")
        assert anna.execute(see).fetchall() == [("note/1",)]


def test_a_mapping_does_not_outlive_its_role(store: Store) -> None:
    """A role made later under the name of one that was mapped has none of its principals."""
    name = sql.Identifier(f"{store.anna}_boss")
    store.admin.execute(sql.SQL("CREATE ROLE {}").format(name))
    store.admin.execute("SELECT sift.map_role('a', %s, '{group:hr}')", (f"{store.anna}_boss",))
    try:
        for again in (False, True):
            if again:
                store.admin.execute(sql.SQL("DROP ROLE {0}; CREATE ROLE {0}").format(name))
            store.admin.execute(sql.SQL("GRANT {} TO {}").format(name, sql.Identifier(store.anna)))
            with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
                expected = [("note/1",)] if again else [("hr/salaries",), ("note/1",)]
                assert anna.execute("SELECT key FROM sift.search('a', 'salary pump') ORDER BY key").fetchall() == expected
                assert anna.execute("SELECT key FROM sift.my_documents ORDER BY key").fetchall() == expected
        # After a restore elsewhere an administrator says which names mean the roles of now. Nothing is revived beside these.
        boss, other = f"{store.anna}_boss", oid_of(store, store.bob)
        store.admin.execute("UPDATE sift.role_principals SET role_id = 1 WHERE role_name = %s", (store.bob,))
        (was,) = store.admin.execute("SELECT DISTINCT role_id::bigint FROM sift.role_principals WHERE role_name = %s", (boss,)).fetchone() or (0,)
        stale = [(boss, was, oid_of(store, boss), False), (store.bob, 1, other, False)]
        remap = "SELECT role_name::text, old_oid::bigint, new_oid::bigint, remapped FROM sift.remap_roles('a', %s::name[]) ORDER BY new_oid = %s"
        for nothing in (None, [], [store.anna]):
            reported = store.admin.execute(remap, (nothing, other)).fetchall()
            assert reported == (stale if nothing is None else [])
        assert store.admin.execute(remap, ([store.bob, store.anna], other)).fetchall() == [(store.bob, 1, other, True)]
        with psycopg.connect(store.anna_dsn, autocommit=True) as anna, psycopg.connect(store.bob_dsn, autocommit=True) as bob:
            assert anna.execute("SELECT key FROM sift.my_documents").fetchall() == [("note/1",)]
            assert len(bob.execute("SELECT key FROM sift.my_documents").fetchall()) == 2
            for unknown in ("nobody_here", None):
                assert refused(store.admin, "SELECT * FROM sift.remap_roles('a', ARRAY[%s]::name[])", (unknown,)) == "PS002"
            assert store.admin.execute(remap, (None, other)).fetchall() == stale[:1]
            assert store.admin.execute(remap, ([boss], other)).fetchall() == [(*stale[0][:3], True)]
            assert len(anna.execute("SELECT key FROM sift.my_documents").fetchall()) == 2
            assert store.admin.execute(remap, (None, other)).fetchall() == []
        # A role that is gone is reported, and cannot be meant. What it was mapped to can be taken away.
        store.admin.execute("INSERT INTO sift.role_principals SELECT m.tenant_id, 'gone_role', 1, 'public' FROM sift.role_principals AS m LIMIT 1")
        for named in (None, ["gone_role"]):
            assert store.admin.execute(remap, (named, other)).fetchall() == [("gone_role", 1, None, False)]
        assert refused(store.admin, "SELECT sift.map_role('a', 'gone_role', '{public}')", ()) == "PS002"
        store.admin.execute("SELECT sift.map_role('a', 'gone_role', NULL)")
        assert store.admin.execute(remap, (None, other)).fetchall() == []
        assert refused(store.admin, "SELECT sift.map_role('a', 'gone_role', NULL)", ()) == "PS002"
    finally:
        store.admin.execute(sql.SQL("DROP ROLE {}").format(name))


def oid_of(store: Store, role: str) -> int:
    row = store.admin.execute("SELECT %s::regrole::oid::bigint", (role,)).fetchone()
    assert row is not None
    return int(row[0])


def refused(connection: psycopg.Connection, statement: str, parameters: tuple[Any, ...]) -> str:
    with pytest.raises(psycopg.Error) as caught, connection.transaction():
        connection.execute(statement, parameters)
    return str(caught.value.sqlstate)


def test_a_proof_is_of_this_role_backend_and_transaction(store: Store) -> None:
    """The bodies may be called by anybody who may search, and refuse every proof but the caller's own."""
    call = "SELECT key FROM sift._list_documents(%s::oid, %s, 'a', NULL, NULL, 10, NULL)"
    own = "SELECT role_id::bigint, proof FROM sift._caller"
    superuser, bob = oid_of(store, "postgres"), oid_of(store, store.bob)
    with psycopg.connect(store.anna_dsn) as anna, psycopg.connect(store.anna_dsn) as other, psycopg.connect(store.bob_dsn) as his:
        role, proof = anna.execute(own).fetchone() or (0, b"")
        assert role == oid_of(store, store.anna)
        assert anna.execute(call, (role, proof)).fetchall() == [("note/1",)]
        foreign = other.execute(own).fetchone() or (0, b"")
        bobs = his.execute(own).fetchone() or (0, b"")
        assert len({proof, foreign[1], bobs[1]}) == 3
        for forged in (
            (superuser, proof), (bob, proof), (0, proof), (None, proof), (role, None), (superuser, None), (None, None), (role, b""),
            (role, bytes(32)), (role, proof[:-1]), (role, proof + b"x"), foreign, bobs, (superuser, bobs[1]), (role, bobs[1]),
        ):
            assert refused(anna, call, forged) == "PS008", forged
        anna.rollback()
        assert refused(anna, call, (role, proof)) == "PS008"
        # Every body asks, not this one alone.
        bodies = store.admin.execute(
            "SELECT p.oid::regprocedure::text, p.proname, p.pronargs FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
            " AND has_function_privilege(%s, p.oid, 'EXECUTE') AND starts_with(p.proname, '_')", (store.anna,)
        ).fetchall()
        assert len(bodies) > 6
        for signature, name, count in bodies:
            arguments = [superuser, proof] + [None] * (count - 2)
            types = signature.split("(", 1)[1].rstrip(")").split(",")
            call = f"SELECT * FROM sift.{name}({', '.join(f'%s::{kind}' for kind in types)})"
            assert refused(anna, call, tuple(arguments)) == "PS008", signature


def test_a_proof_is_of_the_moment_the_transaction_began(store: Store) -> None:
    """Two transactions in one simple-query message have one; those of two messages do not."""
    own = "BEGIN; SELECT proof FROM sift._caller; COMMIT;"
    with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
        proofs: list[bytes] = []
        for message in (own + own, own):
            cursor = anna.execute(message.encode())
            while True:
                if cursor.description:
                    proofs += [proof for (proof,) in cursor.fetchall()]
                if not cursor.nextset():
                    break
        assert len(proofs) == 3 and proofs[0] == proofs[1] != proofs[2]


def test_without_the_secret_nobody_is_let_in(store: Store) -> None:
    """After a restore of the definitions alone, say. A NULL is not a proof."""
    store.admin.execute("DELETE FROM sift.secrets")
    role = oid_of(store, store.anna)
    with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
        assert anna.execute("SELECT proof FROM sift._caller").fetchall() == [(None,)]
        for statement in ("SELECT * FROM sift.search('a', 'pump')", "SELECT * FROM sift.my_documents", "SELECT * FROM sift.list_documents('a')"):
            assert refused(anna, statement, ()) == "PS008"
        assert refused(anna, "SELECT * FROM sift._my_chunks(%s::oid, NULL)", (role,)) == "PS008"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            anna.execute("SELECT sift.renew_secret()")
        store.admin.execute("SELECT sift.renew_secret()")
        assert anna.execute("SELECT key FROM sift.my_documents").fetchall() == [("note/1",)]
        old = store.admin.execute("SELECT inner_key, outer_key FROM sift.secrets").fetchone()
        store.admin.execute("SELECT sift.renew_secret()")
        new = store.admin.execute("SELECT inner_key, outer_key FROM sift.secrets").fetchone()
        assert old is not None and new is not None and len({*old, *new}) == 4
        assert anna.execute("SELECT key FROM sift.my_documents").fetchall() == [("note/1",)]
        for relation in ("secrets", "documents"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                anna.execute(f"SELECT * FROM sift.{relation}")


def test_two_installations_have_secrets_of_their_own(dsn: str, empty_dsn: str) -> None:
    from pgsift import schema

    schema.upgrade(empty_dsn)
    seen = set()
    for database in (dsn, empty_dsn):
        with psycopg.connect(database) as connection:
            seen |= set(connection.execute("SELECT inner_key, outer_key FROM sift.secrets").fetchone() or ())
    assert len(seen) == 4


def test_every_way_to_run_a_statement(store: Store) -> None:
    """Kept statements, cursors, blocks, nested functions, workers, read-only transactions: the proof is made when it runs."""
    see = "SELECT key FROM sift.search('a', 'salary pump') ORDER BY key"
    with psycopg.connect(store.bob_dsn, autocommit=True) as bob:
        both = [("hr/salaries",), ("note/1",)]
        bob.execute(f"PREPARE kept AS {see}")
        bob.execute("PREPARE viewed AS SELECT key FROM sift.my_documents ORDER BY key")
        for _ in range(8):  # generic plans too
            assert bob.execute("EXECUTE kept").fetchall() == both
            assert bob.execute("EXECUTE viewed").fetchall() == both
        store.admin.execute("SELECT sift.map_role('a', %s, '{public}')", (store.bob,))
        assert bob.execute("EXECUTE kept").fetchall() == [("note/1",)]
        assert bob.execute("EXECUTE viewed").fetchall() == [("note/1",)]
        store.admin.execute("SELECT sift.map_role('a', %s, '{public,group:hr}')", (store.bob,))
        for mode in ("READ ONLY", "ISOLATION LEVEL REPEATABLE READ READ ONLY", "ISOLATION LEVEL REPEATABLE READ"):
            with bob.transaction():
                bob.execute(f"SET TRANSACTION {mode}")
                for _ in range(3):
                    assert bob.execute("EXECUTE kept").fetchall() == both
                    with bob.transaction():  # a savepoint
                        assert bob.execute(see).fetchall() == both
        bob.execute("SET default_transaction_read_only = on")
        assert bob.execute(see).fetchall() == both
        bob.execute("SET default_transaction_read_only = off")
        with bob.transaction():
            bob.execute(f"DECLARE held CURSOR WITH HOLD FOR {see}")
            bob.execute(f"DECLARE open SCROLL CURSOR FOR {see}")
            assert bob.execute("FETCH ALL FROM open").fetchall() == both
            assert bob.execute("FETCH BACKWARD ALL FROM open").fetchall() == both[::-1]
        assert bob.execute("FETCH ALL FROM held").fetchall() == both
        bob.execute(
            "DO $$ BEGIN FOR i IN 1..3 LOOP"
            " IF (SELECT count(*) FROM sift.search('a', 'salary pump')) <> 2 OR (SELECT count(*) FROM sift.my_chunks) <> 2 THEN"
            " RAISE EXCEPTION 'not two'; END IF; COMMIT; END LOOP; END $$"
        )
        bob.execute(sql.SQL(
            "CREATE FUNCTION {0}.inner_(q text) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM sift.search(''a'', q)';"
            "CREATE FUNCTION {0}.outer_(q text) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS"
            " 'BEGIN RETURN {0}.inner_(q) + (SELECT count(*) FROM sift.my_documents); END'"
        ).format(sql.Identifier(store.bob)))
        assert bob.execute(sql.SQL("SELECT {}.outer_('salary pump')").format(sql.Identifier(store.bob))).fetchone() == (4,)
        # A function that is said to be safe for workers, though what it calls is not: still each worker proves itself.
        workers = "debug_parallel_query" if bob.info.server_version >= 160000 else "force_parallel_mode"
        bob.execute(f"SET {workers} = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0".encode())
        assert bob.execute(
            sql.SQL("SELECT DISTINCT {}.outer_('salary pump') FROM generate_series(1, 20)").format(sql.Identifier(store.bob))
        ).fetchall() == [(4,)]


def test_views_are_functions_to_explain(store: Store) -> None:
    """No condition of the reader's comes below the permission, and no plan tells of rows beneath."""
    with psycopg.connect(store.anna_dsn, autocommit=True) as anna:
        anna.execute("SET join_collapse_limit = 1; SET enable_hashjoin = off")
        for view, column, values in (
            ("my_documents", "key", ("hr/salaries", "hr/absent", "b/merger")),
            ("my_documents", "tenant", ("b", "c")),
            ("my_chunks", "body", (SALARY, MERGER, "absent")),
            ("my_chunks", "title", ("Z", "Y")),
        ):
            plans = set()
            for value in values:
                for form in ("", "ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF, "):
                    rows = anna.execute(
                        sql.SQL("EXPLAIN ({}VERBOSE, FORMAT JSON) SELECT FROM sift.{} WHERE {} = {}").format(
                            sql.SQL(form), sql.Identifier(view), sql.Identifier(column), sql.Literal(value))
                    ).fetchone()
                    assert rows is not None
                    text = json.dumps(rows[0])
                    plans.add((form, text.replace(f"'{value}'", "VALUE")))
                    scans = {n for n in ("documents", "chunks", "tenants", "access_lists", "role_principals", "pg_authid")
                             if f'"Relation Name": "{n}"' in text}
                    assert scans == set(), text
            assert len(plans) == 2
