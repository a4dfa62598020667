"""pgsift topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store

Cli = Callable[..., Any]  # see conftest.py

THEMES = {"pumps": [1.0, 0.0, 0.0, 0.0], "cranes": [0.0, 1.0, 0.0, 0.0], "winches": [0.0, 0.0, 1.0, 0.0]}


@pytest.fixture
def model(schema_dsn: str) -> Iterator[str]:
    with Store(schema_dsn) as store:
        if not any(found.model == "topics4" for found in store.models()):
            store.register_model("topics4", 4)
    yield "topics4"


def put(schema_dsn: str, tenant: str, model: str, each: int = 8) -> None:
    documents = [
        {
            "key": f"{theme}/{i}", "title": f"On {theme} {i}", "acl": ["public"] if i else ["group:hr"],
            "chunks": [{"body": f"{theme} and their care, part {i}", "embedding": [v + 0.01 * ((i * 7 + n * 3) % 5) for n, v in enumerate(vector)]}],
        }
        for theme, vector in THEMES.items() for i in range(each)
    ]  # fmt: skip
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.put_documents(%s, %s::jsonb, model => %s)", (tenant, json.dumps(documents), model))


def place(schema_dsn: str, tenant: str) -> None:
    """Topics without UMAP: one a theme, the last theme outliers."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT sift.put_topics(%s, array_agg(d.document_id ORDER BY d.document_id), array_agg(d.version), array_agg(l.label ORDER BY d.document_id),"
            " array_agg(1::float8), array_agg(0.5::float8), array_agg(0::float8), array_agg(0::float8), 'topics4')"
            " FROM sift.documents_with_vectors(%s) AS d"
            " CROSS JOIN LATERAL (SELECT CASE WHEN d.key LIKE 'pumps%%' THEN 0 WHEN d.key LIKE 'cranes%%' THEN 1 ELSE -1 END AS label) AS l",
            (tenant, tenant),
        )


def test_list_and_show(cli: Cli, schema_dsn: str, tenant: str, model: str) -> None:
    put(schema_dsn, tenant, model, 3)
    place(schema_dsn, tenant)
    found = cli("topics", "list", "--json").json["topics"]
    assert [(one["topic"], one["documents"]) for one in found] == [(0, 2), (1, 2), (-1, 2)]
    assert found[0]["terms"][0] in ("crane", "pump")
    assert [one["documents"] for one in cli("topics", "list", "--all", "--json").json["topics"]] == [3, 3, 3]
    assert "On " in cli("topics", "list").out
    assert len(cli("topics", "list", "--terms", "1", "--json").json["topics"][0]["terms"]) == 1
    shown = cli("topics", "show", "0", "-k", "1", "--json").json["documents"]
    assert len(shown) == 1 and shown[0]["topic"] == 0
    assert len(cli("topics", "show", "--json", "--", "-1").json["documents"]) == 2
    nothing = cli("topics", "show", "9")
    assert (nothing.code, "no documents in topic 9" in nothing.err) == (0, True)


def test_what_is_refused(cli: Cli) -> None:
    none = cli("topics", "list")
    assert (none.code, "pgsift topics finds them" in none.err) == (0, True)
    # Without a model, and without enough documents; before anything heavy is loaded.
    assert cli("topics").code == 4
    assert cli("topics", "--seed", "-1").code == 2
    assert cli("topics", "--neighbors", "1").code == 2
    assert cli("topics", "--min-size", "1").code == 2
    assert cli("topics", "list", "--terms", "-1").code == 2
    assert cli("--tenant", "nobody", "topics").code == 3


@pytest.mark.slow
def test_a_run(cli: Cli, schema_dsn: str, tenant: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("umap")
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.put_documents(%s, '[{\"key\": \"one\", \"chunks\": [{\"body\": \"x\", \"embedding\": [1,0,0,0]}]}]', model => %s)", (tenant, model))
    few = cli("topics")
    assert (few.code, "at least two documents" in few.err) == (2, True)
    with Store(schema_dsn) as store:
        store.delete(tenant, ["one"])
    put(schema_dsn, tenant, model)
    files = {name: tmp_path / f"t.{name}" for name in ("json", "png", "html")}
    # Eight of a theme cannot be two topics of six.
    first = cli(
        "topics", "--seed", "5", "--min-size", "6", "--json", "--output", str(files["json"]), "--plot", str(files["png"]), "--html", str(files["html"])
    )
    assert first.code == 0, first.err
    report = first.json
    assert (report["run"]["documents"], report["run"]["topics"], report["cached"]) == (24, 3, 0)
    topic = {document["key"]: document["topic"] for document in report["documents"]}
    assert {len({topic[f"{theme}/{i}"] for i in range(8)}) for theme in THEMES} == {1}
    names = {one["topic"]: one["terms"][0] for one in report["topics"]}
    assert {theme: names[topic[f"{theme}/1"]] for theme in THEMES} == {"pumps": "pump", "cranes": "crane", "winches": "winch"}
    assert json.loads(files["json"].read_text())["run"] == report["run"]
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert "On cranes 3" in files["html"].read_text()
    # The same again, with vectors from the cache, and without.
    again = cli("topics", "--seed", "5", "--min-size", "6", "--json").json
    assert again["cached"] == 24
    assert [(one["key"], one["topic"], one["x"]) for one in again["documents"]] == [(one["key"], one["topic"], one["x"]) for one in report["documents"]]
    before = sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npz"))
    assert cli("topics", "--seed", "5", "--min-size", "6", "--json", "--no-cache").json["cached"] == 0
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npz")) == before
