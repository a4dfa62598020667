"""What rankings have and lack beside their measures: keyword form of queries, what each leg adds,
duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgsift.domain.analyzer import Analyzer
from pgsift.domain.query import is_question, strip_question
from pgsift.duplicates import MIN_TOKENS, jaccard, shingles
from pgsift.evaluate.metrics import Bootstrap, Estimate

#: Texts of this Jaccard similarity of their shingles are near-duplicates, as in ``pgsift duplicates``.
THRESHOLD = 0.8
#: So many hits of each ranking are looked at for duplicates.
FIRST = 10


def keyword_form(text: str, analyzer: Analyzer) -> str:
    """A query as people type keywords: the words of a question that carry it, in their order, as they were
    typed.

    Left out are what makes it a question (:func:`~pgsift.domain.query.strip_question`), words of which the
    analyzer keeps nothing (stopwords, single letters), and punctuation at the ends of words. A query stays as
    it is if nothing but punctuation would go, nothing would be left, or what is left would read as a question;
    scripts written without spaces have no words to leave out.
    """
    kept = []
    dropped = False
    stripped, left_out = strip_question(text) if is_question(text) else (text, [])
    for word in stripped.split():
        bare = word.strip("".join({c for c in word if unicodedata.category(c)[0] in "PS"}))
        if bare and analyzer.query_terms(bare):
            kept.append(bare)
        else:
            dropped = True
    keywords = " ".join(kept)
    return keywords if kept and (dropped or left_out) and not is_question(keywords) else text


@dataclass(frozen=True)
class LegReport:
    """What two rankings have of the relevant documents, within ``depth``.

    ``both``, ``lexical_only``, ``dense_only`` and ``neither`` count pairs of query and relevant document;
    divided by :attr:`relevant` they are the contributions that are each leg's own. ``union`` estimates the
    recall of the two together, as a mean over queries: what no fusion can exceed. ``hybrid`` is what their
    fusion kept of it in as many ranks.
    """

    depth: int
    both: int
    lexical_only: int
    dense_only: int
    neither: int
    union: Estimate
    hybrid: Estimate | None = None

    @property
    def relevant(self) -> int:
        """All pairs of query and relevant document."""
        return self.both + self.lexical_only + self.dense_only + self.neither

    def share(self, part: str) -> float:
        """One of the four counts as a share of the relevant documents."""
        count: int = getattr(self, part)
        return count / self.relevant if self.relevant else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        parts = ("both", "lexical_only", "dense_only", "neither")
        return {
            "depth": self.depth,
            "relevant": self.relevant,
            **{part: {"count": getattr(self, part), "share": self.share(part)} for part in parts},
            "union_recall": self.union.to_dict(),
            "hybrid_recall": self.hybrid.to_dict() if self.hybrid is not None else None,
        }


def compare_legs(
    qrels: Mapping[str, Mapping[str, int]],
    lexical: Mapping[str, Sequence[str]],
    dense: Mapping[str, Sequence[str]],
    bootstrap: Bootstrap,
    *,
    depth: int,
    hybrid: Mapping[str, Sequence[str]] | None = None,
) -> LegReport:
    """Which relevant documents (grade above 0) are among the first ``depth`` of both rankings, or of one
    alone."""
    counts = {"both": 0, "lexical_only": 0, "dense_only": 0, "neither": 0}
    union: dict[str, float] = {}
    fused: dict[str, float] = {}
    for query, grades in qrels.items():
        relevant = {key for key, grade in grades.items() if grade > 0}
        left = relevant & set(lexical.get(query, ())[:depth])
        right = relevant & set(dense.get(query, ())[:depth])
        counts["both"] += len(left & right)
        counts["lexical_only"] += len(left - right)
        counts["dense_only"] += len(right - left)
        counts["neither"] += len(relevant - left - right)
        union[query] = len(left | right) / len(relevant) if relevant else 0.0
        if hybrid is not None:
            found = relevant & set(hybrid.get(query, ())[:depth])
            fused[query] = len(found) / len(relevant) if relevant else 0.0
    return LegReport(
        depth=depth,
        **counts,
        union=bootstrap.estimate(union),
        hybrid=bootstrap.estimate(fused) if hybrid is not None else None,
    )


class Duplicates:
    """Counts the hits whose text, or nearly, stands above them in the same ranking.

    Texts are compared by their tokens: the same ones in the same order are the same text; a Jaccard
    similarity of the runs of five tokens of at least :data:`THRESHOLD` is a near-duplicate, of texts of at
    least 20 tokens.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._known: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}

    def count(self, texts: Sequence[str]) -> int:
        """How many of the texts repeat one before them."""
        seen: list[tuple[tuple[str, ...], frozenset[str]]] = []
        repeats = 0
        for text in texts:
            mine = self._of(text)
            repeats += any(self._alike(mine, other) for other in seen)
            seen.append(mine)
        return repeats

    def _of(self, text: str) -> tuple[tuple[str, ...], frozenset[str]]:
        known = self._known.get(text)
        if known is None:
            tokens = tuple(self._analyzer.tokenize(text))
            known = self._known[text] = (tokens, frozenset(shingles(tokens)))
        return known

    @staticmethod
    def _alike(
        a: tuple[tuple[str, ...], frozenset[str]], b: tuple[tuple[str, ...], frozenset[str]]
    ) -> bool:
        if a[0] == b[0]:
            return True
        if min(len(a[0]), len(b[0])) < MIN_TOKENS:
            return False
        # The smaller set cannot share more than all of itself.
        if min(len(a[1]), len(b[1])) < THRESHOLD * max(len(a[1]), len(b[1])):
            return False
        return jaccard(a[1], b[1]) >= THRESHOLD
