"""Runs over a collection in memory, without a database: to tune settings and to check a store's figures.

BM25 and reciprocal rank fusion by :mod:`pgsift.domain`, vectorized, and exact cosine. A document is one unit
here: title and text together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pgsift.domain import bm25
from pgsift.domain.fusion import RRF_K, fuse
from pgsift.embed import embedding_text, is_embeddable
from pgsift.evaluate.collection import Collection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tokenize = Callable[[str], Iterable[str]]
Runs = dict[str, list[str]]


class MemoryIndex:
    """An inverted index over texts, scored by BM25.

    ``search`` gives positions of texts, best first: score descending, then position ascending. Statistics go
    over the texts with at least one term; ``k1`` and ``b`` are BM25's. ``query_terms`` makes the terms of a
    query, ``tokenize`` where it is None: an :class:`~pgsift.domain.analyzer.Analyzer` has one of each.
    """

    def __init__(
        self,
        texts: Iterable[str],
        tokenize: Tokenize,
        query_terms: Tokenize | None = None,
        *,
        k1: float = bm25.K1,
        b: float = bm25.B,
    ) -> None:
        import numpy as np

        bm25.validate_parameters(k1, b)
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths: list[int] = []
        for position, text in enumerate(texts):
            counts = Counter(tokenize(text))
            lengths.append(counts.total())
            for term, count in counts.items():
                positions, frequencies = postings.setdefault(term, ([], []))
                positions.append(position)
                frequencies.append(count)
        self._query_terms = query_terms or tokenize
        self._size = len(lengths)
        number = sum(1 for length in lengths if length)
        dl = np.array(lengths, dtype=np.float64)
        average = bm25.average_length(number, sum(lengths))
        norms = k1 * (1 - b + b * dl / average) if average else np.full(len(lengths), k1)
        self._df = {term: len(positions) for term, (positions, _) in postings.items()}
        self._impacts: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for term, (positions, frequencies) in postings.items():
            where = np.array(positions, dtype=np.int64)
            tf = np.array(frequencies, dtype=np.float64)
            self._impacts[term] = (where, bm25.idf(number, len(positions)) * tf / (tf + norms[where]))

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The first ``k`` pairs of position and score; texts without a term of the query are left out."""
        import numpy as np

        scores = np.zeros(self._size, dtype=np.float64)
        terms = set(self._query_terms(query)) & self._df.keys()
        for term in bm25.term_order({term: self._df[term] for term in terms}):
            where, impact = self._impacts[term]
            scores[where] += impact
        found = np.flatnonzero(scores)
        order = found[np.lexsort((found, -scores[found]))][:k]
        return [(int(position), float(scores[position])) for position in order]


def lexical_run(
    collection: Collection,
    tokenize: Tokenize,
    query_terms: Tokenize | None = None,
    *,
    depth: int = 100,
    k1: float = bm25.K1,
    b: float = bm25.B,
) -> Runs:
    """The first ``depth`` documents by BM25 for each judged query; the functions are those of an analyzer."""
    keys = [document.key for document in collection.documents]
    texts = (f"{document.title}\n{document.text}" for document in collection.documents)
    index = MemoryIndex(texts, tokenize, query_terms, k1=k1, b=b)
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
    legs: Sequence[tuple[Runs, float]],
    *,
    rrf_k: float = RRF_K,
    depth: int = 100,
    k: int = 100,
    positions: Mapping[str, int] | None = None,
) -> Runs:
    """Reciprocal rank fusion of runs with their weights: each leg's first ``depth`` ranks, the first ``k``
    kept.

    Of equals the one of lower position comes first, as in a store filled in that order; without ``positions``
    it is the one that an earlier leg found, or found earlier.
    """
    runs: Runs = {}
    for query in dict.fromkeys(query for run, _ in legs for query in run):
        rankings = [run.get(query, []) for run, _ in legs]
        found = list(dict.fromkeys(key for ranking in rankings for key in ranking))
        numbers = {key: number for number, key in enumerate(found)} if positions is None else positions
        keys = {numbers[key]: key for key in found}
        fused = fuse(
            [[numbers[key] for key in ranking] for ranking in rankings],
            weights=[weight for _, weight in legs],
            rrf_k=rrf_k,
            depth=depth,
        )
        runs[query] = [keys[one.chunk_id] for one in fused[:k]]
    return runs


def document_positions(collection: Collection) -> dict[str, int]:
    """Place of each document in the collection, by key."""
    return {document.key: position for position, document in enumerate(collection.documents)}
