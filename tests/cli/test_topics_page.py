"""The examples of docs/topics.md."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

Cli = Callable[..., Any]  # see conftest.py

PAGE = (Path(__file__).resolve().parents[2] / "docs/topics.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands(kind: str) -> list[list[str]]:
    found = [shlex.split(line) for block in blocks(kind) for line in block.splitlines()]
    return [words[1:] for words in found if words[0] == "pgsift"]


@pytest.fixture
def placed(schema_dsn: str, tenant: str) -> None:
    """Documents with vectors, and topics of them."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        if connection.execute("SELECT FROM sift.list_models() WHERE model = 'topics4'").fetchone() is None:
            connection.execute("SELECT sift.register_model('topics4', 4)")
        connection.execute(
            "SELECT sift.put_documents(%s, (SELECT jsonb_agg(jsonb_build_object('key', 'd' || i, 'title', 'On ' || i, 'chunks', jsonb_build_array("
            "jsonb_build_object('body', 'pump and seal ' || i, 'embedding', jsonb_build_array(i %% 2, 1 - i %% 2, 0.01 * i, 0)))))"
            " FROM generate_series(1, 12) AS i), model => 'topics4')",
            (tenant,),
        )
        connection.execute(
            "SELECT sift.put_topics(%s, array_agg(d.document_id), array_agg(d.version), array_agg(0), array_agg(1::float8), array_agg(0.1::float8),"
            " array_agg(0::float8), array_agg(0::float8), 'topics4') FROM sift.documents_with_vectors(%s) AS d",
            (tenant, tenant),
        )


@pytest.mark.usefixtures("placed")
def test_examples(cli: Cli, schema_dsn: str, tenant: str) -> None:
    assert len(commands("sh")) == 2
    for words in commands("sh"):
        outcome = cli(*words)
        assert outcome.code == 0 and "On " in outcome.out, words
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        queries = [query for block in blocks("sql") for query in block.split(";") if query.strip()]
        assert len(queries) == 2
        for query in queries:
            assert connection.execute(query.replace("'default'", f"'{tenant}'").encode()).fetchall(), query
    for block in blocks("python"):
        exec(block.replace('"default"', repr(tenant)).replace("Store()", f"Store({schema_dsn!r})"), {})


@pytest.mark.slow
@pytest.mark.usefixtures("placed")
def test_a_run_as_written(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("umap")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for words in commands("sh slow"):
        assert cli(*words).code == 0
    assert {"topics.json", "topics.png", "topics.html"} <= {path.name for path in tmp_path.iterdir()}
