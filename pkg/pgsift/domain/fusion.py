"""Reciprocal rank fusion, and what makes a page of a fused ranking: pure functions.

    score(c) = Σ over legs of weight(leg) / (rrf_k + rank(leg, c))        rank from 1

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual
Rank Learning Methods, SIGIR 2009; the weight per leg is an addition. Double precision, legs added in the
order given, so that the database (``sift.search``) and this module give the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pgsift.domain.errors import InvalidArgument

__all__ = ["RRF_K", "Fused", "cap_per_document", "collapse_identical", "fuse", "page"]

RRF_K = 60.0
# Beyond these a quotient may be too small or a sum too large for a double, which PostgreSQL refuses to round.
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk in a fused ranking: its score, its rank in each leg (``None`` where it is not), and how many
    chunks of identical text it stands for besides itself."""

    chunk_id: int
    score: float
    ranks: tuple[int | None, ...]
    duplicates: int = 0


def fuse(
    legs: Sequence[Sequence[int]],
    *,
    weights: Sequence[float] | None = None,
    rrf_k: float = RRF_K,
    depth: int | None = None,
) -> list[Fused]:
    """Fuse rankings of chunk ids, each best first; score descending, then chunk id.

    ``weights`` has one number per leg, 0 or from 1e-100 to 1e100 and not all 0 (left out: 1 each); a leg of
    weight 0 takes no part. ``rrf_k`` lies between 0 and 1e100. Of each leg the first ``depth`` ranks
    count, all where it is left out. :class:`InvalidArgument` for anything else, and for a chunk that stands
    twice in a leg.
    """
    shares = [1.0] * len(legs) if weights is None else [float(weight) for weight in weights]
    if len(shares) != len(legs):
        raise InvalidArgument(f"there are {len(legs)} legs and {len(shares)} weights")
    if any(not (weight == 0 or SMALLEST <= weight <= LARGEST) for weight in shares) or (
        shares and not any(shares)
    ):
        raise InvalidArgument(
            f"weights must be 0 or between {SMALLEST} and {LARGEST}, and not all zero;"
            f" not {list(weights or ())}"
        )
    if not 0 <= rrf_k <= LARGEST:
        raise InvalidArgument(f"rrf_k must lie between 0 and {LARGEST}, not {rrf_k}")
    if depth is not None and depth < 0:
        raise InvalidArgument(f"depth must not be negative, not {depth}")
    scores: dict[int, float] = {}
    ranks: dict[int, list[int | None]] = {}
    for number, (leg, weight) in enumerate(zip(legs, shares, strict=True)):
        if len(set(leg)) != len(leg):
            raise InvalidArgument("a chunk stands twice in a leg")
        if weight == 0:
            continue
        for rank, chunk_id in enumerate(leg[:depth], start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + weight / (float(rrf_k) + rank)
            ranks.setdefault(chunk_id, [None] * len(legs))[number] = rank
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [Fused(chunk_id, scores[chunk_id], tuple(ranks[chunk_id])) for chunk_id in order]


def collapse_identical(ranking: Sequence[Fused], texts: Mapping[int, Hashable]) -> list[Fused]:
    """Keep the first chunk of each text, and count in ``duplicates`` the later ones it stands for.

    ``texts`` gives for each chunk id what identical chunks have in common, a hash of the body for instance.
    """
    first: dict[Hashable, int] = {}
    copies: dict[Hashable, int] = {}
    for one in ranking:
        text = texts[one.chunk_id]
        first.setdefault(text, one.chunk_id)
        copies[text] = copies.get(text, -1) + 1
    return [
        Fused(one.chunk_id, one.score, one.ranks, copies[texts[one.chunk_id]])
        for one in ranking
        if first[texts[one.chunk_id]] == one.chunk_id
    ]


def cap_per_document(
    ranking: Sequence[Fused], documents: Mapping[int, Hashable], per_document: int
) -> list[Fused]:
    """Keep the first ``per_document`` chunks of each document; what follows moves up, the order is kept."""
    if per_document < 1:
        raise InvalidArgument(f"per_document must be at least 1, not {per_document}")
    taken: dict[Hashable, int] = {}
    kept = []
    for one in ranking:
        document = documents[one.chunk_id]
        taken[document] = taken.get(document, 0) + 1
        if taken[document] <= per_document:
            kept.append(one)
    return kept


def page(
    legs: Sequence[Sequence[int]],
    k: int,
    *,
    weights: Sequence[float] | None = None,
    rrf_k: float = RRF_K,
    depth: int | None = None,
    texts: Mapping[int, Hashable] | None = None,
    documents: Mapping[int, Hashable] | None = None,
    per_document: int | None = None,
    skip: int = 0,
    reaches: Sequence[int] | None = None,
) -> list[Fused]:
    """``k`` rows of a fused ranking after the first ``skip``: fuse, collapse identical texts, cap per
    document, truncate.

    Without ``texts`` nothing is collapsed, without ``per_document`` nothing is capped. The cap comes after
    the collapse and before the end of the page, so that the next document moves up instead of the page
    ending early. ``depth``, where given, is not less than ``k`` and ``skip`` together. ``reaches``, instead
    of ``depth``, are several depths, ascending: what only the greater one brings is fused within it and
    comes after the rest, so that the first rows are the same however many are asked for.
    """
    if k < 0 or skip < 0:
        raise InvalidArgument(f"k and skip must not be negative, not {k} and {skip}")
    if depth is not None and depth < k + skip:
        raise InvalidArgument(f"depth must not be less than k and skip together ({k + skip}), not {depth}")
    ranking: list[Fused] = []
    seen: set[int] = set()
    seen_texts: set[Hashable] = set()
    for reach in [depth] if reaches is None else reaches:
        tier = [
            one
            for one in fuse(legs, weights=weights, rrf_k=rrf_k, depth=reach)
            if one.chunk_id not in seen
        ]
        seen.update(one.chunk_id for one in tier)
        if texts is not None:
            tier = [one for one in collapse_identical(tier, texts) if texts[one.chunk_id] not in seen_texts]
            seen_texts.update(texts[one.chunk_id] for one in tier)
        ranking += tier
    if per_document is not None:
        if documents is None:
            raise InvalidArgument("a cap per document needs to know the documents")
        ranking = cap_per_document(ranking, documents, per_document)
    return ranking[skip : skip + k]
