"""How two results of the same query differ: what stayed, moved, went and came, and how alike the rankings are."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Of rank-biased overlap: how likely a reader is to go on to the next rank. At 0.9 the first ten ranks have 86 %
#: of the weight.
PERSISTENCE = 0.9
# Scores are sums of doubles in one fixed order, so equal inputs give equal scores; this forgives what JSON may do.
_TOLERANCE = 1e-12
STATUSES = ("kept", "moved", "changed", "gone", "new", "purged")
_SCORES = ("score", "lexical_score", "distance", "rerank_score")


@dataclass(frozen=True, slots=True)
class HitDrift:
    """One hit of either result. ``status``:

    ``kept`` at its rank, or ``moved`` to another; ``changed``: its document has another chunk in the result,
    having been stored anew; ``gone``; ``new``; ``purged``: a hit of then whose document was purged, of which
    nothing but the rank is known.
    """

    status: str
    key: str | None
    rank_then: int | None
    rank_now: int | None
    chunk_then: int | None
    chunk_now: int | None
    scores_then: Mapping[str, float]
    scores_now: Mapping[str, float]

    @property
    def rescored(self) -> bool:
        """Whether a score is another than it was; of hits of both results."""
        if self.status not in ("kept", "moved"):
            return False
        return any(
            not math.isclose(value, self.scores_now[name], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for name, value in self.scores_then.items()
            if name in self.scores_now
        )


@dataclass(frozen=True, slots=True)
class Drift:
    """The hits of both results, in the order of now, what is no longer there last; ``jaccard`` and ``overlap``
    (rank-biased overlap) are 1 for equal rankings and 0 for rankings that share nothing."""

    hits: tuple[HitDrift, ...]
    jaccard: float
    overlap: float

    def count(self, status: str) -> int:
        """How many hits have a status."""
        return sum(1 for hit in self.hits if hit.status == status)

    @property
    def rescored(self) -> int:
        """How many hits of both results have another score."""
        return sum(1 for hit in self.hits if hit.rescored)

    @property
    def same(self) -> bool:
        """Whether every hit is where it was."""
        return all(hit.status == "kept" for hit in self.hits)


def compare_hits(then: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Drift:
    """What became of hits: rows of a search as mappings (rank, chunk_id, document_id, key, scores).

    A chunk is the same by its number. Chunks are numbered anew when their document is stored anew; a hit of then
    and one of now that are of one document and otherwise without a partner are one that changed, in the order of
    their ranks.
    """
    places = {hit["chunk_id"]: hit for hit in then if not hit.get("purged")}
    partner: dict[int, Mapping[str, Any]] = {}
    for hit in now:
        if hit["chunk_id"] in places:
            partner[hit["chunk_id"]] = places[hit["chunk_id"]]
    met = {hit["chunk_id"] for hit in partner.values()}
    left: dict[Hashable, list[Mapping[str, Any]]] = {}
    for hit in sorted(places.values(), key=lambda hit: hit["rank"]):
        if hit["chunk_id"] not in met:
            left.setdefault(_document(hit), []).append(hit)
    rows: list[HitDrift] = []
    names_then: dict[int, Hashable] = {hit["rank"]: ("then", hit["rank"]) for hit in then}
    names_now: list[Hashable] = []
    for hit in sorted(now, key=lambda hit: hit["rank"]):
        old = partner.get(hit["chunk_id"])
        if old is not None:
            status = "kept" if old["rank"] == hit["rank"] else "moved"
        elif left.get(_document(hit)):
            old, status = left[_document(hit)].pop(0), "changed"
        else:
            status = "new"
        names_now.append(("now", hit["rank"]))
        if old is not None:
            names_then[old["rank"]] = names_now[-1]
        rows.append(_row(status, old, hit))
    rows += [_row("gone", hit, None) for hits in left.values() for hit in hits]
    rows += [_row("purged", hit, None) for hit in then if hit.get("purged")]
    ranked_then = [names_then[rank] for rank in sorted(names_then)]
    return Drift(
        hits=tuple(rows),
        jaccard=jaccard(ranked_then, names_now),
        overlap=rank_biased_overlap(ranked_then, names_now),
    )


def jaccard(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Shared items over all items; 1 where both are empty."""
    union = set(a) | set(b)
    return len(set(a) & set(b)) / len(union) if union else 1.0


def rank_biased_overlap(a: Sequence[Hashable], b: Sequence[Hashable], persistence: float = PERSISTENCE) -> float:
    """Likeness of two rankings, of which the first ranks count most: 1 for equal ones, 0 for disjoint ones.

    Rank-biased overlap, extrapolated: equation 23 of W. Webber, A. Moffat, J. Zobel: *A similarity measure for
    indefinite rankings*, ACM TOIS 28(4), 2010. Items occur once in each. These rankings are definite: where one
    ends, it agrees with nothing further down in the other.
    """
    if not 0 < persistence < 1:
        raise ValueError(f"persistence is {persistence}, must lie within (0, 1)")
    length = max(len(a), len(b))
    if not length:
        return 1.0
    if list(a) == list(b):
        return 1.0
    seen: tuple[set[Hashable], set[Hashable]] = (set(), set())
    total = 0.0
    for depth in range(1, length + 1):
        for items, met in zip((a, b), seen, strict=True):
            met.update(items[depth - 1 : depth])
        total += len(seen[0] & seen[1]) / depth * persistence**depth
    last: float = len(seen[0] & seen[1]) / length * persistence**length
    return last + (1 - persistence) / persistence * total


def _document(hit: Mapping[str, Any]) -> Hashable:
    number = hit.get("document_id")
    return hit.get("key") if number is None else number


def _row(status: str, then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> HitDrift:
    either = now or then or {}
    return HitDrift(
        status=status,
        key=either.get("key"),
        rank_then=then["rank"] if then else None,
        rank_now=now["rank"] if now else None,
        chunk_then=then.get("chunk_id") if then else None,
        chunk_now=now.get("chunk_id") if now else None,
        scores_then=_scores(then),
        scores_now=_scores(now),
    )


def _scores(hit: Mapping[str, Any] | None) -> dict[str, float]:
    return {} if hit is None else {name: hit[name] for name in _SCORES if hit.get(name) is not None}
