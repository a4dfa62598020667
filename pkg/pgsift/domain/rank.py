"""Ranking of candidates by BM25: pure, and in the database's order of operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgsift.domain import bm25
from pgsift.domain.errors import InvalidArgument
from pgsift.domain.ports import LexicalCandidates

__all__ = ["RankedChunk", "rank_chunks"]


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A place in a ranking. ``rank`` counts from 1, ``score`` is the BM25 score."""

    rank: int
    chunk_id: int
    source: str
    index: int
    score: float


def rank_chunks(terms: Sequence[str], candidates: LexicalCandidates, k: int) -> list[RankedChunk]:
    """The ``k`` best candidates by BM25 (:mod:`pgsift.domain.bm25`), ties by chunk id.

    Distinct terms count once. The exact top k of the corpus, when the candidates were not cut by their limit.
    :class:`InvalidArgument` for a negative k, and for a term the candidates have no document frequency of.
    """
    if k < 0:
        raise InvalidArgument(f"k must not be negative, not {k}")
    bm25.validate_parameters(candidates.k1, candidates.b)
    wanted = set(terms)
    unknown = sorted(wanted - candidates.doc_frequencies.keys())
    if unknown:
        raise InvalidArgument(f"the candidates were not asked for the term {unknown[0]!r}")
    order = [term for term in bm25.term_order(candidates.doc_frequencies) if term in wanted]
    weights = {term: bm25.idf(candidates.chunks, candidates.doc_frequencies[term]) for term in order}
    average = candidates.average_length
    scored = []
    for candidate in candidates.candidates:
        held = [term for term in order if candidate.frequencies.get(term, 0) > 0]
        if not held:
            continue
        score = bm25.score(
            bm25.term_score(
                weights[term], candidate.frequencies[term], candidate.doc_length, average,
                k1=candidates.k1, b=candidates.b,
            )
            for term in held
        )  # fmt: skip
        scored.append((-score, candidate.chunk_id, candidate))
    scored.sort(key=lambda entry: entry[:2])
    return [
        RankedChunk(rank, chunk_id, candidate.source, candidate.index, -negative)
        for rank, (negative, chunk_id, candidate) in enumerate(scored[:k], start=1)
    ]
