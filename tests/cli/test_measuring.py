"""The page about measuring, and the commands log and tune."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store
from pgsift_cli.app import main

pytest.importorskip("ir_measures")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/measuring.md").read_text(encoding="utf-8")
TEXTS = [
    "the winch of the ferry",
    "a pump for the ferry",
    "pump pump winch",
    "the harbour master",
    "ferry ferry ferry timetable",
    "emergency stop of the winch",
]


def write_collection(folder: Path) -> Path:
    folder.mkdir()
    documents = [
        {"id": f"d{n}", "title": "Harbour" if n % 2 else "", "text": text} for n, text in enumerate(TEXTS)
    ]
    asked = ["How do I stop the winch?", "ferry pump", "harbour"]
    queries = [{"id": f"q{n}", "text": text} for n, text in enumerate(asked)]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "qrels.tsv").write_text("q0\td5\t1\nq1\td1\t2\nq1\td4\t1\nq2\td3\t1\n", encoding="utf-8")
    return folder


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    write_collection(tmp_path / "collection")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return dsn


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_works(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in _blocks("sh"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    out = capsys.readouterr().out
    assert "1 asked again, 0 with other hits or ranks; mean overlap 1.000" in out
    assert "beyond the interval" in out
    with psycopg.connect(place, autocommit=True) as connection:
        for block in _blocks("sql"):
            for statement in block.splitlines():
                assert connection.execute(statement.encode()).fetchall(), statement
    printed = io.StringIO()
    for block in _blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "measuring.md", "exec"), {})
    assert "recorded as" in printed.getvalue()
    assert "cold water" in printed.getvalue()


Run = Callable[..., Any]


@pytest.fixture
def run(cli: Callable[..., Any]) -> Run:
    """``run("log", "list", code=0)``: the outcome of a command that ends with this code."""

    def expected(*arguments: str, code: int = 0) -> Any:
        outcome = cli(*arguments)
        assert outcome.code == code, outcome
        return outcome

    return expected


@pytest.fixture
def stocked(put: Callable[..., None]) -> None:
    put(*({"key": f"d{n}", "text": text} for n, text in enumerate(TEXTS)))


@pytest.mark.usefixtures("stocked")
class TestLog:
    def test_recorded_only_if_asked(self, run: Run) -> None:
        search = ("search", "ferry pump", "--embedder", "none", "-k", "3")
        assert "query_id" not in run(*search, "--json").json
        assert run("log", "list", "--json").json["queries"] == []
        assert "recorded: " in run(*search, "--log").err
        number = run(*search, "--log", "--json").json["query_id"]
        entries = run("log", "list", "--json").json["queries"]
        assert [entry["query"] for entry in entries] == ["ferry pump"] * 2
        assert entries[0]["query_id"] == number
        assert entries[0]["settings"] == {"k": 3}
        assert entries[0]["principals"] == ["public"]
        assert [hit["rank"] for hit in entries[0]["hits"]] == [1, 2, 3]
        shown = run("log", "show", str(number))
        assert "ferry pump" in shown.out
        assert "d1" in shown.out
        assert run("log", "show", str(number), "--json").json["payload_bytes"] > 0
        assert run("log", "show", "999999999", code=3).err.strip() == "no recorded query 999999999"

    def test_replay(self, run: Run, put: Callable[..., None]) -> None:
        number = run("search", "ferry", "--embedder", "none", "--log", "--json").json["query_id"]
        assert run("log", "replay").out.strip().endswith("mean overlap 1.000")
        put({"key": "d9", "text": "ferry ferry ferry ferry ferry"})
        report = run("log", "replay", "--json", code=1).json
        assert (report["replayed"], report["drifted"], report["failed"]) == (1, 1, 0)
        assert report["queries"][0]["new"] == 1
        assert report["queries"][0]["hits"][0]["key"] == "d9"
        run("log", "replay", str(number), "--min-overlap", "0.1")
        run("log", "replay", str(number), "--min-overlap", "0.99", code=1)
        run("log", "replay", str(number), "--min-overlap", "2", code=2)
        assert "no recorded query 999999999" in run("log", "replay", str(number), "999999999", code=3).err
        nobody = run("log", "replay", str(number), "--as", "nobody", "--json", code=1).json
        assert nobody["queries"][0]["gone"] == 3

    def test_what_cannot_be_asked_again_is_named(self, run: Run, schema_dsn: str, tenant: str) -> None:
        with Store(schema_dsn) as store:
            store.log_query(tenant, "ferry", principals=["public"], settings={"rerank": "judge@1"})
        assert "reranked by judge@1" in run("log", "replay", code=1).err

    def test_purge(self, run: Run) -> None:
        search = ("search", "ferry", "--embedder", "none", "--log", "--json")
        numbers = [run(*search).json["query_id"] for _ in range(3)]
        assert run("log", "purge", str(numbers[0]), "--yes").out.strip() == "removed 1"
        assert run("log", "purge", "--before", "2020-01-01", "--yes", "--json").json == {"removed": 0}
        run("log", "purge", "--yes", code=2)
        run("log", "purge", "--all", "--before", "2020-01-01", "--yes", code=2)
        run("log", "purge", "--before", "soon", "--yes", code=2)
        assert run("log", "purge", "--all", "--yes").out.strip() == "removed 2"


class TestTune:
    @pytest.fixture
    def collection(self, tmp_path: Path) -> str:
        return str(write_collection(tmp_path / "mini"))

    def test_lexical(self, run: Run, collection: str) -> None:
        options = ("--k1", "0.5,1.2", "--b", "0:1:0.5", "--grid", "--json")
        report = run("tune", collection, "--embedder", "none", *options).json
        assert [row["label"] for row in report["rows"]][:3] == ["current", "k1 0.5, b 0", "k1 0.5, b 0.5"]
        assert len(report["rows"]) == 7
        assert set(report["best"]) == {"nDCG@10", "recall@10", "recall@100", "MRR@10"}
        assert report["current"]["k1"] == 1.2
        tenants = run("tenants", "list", "--json").json["tenants"]
        assert not any(one["tenant"].startswith("_evaluate") for one in tenants)

    def test_compared_is_with_the_settings_of_the_tenant(self, run: Run, collection: str, tenant: str) -> None:
        run("tenants", "set", tenant, "--k1", "0.9")
        before = run("tenants", "list", "--json").json
        tuned = ("tune", collection, "--embedder", "none", "--k1")
        report = run(*tuned, "0.9,1.2", "--current", "b=0.5", "--json").json
        assert (report["current"]["k1"], report["current"]["b"]) == (0.9, 0.5)
        assert "current: k1 0.9, b 0.75," in run(*tuned, "2", "--resamples", "50").out
        # Nothing was set.
        assert run("tenants", "list", "--json").json == before

    @pytest.mark.parametrize(
        "options",
        [
            ("--rrf-k", "10"), ("--k1", "x"), ("--k1", "-1"), ("--b", "2"), ("--current", "b"),
            ("--current", "x=1"), ("--current", "b=1,2"), ("--unit", "page"), ("--markdown", "--json"),
            ("--resamples", "0"),
        ],
    )  # fmt: skip
    def test_bad_usage(self, run: Run, collection: str, options: tuple[str, ...]) -> None:
        run("tune", collection, "--embedder", "none", *options, code=2)

    def test_markdown(self, run: Run, collection: str) -> None:
        out = run("tune", collection, "--embedder", "none", "--k1", "0.5", "--markdown").out
        assert "| setting | nDCG@10 |" in out
        assert "Nothing was changed." in out


class TestEvaluate:
    def test_units_forms_and_markdown(self, run: Run, tmp_path: Path) -> None:
        collection = str(write_collection(tmp_path / "mini"))
        options = ("--split", "--unit", "chunk", "--unit", "document", "--forms", "--json")
        report = run("evaluate", collection, "--embedder", "none", *options).json
        assert list(report["modes"]) == ["lexical", "lexical, document"]
        assert report["questions"] == 1
        assert list(report["forms"]["lexical"]) == [
            "question, kept", "question, stripped", "keywords, kept", "keywords, stripped",
        ]  # fmt: skip
        assert report["modes"]["lexical"]["duplicates"] == 0
        out = run("evaluate", collection, "--embedder", "none", "--markdown").out
        assert "| mode | nDCG@10 |" in out
        run("evaluate", collection, "--embedder", "none", "--unit", "page", code=2)
        run("evaluate", collection, "--embedder", "none", "--rerank-depth", "5", code=2)
        run("evaluate", collection, "--embedder", "none", "--markdown", "--json", code=2)
