"""sift.replace_principal: one principal in the place of another, everywhere; and tenants that keep no history."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import psycopg
import pytest

NAMES = ["a", "b", "group:old", "group:new", "c"]


def build(conn: psycopg.Connection[Any], tenant: str, seed: int, called: dict[str, str]) -> None:
    """A tenant with lists, denies, rules, a default, groups and deleted documents; principals are called as said."""
    chosen = random.Random(seed)

    def some(most: int) -> list[str]:
        return [called.get(name, name) for name in chosen.sample(NAMES, chosen.randint(0, most))]

    conn.execute("SELECT sift.create_tenant(%s, 'standard')", (tenant,))
    conn.execute("SELECT sift.set_default_access(%s, %s, %s)", (tenant, some(3), some(1)))
    conn.execute("SELECT count(*) FROM sift.set_access(%s, NULL, %s, %s, 'ruled/')", (tenant, some(3), some(1)))
    documents: list[dict[str, Any]] = [
        {"key": f"d{number}", "text": f"pump {number}", "acl": {"allow": some(3), "deny": some(2)}} for number in range(12)
    ]
    documents += [{"key": "ruled/x", "text": "pump"}, {"key": "plain", "text": "pump"}]
    conn.execute("SELECT count(*) FROM sift.put_documents(%s, %s)", (tenant, json.dumps(documents)))
    conn.execute("SELECT count(*) FROM sift.delete_documents(%s, '{d3,d4}')", (tenant,))
    for _ in range(4):
        group, member = (called.get(name, name) for name in chosen.sample(NAMES, 2))
        conn.execute("SELECT sift.add_members(%s, %s, ARRAY[%s])", (tenant, group, member))
    conn.execute("SELECT sift.map_role(%s, 'postgres', %s)", (tenant, some(4)))


def seen(conn: psycopg.Connection[Any], tenant: str) -> dict[tuple[str, ...], list[Any]]:
    """What every set of principals is told: hits and their access, and what the deleted documents were."""
    found = {}
    for size in range(len(NAMES) + 1):
        for who in itertools.combinations(NAMES, size):
            found[who] = conn.execute(
                "SELECT s.key, NULL::text FROM sift.lexical_search(%s, 'pump', 100, principals => %s::text[], per_document => 100) AS s"
                " UNION ALL SELECT k, h.event FROM unnest('{d3,d4}'::text[]) AS k, sift.document_history(%s, k, %s::text[]) AS h"
                " ORDER BY 1, 2", (tenant, list(who), tenant, list(who))
            ).fetchall()
    return found


def mapped(conn: psycopg.Connection[Any], tenant: str) -> list[Any]:
    return conn.execute(
        "SELECT m.role_name, m.principal FROM sift.role_principals AS m JOIN sift.tenants AS t USING (tenant_id)"
        " WHERE t.name = %s ORDER BY 1, 2", (tenant,)
    ).fetchall()


@pytest.mark.parametrize("seed", range(4))
def test_it_is_as_if_it_had_been_called_so_from_the_start(conn: psycopg.Connection[Any], seed: int) -> None:
    build(conn, "one", seed, {})
    build(conn, "two", seed, {"group:old": "group:new"})
    written = "SELECT c.chunk_id, c.ctid, c.xmin FROM sift.chunks AS c ORDER BY 1"
    before = conn.execute(written).fetchall()
    replaced = conn.execute("SELECT r.lists FROM sift.replace_principal('one', 'group:old', 'group:new') AS r").fetchone()
    assert replaced is not None and replaced[0] > 0
    assert seen(conn, "one") == seen(conn, "two")
    assert mapped(conn, "one") == mapped(conn, "two")
    assert conn.execute(written).fetchall() == before
    # Nothing is left of the old name, and a second time there is nothing to do.
    for table, column in (("access_lists", "principals"), ("access_lists", "denied"), ("principal_groups", "member"),
                          ("principal_groups", "group_name"), ("role_principals", "principal")):
        assert conn.execute(
            f"SELECT count(*) FROM sift.{table} AS x JOIN sift.tenants AS t USING (tenant_id)"  # type: ignore[arg-type]
            f" WHERE t.name = 'one' AND strpos(x.{column}::text, 'group:old') > 0"
        ).fetchone() == (0,)
    assert conn.execute("SELECT * FROM sift.replace_principal('one', 'group:old', 'group:new')").fetchone() == (0, 0, 0)


def test_other_tenants_and_names_that_contain_it_stay(conn: psycopg.Connection[Any]) -> None:
    for tenant in ("one", "two"):
        conn.execute("SELECT sift.create_tenant(%s)", (tenant,))
        conn.execute(
            "SELECT count(*) FROM sift.put_documents(%s, '[{\"key\": \"d\", \"text\": \"pump\", \"acl\": [\"group:hr\", \"group:hr2\"]}]')", (tenant,)
        )
    conn.execute("SELECT sift.replace_principal('one', 'group:hr', 'group:people')")
    for tenant, wanted in (("one", ["group:hr2", "group:people"]), ("two", ["group:hr", "group:hr2"])):
        assert conn.execute("SELECT a.principals FROM sift.show_access(%s, '{d}') AS a", (tenant,)).fetchone() == (wanted,)


def test_what_failed_is_retried_with_the_new_name(conn: psycopg.Connection[Any]) -> None:
    conn.execute("SELECT sift.create_tenant('one')")
    given = [{"acl": ["group:hr", "x"]}, {"acl": {"allow": ["group:hr"], "deny": ["y", "group:hr"]}}, {"acl": None}, {}]
    ids = [
        (conn.execute("SELECT sift.start_run('one', 'docs', %s)", (json.dumps(parameters),)).fetchone() or (0,))[0]
        for parameters in given
    ]
    conn.execute("SELECT sift.replace_principal('one', 'group:hr', 'group:people')")
    rows = dict(conn.execute("SELECT r.run_id, r.parameters FROM sift.ingest_runs AS r").fetchall())
    assert [rows[number] for number in ids] == [
        {"acl": ["group:people", "x"]}, {"acl": {"allow": ["group:people"], "deny": ["y", "group:people"]}}, {"acl": None}, {},
    ]


@pytest.mark.parametrize(("old", "new"), [("", "b"), ("a", ""), ("a", "sift:writer"), ("sift:writer", "a"), (None, "a"), ("a", "x" * 501)])
def test_what_is_no_principal_is_refused(conn: psycopg.Connection[Any], old: str | None, new: str) -> None:
    conn.execute("SELECT sift.create_tenant('one')")
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT sift.replace_principal('one', %s, %s)", (old, new))
    assert caught.value.sqlstate == "PS002"


def test_owners_alone_may_do_it(conn: psycopg.Connection[Any]) -> None:
    conn.execute("SELECT sift.create_tenant('one')")
    for role in ("sift_reader", "sift_app", "sift_writer"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), conn.transaction():
            conn.execute(f"SET LOCAL ROLE {role}")  # type: ignore[arg-type]
            conn.execute("SELECT sift.replace_principal('one', 'a', 'b')")


def test_a_tenant_can_be_made_without_a_history(conn: psycopg.Connection[Any]) -> None:
    conn.execute("SELECT sift.create_tenant('one', keep_history => false)")
    conn.execute("SELECT sift.create_tenant('two')")
    kept = "SELECT t.keep_history FROM sift.tenants AS t WHERE t.name = %s"
    assert [conn.execute(kept, (name,)).fetchone() for name in ("one", "two")] == [(False,), (True,)]
    for text in ("old pump", "new pump"):
        for name in ("one", "two"):
            conn.execute("SELECT count(*) FROM sift.put_documents(%s, %s)", (name, json.dumps([{"key": "d", "text": text}])))
    history = "SELECT count(*) FROM sift.chunk_history AS h JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s"
    assert [conn.execute(history, (name,)).fetchone() for name in ("one", "two")] == [(0,), (1,)]
    # Left out it is no setting that could differ; given, it has to be what the tenant has.
    conn.execute("SELECT sift.create_tenant('one', exist_ok => true)")
    conn.execute("SELECT sift.create_tenant('one', exist_ok => true, keep_history => false)")
    with pytest.raises(psycopg.Error, match="keep_history is false, not true") as caught:
        conn.execute("SELECT sift.create_tenant('one', exist_ok => true, keep_history => true)")
    assert caught.value.sqlstate == "PS011"
