"""``pgsift history``, ``pgsift audit deletion``, ``pgsift delete --purge``, ``pgsift search --as-of``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]  # see conftest.py


def test_history_tells_the_versions_and_prints_one(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "the old winch", "title": "Old"})
    versions = cli("history", "a", "--json").json["versions"]
    put({"key": "a", "text": "the new crane", "title": "New"})
    first = versions[0]["current_from"]
    rows = cli("history", "a").out.splitlines()
    assert len(rows) == 3 and "created" in rows[1] and "replaced" in rows[2]
    then = cli("history", "a", "--at", first)
    assert (then.code, then.out) == (0, "the old winch\n") and "version 1" in then.err
    assert cli("history", "a", "--at", first, "--json").json["document"]["text"] == "the old winch"
    assert [hit["body"] for hit in cli("search", "winch", "--as-of", first, "--json").json["hits"]] == [
        "the old winch"
    ]
    assert cli("search", "winch", "--json").json["hits"] == []
    assert cli("history", "a", "--at", "2020-01-01").code == 3
    assert cli("history", "none").code == 3
    assert cli("history", "a", "--as", "nobody").code == 3
    assert cli("history", "a", "--at", "some day").code == 2
    assert cli("search", "winch", "--as-of", "some day").code == 2


def test_audit_proves_a_deletion(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "the winch"})
    audit = cli("audit", "deletion", "a")
    assert audit.code == 1 and "left: " in audit.err and "chunks" in audit.err
    assert cli("delete", "a", "--reason", "over").code == 0
    assert cli("audit", "deletion", "a").code == 0
    assert cli("audit", "deletion", "a", "--purged").code == 1
    assert cli("delete", "a", "--purge", "--reason", "asked").code == 0
    proof = cli("audit", "deletion", "a", "--purged", "--json")
    assert proof.code == 0 and proof.json["clean"]
    assert any("asked" in (finding["note"] or "") for finding in proof.json["findings"])
    assert cli("audit", "deletion", "none").code == 3
    assert cli("delete", "a", "--purge").code == 3


def test_options_of_a_tenant(cli: Cli, tenant: str) -> None:
    changed = cli("tenants", "set", tenant, "--no-history", "--remote-classification", "public")
    assert changed.code == 0 and "not kept" in changed.out and "public" in changed.out
    found = cli("tenants", "set", tenant, "--remote-any", "--no-remote-retained", "--json").json
    assert (found["keep_history"], found["remote_classifications"], found["remote_retained"]) == (
        False,
        None,
        False,
    )
    assert cli("tenants", "set", tenant, "--remote-any", "--remote-classification", "x").code == 2


def test_ingest_keeps_sources_and_classifies(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Winch\n", encoding="utf-8")
    done = cli("ingest", str(tmp_path), "--embedder", "none", "--classification", "internal", "--keep-source")
    assert done.code == 0
    listed = cli("documents", "--json").json["documents"]
    assert [(item["key"], item["classification"]) for item in listed] == [("a.md", "internal")]
