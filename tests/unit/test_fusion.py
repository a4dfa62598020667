"""Fusion, collapse and cap as pure functions, and BM25's."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.domain import bm25
from pgsift.domain.fusion import Fused, cap_per_document, collapse_identical, fuse, page
from pgsift.domain.ports import Candidate, LexicalCandidates
from pgsift.domain.rank import rank_chunks
from pgsift.errors import InvalidArgument

legs = st.lists(st.lists(st.integers(1, 30), unique=True, max_size=20), min_size=1, max_size=3)


def test_field_case_18_ranks_at_60() -> None:
    both, one, other = fuse([[7, 8], [7, 9]])
    assert (both.chunk_id, both.score, both.ranks) == (7, 2 / 61, (1, 1))
    assert round(both.score, 7) == 0.0327869
    assert (one.chunk_id, one.score, one.ranks) == (8, 1 / 62, (2, None))
    assert (other.chunk_id, other.score, other.ranks) == (9, 1 / 62, (None, 2))
    assert fuse([[7], []])[0].score == 1 / 61


def test_integers_give_what_floats_give() -> None:
    assert fuse([[1, 2], [2, 3]], weights=[1, 2], rrf_k=60) == fuse(
        [[1, 2], [2, 3]], weights=[1.0, 2.0], rrf_k=60.0
    )


def test_field_case_19_a_cap_promotes_the_next_document() -> None:
    """A document with the 30 best chunks, cap 2, k 10: 10 rows from at least 5 documents, order kept."""
    documents: dict[int, Any] = {chunk: "best" for chunk in range(1, 31)}
    documents |= {chunk: f"other {chunk // 3}" for chunk in range(31, 61)}
    rows = page([range(1, 61)], 10, documents=documents, per_document=2)
    assert len(rows) == 10
    assert len({documents[row.chunk_id] for row in rows}) >= 5
    assert max(Counter(documents[row.chunk_id] for row in rows).values()) == 2
    assert [row.ranks[0] for row in rows] == sorted(row.ranks[0] or 0 for row in rows)
    assert [row.chunk_id for row in rows[:3]] == [1, 2, 31]


def test_identical_texts_collapse_to_the_first_of_the_ranking() -> None:
    ranking = fuse([[4, 2, 9, 1]])
    texts = {4: "x", 2: "y", 9: "x", 1: "x"}
    assert [(one.chunk_id, one.duplicates) for one in collapse_identical(ranking, texts)] == [(4, 2), (2, 0)]


def test_a_leg_of_weight_zero_takes_no_part() -> None:
    assert [one.chunk_id for one in fuse([[1, 2], [3]], weights=[0, 1])] == [3]


@pytest.mark.parametrize(
    "options",
    [
        {"weights": [1]}, {"weights": [1, 1, 1]}, {"weights": [0, 0]}, {"weights": [-1, 1]},
        {"weights": [5e-324, 1]}, {"weights": [1e308, 1]},
        {"weights": [math.nan, 1]}, {"weights": [math.inf, 1]}, {"rrf_k": 1e308},
        {"rrf_k": -1}, {"rrf_k": math.nan}, {"rrf_k": math.inf}, {"depth": -1},
    ],
)  # fmt: skip
def test_arguments_outside_their_domain(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        fuse([[1], [2]], **options)


def test_more_arguments_outside_their_domain() -> None:
    with pytest.raises(InvalidArgument):
        fuse([[1, 1]])
    with pytest.raises(InvalidArgument):
        cap_per_document([], {}, 0)
    with pytest.raises(InvalidArgument):
        page([[1]], -1)
    with pytest.raises(InvalidArgument):
        page([[1]], 5, depth=4)
    with pytest.raises(InvalidArgument):
        page([[1]], 5, per_document=1)
    assert page([[1]], 0) == []


@given(legs=legs, rrf_k=st.floats(0, 1000), depth=st.integers(0, 25))
def test_every_chunk_within_depth_is_ranked_once(legs: list[list[int]], rrf_k: float, depth: int) -> None:
    ranking = fuse(legs, rrf_k=rrf_k, depth=depth)
    assert sorted(one.chunk_id for one in ranking) == sorted({chunk for leg in legs for chunk in leg[:depth]})
    assert [(-one.score, one.chunk_id) for one in ranking] == sorted(
        (-one.score, one.chunk_id) for one in ranking
    )
    for one in ranking:
        expected = math.fsum(1 / (rrf_k + rank) for rank in one.ranks if rank is not None)
        assert one.score == pytest.approx(expected, rel=1e-15)
        assert all(
            rank is None or leg[rank - 1] == one.chunk_id for rank, leg in zip(one.ranks, legs, strict=True)
        )


@given(leg=st.lists(st.integers(1, 30), unique=True, max_size=20), weight=st.floats(0.01, 100))
def test_one_leg_keeps_its_order(leg: list[int], weight: float) -> None:
    assert [one.chunk_id for one in fuse([leg], weights=[weight])] == leg


@given(leg=st.lists(st.integers(1, 30), unique=True, min_size=2, max_size=20), data=st.data())
def test_a_better_rank_never_lowers_a_chunk(leg: list[int], data: st.DataObject) -> None:
    """Moving a chunk up in one leg moves it up, or leaves it, in the fused ranking."""
    other = data.draw(st.permutations(leg))
    place = data.draw(st.integers(1, len(leg) - 1))
    better = [*leg[: place - 1], leg[place], leg[place - 1], *leg[place + 1 :]]

    def position(one: list[int]) -> int:
        return [fused.chunk_id for fused in fuse([one, other])].index(leg[place])

    assert position(better) <= position(leg)


@given(
    legs=legs, k=st.integers(0, 12), per_document=st.integers(1, 4),
    texts=st.lists(st.integers(0, 8), min_size=31, max_size=31),
    documents=st.lists(st.integers(0, 5), min_size=31, max_size=31),
)  # fmt: skip
def test_a_page_is_full_and_keeps_the_order(
    legs: list[list[int]], k: int, per_document: int, texts: list[int], documents: list[int]
) -> None:
    text_of, document_of = dict(enumerate(texts)), dict(enumerate(documents))
    ranking = fuse(legs)
    rows = page(legs, k, texts=text_of, documents=document_of, per_document=per_document)
    kept: list[Fused] = []
    for one in ranking:  # greedily, from the top: what a page should hold
        if any(text_of[row.chunk_id] == text_of[one.chunk_id] for row in ranking[: ranking.index(one)]):
            continue
        if sum(document_of[row.chunk_id] == document_of[one.chunk_id] for row in kept) < per_document:
            kept.append(one)
    assert [row.chunk_id for row in rows] == [one.chunk_id for one in kept[:k]]
    for row in rows:
        same = sum(text_of[one.chunk_id] == text_of[row.chunk_id] for one in ranking)
        assert row.duplicates == same - 1


# BM25


def test_field_case_1_scores() -> None:
    """Texts "red apple", "red red car", "blue car": N 3, df 2, avgdl 7/3."""
    weight = bm25.idf(3, 2)
    average = bm25.average_length(3, 7)
    assert round(bm25.term_score(weight, 2, 3, average), 6) == 0.271903
    assert round(bm25.term_score(weight, 1, 2, average), 6) == 0.226898
    assert round(bm25.term_score(bm25.idf(2, 1), 1, 2, bm25.average_length(2, 4)), 6) == 0.315067


def test_nothing_divides_by_zero() -> None:
    assert bm25.idf(0, 0) == 0.0
    assert bm25.average_length(0, 0) == 0.0
    assert bm25.term_score(1.0, 3, 5, 0.0) == 3 / (3 + 1.2), "without an average, length does not count"
    assert bm25.term_score(1.0, 0, 5, 2.0, k1=0.0) == 0.0
    assert bm25.term_score(2.0, 3, 5, 2.0, k1=0.0) == 2.0


@given(chunks=st.integers(1, 10**9), data=st.data())
def test_idf_is_positive_and_falls_with_df(chunks: int, data: st.DataObject) -> None:
    df = data.draw(st.integers(1, chunks))
    assert bm25.idf(chunks, df) > 0
    assert bm25.idf(chunks, df) <= bm25.idf(chunks, df - 1)


@given(
    tf=st.integers(1, 10**6),
    length=st.integers(1, 10**6),
    average=st.floats(0.5, 1e6),
    k1=st.floats(0, 10),
    b=st.floats(0, 1),
)
def test_a_term_never_contributes_more_than_its_idf(
    tf: int, length: int, average: float, k1: float, b: float
) -> None:
    score = bm25.term_score(1.5, tf, length, average, k1=k1, b=b)
    assert 0 < score <= 1.5
    assert score <= bm25.term_score(1.5, tf + 1, length, average, k1=k1, b=b)
    assert score >= bm25.term_score(1.5, tf, length + 1, average, k1=k1, b=b)


def test_ranking_is_pure_and_ties_go_by_id() -> None:
    rows = tuple(Candidate(chunk, f"s{chunk}", 0, 2, {"a": 1}) for chunk in (9, 3, 5))
    candidates = LexicalCandidates(rows, {"a": 3, "b": 0}, 4, 8, 1.2, 0.75)
    first = rank_chunks(["a", "b", "a"], candidates, 2)
    assert [(one.rank, one.chunk_id) for one in first] == [(1, 3), (2, 5)]
    assert first == rank_chunks(["a", "b"], candidates, 2)
    assert first[0].score == bm25.term_score(bm25.idf(4, 3), 1, 2, 2.0)
    assert rank_chunks(["b"], candidates, 5) == []
    assert rank_chunks([], candidates, 5) == []
    assert rank_chunks(["a"], candidates, 0) == []
    with pytest.raises(InvalidArgument):
        rank_chunks(["a"], candidates, -1)
    with pytest.raises(InvalidArgument):
        rank_chunks(["c"], candidates, 1)
    assert candidates.candidates == rows
