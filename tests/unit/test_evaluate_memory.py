"""Runs in memory, and the sweeps over them."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import pytest

from pgsift.domain.analyzer import get_analyzer
from pgsift.errors import InvalidArgument
from pgsift.evaluate import Collection, CollectionDocument
from pgsift.evaluate.memory import MemoryIndex, dense_run, document_texts, fuse_runs, lexical_run

np = pytest.importorskip("numpy")


def scores(texts: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    """BM25 in Lucene's form, from its definition."""
    documents = [Counter(text.split()) for text in texts]
    nonempty = [document for document in documents if document]
    average = sum(document.total() for document in nonempty) / len(nonempty)
    result: dict[int, float] = {}
    for term in sorted(set(query.split())):
        df = sum(term in document for document in documents)
        if not df:
            continue
        idf = math.log(1 + (len(nonempty) - df + 0.5) / (df + 0.5))
        for position, document in enumerate(documents):
            if tf := document[term]:
                norm = k1 * (1 - b + b * document.total() / average)
                result[position] = result.get(position, 0.0) + idf * tf / (tf + norm)
    return result


def test_bm25_equals_its_definition() -> None:
    generator = random.Random(5)
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(generator.choices(words, k=generator.randint(0, 30))) for _ in range(80)]
    for k1, b in ((1.2, 0.75), (0.0, 0.75), (2.0, 0.0), (0.9, 1.0)):
        index = MemoryIndex(texts, str.split, k1=k1, b=b)
        for _ in range(20):
            query = " ".join(generator.choices([*words, "unknown"], k=4))
            expected = scores(texts, query, k1, b)
            found = index.search(query, 1000)
            assert dict(found) == pytest.approx(expected)
            assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_ties_keep_the_order_of_the_texts_and_k_cuts() -> None:
    index = MemoryIndex(["b", "a", "a", "a"], str.split)
    assert [position for position, _ in index.search("a", 10)] == [1, 2, 3]
    assert [position for position, _ in index.search("a", 2)] == [1, 2]
    assert index.search("a", 0) == []
    assert index.search("unknown", 10) == []


def test_a_repeated_query_term_counts_once() -> None:
    index = MemoryIndex(["a b", "b"], str.split)
    assert index.search("a a a", 10) == index.search("a", 10)


def test_queries_have_terms_of_their_own() -> None:
    texts = ["船在印度洋", "星", "火"]
    standard = get_analyzer("standard")
    index = MemoryIndex(texts, standard.tokenize, standard.query_terms)
    assert [position for position, _ in index.search("船", 10)] == [0]
    assert index.search("火星", 10) == []
    one_for_both = MemoryIndex(texts, standard.tokenize)
    assert {position for position, _ in one_for_both.search("火星", 10)} == {1, 2}


def test_empty_corpora() -> None:
    assert MemoryIndex([], str.split).search("a", 10) == []
    assert MemoryIndex(["", ""], str.split).search("a", 10) == []


@pytest.mark.parametrize(
    ("k1", "b"), [(-1, 0.75), (math.nan, 0.75), (math.inf, 0.75), (1.2, -0.1), (1.2, 1.1)]
)
def test_bad_parameters(k1: float, b: float) -> None:
    with pytest.raises(InvalidArgument):
        MemoryIndex([], str.split, k1=k1, b=b)


@pytest.fixture
def collection() -> Collection:
    return Collection(
        name="c",
        documents=(
            CollectionDocument("d1", "alpha", "beta"),
            CollectionDocument("d2", "", "alpha alpha"),
            CollectionDocument("d3", "", ""),
        ),
        queries={"q1": "alpha", "q2": "beta", "q3": "gamma"},
        qrels={"q1": {"d2": 1}, "q2": {"d1": 1}},
    )


def test_lexical_run_takes_title_and_text(collection: Collection) -> None:
    assert lexical_run(collection, str.split) == {"q1": ["d2", "d1"], "q2": ["d1"]}
    assert lexical_run(collection, str.split, depth=1) == {"q1": ["d2"], "q2": ["d1"]}
    assert lexical_run(collection, str.split, lambda _: []) == {"q1": [], "q2": []}


def test_document_texts_leave_blank_ones_out(collection: Collection) -> None:
    assert document_texts(collection) == {"d1": "alpha\nbeta", "d2": "alpha alpha"}


