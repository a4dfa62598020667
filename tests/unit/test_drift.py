"""What became of hits, and how alike two rankings are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.domain.drift import STATUSES, compare_hits, jaccard, rank_biased_overlap


def hit(rank: int, chunk: int, document: int | None = None, **more: Any) -> dict[str, Any]:
    document = chunk if document is None else document
    return {"rank": rank, "chunk_id": chunk, "document_id": document, "key": f"k{document}", **more}


def statuses(then: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[tuple[str, int | None, int | None]]:
    return [(one.status, one.rank_then, one.rank_now) for one in compare_hits(then, now).hits]


class TestCompare:
    def test_all_that_can_become_of_a_hit(self) -> None:
        then = [hit(1, 10), hit(2, 11), hit(3, 12), hit(4, 13), {"rank": 5, "purged": True}]
        now = [hit(1, 10), hit(2, 12), hit(3, 99, document=13), hit(4, 50)]
        drift = compare_hits(then, now)
        assert statuses(then, now) == [
            ("kept", 1, 1), ("moved", 3, 2), ("changed", 4, 3), ("new", None, 4), ("gone", 2, None),
            ("purged", 5, None),
        ]  # fmt: skip
        assert {status: drift.count(status) for status in STATUSES} == dict.fromkeys(STATUSES, 1)
        assert drift.jaccard == pytest.approx(3 / 6)
        assert not drift.same

    def test_a_chunk_that_stayed_is_not_taken_for_one_that_changed(self) -> None:
        # Document 1 had chunks 10 and 11; 11 is still there, and 10 has been replaced by 20.
        then = [hit(1, 10, document=1), hit(2, 11, document=1)]
        now = [hit(1, 11, document=1), hit(2, 20, document=1)]
        assert statuses(then, now) == [("moved", 2, 1), ("changed", 1, 2)]

    def test_without_numbers_of_documents_keys_serve(self) -> None:
        then = [{"rank": 1, "chunk_id": 1, "key": "a"}]
        now = [{"rank": 1, "chunk_id": 2, "key": "a"}]
        assert statuses(then, now) == [("changed", 1, 1)]

    def test_scores(self) -> None:
        then = [hit(1, 10, score=0.5, lexical_score=2.0), hit(2, 11, score=0.25, distance=0.1)]
        now = [hit(1, 10, score=0.5, lexical_score=2.1), hit(2, 11, score=0.25, distance=0.1 + 1e-16)]
        drift = compare_hits(then, now)
        assert drift.same
        assert [one.rescored for one in drift.hits] == [True, False]
        assert drift.rescored == 1

    def test_nothing_then_or_now(self) -> None:
        assert compare_hits([], []).same
        assert compare_hits([], []).overlap == 1
        assert compare_hits([hit(1, 1)], []).overlap == 0
        assert compare_hits([], [hit(1, 1)]).jaccard == 0

    @given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12), st.integers(0, 12))
    def test_every_hit_is_told_once(self, a: list[int], b: list[int], left: int, right: int) -> None:
        then = [hit(place, chunk) for place, chunk in enumerate(a[:left], start=1)]
        now = [hit(place, chunk) for place, chunk in enumerate(b[:right], start=1)]
        drift = compare_hits(then, now)
        assert sorted(one.rank_then for one in drift.hits if one.rank_then is not None) == [*range(1, left + 1)]
        assert [one.rank_now for one in drift.hits if one.rank_now is not None] == [*range(1, right + 1)]
        assert drift.same == (a[:left] == b[:right])
        assert drift.jaccard == pytest.approx(jaccard(a[:left], b[:right]))
        assert drift.overlap == pytest.approx(rank_biased_overlap(a[:left], b[:right]))


class TestOverlap:
    @pytest.mark.parametrize(
        ("a", "b", "expected"),
        [
            ("abc", "abc", 1),
            ("abc", "xyz", 0),
            ("", "", 1),
            ("a", "", 0),
            # X_1 = 0, X_2 = 2, X_3 = 3: 0.1/0.9 (0.9² + 0.9³) + 0.9³
            ("abc", "bac", 0.9),
            # X_d = 1 throughout: 0.1/0.9 (0.9 + 0.9²/2 + 0.9³/3) + 0.9³/3
            ("abc", "axy", 0.1 / 0.9 * (0.9 + 0.81 / 2 + 0.729 / 3) + 0.729 / 3),
            # A ranking that ended agrees with nothing further down.
            ("abc", "a", 0.1 / 0.9 * (0.9 + 0.81 / 2 + 0.729 / 3) + 0.729 / 3),
        ],
    )  # fmt: skip
    def test_known_values(self, a: str, b: str, expected: float) -> None:
        assert rank_biased_overlap(a, b) == pytest.approx(expected)
        assert rank_biased_overlap(b, a) == pytest.approx(expected)

    def test_the_top_counts_most(self) -> None:
        assert rank_biased_overlap("abcdefghij", "xbcdefghij") < rank_biased_overlap("abcdefghij", "abcdefghix")

    @pytest.mark.parametrize("persistence", [0, 1, -0.5, 2])
    def test_bad_persistence(self, persistence: float) -> None:
        with pytest.raises(ValueError, match="persistence"):
            rank_biased_overlap("a", "a", persistence)

    @given(st.permutations("abcdefgh"), st.permutations("abcdefgh"), st.floats(0.05, 0.95))
    def test_between_zero_and_one(self, a: list[str], b: list[str], persistence: float) -> None:
        overlap = rank_biased_overlap(a, b, persistence)
        assert 0 <= overlap <= 1 + 1e-12
        assert rank_biased_overlap(a, a, persistence) == 1
