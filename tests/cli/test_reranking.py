"""The page about reranking works as it stands, and the options of the command line do what they say."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
import tiny_onnx

from pgsift import Store
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reranking.md").read_text(encoding="utf-8")
needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "tokenizers", "numpy")),
    reason="the extra 'local' is not installed",
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return dsn


def test_the_page_works(place: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        for line in "".join(blocks("sh")).splitlines():
            arguments = shlex.split(line)[1:]
            # Words are enough here: no model has to be loaded for it.
            assert main([*arguments, "--embedder", "none"]) == 0, line
    with psycopg.connect(place, autocommit=True) as connection:
        queries = "".join(blocks("sql")).splitlines()
        assert len(queries) == 7
        for query in queries:
            assert connection.execute(query.encode()).fetchall(), query
    printed = io.StringIO()
    for block in blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "reranking.md", "exec"), {})
    first, second = printed.getvalue().split("chunks")[0], printed.getvalue().split("chunks")[1]
    assert re.search(r"^1 \d+ -\d+\.0 ", first, re.MULTILINE)
    assert re.search(r"^1 \d+ \d+\.\d+ ", second, re.MULTILINE)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["search", *arguments, "--json", "--embedder", "none"]) == 0
    hits: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["hits"]
    return hits


def test_a_cap_on_the_command_line(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(place) as store:
        store.put_documents(
            "default",
            [
                {"key": "flood", "chunks": [{"body": f"walrus walrus number{n}"} for n in range(8)]},
                {"key": "other", "text": "walrus among many other words"},
            ],
        )
    assert [hit["key"] for hit in found(capsys, "walrus")] == ["flood"] * 3 + ["other"]
    assert [hit["key"] for hit in found(capsys, "walrus", "--per-document", "1")] == ["flood", "other"]
    for none in ("none", "0", "None"):
        assert [hit["key"] for hit in found(capsys, "walrus", "--per-document", none)] == ["flood"] * 8 + ["other"]
    assert len(found(capsys, "walrus", "--token-budget", "12")) == 2
    for wrong in (["--per-document", "many"], ["--rerank-depth", "5"]):
        assert main(["search", "walrus", *wrong]) == 2
    assert main(["search", "walrus", "--mmr", "7"]) == main(["search", "walrus", "--per-document", "-1"]) != 0


@needs_onnx
def test_a_reranker_on_the_command_line(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_onnx.save_folder(tmp_path / "tiny", tiny_onnx.cross_encoder())
    with Store(place) as store:
        store.put_documents(
            "default",
            [
                {"key": "short", "text": "red pump"},
                {"key": "long", "text": "pump pump and a lot of other words beside"},
            ],
        )
    (first, second) = found(capsys, "red pump", "--rerank", f"onnx:{folder}")
    assert (first["key"], first["rerank_score"], second["rerank_score"]) == ("short", 3.0, 3.0)
    (first, second) = found(capsys, "pump", "--rerank", f"onnx:{folder}")
    assert (first["key"], first["rerank_score"], second["key"]) == ("long", 3.0, "short")
    assert main(["search", "pump", "--rerank", f"onnx:{folder}", "--embedder", "none"]) == 0
    assert "reranked 3.000 (was 2)" in capsys.readouterr().out
    assert main(["search", "pump", "--rerank", f"onnx:{tmp_path}/absent", "--embedder", "none"]) == 4
    assert f"reranker 'onnx:{tmp_path}/absent': model.onnx" in capsys.readouterr().err
    monkeypatch.delenv("PGSIFT_RERANK_URL", raising=False)
    assert main(["search", "pump", "--rerank", "tei", "--embedder", "none"]) != 0
    assert "PGSIFT_RERANK_URL" in capsys.readouterr().err


@needs_onnx
@pytest.mark.usefixtures("place")
def test_token_vectors_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = [[float(n == 5), float(n == 6)] for n in range(len(tiny_onnx.VOCABULARY))]
    model = f"onnx:{tiny_onnx.save_folder(tmp_path / 'late', tiny_onnx.token_encoder(table))}"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("the boat has a pump and nothing else to speak of")
    (tmp_path / "notes/b.txt").write_text("boat")
    assert main(["ingest", "notes", "--embedder", "none", "--token-embedder", model]) == 0
    assert [hit["key"] for hit in found(capsys, "boat pump")] != []
    (first, second) = found(capsys, "boat pump", "--token-embedder", model)
    assert (Path(first["key"]).name, first["rerank_score"], second["rerank_score"]) == ("a.txt", 1.0, 0.0)
