"""Keyword forms, what each ranking has, duplicates, intervals, and values of settings."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.query import search_terms
from pgsift.errors import InvalidArgument

np = pytest.importorskip("numpy")
pytest.importorskip("ir_measures")

from pgsift.evaluate import Bootstrap, keyword_form  # noqa: E402
from pgsift.evaluate.analysis import Duplicates, compare_legs  # noqa: E402
from pgsift.evaluate.cache import CachedEmbedder  # noqa: E402
from pgsift.evaluate.sweep import Settings, _candidates, parse_values, shown  # noqa: E402

ENGLISH = get_analyzer("english")
QUERY_WORDS = ["How", "do", "I", "the", "winch", "stop", "of", "a", "rope?", "(ferry)"]


class TestKeywordForm:
    @pytest.mark.parametrize(
        ("query", "keywords"),
        [
            ("How do I stop the winch?", "stop winch"),
            ("What is the safe working-load of a rope?", "safe working-load rope"),
            ("winch ferry", "winch ferry"),
            ("winch ferry?", "winch ferry?"),  # nothing but punctuation would go
            ("the of", "the of"),  # nothing would be left
            ("黑豹队的防守丢了多少分？", "黑豹队的防守丢了多少分？"),
            ("who guidelines for what can be done", "who guidelines what can done"),  # no question in form
            ("", ""),
        ],
    )
    def test_forms(self, query: str, keywords: str) -> None:
        assert keyword_form(query, ENGLISH) == keywords

    @given(st.lists(st.sampled_from(QUERY_WORDS), max_size=8))
    def test_the_terms_are_those_of_the_stripped_query(self, words: list[str]) -> None:
        query = " ".join(words)
        left = search_terms(ENGLISH, query)
        if keyword_form(query, ENGLISH) != query:
            assert search_terms(ENGLISH, keyword_form(query, ENGLISH)) == left
            assert keyword_form(keyword_form(query, ENGLISH), ENGLISH) == keyword_form(query, ENGLISH)


class TestLegs:
    def test_by_hand(self) -> None:
        qrels = {"q1": {"a": 1, "b": 2, "c": 1, "x": 0}, "q2": {"d": 1}, "q3": {"e": 1}}
        lexical = {"q1": ["a", "b", "z"], "q2": ["z", "d"], "q3": ["z"]}
        dense = {"q1": ["b", "x"], "q2": [], "q3": ["e"]}
        bootstrap = Bootstrap(list(qrels), resamples=10)
        legs = compare_legs(qrels, lexical, dense, bootstrap, depth=2, hybrid={"q1": ["b", "a"], "q3": ["e"]})
        assert (legs.both, legs.lexical_only, legs.dense_only, legs.neither) == (1, 2, 1, 1)
        assert legs.relevant == 5
        assert legs.share("lexical_only") == pytest.approx(0.4)
        assert legs.union.mean == pytest.approx((2 / 3 + 1 + 1) / 3)
        assert legs.hybrid is not None
        assert legs.hybrid.mean == pytest.approx((2 / 3 + 0 + 1) / 3)
        assert compare_legs(qrels, lexical, dense, bootstrap, depth=1).lexical_only == 1  # d is second
        assert json.loads(json.dumps(legs.to_dict()))["neither"] == {"count": 1, "share": 0.2}

    @given(st.data())
    def test_no_fusion_exceeds_the_union(self, data: st.DataObject) -> None:
        keys = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)
        qrels = {"q": dict.fromkeys(data.draw(keys) or ["a"], 1)}
        lexical, dense = data.draw(keys), data.draw(keys)
        merged = data.draw(st.permutations(list(dict.fromkeys(lexical + dense))))
        bootstrap = Bootstrap(["q"], resamples=2)
        legs = compare_legs(qrels, {"q": lexical}, {"q": dense}, bootstrap, depth=6, hybrid={"q": merged})
        assert legs.hybrid is not None
        assert legs.hybrid.mean <= legs.union.mean
        assert legs.relevant == len(qrels["q"])


class TestDuplicates:
    LONG = "the harbour master keeps the key of the winch house and hands it out against a signature daily " * 2

    def test_copies_and_near_copies(self) -> None:
        count = Duplicates(ENGLISH).count
        assert count([]) == 0
        assert count(["a winch", "The WINCH!", "a ferry"]) == 1
        assert count([self.LONG, self.LONG + "again", "something else"]) == 1
        assert count(["a winch", "a winch today"]) == 0  # short texts are near copies of nothing
        assert count(["x y z"] * 4) == 3

    def test_other_texts_of_the_same_words(self) -> None:
        words = self.LONG.split()
        shuffled = words[:]
        random.Random(1).shuffle(shuffled)
        assert Duplicates(ENGLISH).count([" ".join(words), " ".join(shuffled)]) == 0


class TestBootstrap:
    def test_the_resamples_are_those_of_the_generator(self) -> None:
        values = {"a": 0.1, "b": 0.7, "c": 0.4}
        generator = np.random.default_rng(5)
        data = np.array([*values.values()])
        means = [data[generator.integers(0, 3, 3)].mean() for _ in range(700)]
        estimate = Bootstrap(list(values), resamples=700, level=0.9, seed=5).estimate(values)
        assert (estimate.low, estimate.high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])))

    def test_of_two_queries_the_three_means_are_known(self) -> None:
        # Means of two draws of 0 and 1: 0, ½ and 1 with probabilities ¼, ½, ¼.
        bootstrap = Bootstrap(["a", "b"], resamples=4000)
        wide = bootstrap.estimate({"a": 0, "b": 1})
        assert (wide.low, wide.mean, wide.high) == (0, 0.5, 1)
        narrow = bootstrap.estimate({"a": 0, "b": 1}, level=0.4)
        assert (narrow.low, narrow.high) == (0.5, 0.5)

    def test_a_higher_level_is_wider(self) -> None:
        values = {f"q{n}": float(n % 7) for n in range(90)}
        bootstrap = Bootstrap(list(values), resamples=2000)
        usual, strict = bootstrap.estimate(values), bootstrap.estimate(values, level=0.999)
        assert strict.low < usual.low < usual.high < strict.high
        assert bootstrap.difference(values, values, level=0.999).high == 0


class TestValues:
    @pytest.mark.parametrize(
        ("name", "text", "values"),
        [
            ("k1", "0.6,0.9, 1.2", [0.6, 0.9, 1.2]),
            ("b", "0:1:0.25", [0, 0.25, 0.5, 0.75, 1]),
            ("k1", "0.1:0.3:0.1", [0.1, 0.2, 0.3]),
            ("k1", "1:1:1,2", [1, 2]),
            ("weights", "1:0.5,0:1", [(1, 0.5), (0, 1)]),
            ("depth", "50,100:300:100", [50, 100, 200, 300]),
            ("min_score", "none,2.5", [None, 2.5]),
        ],
    )
    def test_parsed(self, name: str, text: str, values: list[Any]) -> None:
        assert parse_values(name, text) == values
        assert parse_values(name, ",".join(map(shown, values))) == values

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("k1", ""), ("k1", "a"), ("k1", "1:2"), ("k1", "2:1:0.5"), ("k1", "0:1:0"), ("k1", "0:1:-1"),
            ("k1", "0:1e9:1"), ("k1", "none"), ("weights", "1"), ("weights", "1:2:3"), ("depth", "10.5"),
            ("k1", "0:inf:1"), ("k1", "0:1:nan"),
        ],
    )  # fmt: skip
    def test_refused(self, name: str, text: str) -> None:
        with pytest.raises(InvalidArgument):
            parse_values(name, text)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"k1": -1}, {"k1": float("nan")}, {"b": 1.5}, {"title_weight": -1}, {"depth": 0}, {"rrf_k": -1},
            {"abstract_weight": float("inf")}, {"weights": (1,)}, {"weights": (0, 0)}, {"weights": (1, -1)},
            {"min_score": float("nan")},
        ],
    )  # fmt: skip
    def test_settings_are_checked(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            Settings(**wrong)

    def test_weights_may_be_a_list(self) -> None:
        assert Settings(weights=[1, 0.5]) == Settings(weights=(1, 0.5))  # type: ignore[arg-type]
        assert len({Settings(weights=[1, 0.5]), Settings(weights=(1, 0.5))}) == 1  # type: ignore[arg-type]

    def test_one_after_the_other_or_all_together(self) -> None:
        now = Settings()
        lists = {"k1": (1.2, 0.9), "b": (0.5, 0.25)}
        one_by_one = _candidates(lists, now, grid=False, fused=True)
        assert [one.described(now) for one in one_by_one] == ["current", "k1 0.9", "b 0.5", "b 0.25"]
        grid = [one.described(now) for one in _candidates(lists, now, grid=True, fused=True)]
        assert grid == ["current", "b 0.5", "b 0.25", "k1 0.9, b 0.5", "k1 0.9, b 0.25"]

    @pytest.mark.parametrize(
        ("lists", "fused", "message"),
        [
            ({"k2": (1,)}, True, "unknown parameter 'k2'"),
            ({"k1": ()}, True, "no value of k1"),
            ({"rrf_k": (1,)}, False, "no embedder"),
            ({"k1": [n / 1000 for n in range(6000)]}, True, "too many"),
        ],
    )
    def test_candidates_refused(self, lists: dict[str, Any], fused: bool, message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            _candidates(lists, Settings(), grid=False, fused=fused)


class CountingEmbedder:
    name, identity, dimensions = "counting", "counting@1", 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts: Any) -> Any:
        self.embedded += texts
        return np.array([[len(text), 1] for text in texts], dtype=np.float32).reshape(-1, 2)

    def embed_query(self, text: str) -> Any:
        self.embedded.append(f"query: {text}")
        return np.array([len(text), 2], dtype=np.float32)


class TestCache:
    def test_nothing_is_embedded_twice(self, tmp_path: Path) -> None:
        inner = CountingEmbedder()
        for _ in range(2):
            cached = CachedEmbedder(inner, tmp_path)  # type: ignore[arg-type]
            assert cached.name == "counting"
            assert cached.embed_documents(["a", "bbb", "a"]).tolist() == [[1, 1], [3, 1], [1, 1]]
            assert cached.embed_query("a").tolist() == [1, 2]  # a query's vector is another than a document's
            assert cached.embed_documents([]).shape == (0, 2)
            cached.close()
        assert inner.embedded == ["a", "bbb", "query: a"]
        other = CountingEmbedder()
        other.identity = "counting@2"
        assert CachedEmbedder(other, tmp_path).embed_documents(["a"]).tolist() == [[1, 1]]  # type: ignore[arg-type]
        assert other.embedded == ["a"]

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(InvalidArgument, match="cannot be kept"):
            CachedEmbedder(CountingEmbedder(), tmp_path / "file" / "x")  # type: ignore[arg-type]
