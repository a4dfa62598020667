"""Groups, denies, rules by prefix, and the functions that change access: what they cost, and who waits for whom."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest


@pytest.fixture
def store(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard')")
        connection.execute("SELECT sift.register_model('toy', 2)")
        yield connection


def put(connection: psycopg.Connection, *documents: dict[str, Any]) -> None:
    batch = [
        {"chunks": [{"body": "fox", "embedding": [1, 0]}, {"body": "hound", "embedding": [0, 1]}], **document}
        for document in documents
    ]
    connection.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'toy')", (json.dumps(batch),))


def seen(connection: psycopg.Connection, *principals: str) -> list[str]:
    return [
        key
        for (key,) in connection.execute(
            "SELECT key FROM sift.lexical_search('t', 'fox', 100, %s, collapse => false) ORDER BY key",
            (list(principals),),
        ).fetchall()
    ]


def rows_written(connection: psycopg.Connection, statement: str, *parameters: object) -> dict[str, int]:
    """Rows inserted, updated and deleted by one statement, by table."""
    counts = (
        "SELECT c.relname, pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)"
        " + pg_stat_get_xact_tuples_deleted(c.oid) FROM pg_class AS c"
        " WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r'"
    )
    with connection.transaction():
        before: dict[str, int] = dict(connection.execute(counts).fetchall())
        connection.execute(statement, parameters)
        after: dict[str, int] = dict(connection.execute(counts).fetchall())
    return {table: count - before[table] for table, count in after.items() if count != before[table]}


# What a change costs


def test_a_membership_is_one_row_and_holds_at_once(store: psycopg.Connection) -> None:
    put(store, *({"key": f"d{n}", "acl": ["group:hr"]} for n in range(20)))
    assert seen(store, "user:1") == []
    assert rows_written(store, "SELECT sift.add_members('t', 'group:hr', '{user:1}')") == {
        "principal_groups": 1
    }
    assert len(seen(store, "user:1")) == 20
    assert rows_written(store, "SELECT sift.remove_members('t', 'group:hr', '{user:1}')") == {
        "principal_groups": 1
    }
    assert seen(store, "user:1") == []


@pytest.mark.parametrize("change", ["set", "grant", "revoke"])
def test_a_whole_list_is_changed_by_one_row(store: psycopg.Connection, change: str) -> None:
    put(
        store,
        *({"key": f"hr/{n}", "acl": ["group:hr", "group:it"]} for n in range(20)),
        {"key": "x", "acl": ["group:it"]},
    )
    keys = [f"hr/{n}" for n in range(20)]
    written = rows_written(store, f"SELECT sift.{change}_access('t', %s, '{{group:it}}', '{{user:9}}')", keys)
    if change == "revoke":  # takes group:it off and denies nobody
        assert seen(store, "group:it") == ["x"] and len(seen(store, "group:hr", "user:9")) == 20
    else:
        assert len(seen(store, "group:it")) == 21 and seen(store, "group:it", "user:9") == ["x"]
    assert written == {"access_lists": 1}


def test_a_prefix_that_covers_a_list_is_two_rows_with_its_rule(store: psycopg.Connection) -> None:
    put(store, *({"key": f"hr/{n}", "acl": ["group:hr"]} for n in range(20)))
    written = rows_written(
        store, "SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:pay}')"
    )
    # The list, the new version of list 0 that transactions with one snapshot notice, and the rule.
    assert written == {"access_lists": 2, "access_rules": 1}
    assert len(seen(store, "group:pay")) == 20 and seen(store, "group:hr") == []


def test_part_of_a_list_moves_with_chunks_and_vectors(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]}, {"key": "b", "acl": ["group:hr"]})
    written = rows_written(store, "SELECT sift.set_access('t', '{a}', '{public}')")
    assert written["documents"] == 1 and written["chunks"] == 2
    assert seen(store, "public") == ["a"] and seen(store, "group:hr") == ["b"]
    assert store.execute("SELECT sift.verify_statistics('t')").fetchall() == []


def test_nothing_to_change_writes_nothing(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]}, {"key": "b", "acl": ["group:hr"]})
    for call in (
        "set_access('t', '{a}', '{group:hr}')",
        "grant_access('t', '{a,b}', '{group:hr}')",
        "revoke_access('t', '{a}', '{x}')",
    ):
        assert rows_written(store, f"SELECT sift.{call}") == {}
    assert store.execute("SELECT key, changed FROM sift.grant_access('t', '{b,a,none}', '{group:hr}')").fetchall() == [
        ("a", False), ("b", False)]  # fmt: skip


def test_lists_are_shared(store: psycopg.Connection) -> None:
    put(
        store,
        {"key": "a", "acl": ["b", "a"]},
        {"key": "b", "acl": {"allow": ["a", "b", "a"]}},
        {"key": "c", "acl": {"allow": ["b", "a"], "deny": []}},
        {"key": "d", "acl": {"allow": ["a", "b"], "deny": ["c"]}},
        {"key": "e", "acl": {"deny": []}},
    )
    put(store, {"key": "f", "acl": ["a", "b"]})
    lists: dict[str, int] = dict(store.execute("SELECT key, access_list_id FROM sift.documents").fetchall())
    assert lists["a"] == lists["b"] == lists["c"] == lists["f"] != lists["d"]
    assert lists["e"] == 0


# What is not touched


def test_a_list_with_a_rule_or_the_default_is_not_edited_for_a_document(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.set_default_access('t', '{public}')")
    store.execute("SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:hr}')")
    put(store, {"key": "a"}, {"key": "hr/a"})
    store.execute("SELECT sift.set_access('t', '{a,hr/a}', '{user:1}')")
    put(store, {"key": "b"}, {"key": "hr/b"})
    assert (seen(store, "public"), seen(store, "group:hr"), seen(store, "user:1")) == (
        ["b"],
        ["hr/b"],
        ["a", "hr/a"],
    )


def test_what_a_deleted_document_was_is_not_opened_with_its_list(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]}, {"key": "b", "acl": ["group:hr"]})
    store.execute("SELECT sift.delete_documents('t', '{b}')")
    store.execute("SELECT sift.set_access('t', '{a}', '{public}')")
    tombstone = (
        "SELECT a.principals FROM sift.document_versions AS h JOIN sift.access_lists AS a USING (tenant_id, access_list_id)"
        " WHERE h.key = 'b' AND h.event = 'deleted'"
    )
    assert store.execute(tombstone).fetchall() == [(["group:hr"],)]
    store.execute("SELECT sift.revoke_access('t', '{b}', '{group:hr}')")
    assert store.execute(tombstone).fetchall() == [([],)]


def test_list_0_is_nobodys_whatever_is_granted(store: psycopg.Connection) -> None:
    put(store, {"key": "a"}, {"key": "b", "acl": []})
    store.execute("SELECT sift.grant_access('t', key_prefix => '', principals => '{public}')")
    assert seen(store, "public") == ["a", "b"]
    assert store.execute(
        "SELECT principals, denied FROM sift.access_lists WHERE access_list_id = 0"
    ).fetchone() == ([], [])
    with pytest.raises(psycopg.errors.CheckViolation):
        store.execute("UPDATE sift.access_lists SET principals = '{public}' WHERE access_list_id = 0")


# Groups and denies


def test_groups_nest_and_may_run_in_circles(store: psycopg.Connection) -> None:
    put(store, {"key": "top", "acl": ["group:3"]})
    for group, member in (
        ("group:1", "user:1"),
        ("group:2", "group:1"),
        ("group:3", "group:2"),
        ("group:1", "group:3"),
    ):
        store.execute("SELECT sift.add_members('t', %s, %s)", (group, [member]))
    assert seen(store, "user:1") == seen(store, "group:1") == ["top"]
    assert seen(store, "user:2") == []
    store.execute("SELECT sift.remove_members('t', 'group:2', '{group:1}')")
    assert seen(store, "user:1") == [] and seen(store, "group:2") == ["top"]


def test_a_group_is_no_member_of_itself(store: psycopg.Connection) -> None:
    for members, added in ((["group:1"], 0), (["group:1", "user:1"], 1), (["group:1", "user:1"], 0)):
        row = store.execute("SELECT sift.add_members('t', 'group:1', %s)", (members,)).fetchone()
        assert row == (added,)
    assert store.execute("SELECT member FROM sift.list_members('t')").fetchall() == [("user:1",)]
    assert store.execute("SELECT member FROM sift.list_members('t', 'group:1')").fetchall() == [("user:1",)]


def test_public_may_be_a_member_and_is_never_added_by_itself(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "acl": ["group:all"]}, {"key": "b", "acl": ["public"]})
    store.execute("SELECT sift.add_members('t', 'group:all', '{public}')")
    assert seen(store, "public") == ["a", "b"]
    assert seen(store, "user:1") == seen(store, "PUBLIC") == seen(store, "group:all ") == []


def test_one_deny_beats_every_grant(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "acl": {"allow": ["user:1", "group:hr", "public"], "deny": ["group:leaving"]}})
    assert seen(store, "user:1", "group:hr") == ["a"]
    store.execute("SELECT sift.add_members('t', 'group:leaving', '{group:summer}')")
    store.execute("SELECT sift.add_members('t', 'group:summer', '{user:1}')")
    assert seen(store, "user:1", "group:hr", "public") == []
    assert seen(store, "group:hr") == ["a"]
    put(
        store,
        {"key": "b", "acl": {"deny": ["user:2"]}},
        {"key": "c", "acl": {"allow": ["user:2"], "deny": ["user:2"]}},
    )
    assert seen(store, "user:2") == seen(store, "user:3") == []
    assert seen(store, "sift:writer") == ["a", "b", "c"]


def test_groups_of_one_tenant_mean_nothing_in_another(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.create_tenant('u', 'standard')")
    store.execute("SELECT sift.add_members('u', 'group:hr', '{user:1}')")
    put(store, {"key": "a", "acl": ["group:hr"]})
    assert seen(store, "user:1") == []
    store.execute("SELECT sift.drop_tenant('u')")
    assert store.execute("SELECT count(*) FROM sift.principal_groups").fetchone() == (0,)


@pytest.mark.parametrize(
    "acl",
    [{"denny": ["a"]}, {"allow": "a"}, {"allow": None}, {"allow": [], "deny": {"a": 1}}, "public", 1, True],
)
def test_an_acl_of_another_shape_is_refused(store: psycopg.Connection, acl: object) -> None:
    with pytest.raises(psycopg.Error) as caught:
        put(store, {"key": "a", "acl": acl})
    assert caught.value.sqlstate == "PS012"


@pytest.mark.parametrize("name", ["sift:writer", "", None, "x" * 501])
def test_names_nobody_can_have_are_refused_everywhere(store: psycopg.Connection, name: str | None) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]})
    for call in (
        "set_access('t', '{a}', %s)", "set_access('t', '{a}', '{}', %s)", "grant_access('t', '{a}', %s)",
        "grant_access('t', '{a}', '{}', %s)", "set_default_access('t', %s)", "set_default_access('t', '{}', %s)",
        "add_members('t', 'group:hr', %s)", "map_role('t', session_user::name, %s)",
    ):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught:
            store.execute(f"SELECT sift.{call}", ([name],))
        assert caught.value.sqlstate == "PS002"
    with pytest.raises(psycopg.Error) as caught:
        store.execute("SELECT sift.add_members('t', %s, '{a}')", (name,))
    assert caught.value.sqlstate == "PS002"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "'{a}', '{x}', key_prefix => 'a'",
        "'{a}', '{x}', on_default => true",
        "principals => '{x}', key_prefix => repeat('x', 2001)",
    ],
)
def test_what_is_changed_is_said_once(store: psycopg.Connection, arguments: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        store.execute(f"SELECT sift.grant_access('t'{arguments and ', ' + arguments})")
    assert caught.value.sqlstate == "PS002"


# Rules


def test_the_longest_prefix_wins_and_a_shorter_set_drops_it(store: psycopg.Connection) -> None:
    for prefix, name in (("hr/", "group:hr"), ("hr/board/", "group:board")):
        store.execute("SELECT sift.set_access('t', key_prefix => %s, principals => %s)", (prefix, [name]))
    put(
        store,
        {"key": "hr/a"},
        {"key": "hr/board/a"},
        {"key": "hrx"},
        {"key": "hr/board/own", "acl": ["user:1"]},
    )
    assert (seen(store, "group:hr"), seen(store, "group:board"), seen(store, "user:1")) == (
        ["hr/a"],
        ["hr/board/a"],
        ["hr/board/own"],
    )
    store.execute("SELECT sift.grant_access('t', key_prefix => 'hr/', principals => '{group:audit}')")
    put(store, {"key": "hr/board/b"})
    assert seen(store, "group:audit") == ["hr/a", "hr/board/a", "hr/board/b", "hr/board/own"]
    assert seen(store, "group:board") == ["hr/board/a", "hr/board/b"]
    store.execute("SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:hr}')")
    put(store, {"key": "hr/board/c"})
    assert seen(store, "group:hr") == ["hr/a", "hr/board/a", "hr/board/b", "hr/board/c", "hr/board/own"]
    assert seen(store, "group:board") == []


def test_a_prefix_is_not_a_pattern(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.set_access('t', key_prefix => 'a_%', principals => '{public}')")
    put(store, {"key": "abc"}, {"key": "a_%c"})
    assert seen(store, "public") == ["a_%c"]


# Who is told what


def test_applications_cannot_tell_the_invisible_from_the_absent(
    store: psycopg.Connection, dsn: str, make_login: Callable[..., str]
) -> None:
    put(
        store,
        {"key": "a", "acl": ["group:hr"]},
        {"key": "b", "acl": {"allow": ["public"], "deny": ["user:1"]}},
    )
    check = "SELECT * FROM sift.check_access('t', %s, %s)"
    with psycopg.connect(make_login(dsn, "sift_app"), autocommit=True) as app:
        answers = {
            tuple(map(str, app.execute(check, (key, ["public", "user:1"])).fetchone() or ()))
            for key in ("a", "b", "none")
        }
        assert answers == {("False", "not visible", "[]", "[]")}
        assert app.execute(check, ("b", ["public"])).fetchone() == (True, "granted", ["public"], [])
        with pytest.raises(psycopg.Error) as caught:
            app.execute(check, ("a", ["sift:writer"]))
        assert caught.value.sqlstate == "PS008"
    with psycopg.connect(make_login(dsn, "sift_writer"), autocommit=True) as writer:
        assert writer.execute(check, ("a", ["public"])).fetchone() == (False, "not granted", [], [])
        assert writer.execute(check, ("b", ["public", "user:1"])).fetchone() == (
            False,
            "denied",
            ["public"],
            ["user:1"],
        )
        assert writer.execute(check, ("none", ["public"])).fetchone() == (False, "no such document", [], [])
        assert writer.execute(check, ("a", ["sift:writer"])).fetchone() == (True, "writer", [], [])


CHANGES = (
    "set_access('t', '{a}', '{public}')", "grant_access('t', '{a}', '{public}')", "revoke_access('t', '{a}', '{x}')",
    "set_default_access('t', '{public}')", "add_members('t', 'group:hr', '{user:1}')",
    "remove_members('t', 'group:hr', '{user:1}')", "list_members('t')", "show_access('t')",
)  # fmt: skip


@pytest.mark.parametrize("role", ["sift_reader", "sift_app"])
@pytest.mark.usefixtures("store")
def test_readers_and_applications_change_and_list_nothing(
    dsn: str, make_login: Callable[..., str], role: str
) -> None:
    with psycopg.connect(make_login(dsn, role), autocommit=True) as connection:
        for call in (*CHANGES, *(("check_access('t', 'a', '{public}')",) if role == "sift_reader" else ())):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT sift.{call}")


# Who waits for whom


def waiting(connection: psycopg.Connection, pid: int) -> None:
    """Returns when the other session waits for a lock."""
    for _ in range(1000):
        if connection.execute(
            "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s", (pid,)
        ).fetchone() == ("Lock",):
            return
        time.sleep(0.01)
    raise AssertionError("it does not wait")


class Two:
    """A transaction that is left open, and another session that meets it."""

    def __init__(self, dsn: str, store: psycopg.Connection, pool: ThreadPoolExecutor) -> None:
        self.open = psycopg.connect(dsn)
        self.other = psycopg.connect(dsn, autocommit=True)
        self.store, self.pool = store, pool

    def meet(self, work: Callable[[psycopg.Connection], Any]) -> Future[Any]:
        future = self.pool.submit(work, self.other)
        waiting(self.store, self.other.info.backend_pid)
        return future


@pytest.fixture
def two(dsn: str, store: psycopg.Connection) -> Iterator[Two]:
    with ThreadPoolExecutor(1) as pool:
        pair = Two(dsn, store, pool)
        try:
            yield pair
        finally:
            pair.open.close()
            pair.other.close()


def test_a_list_edited_while_it_is_being_chosen_is_not_taken(store: psycopg.Connection, two: Two) -> None:
    """The editor is first: the ingest waits, and then makes the list it was asked for."""
    put(store, {"key": "a", "acl": ["group:hr"]})
    two.open.execute("SELECT sift.set_access('t', '{a}', '{public}')")
    ingest = two.meet(lambda other: put(other, {"key": "b", "acl": ["group:hr"]}))
    two.open.commit()
    ingest.result(20)
    assert (seen(store, "public"), seen(store, "group:hr")) == (["a"], ["b"])


def test_a_list_that_is_being_ingested_under_is_not_edited(store: psycopg.Connection, two: Two) -> None:
    """The ingest is first: the editor waits, sees the document that came, and moves its own."""
    put(store, {"key": "a", "acl": ["group:hr"]})
    put(two.open, {"key": "b", "acl": ["group:hr"]})
    change = two.meet(lambda other: other.execute("SELECT sift.set_access('t', '{a}', '{public}')"))
    two.open.commit()
    change.result(20)
    assert (seen(store, "public"), seen(store, "group:hr")) == (["a"], ["b"])


def test_a_prefix_waits_for_documents_on_their_way(store: psycopg.Connection, two: Two) -> None:
    store.execute("SELECT sift.set_default_access('t', '{public}')")
    put(two.open, {"key": "hr/a"}, {"key": "hr/b", "acl": ["user:1"]})
    change = two.meet(
        lambda other: other.execute(
            "SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:hr}')"
        )
    )
    two.open.commit()
    change.result(20)
    assert (seen(store, "public"), seen(store, "user:1"), seen(store, "group:hr")) == (
        [],
        [],
        ["hr/a", "hr/b"],
    )


def test_documents_wait_for_a_prefix_on_its_way(store: psycopg.Connection, two: Two) -> None:
    store.execute("SELECT sift.set_default_access('t', '{public}')")
    two.open.execute("SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:hr}')")
    ingest = two.meet(lambda other: put(other, {"key": "hr/a"}))
    two.open.commit()
    ingest.result(20)
    assert (seen(store, "public"), seen(store, "group:hr")) == ([], ["hr/a"])


def test_two_changes_of_one_document_both_count(store: psycopg.Connection, two: Two) -> None:
    put(store, {"key": "a", "acl": ["x", "y"]}, {"key": "b", "acl": ["x", "y"]})
    two.open.execute("SELECT sift.revoke_access('t', '{a}', '{x}')")
    change = two.meet(lambda other: other.execute("SELECT sift.revoke_access('t', '{a}', '{y}')"))
    two.open.commit()
    change.result(20)
    assert (seen(store, "x"), seen(store, "y")) == (["b"], ["b"])


def test_a_document_put_under_another_list_meanwhile_is_changed_there(
    store: psycopg.Connection, two: Two
) -> None:
    put(store, {"key": "a", "acl": ["x"]}, {"key": "b", "acl": ["x"]})
    put(two.open, {"key": "a", "acl": ["y", "z"]})
    change = two.meet(lambda other: other.execute("SELECT sift.revoke_access('t', '{a}', '{x,y}')"))
    two.open.commit()
    change.result(20)
    assert (seen(store, "x"), seen(store, "y"), seen(store, "z")) == (["b"], [], ["a"])


def test_a_document_deleted_meanwhile_is_changed_as_what_it_was(store: psycopg.Connection, two: Two) -> None:
    put(store, {"key": "a", "acl": ["x", "y"]}, {"key": "b", "acl": ["x", "y"]})
    two.open.execute("SELECT sift.delete_documents('t', '{a}')")
    change = two.meet(lambda other: other.execute("SELECT sift.revoke_access('t', '{a}', '{x}')"))
    two.open.commit()
    change.result(20)
    assert store.execute(
        "SELECT a.principals FROM sift.document_versions AS h JOIN sift.access_lists AS a USING (tenant_id, access_list_id)"
        " WHERE h.key = 'a' AND h.event = 'deleted'"
    ).fetchall() == [(["y"],)]


def repeatable(connection: psycopg.Connection) -> psycopg.Connection:
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.execute("SELECT sift.schema_version()")  # takes the snapshot
    return connection


def test_one_snapshot_never_takes_a_list_that_was_edited(store: psycopg.Connection, two: Two) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]})
    repeatable(two.open)
    store.execute("SELECT sift.set_access('t', '{a}', '{public}')")
    with pytest.raises(psycopg.errors.SerializationFailure):
        put(two.open, {"key": "b", "acl": ["group:hr"]})


def test_one_snapshot_never_takes_a_rule_that_was_changed(store: psycopg.Connection, two: Two) -> None:
    store.execute("SELECT sift.set_default_access('t', '{public}')")
    repeatable(two.open)
    store.execute("SELECT sift.set_access('t', key_prefix => 'hr/', principals => '{group:hr}')")
    with pytest.raises(psycopg.errors.SerializationFailure):
        put(two.open, {"key": "hr/a"})


def test_one_snapshot_edits_no_list_that_it_may_not_see_all_of(store: psycopg.Connection, two: Two) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]})
    repeatable(two.open)
    put(store, {"key": "b", "acl": ["group:hr"]})
    two.open.execute("SELECT sift.set_access('t', '{a}', '{public}')")
    two.open.commit()
    assert (seen(store, "public"), seen(store, "group:hr")) == (["a"], ["b"])
    repeatable(two.open)
    for call in ("set_access('t', key_prefix => '', principals => '{x}')", "set_default_access('t', '{x}')"):
        with pytest.raises(psycopg.Error) as caught, two.open.transaction():
            two.open.execute(f"SELECT sift.{call}")
        assert caught.value.sqlstate == "PS002"


def test_readers_wait_for_nobody(store: psycopg.Connection, two: Two) -> None:
    put(store, {"key": "a", "acl": ["group:hr"]})
    two.open.execute("SELECT sift.set_access('t', key_prefix => '', principals => '{public}')")
    two.open.execute("SELECT sift.add_members('t', 'group:hr', '{user:1}')")
    store.execute("SET lock_timeout = '2s'")
    assert (seen(store, "public"), seen(store, "group:hr"), seen(store, "user:1")) == ([], ["a"], [])
    two.open.commit()
    assert (seen(store, "public"), seen(store, "group:hr"), seen(store, "user:1")) == (["a"], [], [])


def test_everything_at_once_neither_deadlocks_nor_goes_wrong(store: psycopg.Connection, dsn: str) -> None:
    """Ingest, deletion and every kind of change on the same few documents and lists, each call a transaction. What
    documents, chunks and vectors say stays the same, and each document has a list somebody gave it."""
    calls: list[tuple[str, tuple[Any, ...]]] = []
    acls = [["a"], ["b"], ["a", "b"], {"allow": ["a"], "deny": ["b"]}, None]
    for n in range(60):
        batch = [
            {"key": f"{'pq'[k % 2]}/{k}", "chunks": [{"body": f"fox {n}", "embedding": [1, n]}], **({"acl": acl} if (acl := acls[(n + k) % 5]) is not None else {})}
            for k in range(n % 3, 8, 1 + n % 2)
        ]  # fmt: skip
        keys = [document["key"] for document in batch][:: -1 if n % 2 else 1]
        calls.append(("put_documents('t', %s::jsonb, model => 'toy')", (json.dumps(batch),)))
        calls.append(
            (f"{('set', 'grant', 'revoke')[n % 3]}_access('t', %s, %s)", (keys, [("a", "b")[n % 2]]))
        )
        calls.append(
            (
                f"{('grant', 'revoke', 'set')[n % 3]}_access('t', key_prefix => %s, principals => %s)",
                (("p/", "q/", "")[n % 3], ["ab"[n % 2]]),
            )
        )
        calls.append(("set_default_access('t', %s)", (["a"] if n % 2 else [],)))
        if n % 4 == 0:
            calls.append(("delete_documents('t', %s)", (keys[:2],)))
        calls.append(
            (f"{('add', 'remove')[n % 2]}_members('t', 'a', %s)", (["u", "v", "w"][:: -1 if n % 3 else 1],))
        )
    position, lock = iter(calls), threading.Lock()

    def work() -> int:
        done = 0
        with psycopg.connect(dsn, autocommit=True) as connection:
            while True:
                with lock:
                    call = next(position, None)
                if call is None:
                    return done
                try:
                    connection.execute(f"SELECT sift.{call[0]}", call[1])
                except psycopg.errors.SerializationFailure as error:
                    # A document that was being replaced was deleted: the function says so, and the batch may run again.
                    assert "was deleted" in str(error)
                done += 1

    with ThreadPoolExecutor(6) as pool:
        workers = [pool.submit(work) for _ in range(6)]
        assert sum(worker.result(120) for worker in workers) == len(calls)
    assert store.execute("SELECT sift.verify_statistics('t')").fetchall() == []
    assert (
        store.execute(
            "SELECT d.key FROM sift.documents AS d JOIN sift.chunks AS c USING (tenant_id, document_id)"
            " LEFT JOIN sift.chunk_embeddings AS e USING (tenant_id, chunk_id)"
            " WHERE c.access_list_id <> d.access_list_id OR e.access_list_id <> d.access_list_id OR e.chunk_id IS NULL"
        ).fetchall()
        == []
    )
    store.execute("SELECT sift.set_access('t', key_prefix => '', principals => '{end}')")
    (documents,) = store.execute("SELECT count(*) FROM sift.documents").fetchone() or (None,)
    assert documents and len(seen(store, "end")) == documents and seen(store, "a", "b", "u") == []
