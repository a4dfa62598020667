"""Explanations and reasons: the page about them, what it prints, and the commands."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/explaining.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
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


def test_the_page_works(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    assert len(lines) == 4
    printed: dict[str, str] = {}
    for line in lines:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0, line
        printed[line] = capsys.readouterr().out
    (shown,) = _blocks("text")
    assert printed[lines[1]].split() == shown.split()
    assert printed[lines[2]].startswith("No term of the query occurs in it.\n")
    told = json.loads(printed[lines[3]])
    assert told["reason"] == "beyond_k" and told["rank"] > 1

    with psycopg.connect(place, autocommit=True) as connection:
        queries = [line for block in _blocks("sql") for line in block.splitlines()]
        assert len(queries) == 5
        answers = [connection.execute(query.encode()).fetchall() for query in queries]
    score: Any = next(row[7] for row in answers[0] if row[0] == "leg")
    assert answers[1] == [(score,)]
    for key in {row[0] for row in answers[2]}:
        (fused,) = {row[1] for row in answers[2] if row[0] == key}
        assert sum(row[3] for row in answers[2] if row[0] == key) % fused == 0
    assert answers[3] == [("no_match", "No term of the query occurs in it.")]
    assert answers[4] == [("filtered", "The document does not pass the filter.", None)]
    told_text = io.StringIO()
    for block in _blocks("python"):
        with contextlib.redirect_stdout(told_text):
            exec(compile(block, "explaining.md", "exec"), {})
    assert told_text.getvalue().startswith("no_match - No term")


@pytest.fixture
def library(place: str) -> Iterator[Store]:
    with Store(place) as store:
        store.put_documents(
            "default",
            [
                {"key": "one", "text": "red apple"},
                {"key": "42", "text": "red red car"},
                {"key": "hidden", "text": "red", "acl": ["group:hr"]},
            ],
        )
        yield store


def test_a_score_on_the_command_line(library: Store, capsys: pytest.CaptureFixture[str]) -> None:
    (first, second) = library.search("default", "red", principals=["public"])
    assert main(["explain", "red", str(second.chunk_id), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["chunk_id"], told["score"]) == (second.chunk_id, second.score)
    assert [part["value"] for part in told["parts"] if part["part"] == "term"] == [second.lexical_score]
    options = ["--key", "--json", "--unit", "document", "--k1", "2", "--depth", "5"]
    assert main(["explain", "red", "42", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chunk_id"] == first.chunk_id
    assert {part["name"]: part["value"] for part in told["parts"] if part["part"] == "setting"}["k1"] == 2


def test_a_score_in_the_library(library: Store) -> None:
    (first, _) = library.search("default", "red", principals=["public"])
    parts = library.explain("default", "red", first.chunk_id, principals=["public"])
    assert (parts.chunk_id, parts.score) == (first.chunk_id, first.score)
    assert [term.name for term in parts.of("term")] == ["red"]
    assert parts.of("score")[0].to_dict()["value"] == first.score
    nothing = library.explain("default", "red", key="hidden", principals=["public"])
    assert (list(nothing), nothing.chunk_id, nothing.score) == ([], None, None)
    told = library.why_not("default", "red", "one", k=1, principals=["public"])
    assert (told.reason, told.rank) == ("beyond_k", 2)


def test_what_may_not_be_seen_is_not_there(library: Store, capsys: pytest.CaptureFixture[str]) -> None:
    del library
    said = []
    for key in ("hidden", "absent"):
        for command in (["explain", "red", key], ["why-not", "red", key], ["why-not", "red", key, "--json"]):
            assert main(command) == 3
            said.append("".join(capsys.readouterr()))
    assert said[:3] == said[3:]
    assert main(["why-not", "red", "hidden", "--as", "group:hr"]) == 0
    assert capsys.readouterr().out.startswith("It is there, at rank 1.\n")


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "arguments",
    [
        ["explain"], ["explain", "red"], ["explain", "red", "1", "--weights", "x"],
        ["explain", "red", "1", "--depth", "0"], ["why-not", "red"], ["why-not", "red", "a", "--chunk", "1"],
        ["why-not", "red", "a", "-k", "-1"],
        ["why-not", "", "a", "--mode", "lexical"],
    ],
)  # fmt: skip
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err
