"""pgsift duplicates, and pgsift search --collapse-clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("datasketch")

Cli = Callable[..., Any]  # see conftest.py

TEXT = " ".join(f"word{number}" for number in range(60))


@pytest.fixture(autouse=True)
def documents(put: Callable[..., None]) -> None:
    put(
        {"key": "lease-v1.txt", "text": f"winch {TEXT}", "observed_at": "2024-01-01"},
        {"key": "lease-v2.txt", "text": f"winch {TEXT} indeed", "observed_at": "2024-01-02"},
        {"key": "secret", "text": f"winch {TEXT}", "acl": ["group:hr"], "observed_at": "2024-01-03"},
        {"key": "other", "text": "winch manual", "observed_at": "2024-01-04"},
    )


def test_find_list_and_show(cli: Cli) -> None:
    report = cli("duplicates", "find", "--json").json
    names = ("documents", "signed", "clusters", "copies", "revisions", "changed")
    assert {name: report[name] for name in names} == {
        "documents": 4, "signed": 4, "clusters": 1, "copies": 1, "revisions": 1, "changed": 3,
    }  # fmt: skip
    again = cli("duplicates", "find")
    assert again.code == 0
    assert "documents:  4, of these 0 new or changed" in again.out
    members = cli("duplicates", "list", "--json").json["members"]
    assert [(m["key"], m["representative"], m["relation"]) for m in members] == [
        ("lease-v1.txt", True, None),
        ("secret", False, "copy"),
        ("lease-v2.txt", False, "revision"),
    ]
    assert cli("duplicates", "list", "--after", str(members[0]["cluster_id"]), "--json").json == {
        "members": []
    }
    assert "lease-v2.txt" in cli("duplicates", "list", "-k", "1").out

    shown = cli("duplicates", "show", "lease-v1.txt", "--json").json["near_duplicates"]
    assert [(item["other_key"], item["relation"]) for item in shown] == [("lease-v2.txt", "revision")]
    shown = cli("duplicates", "show", "lease-v1.txt", "--as", "public", "--as", "group:hr", "--json").json
    assert [item["other_key"] for item in shown["near_duplicates"]] == ["secret", "lease-v2.txt"]
    for key in ("secret", "nothing"):
        none = cli("duplicates", "show", key)
        assert (none.code, none.out.count("\n") <= 1, f"no near-duplicates of {key}" in none.err) == (
            0,
            True,
            True,
        )


def test_search_collapses_clusters(cli: Cli) -> None:
    assert cli("duplicates", "find", "--threshold", "0.9").code == 0
    hits = cli("search", "winch", "--mode", "lexical", "--json").json["hits"]
    assert len(hits) == 3
    hits = cli("search", "winch", "--mode", "lexical", "--collapse-clusters", "--json").json["hits"]
    assert sorted((hit["key"], hit["duplicates"]) for hit in hits) == [("lease-v1.txt", 1), ("other", 0)]


def test_what_is_refused(cli: Cli) -> None:
    assert cli("duplicates", "find", "--threshold", "1.5").code == 2
    assert cli("duplicates", "list", "-k", "-1").code == 2
    assert cli("--tenant", "nobody", "duplicates", "find").code == 3
