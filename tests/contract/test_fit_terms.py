"""Vectors of a tenant's terms, by the library and the command line: in portions, resumed, within the rules."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from pgsift import Document, Store, errors
from pgsift._models import TenantEmbedder
from pgsift._terms import TermFitting
from pgsift.embed import load_embedder
from pgsift.models import BackfillProgress
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/query-vectors.md").read_text(encoding="utf-8")


class Toy:
    """Vectors that are a function of the text, and a list of the texts."""

    name, revision, identity, metric, dimensions = "toy", "r1", "toy@r1", "cosine", 3
    query_prefix = document_prefix = ""
    normalized = contextual = False
    remote = False
    scripts: frozenset[str] | None = None

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.refuse = ""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.refuse and any(self.refuse in text for text in texts):
            raise errors.InvalidArgument("not that")
        self.texts += texts
        return np.array([[len(t), 1 + t.count("e"), ord(t[0]) % 5] for t in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


@pytest.fixture
def store(dsn: str) -> Iterator[Store]:
    with Store(dsn) as store:
        store.create_tenant("t", analyzer="english", default_principals=["public"])
        yield store


def put(store: Store, *texts: str, acl: Sequence[str] | None = None, embedder: Any = None) -> None:
    have = len(store.documents("t", principals=["sift:writer"], k=1000))
    store.put_documents(
        "t", [Document(key=f"d{have + n}", text=text, acl=acl) for n, text in enumerate(texts)], embedder=embedder
    )


def test_terms_get_the_vector_of_their_most_frequent_form_once(store: Store) -> None:
    toy = Toy()
    put(store, "The runner runs; running, runs.", "Engines run", embedder=toy)
    toy.texts.clear()
    report = store.fit_terms("t", embedder=toy)
    assert sorted(toy.texts) == ["engines", "runner", "runs"]
    assert (report.chunks, report.stored, report.terms, report.forms) == (2, 3, 3, "frequent")
    assert (report.failed, report.unread) == (0, 0)
    assert store.fit_terms("t", embedder=toy).chunks == 0
    put(store, "running on ferries")
    assert store.term_fits("t")[0].later_chunks == 1
    again = store.fit_terms("t", embedder=toy)
    assert (again.chunks, again.stored, again.terms) == (1, 1, 4) and toy.texts[3:] == ["ferries"]
    assert store.fit_terms("t", embedder=toy, whole=True).stored == 0
    assert store.fit_terms("t", embedder=toy, anew=True).stored == 4
    vector = store.embed_query("t", "ferry", principals=["public"])
    expected = toy.embed_query("ferries")
    assert vector == pytest.approx(list(expected / np.linalg.norm(expected)), abs=1e-3)
    assert [(t.term, t.fitted) for t in store.query_vector_terms("t", "ferry zorgon", principals=["public"])] == [
        ("ferri", True), ("zorgon", False),
    ]  # fmt: skip
    assert store.drop_term_embeddings("t", "toy") == 4
    with pytest.raises(errors.ModelUnavailable):
        store.embed_query("t", "ferry", principals=["public"])


def test_one_that_is_interrupted_goes_on(store: Store) -> None:
    toy = Toy()
    put(store, "alpha beta", "gamma delta", "epsilon zeta", embedder=toy)
    toy.texts.clear()

    def stop(progress: BackfillProgress) -> None:
        assert progress.total == 3
        if progress.done == 2:
            raise KeyboardInterrupt

    fitting = TermFitting(TenantEmbedder(store, "t", toy), portion=1, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        fitting.run()
    (fit,) = store.term_fits("t")
    assert fit.terms == 4 and fit.later_chunks in (1, 2)
    store.fit_terms("t", embedder=toy)
    assert sorted(toy.texts) == ["alpha", "beta", "delta", "epsilon", "gamma", "zeta"]
    assert store.term_fits("t")[0].later_chunks == 0


def test_what_the_model_does_not_read_or_take_has_none(store: Store) -> None:
    toy = Toy()
    put(store, "ferry 北京 rubbish", embedder=toy)
    toy.scripts = frozenset({"LATIN"})
    toy.refuse = "rubbish"
    report = store.fit_terms("t", embedder=toy)
    assert report.terms == 1 and report.unread > 0 and report.failed == 1
    assert store.embed_query("t", "北京", principals=["public"]) is None


def test_words_that_may_not_leave_are_not_sent(store: Store) -> None:
    toy = Toy()
    put(store, "open words", embedder=toy)
    store.put_documents("t", [Document(key="x", text="secret words", classification="secret")])
    store.set_tenant("t", remote_classifications=["public"])
    toy.texts.clear()
    toy.remote = True
    store.fit_terms("t", embedder=toy)
    assert toy.texts == []
    toy.remote = False
    store.fit_terms("t", embedder=toy, whole=True)
    assert sorted(toy.texts) == ["open", "secret", "words"]


def test_statistics_of_what_is_visible_take_neutral_forms(store: Store) -> None:
    toy = Toy()
    put(store, "achieved, achieved", embedder=toy)
    store.set_tenant("t", statistics="visible")
    toy.texts.clear()
    with pytest.raises(errors.InvalidArgument):
        store.fit_terms("t", embedder=toy, forms="frequent")
    assert store.fit_terms("t", embedder=toy).forms == "neutral" and toy.texts == ["achieve"]
    store.set_tenant("t", statistics="tenant")
    with pytest.raises(errors.InvalidArgument, match="neutral forms, not of frequent"):
        store.fit_terms("t", embedder=toy)
    store.fit_terms("t", embedder=toy, anew=True)
    assert toy.texts[1:] == ["achieved"]
    for forms, portion in (("other", 1), (None, 0)):
        with pytest.raises(errors.InvalidArgument):
            TermFitting(TenantEmbedder(store, "t", toy), forms=forms, portion=portion)


def test_of_a_static_model_the_vector_of_a_word_is_the_models_own(store: Store) -> None:
    pytest.importorskip("safetensors")
    if not (sys.modules.get("wordllama") or _installed("wordllama")):
        pytest.skip("wordllama is not installed")
    static = load_embedder("static")
    words = ["winch", "boat", "harbour", "engine", "safety", "water", "night", "storm"]
    put(store, "a " + " ".join(words), embedder=static)
    store.fit_terms("t", embedder=static)
    for word in words:
        vector = np.array(store.embed_query("t", word, principals=["public"]))
        own = static.embed_query(word).astype(np.float64)
        assert float(vector @ own / np.linalg.norm(own)) >= 0.999, word
    # Of several words with the same idf it is their mean, as the model's own is of their tokens.
    pair = np.array(store.embed_query("t", "boat engine", principals=["public"]))
    own = static.embed_query("boat engine").astype(np.float64)
    assert float(pair @ own) >= 0.95


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def test_the_page_works(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the default model; the commands, queries and code of the page."""
    pytest.importorskip("onnxruntime")
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", analyzer="english", default_principals=["public"])

    def blocks(language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    for line in "".join(blocks("sh")).splitlines():
        assert main(shlex.split(line)[1:]) == 0, line
    out = capsys.readouterr().out
    assert "terms of" in out and "frequent" in out
    with psycopg.connect(dsn, autocommit=True) as connection:
        queries = [line for block in blocks("sql") for line in block.splitlines()]
        assert len(queries) == 3
        first, second, third = (connection.execute(query.encode()).fetchall() for query in queries)
    assert {row[2] for row in first} == {"approximated"} and third
    assert any(fitted for _, fitted, _ in second)
    printed = io.StringIO()
    for block in blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "query-vectors.md", "exec"), {})
    assert printed.getvalue().startswith("384 ")
    own = load_embedder("minilm").embed_query("safety of the winch").astype(np.float64)
    with Store(dsn) as store:
        made = np.array(store.embed_query("default", "safety of the winch", principals=["public"]))
        assert float(made @ own) > 0.6
        assert store.search("default", "winches hurt people", principals=["public"]).warnings == (
            "the query's vector is approximated by its words",
        )
    for line in ("fit-terms --json", "terms --json", "drop-terms minilm"):
        assert main(["models", *line.split()]) == 0, line
    assert "vectors of terms removed" in capsys.readouterr().out
