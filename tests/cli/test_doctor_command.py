"""``pgsift doctor`` and ``pgsift repair``: what they print, what they exit with, what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

Cli = Callable[..., Any]  # see conftest.py


def plant(dsn: str, tenant: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT count(*) FROM sift.put_documents(%s, '[{\"key\": \"a\", \"text\": \"red fox\"}]')", [tenant])
        conn.execute(
            "INSERT INTO sift.term_stats (tenant_id, term, df, max_tf, min_doc_length)"
            " SELECT t.tenant_id, 'red', 6, 0, 2147483647 FROM sift.tenants AS t WHERE t.name = %s",
            [tenant],
        )


def test_a_finding_and_its_remedy(cli: Cli, tenant: str, schema_dsn: str) -> None:
    plant(schema_dsn, tenant)
    found = cli("doctor", "--tenant", tenant)
    assert found.code == 1
    lines = found.out.splitlines()
    at = lines.index(f'error\tstatistics\t{tenant}: term "red"\tdf of the term "red" is 7, a recount gives 1')
    assert lines[at + 1] == f"\t--fix, or SELECT * FROM sift.repair('{tenant}')"

    report = cli("doctor", "--tenant", tenant, "--full", "--json").json
    assert report["healthy"] is False and report["mended"] == []
    (one,) = [item for item in report["findings"] if item["tenant_name"] is not None]
    assert (one["check_name"], one["severity"], one["tenant_name"], one["safe_fix"]) == ("statistics", "error", tenant, True)

    assert cli("repair", "--json").json == [
        {"step": "terms", "object": 'term "red"', "mended": 'df of the term "red": 7, counted 1'}
    ]
    assert cli("repair").out == "nothing wrong\n"
    healthy = cli("doctor", "--tenant", tenant, "--json")
    assert [item for item in healthy.json["findings"] if item["tenant_name"] is not None] == []
    # The test server itself has no fsync and no autovacuum.
    assert healthy.code == (0 if healthy.json["healthy"] else 1)


def test_fix(cli: Cli, tenant: str, schema_dsn: str) -> None:
    plant(schema_dsn, tenant)
    found = cli("doctor", "--tenant", tenant, "--fix")
    assert f"mended\tstatistics\trepair {tenant}\tdone" in found.out.splitlines()
    assert "recount" not in found.out.partition("mended")[2]
    assert cli("repair").out == "nothing wrong\n"


def test_usage(cli: Cli) -> None:
    assert cli("doctor", "--tenant", "nobody_at_all").code == 3
    assert cli("doctor", "--sample", "0").code == 2
    assert cli("repair", "--tenant", "nobody_at_all").code == 3
