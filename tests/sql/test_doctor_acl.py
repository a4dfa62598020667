"""``pgsift doctor acl``: silent about a sound store, and loud about a broken one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgsift import doctor_acl
from pgsift.errors import NotPermitted, UnknownTenant
from pgsift_cli.app import main

DOCUMENTS: list[dict[str, Any]] = [
    {"key": "open/1", "title": "Pump", "text": "The pump is back. Pump and crane.", "acl": ["public"]},
    {"key": "open/2", "title": "Pump", "text": "The pump is back. Pump and crane.", "acl": ["group:staff"]},
    {"key": "hr/1", "title": "Salary", "text": "The salary of the pump keeper", "acl": ["group:hr"]},
    {"key": "hr/2", "title": "Pump", "text": "The pump is back. Pump and crane.", "acl": {"allow": ["public"], "deny": ["user:2"]}},
    {"key": "own/1", "title": "Notes", "text": "My notes on the crane", "acl": ["user:1"]},
    {"key": "nobody", "title": "Nothing", "text": "Nobody reads of the pump", "acl": []},
]  # fmt: skip


@pytest.fixture
def store(dsn: str, make_login: Callable[..., str]) -> Iterator[str]:
    """A store with two tenants, groups, denies, vectors, a past, and a mapped role; its DSN."""
    reader = conninfo_to_dict(make_login(dsn, "sift_reader"))["user"]
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT sift.register_model('m', 2)")
        for tenant in ("a", "b"):
            admin.execute("SELECT sift.create_tenant(%s, 'standard')", (tenant,))
            admin.execute("SELECT sift.add_members(%s, 'group:staff', '{user:1,group:hr}')", (tenant,))
            admin.execute("SELECT sift.add_members(%s, 'group:hr', '{user:3}')", (tenant,))
            batch = [
                {**d, "text": None, "chunks": [{"body": d["text"], "entities": ["pump"], "embedding": [1, i]}]}
                for i, d in enumerate(DOCUMENTS)
            ]
            for version in (1, 2):
                again = [dict(d, title=f"{d['title']} {version}") for d in batch]
                admin.execute("SELECT sift.put_documents(%s, %s::jsonb, model => 'm')", (tenant, json.dumps(again)))
        admin.execute("SELECT sift.map_role('a', %s, '{user:3}')", (reader,))
    yield dsn


def test_a_sound_store(store: str, make_login: Callable[..., str]) -> None:
    for dsn, from_tables in ((store, True), (make_login(store, "sift_writer"), False), (make_login(store, "sift_owner"), True)):
        report = doctor_acl.fuzz(dsn, rounds=2, seed=1)
        assert report.findings == []
        assert report.clean
        assert report.from_tables is from_tables
        assert report.tenants == ["a", "b"]
        assert report.calls > 200
    for statistics in ("visible", "tenant"):
        with psycopg.connect(store, autocommit=True) as admin:
            admin.execute("SELECT sift.set_tenant('a', %s::jsonb)", (json.dumps({"statistics": statistics}),))
            admin.execute("SELECT sift.pack_postings('a', purge => true)")
        assert doctor_acl.fuzz(store, tenant="a", rounds=1).clean


def test_the_same_seed_asks_the_same(store: str) -> None:
    reports = [doctor_acl.fuzz(store, rounds=1, seed=seed) for seed in (5, 5, 6)]
    assert reports[0] == reports[1]
    assert len({report.calls for report in reports}) > 1


# What is put in place of what, in the definition of which function.
BROKEN = {
    "every list is visible": ("_visible_lists", "RETURN sift._lists_for(v_tenant_id, principals);",
                              "RETURN ARRAY(SELECT a.access_list_id FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id);"),
    "list 0 is visible": ("_lists_for", "RETURN v_lists;", "RETURN v_lists || 0::bigint;"),
    "denies are forgotten": ("_lists_for", " AND NOT a.denied && v_principals", ""),
    "groups are not nested": ("_with_groups", "FROM reached AS r\n        -- OFFSET", "FROM unnest(principals) AS r (name)\n        -- OFFSET"),
    "a mapped role is everybody": ("_mapped_principals", "RETURN v_principals;", "RETURN v_principals || '{group:staff,public}'::text[];"),
    "the view shows everything": ("_my_documents", "d.access_list_id = ANY (v_lists)", "true"),
    "the view of chunks shows everything": ("_my_chunks", "c.access_list_id = ANY (v_lists)", "true"),
    "the list shows everything": ("_list_documents", "e.access_list_id = ANY (v_lists)", "true"),
    "entities show everything": ("_chunks_by_entity", "c.access_list_id = ANY (v_lists)", "true"),
    "candidates show everything": ("_lexical_candidates", "c.access_list_id = ANY ($4)", "true"),
    "history is everybody's": ("_document_history", "IF NOT v_all THEN", "v_all := true; IF false THEN"),
    "the past is everybody's": ("_document_at", "(sift._list_today(v_tenant_id, h.document_id, h.key, v_lists) = ANY (v_lists)) IS TRUE", "true"),
    "check_access tells": ("_check_access", "NOT (v_document.visible OR v_writer)", "false"),
    "scores are a little off": ("_lexical_few", "RETURN QUERY", "PERFORM 1; RETURN QUERY"),
    "a chunk is under another list": (None, "", "UPDATE sift.chunks AS c SET access_list_id = d.access_list_id FROM sift.documents AS d"
                                               " WHERE d.tenant_id = c.tenant_id AND d.key = 'open/1' AND c.access_list_id = 0"),
    "a search reads a replaced list": ("_search", "cardinality(v_lists) = 0", "false AND cardinality(v_lists) = 0"),
}  # fmt: skip
# Not a fault: nothing may be found.
HARMLESS = {"scores are a little off", "a search reads a replaced list"}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_store(store: str, fault: str) -> None:
    function, old, new = BROKEN[fault]
    with psycopg.connect(store, autocommit=True) as admin:
        if function is None:
            assert admin.execute(new.encode()).rowcount > 0
        else:
            (definition,) = admin.execute("SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE p.oid = %s::regproc", (f"sift.{function}",)).fetchone() or ("",)
            assert old in definition
            admin.execute(definition.replace(old, new).encode())
    report = doctor_acl.fuzz(store, rounds=1, seed=3)
    assert report.clean is (fault in HARMLESS), report.findings[:3]


def test_every_function_that_takes_principals_is_examined(conn: psycopg.Connection) -> None:
    taking = {
        name for (name,) in conn.execute(
            "SELECT p.proname::text FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace AND 'principals' = ANY (p.proargnames)"
            " AND has_function_privilege('sift_app', p.oid, 'EXECUTE') AND NOT starts_with(p.proname, '_')"
        ).fetchall()
    }  # fmt: skip
    # They write: for whom somebody searched, and what was judged (judge and remove_judgment: tests/sql/test_judgments.py).
    assert taking - {"log_query", "judge", "remove_judgment"} == doctor_acl.COVERED


def test_who_may_not(store: str, make_login: Callable[..., str]) -> None:
    for role in ("sift_reader", "sift_app"):
        with pytest.raises(NotPermitted):
            doctor_acl.fuzz(make_login(store, role), rounds=1)
    with pytest.raises(UnknownTenant):
        doctor_acl.fuzz(store, tenant="nowhere", rounds=1)


def test_the_command(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "acl", "--dsn", store, "--seconds", "1", "--seed", "9"]) == 0
    assert "0 findings" in capsys.readouterr().out
    with psycopg.connect(store, autocommit=True) as admin:
        (definition,) = admin.execute("SELECT pg_get_functiondef('sift._visible_lists'::regproc)").fetchone() or ("",)
        admin.execute(
            definition.replace(
                "RETURN sift._lists_for(v_tenant_id, principals);",
                "RETURN ARRAY(SELECT a.access_list_id FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id);",
            ).encode()
        )
    assert main(["doctor", "acl", "--dsn", store, "--seconds", "2", "--seed", "9", "--tenant", "a", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["clean"] is False
    assert report["seed"] == 9
    assert any("may not be seen" in finding["problem"] and finding["function"] == "list_documents" for finding in report["findings"])
    assert main(["doctor", "acl", "--dsn", store, "--seconds", "1"]) == 1
    assert "nobody" in capsys.readouterr().out
