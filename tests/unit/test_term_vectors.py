"""Vectors of single terms: which word is embedded, and what is made of its vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from pgsift.domain.analyzer import ANALYZERS, get_analyzer  # noqa: E402
from pgsift.embed.terms import (  # noqa: E402
    COMMON_WORDS,
    CONTEXTS,
    TermVectors,
    common_words,
    count_forms,
    frequent_form,
    neutral_form,
)
from pgsift.errors import InvalidArgument  # noqa: E402


class Toy:
    """Vectors that tell the text: hashes of its letters, the question mark among them."""

    name, metric, normalized, dimensions = "toy", "cosine", False, 4
    query_prefix = document_prefix = ""
    contextual = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = [[len(t), t.count("e") + 1, ord(t[-1]) % 7, 3 * ("?" in t)] for t in texts]
        return np.array(rows, dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        return 2 * self.embed_documents([text])[0]


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_the_most_frequent_form_is_taken() -> None:
    counts: dict[str, Counter[str]] = {}
    count_forms("english", ["The Runner ran, running and running", "runs RUNS running; engines"], counts)
    assert counts["run"] == Counter({"running": 3, "runs": 2})
    assert counts["runner"] == Counter({"runner": 1}) and "the" not in counts
    assert frequent_form(counts["run"]) == "running"
    assert frequent_form(Counter({"bb": 2, "ab": 2, "ccc": 2, "a": 1})) == "ab"
    assert frequent_form(counts["engin"]) == "engines"


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_every_token_has_a_form_that_becomes_it(analyzer: str) -> None:
    text = "Co-simulation of get_user_by_email in 北京市 x86_64 Maßstäbe, naïve ﬁles 1.18.6 v2 'nCoV's"
    counts: dict[str, Counter[str]] = {}
    count_forms(analyzer, [text, text], counts)
    assert set(counts) == set(get_analyzer(analyzer).tokenize(text))
    for term, forms in counts.items():
        assert frequent_form(forms) and (analyzer == "english" or frequent_form(forms) == term)


def test_a_neutral_form_is_of_no_corpus() -> None:
    words = common_words()
    assert len(words) > 10_000 and "the" in words and len(words) > COMMON_WORDS
    found = [neutral_form("english", term) for term in ("achiev", "argument", "comput")]
    assert found == ["achieve", "argument", "compute"]
    assert neutral_form("english", "zorgonif") == "zorgonif"
    # What is a word stays it.
    assert neutral_form("standard", "running") == "running"
    for term in ("achiev", "univers", "cell", "veri", "analysi"):
        assert get_analyzer("english").tokenize(neutral_form("english", term)) == [term]


def test_a_vector_is_the_mean_over_contexts_of_what_is_not_common() -> None:
    toy = Toy()
    vectors = TermVectors(toy).vectors(["car", "house"])
    expected = []
    for context in CONTEXTS:
        common, own = (
            unit(toy.embed_documents([context.format(word) for word in words]).astype(float))
            for words in (common_words()[:COMMON_WORDS], ("car", "house"))
        )
        expected.append(unit(own - common.mean(axis=0)))
    assert vectors == pytest.approx(unit(np.mean(expected, axis=0)))
    assert vectors.shape == (2, 4)


def test_what_is_common_is_embedded_once_and_in_no_batch_depends_on_others() -> None:
    toy = Toy()
    maker = TermVectors(toy)
    both = maker.vectors(["car", "house"])
    before = len(toy.asked)
    assert (maker.vectors(["house"]) == both[1:]).all()
    assert len(toy.asked) == before + len(CONTEXTS)


def test_queries_are_embedded_as_queries() -> None:
    toy = Toy()
    plain = TermVectors(toy).vectors(["car"])
    toy.query_prefix = "query: "
    assert TermVectors(toy).vectors(["car"]) == pytest.approx(plain)  # twice the vector has the same direction


def test_a_static_model_gives_the_vector_of_the_form_itself() -> None:
    toy = Toy()
    toy.contextual = False
    assert TermVectors(toy).vectors(["car"]) == pytest.approx(unit(toy.embed_documents(["car"]).astype(float)))


def test_lengths_that_matter_are_refused() -> None:
    toy = Toy()
    toy.metric = "ip"
    with pytest.raises(InvalidArgument, match="different lengths"):
        TermVectors(toy)
    toy.normalized = True
    TermVectors(toy)
    with pytest.raises(InvalidArgument):
        TermVectors(Toy()).vectors([])
