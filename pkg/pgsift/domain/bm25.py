"""BM25 as pure functions over numbers, in the arithmetic and the order of operations of the SQL.

    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
    score  = Σ over distinct query terms of idf(t) · tf / (tf + k1 · (1 - b + b · dl / avgdl))

S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; without the
constant factor k1 + 1, and with the idf of Lucene, which is never negative. Everything is in double
precision, lengths are not quantized, and the sum goes from the rarest term to the commonest, equally rare
ones by code point, so that the same numbers give the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pgsift.domain.errors import InvalidArgument

__all__ = ["K1", "B", "average_length", "idf", "score", "term_order", "term_score", "validate_parameters"]

K1 = 1.2
B = 0.75


def validate_parameters(k1: float, b: float) -> None:
    """Raise :class:`InvalidArgument` unless k1 is finite and not negative and b lies within [0, 1]."""
    if not (math.isfinite(k1) and k1 >= 0):
        raise InvalidArgument(f"k1 must be finite and not negative, not {k1}")
    if not 0 <= b <= 1:
        raise InvalidArgument(f"b must lie between 0 and 1, not {b}")


def average_length(chunks: int, total_length: int) -> float:
    """avgdl: mean number of tokens of the chunks that have any; 0 for an empty corpus."""
    return total_length / chunks if chunks else 0.0


def idf(chunks: int, df: int) -> float:
    """Weight of a term that occurs in ``df`` of ``chunks`` chunks; 0 for an empty corpus."""
    return math.log(1.0 + (chunks - df + 0.5) / (df + 0.5)) if chunks else 0.0


def term_score(
    weight: float, tf: int, doc_length: int, average: float, *, k1: float = K1, b: float = B
) -> float:
    """What a term of idf ``weight`` that occurs ``tf`` times contributes to a chunk of ``doc_length`` tokens.

    An average length of 0 makes the normalization of length the identity.
    """
    if tf <= 0:
        return 0.0
    norm = 1.0 - b + b * doc_length / average if average else 1.0
    return weight * tf / (tf + k1 * norm)


def term_order(doc_frequencies: Mapping[str, int]) -> list[str]:
    """The terms in the order their contributions are added: by df, then by code point."""
    return sorted(doc_frequencies, key=lambda term: (doc_frequencies[term], term))


def score(contributions: Iterable[float]) -> float:
    """The sum of contributions in the order given, one rounding per addition."""
    total = 0.0
    for contribution in contributions:
        total += contribution
    return total