def test_dense_run_is_by_cosine() -> None:
    documents = {
        "far": np.array([0, 3], dtype=np.float32),
        "near": np.array([9, 1], dtype=np.float32),
        "nearest": np.array([0.1, 0], dtype=np.float32),
        "same": np.array([5, 0], dtype=np.float32),
    }
    run = dense_run(documents, {"q": np.array([2, 0], dtype=np.float32)})
    assert run == {"q": ["nearest", "same", "near", "far"]}
    assert dense_run(documents, {"q": np.array([2, 0], dtype=np.float32)}, depth=1) == {"q": ["nearest"]}


class TestFusion:
    def test_by_hand(self) -> None:
        fused = fuse_runs([({"q": ["a", "b", "c"]}, 1), ({"q": ["c", "d"]}, 1)])
        # c: 1/63 + 1/61; a: 1/61; b and d: 1/62, in the order of the legs.
        assert fused == {"q": ["c", "a", "b", "d"]}

    def test_weights(self) -> None:
        left, right = {"q": ["a"]}, {"q": ["b"]}
        assert fuse_runs([(left, 1), (right, 2)]) == {"q": ["b", "a"]}
        assert fuse_runs([(left, 1), (right, 0)]) == {"q": ["a"]}

    def test_a_small_constant_prefers_first_ranks(self) -> None:
        left = {"q": ["a", *(f"x{number}" for number in range(8)), "b"]}
        right = {"q": [*(f"y{number}" for number in range(9)), "b"]}
        assert fuse_runs([(left, 1), (right, 1)], rrf_k=60)["q"][0] == "b"
        assert fuse_runs([(left, 1), (right, 1)], rrf_k=1)["q"][0] == "a"

    def test_depth_and_k(self) -> None:
        left, right = {"q": ["a", "b", "c"]}, {"q": ["c", "b", "a"]}
        assert fuse_runs([(left, 1), (right, 1)], depth=1) == {"q": ["a", "c"]}
        assert fuse_runs([(left, 1), (right, 1)], k=2) == {"q": ["a", "c"]}

    def test_equals_go_by_position(self) -> None:
        left, right = {"q": ["a"]}, {"q": ["b"]}
        assert fuse_runs([(left, 1), (right, 1)]) == {"q": ["a", "b"]}
        assert fuse_runs([(left, 1), (right, 1)], positions={"a": 5, "b": 2}) == {"q": ["b", "a"]}

    def test_a_query_missing_in_one_leg(self) -> None:
        assert fuse_runs([({"q": ["a"]}, 1), ({"p": ["b"]}, 1)]) == {"q": ["a"], "p": ["b"]}


def test_tune_prints_the_sweeps_and_keeps_vectors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ir_measures")
    from pgsift.evaluate import tune

    class Embedder:
        name = "letters"
        identity = "letters@1"
        calls = 0

        def embed_documents(self, texts: list[str]) -> object:
            type(self).calls += 1
            return np.stack([self.embed_query(text) for text in texts])

        def embed_query(self, text: str) -> object:
            return np.array([text.lower().count(c) + 0.01 for c in "abcdefghij"], dtype=np.float32)

    monkeypatch.setattr(tune, "load_embedder", {"minilm": Embedder()}.__getitem__)
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        '{"id": "d1", "title": "Databases", "text": "store rows"}\n'
        '{"id": "d2", "title": "Cats", "text": "chase mice"}\n',
        encoding="utf-8",
    )
    (folder / "queries.jsonl").write_text('{"id": "q1", "text": "a cat chasing"}\n', encoding="utf-8")
    (folder / "qrels.tsv").write_text("q1\td2\t1\n", encoding="utf-8")
    cache = tmp_path / "cache"
    arguments = [str(folder), "--cache", str(cache), "--analyzer", "english", "--depths", "5", "100"]
    assert tune.main(arguments) == 0
    first = capsys.readouterr().out
    assert "### tiny, english" in first
    assert "| lexical | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in first
    assert "| 0.5 : 1 |" in first
    assert "| depth 5 |" in first
    assert "| rrf_k 10 |" in first
    assert "Of 1 relevant documents both legs have 100.0%" in first
    assert len(list(cache.iterdir())) == 2
    assert tune.main(arguments) == 0
    assert capsys.readouterr().out == first
    assert Embedder.calls == 1
