"""pgsift acl and pgsift groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Cli = Callable[..., Any]  # see conftest.py


def found(cli: Cli, *principals: str) -> list[str]:
    options = [option for name in principals for option in ("--as", name)]
    return sorted(hit["key"] for hit in cli("search", "winch", "--json", *options).json["hits"])


@pytest.fixture(autouse=True)
def documents(put: Callable[..., None]) -> None:
    put(
        {"key": "hr/pay", "text": "winch pay", "acl": ["group:hr"]},
        {"key": "hr/plan", "text": "winch plan", "acl": {"allow": ["group:hr"], "deny": ["user:9"]}},
        {"key": "open", "text": "winch manual"},
    )


def test_groups_are_added_listed_and_removed(cli: Cli) -> None:
    assert cli("groups", "add", "group:hr", "user:1", "user:9", "group:pay").out == "3 added to group:hr\n"
    assert cli("groups", "add", "group:pay", "user:2", "--json").json == {"group": "group:pay", "added": 1}
    assert cli("groups", "add", "group:hr", "user:1", "--json").json["added"] == 0
    assert found(cli, "user:1") == found(cli, "user:2") == ["hr/pay", "hr/plan"]
    assert found(cli, "user:9") == ["hr/pay"]
    assert cli("groups", "list", "group:hr", "--json").json["members"] == [
        {"of_group": "group:hr", "member": "group:pay", "direct": True},
        {"of_group": "group:hr", "member": "user:1", "direct": True},
        {"of_group": "group:hr", "member": "user:2", "direct": False},
        {"of_group": "group:hr", "member": "user:9", "direct": True},
    ]
    assert len(cli("groups", "list").out.splitlines()) == 5
    assert cli("groups", "remove", "group:pay", "user:2", "--json").json == {
        "group": "group:pay",
        "removed": 1,
    }
    assert found(cli, "user:2") == []


def test_set_grant_revoke_and_show(cli: Cli) -> None:
    changed = cli("acl", "grant", "hr/pay", "open", "--allow", "public", "--json")
    assert changed.json == {
        "results": [{"key": "hr/pay", "changed": True}, {"key": "open", "changed": False}]
    }
    assert found(cli, "public") == ["hr/pay", "open"]
    assert cli("acl", "revoke", "hr/pay", "--allow", "public").out == "changed    hr/pay\n"
    assert found(cli, "public") == ["open"]
    shown = cli("acl", "show", "hr/plan", "--json").json["access"]
    assert shown == [
        {
            "kind": "document",
            "name": "hr/plan",
            "principals": ["group:hr"],
            "denied": ["user:9"],
            "origin": "document",
        }
    ]
    assert "2 of 2 documents" in cli("acl", "set", "--prefix", "hr/", "--allow", "group:all").out
    assert found(cli, "group:all", "user:9") == ["hr/pay", "hr/plan"]
    assert cli("acl", "show", "--prefix", "hr/").out.splitlines() == [
        "kind\tname\tallowed\tdenied\tfrom",
        "default\t\tpublic\t\tdefault",
        "prefix\thr/\tgroup:all\t\tprefix",
        "document\thr/pay\tgroup:all\t\tprefix hr/",
        "document\thr/plan\tgroup:all\t\tprefix hr/",
    ]
    assert cli("acl", "set", "open", "--nobody").code == 0
    assert found(cli, "public") == []


def test_rules_are_for_what_comes_later(cli: Cli, put: Callable[..., None]) -> None:
    cli("acl", "set", "--prefix", "hr/", "--allow", "group:hr")
    cli("acl", "set", "--default", "--allow", "group:staff")
    cli("acl", "grant", "--default", "--deny", "user:9")
    put({"key": "hr/new", "text": "winch"}, {"key": "new", "text": "winch"})
    assert found(cli, "group:hr") == ["hr/new", "hr/pay", "hr/plan"]
    assert found(cli, "group:staff") == ["new"]
    assert found(cli, "group:staff", "user:9") == []
    assert found(cli, "public") == ["open"]  # what was there stays
    assert [entry["name"] for entry in cli("acl", "show", "--json").json["access"]] == ["", "hr/"]


def test_check_says_why(cli: Cli) -> None:
    cli("groups", "add", "group:hr", "user:1", "user:9")
    yes = cli("acl", "check", "hr/plan", "--as", "user:1")
    assert (yes.code, yes.out) == (0, "yes: granted by group:hr\n")
    no = cli("acl", "check", "hr/plan", "--as", "user:9")
    assert (no.code, no.out) == (1, "no: denied by user:9\n")
    assert cli("acl", "check", "hr/plan", "--as", "public", "--json").json == {
        "visible": False,
        "reason": "not granted",
        "granted_by": [],
        "denied_by": [],
    }
    assert cli("acl", "check", "nothing", "--as", "public").out == "no: no such document\n"


def test_a_key_without_a_document_is_told(cli: Cli) -> None:
    for arguments in (("show",), ("set", "--nobody"), ("grant", "--allow", "a"), ("revoke", "--allow", "a")):
        outcome = cli("acl", *arguments, "open", "none")
        assert outcome.code == 3 and "none" in outcome.err and "open" in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("set", "open"),
        ("set", "open", "--nobody", "--allow", "a"),
        ("set", "--nobody"),
        ("set", "open", "--prefix", "hr/", "--allow", "a"),
        ("set", "--default", "--prefix", "hr/", "--allow", "a"),
        ("grant", "open"),
        ("grant", "--allow", "a"),
        ("revoke", "--prefix", "hr/"),
        ("show", "open", "--prefix", "hr/"),
        ("check", "open"),
        ("grant", "open", "--allow", "sift:writer"),
    ],
)
def test_wrong_usage_changes_nothing(cli: Cli, arguments: tuple[str, ...]) -> None:
    before = cli("acl", "show", "--prefix", "", "--json").json
    assert cli("acl", *arguments).code == 2
    assert cli("acl", "show", "--prefix", "", "--json").json == before
