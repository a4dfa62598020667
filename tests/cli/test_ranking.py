"""The page about ranking works as it stands; units, weights and settings on the command line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Chunk, Document, Store
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/ranking.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return dsn


def test_the_page_works(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    for block in _blocks("sh"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    assert "not ranked" in capsys.readouterr().out
    with psycopg.connect(place, autocommit=True) as connection:
        queries = [line for block in _blocks("sql") for line in block.splitlines()]
        assert len(queries) == 9
        for query in queries:
            assert connection.execute(query.encode()).fetchall(), query
    printed = io.StringIO()
    for block in _blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "ranking.md", "exec"), {})
    assert printed.getvalue().startswith("winch-safety.md ")


def test_units_and_settings(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "oil leaks. the valve. the valve is rusty"
    with Store(place) as store:
        parts = [
            Chunk("oil leaks. the valve", start=0, end=20),
            Chunk("the valve is rusty", start=11, end=29),
            Chunk("oil", kind="reference"),
        ]
        store.put_documents(
            "default",
            [
                Document("a", title="Pump", chunks=parts),
                Document("b", chunks=[Chunk("oil", kind="section_header")]),
                Document("c", text),
            ],
        )
        # "the valve" of the second chunk repeats the first: what the library found out by the spans.
        found = store.lexical_search("default", "valve", principals=["public"], unit="document")
        assert {hit.key: hit.body for hit in found}["a"] == "the valve is rusty"  # the shorter of two that hold it
        again = store.lexical_search("default", "valve", principals=["public"], unit="document", k1=0.0)
        assert [hit.score for hit in again] == pytest.approx([again[0].score] * 2)
        with psycopg.connect(place) as connection:
            overlaps = connection.execute("SELECT overlap_tokens FROM sift.chunks ORDER BY chunk_id LIMIT 3")
            assert overlaps.fetchall() == [(0,), (1,), (0,)]
            lengths = connection.execute("SELECT doc_length FROM sift.document_lengths ORDER BY document_id")
            assert lengths.fetchall() == [(5,), (1,), (5,)]

    def run(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert [d["key"] for d in run("documents", "--unranked")["documents"]] == ["b"]
    assert run("stats")["reference_chunks"] == 1
    hits = run("search", "oil", "--mode", "lexical", "--unit", "document")["hits"]
    assert sorted(h["key"] for h in hits) == ["a", "b", "c"]
    light = run("search", "pump", "--mode", "lexical")["hits"][0]["lexical_score"]
    heavy = run("search", "pump", "--mode", "lexical", "--title-weight", "5")["hits"][0]["lexical_score"]
    assert heavy > light
    assert run("tenants", "set", "default", "--title-weight", "5")["title_weight"] == 5
    assert run("search", "pump", "--mode", "lexical")["hits"][0]["lexical_score"] == heavy
    assert main(["tenants", "set", "default", "--min-chunk-tokens", "9"]) != 0
    assert "stored" in capsys.readouterr().err
    assert main(["search", "pump", "--k1", "-1"]) != 0
    assert "k1" in capsys.readouterr().err
    assert main(["documents", "a", "--unranked"]) == 2
