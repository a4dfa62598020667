"""What tune measures is what a search with the same settings finds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from pgsift import Store
from pgsift.evaluate import Collection, CollectionDocument, evaluate, score_run
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.sweep import DEFAULTS, Settings, _Legs, tune

np = pytest.importorskip("numpy")
pytest.importorskip("ir_measures")

WORDS = (
    "winch", "ferry", "pump", "harbour", "master", "rope", "stop", "emergency", "timetable", "tide", "seal", "water",
)  # fmt: skip


def quiet(*_: Any) -> None:
    """No progress is shown."""


class Embedder:
    """Vectors that depend on every word, and tell nothing."""

    name, revision, identity, dimensions, metric = "hash", "1", "hash@1", 8, "cosine"
    query_prefix = document_prefix = ""
    normalized = remote = False
    lexical_weight, dense_weight = 1.0, 0.5

    def embed_query(self, text: str) -> Any:
        vector = np.zeros(8, dtype=np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            vector += np.frombuffer(digest[:8], dtype=np.uint8).astype(np.float32) - 128
        return vector + np.float32(0.5)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.stack([self.embed_query(text) for text in texts])


def collection() -> Collection:
    generator = np.random.default_rng(4)
    documents = []
    for number in range(60):
        words = [str(word) for word in generator.choice(WORDS, size=int(generator.integers(3, 260)))]
        title = str(generator.choice(WORDS)) if number % 3 == 0 else ""
        documents.append(CollectionDocument(f"d{number}", title, ". ".join(words)))
    queries = {f"q{n}": " ".join(map(str, generator.choice(WORDS, size=3))) for n in range(12)}
    qrels = {query: {f"d{int(d)}": 1 for d in generator.choice(60, size=5, replace=False)} for query in queries}
    return Collection("made", tuple(documents), queries, qrels)


SETTINGS = [
    Settings(weights=(1, 0.5), depth=30),
    Settings(k1=0.4, b=0.1, rrf_k=3, weights=(0.2, 1), depth=25),
    Settings(title_weight=3, weights=(1, 0.5), depth=40, min_score=0.4),
    Settings(weights=(1, 1), depth=20, max_distance=0.7),
    Settings(weights=(0, 1), depth=20),
]


@pytest.mark.parametrize("unit", ["chunk", "document"])
@pytest.mark.parametrize("split", [False, True])
def test_rankings_are_those_of_the_search(schema_dsn: str, unit: str, split: bool) -> None:
    judged = collection()
    embedder: Any = Embedder()
    with (
        Store(schema_dsn) as store,
        ScratchTenant(store, analyzer="english", embedder=embedder, split=split) as tenant,
    ):
        tenant.put(judged.documents, quiet)
        legs = _Legs(tenant, judged.judged_queries, embedder, unit, 40)
        legs.ask_dense(quiet)
        for one in SETTINGS:
            legs.ask_lexical(one.lexical, quiet)
            rankings = legs.rankings(one)
            for query, text in judged.judged_queries.items():
                hits = tenant.search(
                    text, k=one.depth, mode="hybrid", vector=embedder.embed_query(text), unit=unit, depth=one.depth,
                    per_document=None, rrf_k=one.rrf_k, weights=one.weights, k1=one.k1, b=one.b,
                    title_weight=one.title_weight, min_score=one.min_score, max_distance=one.max_distance,
                )  # fmt: skip
                found = list(dict.fromkeys(hit.key for hit in hits))
                assert rankings[query][: len(found)] == found, (one, query)


def test_the_best_of_a_report(schema_dsn: str) -> None:
    stages: list[str] = []
    embedder: Any = Embedder()
    lists = {"rrf_k": (1, 60), "depth": (20, 100), "weights": ((1, 0.5), (1, 1))}
    with Store(schema_dsn) as store:
        report = tune(
            store, collection(), lists, embedder=embedder, resamples=200, progress=lambda *step: stages.append(step[0])
        )
        again = tune(store, collection(), lists, embedder=embedder, resamples=200)
        measured = evaluate(store, collection(), embedder=embedder, modes=["hybrid"], depth=100, resamples=50)
        assert store.embedder is None
    assert [row.label for row in report.rows] == ["current", "rrf_k 1", "depth 20", "weights 1:1"]
    assert report.current == Settings(weights=(1.0, 0.5))
    assert set(stages) == {"ingest", "dense ranking", "lexical ranking 1 of 1", "intervals"}
    assert report.to_dict() == again.to_dict()
    for measure, best in report.best.items():
        assert best.mean == max(row.estimates[measure].mean for row in report.rows)
        assert best.differs == (best.difference.low > 0)
        # The current settings are those of a search that says nothing.
        assert report.rows[0].estimates[measure].mean == pytest.approx(measured.mean("hybrid", measure))
    assert report.rows[0].differences is None
    for row in report.rows[1:]:
        assert row.differences is not None
        assert row.differences["MRR@10"].mean == pytest.approx(
            row.estimates["MRR@10"].mean - report.rows[0].estimates["MRR@10"].mean
        )


def test_a_setting_that_is_better_is_told_apart(schema_dsn: str) -> None:
    # Every answer is the document with the word in its title; the others have it more often in their texts.
    documents, queries, qrels = [], {}, {}
    for number in range(40):
        word = f"word{number}"
        documents.append(CollectionDocument(f"a{number}", word, "nothing else of any use here"))
        documents.append(CollectionDocument(f"b{number}", "", f"{word} {word} {word} and nothing else"))
        queries[f"q{number}"] = word
        qrels[f"q{number}"] = {f"a{number}": 1}
    judged = Collection("titles", tuple(documents), queries, qrels)
    with Store(schema_dsn) as store:
        report = tune(store, judged, {"title_weight": (1, 50), "k1": (1.2, 1.3)}, resamples=500)
    assert report.best["MRR@10"].label == "title_weight 50"
    assert report.best["MRR@10"].differs
    assert report.best["MRR@10"].difference.low > 0
    assert not report.best["recall@100"].differs
    assert report.best["recall@100"].label == "current"


def test_defaults_can_be_tried() -> None:
    for name, values in DEFAULTS.items():
        for value in values:
            Settings(**{name: value})


def test_measures_of_rankings(schema_dsn: str) -> None:
    judged = collection()
    with Store(schema_dsn) as store:
        report = tune(store, judged, {"k1": (1.2,)}, resamples=20)
        with ScratchTenant(store, analyzer="english", embedder=None) as tenant:
            tenant.put(judged.documents, quiet)
            run = {
                query: [hit.key for hit in tenant.search(text, k=100, mode="lexical", vector=None)]
                for query, text in judged.judged_queries.items()
            }
    scores = score_run(judged.qrels, run)
    for measure, values in scores.items():
        assert report.rows[0].estimates[measure].mean == pytest.approx(sum(values.values()) / len(values))


def test_copies_of_documents_are_seen_by_nobody_else(schema_dsn: str) -> None:
    judged = collection()
    with Store(schema_dsn) as store:
        with ScratchTenant(store, analyzer="english", embedder=None) as tenant:
            tenant.put(judged.documents, quiet)
            assert store.documents(tenant.name, principals=tenant.principals)
            assert not store.documents(tenant.name, principals=["public"])
            assert store.tenant(tenant.name).default_principals == []
        with ScratchTenant(store, analyzer="english", embedder=None) as other:
            assert set(other.principals).isdisjoint(tenant.principals)
