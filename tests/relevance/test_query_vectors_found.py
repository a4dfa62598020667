"""How near the vectors come that the database makes of queries, and what searches by text alone find with them.

Figures are those of docs/query-vectors.md, or of a part of the queries; without the collections it is skipped.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("ir_measures")

from pgsift import Store  # noqa: E402
from pgsift._queries import NO_EMBEDDER  # noqa: E402
from pgsift.embed import load_embedder  # noqa: E402
from pgsift.errors import MissingExtra  # noqa: E402
from pgsift.evaluate import load_collection, score_run  # noqa: E402
from pgsift.evaluate._store import ScratchTenant  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 0.004
# Of the first forty queries: the median cosine, and nDCG@10.
COSINE, LEXICAL, HYBRID = 0.8106, 0.4544, 0.4701


def _folder(name: str) -> Path:
    given = os.environ.get("PGSIFT_COLLECTIONS")
    folder = (Path(given) if given else ROOT.parent / "shared" / "collections") / name
    if not folder.is_dir():
        pytest.skip(f"the collection {name} is not there; PGSIFT_COLLECTIONS names the folder of collections")
    return folder


def _embedder(spec: str) -> Any:
    embedder: Any = load_embedder(spec)
    try:
        embedder.load()
    except MissingExtra as error:
        pytest.skip(str(error))
    return embedder


def test_a_static_model_by_words_beats_words_alone(schema_dsn: str) -> None:
    """Through the database, from text alone: the first forty queries of stackfaq-answers."""
    collection, static = load_collection(_folder("stackfaq-answers")), _embedder("static")
    queries = dict(list(collection.judged_queries.items())[:40])
    qrels = {key: collection.qrels[key] for key in queries}
    with Store(schema_dsn) as store, ScratchTenant(store, analyzer="english", embedder=static) as tenant:
        tenant.put(collection.documents, lambda done, total: None)  # noqa: ARG005
        store.fit_terms(tenant.name, embedder=static)
        near = []
        runs: dict[str, dict[str, list[str]]] = {"lexical": {}, "hybrid": {}}
        for key, text in queries.items():
            own = static.embed_query(text).astype(np.float64)
            made = np.array(store.embed_query(tenant.name, text, principals=tenant.principals))
            near.append(float(made @ own / np.linalg.norm(own)))
            for mode, run in runs.items():
                hits = tenant.search(text, mode=mode, vector=None, k=20, embedder=NO_EMBEDDER)
                run[key] = [hit.key for hit in hits]
                assert {hit.query_vector for hit in hits} == {"approximated" if mode == "hybrid" else None}
    found = {mode: float(np.mean(list(score_run(qrels, run)["nDCG@10"].values()))) for mode, run in runs.items()}
    assert float(np.median(near)) == pytest.approx(COSINE, abs=TOLERANCE)
    assert found["lexical"] == pytest.approx(LEXICAL, abs=TOLERANCE)
    assert found["hybrid"] == pytest.approx(HYBRID, abs=TOLERANCE)
    assert found["hybrid"] > found["lexical"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["scifact", "stackfaq-answers", "xquad-en"])
def test_searches_by_text_with_the_default_model_beat_words_alone(name: str, schema_dsn: str) -> None:
    """Which is why they approximate by default."""
    folder, minilm = _folder(name), _embedder("minilm")
    with Store(schema_dsn) as store:
        result = _tool().measure(store, folder, minilm)
    modes = result["modes"]
    assert modes["hybrid, approximated"]["nDCG@10"] > modes["lexical"]["nDCG@10"]
    assert modes["hybrid, approximated"]["recall@100"] >= modes["lexical"]["recall@100"]
    assert result["cosine"]["median"] > 0.6 and result["cosine"]["p5"] > 0.45


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("query_vectors", ROOT / "tools" / "query_vectors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
