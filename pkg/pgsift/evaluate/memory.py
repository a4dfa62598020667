"""Runs over a collection in memory, without a database: to tune settings and to check a store's figures.

BM25 as sift computes it (Lucene's form, double precision, length not quantized), exact cosine, and reciprocal
rank fusion. A document is one unit here: title and text together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pgsift.embed import embedding_text, is_embeddable
from pgsift.errors import InvalidArgument
from pgsift.evaluate.collection import Collection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tokenize = Callable[[str], Iterable[str]]
Runs = dict[str, list[str]]


class MemoryIndex:
    """An inverted index over texts, scored by BM25.

    ``search`` gives positions of texts, best first: score descending, then position ascending. Statistics go
    over the texts with at least one term; ``k1`` and ``b`` are BM25's.
    """

    def __init__(self, texts: Iterable[str], tokenize: Tokenize, *, k1: float = 1.2, b: float = 0.75) -> None:
        import numpy as np

        if not (math.isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise InvalidArgument(f"k1 is {k1}, b is {b}: k1 must be finite and at least 0, b within [0, 1]")
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths: list[int] = []
        for position, text in enumerate(texts):
            counts = Counter(tokenize(text))
            lengths.append(counts.total())
            for term, count in counts.items():
                positions, frequencies = postings.setdefault(term, ([], []))
                positions.append(position)
                frequencies.append(count)
        self._tokenize = tokenize
        self._size = len(lengths)
        number = sum(1 for length in lengths if length)
        dl = np.array(lengths, dtype=np.float64)
        average = dl.sum() / number if number else 0.0
        norms = k1 * (1 - b + b * dl / average) if average else np.full(len(lengths), k1)
        self._impacts: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for term, (positions, frequencies) in postings.items():
            where = np.array(positions, dtype=np.int64)
            tf = np.array(frequencies, dtype=np.float64)
            df = len(positions)
            idf = math.log(1 + (number - df + 0.5) / (df + 0.5))
            self._impacts[term] = (where, idf * tf / (tf + norms[where]))

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The first ``k`` pairs of position and score; texts without a term of the query are left out."""
        import numpy as np

        scores = np.zeros(self._size, dtype=np.float64)
        for term in sorted(set(self._tokenize(query))):
            if term in self._impacts:
                where, impact = self._impacts[term]
                scores[where] += impact
        found = np.flatnonzero(scores)
        order = found[np.lexsort((found, -scores[found]))][:k]
        return [(int(position), float(scores[position])) for position in order]


def lexical_run(
    collection: Collection, tokenize: Tokenize, *, depth: int = 100, k1: float = 1.2, b: float = 0.75
) -> Runs:
    """The first ``depth`` documents by BM25 for each judged query."""
    keys = [document.key for document in collection.documents]
    texts = (f"{document.title}\n{document.text}" for document in collection.documents)
    index = MemoryIndex(texts, tokenize, k1=k1, b=b)
    return {
        query: [keys[position] for position, _ in index.search(text, depth)]
        for query, text in collection.judged_queries.items()
    }


def document_texts(collection: Collection) -> dict[str, str]:
    """What is embedded of each document, by key; documents that are blank are left out."""
    texts = {document.key: embedding_text(document.title, document.text) for document in collection.documents}
    return {key: text for key, text in texts.items() if is_embeddable(text)}


def dense_run(
    documents: Mapping[str, NDArray[np.float32]],
    queries: Mapping[str, NDArray[np.float32]],
    *,
    depth: int = 100,
) -> Runs:
    """The first ``depth`` documents by cosine for each query vector, exactly; ties in document order."""
    import numpy as np

    keys = list(documents)
    matrix = np.stack([documents[key] for key in keys]).astype(np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    runs: Runs = {}
    for query, vector in queries.items():
        # The length of the query vector scales all its similarities alike.
        similarity = matrix @ vector.astype(np.float64)
        order = np.lexsort((np.arange(len(keys)), -similarity))[:depth]
        runs[query] = [keys[position] for position in order]
    return runs


def fuse_runs(
    legs: Sequence[tuple[Runs, float]], *, rrf_k: float = 60, depth: int = 100, k: int = 100
) -> Runs:
    """Reciprocal rank fusion of runs with their weights: each leg's first ``depth`` ranks, the first ``k``
    kept.

    Cormack, Clarke, Büttcher: Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods, SIGIR 2009; the weight per leg is ours. Ties are broken by the rank in the earlier leg.
    """
    runs: Runs = {}
    for query in dict.fromkeys(query for run, _ in legs for query in run):
        scores: dict[str, float] = {}
        for run, weight in legs:
            for rank, key in enumerate(run.get(query, ())[:depth], start=1):
                scores[key] = scores.get(key, 0.0) + weight / (rrf_k + rank)
        kept = [key for key, score in scores.items() if score > 0]
        # sorted() is stable, and the dictionary holds the keys in order of leg and rank.
        runs[query] = sorted(kept, key=lambda key, s=scores: -s[key])[:k]  # type: ignore[misc]
    return runs
