"""Who sees what, after any sequence of changes, equals a model in Python: groups nested and in circles, lists with denies, changes by key,
by prefix and by default, ingestion with and without an access list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

NAMES = ["public", "group:a", "group:b", "user:1"]
KEYS = ["x", "a/1", "a/2", "a/b/1", "a/b/2", "b/1"]
PREFIXES = ["", "a", "a/", "a/b/", "b/", "c/"]

names = st.frozensets(st.sampled_from(NAMES), max_size=2)
lists = st.tuples(
    st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=3),
    st.frozensets(st.sampled_from(NAMES), max_size=1),
)
keys = st.frozensets(st.sampled_from(KEYS), min_size=1)
target = st.one_of(
    st.tuples(st.just("keys"), keys),
    st.tuples(st.just("prefix"), st.sampled_from(PREFIXES)),
    st.just(("default", None)),
)
people = st.lists(st.lists(st.sampled_from(NAMES), max_size=2, unique=True), min_size=2, max_size=4)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """A tenant with a default and some documents under few lists, so that these are shared, and changes of all kinds."""
    pool = st.sampled_from(draw(st.lists(lists, min_size=2, max_size=3)))
    operation = st.one_of(
        st.tuples(st.just("put"), keys, st.one_of(st.none(), pool)),
        st.tuples(st.just("delete"), keys),
        st.tuples(
            st.sampled_from(["set", "grant", "revoke"]), target, st.one_of(pool, st.tuples(names, names))
        ),
        st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from(NAMES), names),
    )
    first = [
        ("set", ("default", None), draw(pool)),
        ("put", draw(keys), draw(pool)),
        ("put", draw(keys), None),
    ]
    groups = draw(st.lists(st.tuples(st.just("add"), st.sampled_from(NAMES), names), max_size=3))
    return first + groups + draw(st.lists(operation, max_size=8))


List = tuple[frozenset[str], frozenset[str]]


@dataclass
class Model:
    documents: dict[str, List] = field(default_factory=dict)
    tombstones: list[tuple[str, List]] = field(default_factory=list)
    rules: dict[str, List] = field(default_factory=dict)  # "" is the default
    members: set[tuple[str, str]] = field(default_factory=set)

    def rule(self, key: str) -> List:
        return self.rules[max((prefix for prefix in self.rules if key.startswith(prefix)), key=len)]

    def closure(self, principals: Iterable[str]) -> set[str]:
        reached = set(principals)
        while True:
            more = {group for member, group in self.members if member in reached} - reached
            if not more:
                return reached
            reached |= more

    def visible(self, principals: Iterable[str]) -> set[str]:
        mine = self.closure(principals)
        return {key for key, (allow, deny) in self.documents.items() if allow & mine and not deny & mine}

    def change(self, how: str, target: tuple[str, Any], change: List) -> None:
        def changed(old: List) -> List:
            if how == "set":
                return change
            if how == "grant":
                return old[0] | change[0], old[1] | change[1]
            return old[0] - change[0], old[1] - change[1]

        kind, what = target
        if kind == "default":
            self.rules[""] = changed(self.rules[""])
            return

        def addressed(key: str) -> bool:
            return key in what if kind == "keys" else key.startswith(what)

        self.documents = {k: changed(v) if addressed(k) else v for k, v in self.documents.items()}

        def gone(key: str, old: List) -> List:
            if not addressed(key):
                return old
            new = changed(old)
            # What is opened for the document that has the key by now is not opened for the one before it; what is closed is.
            return (old[0] & new[0], old[1] | new[1]) if key in self.documents else new

        self.tombstones = [(k, gone(k, v)) for k, v in self.tombstones]
        if kind == "prefix":
            new = changed(self.rule(what))
            if how == "set":
                self.rules = {k: v for k, v in self.rules.items() if not k.startswith(what)}
                self.rules[what] = new
            else:
                inherited = new != self.rule(what)
                self.rules = {k: changed(v) if k.startswith(what) else v for k, v in self.rules.items()}
                if what in self.rules or inherited:
                    self.rules[what] = new


def run(conn: psycopg.Connection, model: Model, operation: tuple[Any, ...], count: int) -> None:
    match operation:
        case ("put", keys, acl):
            batch = [
                {
                    "key": key,
                    "chunks": [{"body": f"fox {count}", "embedding": [1, count, 0]}, {"body": "fox"}],
                    **({} if acl is None else {"acl": {"allow": sorted(acl[0]), "deny": sorted(acl[1])}}),
                }
                for key in sorted(keys)
            ]
            conn.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'access')", (json.dumps(batch),))
            for key in keys:
                if acl is not None:
                    model.documents[key] = acl
                elif key not in model.documents:
                    model.documents[key] = model.rule(key)
        case ("delete", keys):
            conn.execute("SELECT sift.delete_documents('t', %s)", (sorted(keys),))
            for key in keys & model.documents.keys():
                model.tombstones.append((key, model.documents.pop(key)))
        case ("add" | "remove" as how, group, members):
            conn.execute(f"SELECT sift.{how}_members('t', %s, %s)", (group, sorted(members)))
            pairs = {(member, group) for member in members}
            model.members = model.members | pairs if how == "add" else model.members - pairs
        case (how, (kind, what), change):
            before = dict(model.documents)
            model.change(how, (kind, what), change)
            allow, deny = sorted(change[0]), sorted(change[1])
            if (how, kind) == ("set", "default"):
                conn.execute("SELECT sift.set_default_access('t', %s, %s)", (allow, deny))
                return
            arguments = (
                {"keys": sorted(what)}
                if kind == "keys"
                else {"key_prefix": what}
                if kind == "prefix"
                else {"on_default": True}
            )
            ((option, value),) = arguments.items()
            told = conn.execute(
                f"SELECT key, changed FROM sift.{how}_access('t', principals => %s, denied => %s, {option} => %s)",
                (allow, deny, value),
            ).fetchall()
            addressed = {
                k
                for k in before
                if (k in what if kind == "keys" else kind == "prefix" and k.startswith(what))
            }
            assert dict(told) == {key: before[key] != model.documents[key] for key in addressed}
            assert len(told) == len(addressed)


LISTS = "SELECT x.name, a.principals, a.denied FROM ({}) AS x (name, list) JOIN sift.access_lists AS a ON a.access_list_id = x.list AND a.tenant_id = {}"


def stored(conn: psycopg.Connection, statement: str) -> Counter[tuple[str, List]]:
    (tenant,) = conn.execute("SELECT tenant_id FROM sift.tenants WHERE name = 't'").fetchone() or (None,)
    found = conn.execute(LISTS.format(statement, tenant)).fetchall()
    return Counter((name, (frozenset(allow), frozenset(deny))) for name, allow, deny in found)


def compare(conn: psycopg.Connection, model: Model) -> None:
    expected = Counter(model.documents.items())
    assert stored(conn, "SELECT key, access_list_id FROM sift.documents") == expected
    for table in ("chunks", "chunks AS c JOIN sift.chunk_embeddings"):
        join = "JOIN sift.documents AS d USING (document_id)"
        statement = (
            f"SELECT d.key, c.access_list_id FROM sift.chunks AS c {join}"
            if table == "chunks"
            else f"SELECT d.key, e.access_list_id FROM sift.chunk_embeddings AS e JOIN sift.chunks AS c USING (chunk_id) {join}"
        )
        assert stored(conn, f"{statement} GROUP BY 1, 2") == expected
    assert stored(conn, "SELECT key_prefix, access_list_id FROM sift.access_rules UNION ALL"
                        " SELECT '', default_access_list_id FROM sift.tenants WHERE name = 't'") == Counter(model.rules.items())  # fmt: skip
    tombstones = "SELECT key, access_list_id FROM sift.document_versions WHERE event = 'deleted'"
    assert stored(conn, tombstones) == Counter(model.tombstones)
    assert conn.execute("SELECT sift.verify_statistics('t')").fetchall() == []


SEARCHES = {
    "search": "SELECT key FROM sift.search('t', 'fox', 100, %s, query_embedding => '{1,0,0}', model => 'access', collapse => false)",
    "lexical_search": "SELECT key FROM sift.lexical_search('t', 'fox', 100, %s, collapse => false)",
    "dense_search": "SELECT key FROM sift.dense_search('t', '{0,1,0}'::real[], 100, %s, model => 'access', collapse => false)",
    "list_documents": "SELECT key FROM sift.list_documents('t', %s)",
}


def seen(conn: psycopg.Connection, statement: str, principals: list[str] | None) -> set[str]:
    parameters = (principals,) if "%s" in statement else ()
    return {key for (key,) in conn.execute(statement, parameters).fetchall()}


def as_reader(conn: psycopg.Connection, principals: list[str], check: Callable[[], None]) -> None:
    """Runs the check as a person whose login is mapped to the principals."""
    name = sql.Identifier("access_model_reader")
    conn.execute(sql.SQL("CREATE ROLE {} IN ROLE sift_reader").format(name))
    conn.execute("SELECT sift.map_role('t', 'access_model_reader', %s)", (principals,))
    conn.execute(sql.SQL("SET LOCAL ROLE {}").format(name))
    check()
    conn.execute("RESET ROLE")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=histories(), people=people)
def test_what_is_seen_equals_the_model(
    conn: psycopg.Connection, operations: list[tuple[Any, ...]], people: list[list[str]]
) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.register_model('access', 3)")
        model = Model(rules={"": (frozenset(), frozenset())})
        for count, operation in enumerate(operations, 1):
            run(conn, model, operation, count)
            compare(conn, model)
        for principals in people:
            expected = model.visible(principals)
            for name, statement in SEARCHES.items():
                assert seen(conn, statement, principals) == expected, name
            for key in KEYS:
                row = conn.execute(
                    "SELECT visible, reason, granted_by, denied_by FROM sift.check_access('t', %s, %s)",
                    (key, principals),
                ).fetchone()
                assert row is not None
                assert row[0] == (key in expected)
                assert (row[1] == "no such document") == (key not in model.documents)
                if key in model.documents:
                    mine = model.closure(principals)
                    allow, deny = model.documents[key]
                    assert set(row[2]) == allow & mine and set(row[3]) == deny & mine

        def reader_sees_the_same() -> None:
            # To a login that is mapped to nothing there is no such tenant.
            for name, statement in SEARCHES.items() if people[0] else ():
                assert seen(conn, statement, None) == model.visible(people[0]), name
            for view in ("my_documents", "my_chunks"):
                assert seen(conn, f"SELECT key FROM sift.{view} WHERE tenant = 't'", None) == model.visible(
                    people[0]
                ), view

        as_reader(conn, people[0], reader_sees_the_same)
