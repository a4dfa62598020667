"""--deny of ingest and sync, pgsift acl replace-principal, pgsift tenants create --no-history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]  # see conftest.py


def seen(cli: Cli, *who: str) -> list[str]:
    names = [part for name in who for part in ("--as", name)]
    return [hit["key"] for hit in cli("search", "winch", "--mode", "lexical", *names, "--json").json["hits"]]


def test_some_may_not_see_what_is_ingested(cli: Cli, tmp_path: Path) -> None:
    for command in ("ingest", "sync"):
        (tmp_path / "a.txt").write_text(f"a winch for {command}")
        given = (command, str(tmp_path), "--prefix", f"{command}/", "--embedder", "none")
        refused = cli(*given, "--deny", "user:7")
        assert (refused.code, "--deny needs --acl" in refused.err) == (2, True)
        assert cli(*given, "--acl", "group:hr", "--deny", "user:7", "--deny", "user:8").code == 0
    assert sorted(seen(cli, "group:hr")) == ["ingest/a.txt", "sync/a.txt"]
    assert seen(cli, "group:hr", "user:7") == seen(cli, "group:hr", "user:8") == seen(cli, "user:9") == []
    # Given again it is as it was; without it the document keeps what it has.
    (tmp_path / "a.txt").write_text("a winch for ingest")
    again = cli("ingest", str(tmp_path), "--prefix", "ingest/", "--embedder", "none", "--json").json
    assert (again["unchanged"], seen(cli, "group:hr", "user:7")) == (1, [])


def test_a_principal_gets_another_name(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "winch", "acl": ["group:personnel"]})
    done = cli("acl", "replace-principal", "group:personnel", "group:people", "--json").json
    assert done == {"lists": 1, "memberships": 0, "roles": 0}
    assert (seen(cli, "group:people"), seen(cli, "group:personnel")) == (["a"], [])
    assert "replaced in 0 access lists" in cli("acl", "replace-principal", "x", "y").out
    assert cli("acl", "replace-principal", "x", "sift:writer").code == 2


def test_a_tenant_without_a_history(cli: Cli, tenant: str) -> None:
    name = f"{tenant}_short"
    try:
        assert cli("tenants", "create", name, "--no-history").code == 0
        refused = cli("--tenant", name, "search", "winch", "--as-of", "2024-01-01")
        assert (refused.code, "keeps no history" in refused.err) == (2, True)
        assert cli("tenants", "create", name, "--history", "--exist-ok").code != 0
    finally:
        cli("tenants", "drop", name, "--yes")
