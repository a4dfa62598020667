"""Measures of ranked lists, computed by ir-measures (trec_eval's code), and bootstrap intervals around them.

Definitions are trec_eval's: the mean goes over all judged queries, one without results counts 0; recall@n is
the share of the relevant documents among the first n; MRR@10 is one over the rank of the first relevant
document, 0 past rank 10; nDCG@10 takes the grade itself as gain and log2(rank + 1) as discount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgsift.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEASURES: tuple[str, ...] = ("nDCG@10", "recall@10", "recall@100", "MRR@10")

Ranking = Sequence[str]
PerQuery = dict[str, float]
# Resamples that are worked on at a time.
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries and the bounds of its bootstrap interval."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


def score_run(qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Ranking]) -> dict[str, PerQuery]:
    """Each of :data:`MEASURES` for each judged query: ``{measure: {query: value}}``.

    ``run`` holds document keys, best first, without repeats; a query that is missing has found nothing. Only
    the order counts. trec_eval sorts by score in single precision and breaks ties by document name, so what
    it gets are whole numbers that fall by one from rank to rank: it cannot but keep the given order.
    """
    scored: dict[str, dict[str, float]] = {}
    for query, ranking in run.items():
        if len(set(ranking)) != len(ranking):
            raise InvalidArgument(f"the ranking of query {query!r} holds a document twice")
        scored[query] = {key: float(len(ranking) - place) for place, key in enumerate(ranking)}
    first_ten = {
        query: {key: score for key, score in list(scores.items())[:10]} for query, scores in scored.items()
    }
    library = _ir_measures()
    names = {library.nDCG @ 10: "nDCG@10", library.R @ 10: "recall@10", library.R @ 100: "recall@100"}
    result: dict[str, PerQuery] = {measure: dict.fromkeys(qrels, 0.0) for measure in MEASURES}
    grades = {query: dict(judged) for query, judged in qrels.items()}
    for metric in library.pytrec_eval.iter_calc(list(names), grades, scored):
        result[names[metric.measure]][metric.query_id] = metric.value
    # trec_eval's reciprocal rank has no cutoff; the list is cut instead.
    for metric in library.pytrec_eval.iter_calc([library.RR], grades, first_ten):
        result["MRR@10"][metric.query_id] = metric.value
    return result


class Bootstrap:
    """Percentile bootstrap over queries, with the same resamples for every measure and mode.

    Reusing the resamples makes the interval of a difference a paired one. The same seed, number of queries
    and number of resamples give the same bounds.
    """

    def __init__(
        self, queries: Sequence[str], *, resamples: int = 2000, level: float = 0.95, seed: int = 0
    ) -> None:
        if not queries:
            raise InvalidArgument("no query to measure")
        if resamples < 1 or not 0 < level < 1:
            raise InvalidArgument(f"resamples is {resamples}, level {level}: at least 1, and within (0, 1)")
        self._queries = list(queries)
        self._level = level
        self._resamples = resamples
        self._seed = seed
        self._blocks: list[tuple[int, NDArray[np.uint16]]] | None = None

    def estimate(self, values: Mapping[str, float], *, level: float | None = None) -> Estimate:
        """Mean and interval of one value per query; at another ``level`` than usual if one is given."""
        import numpy as np

        data = np.array([values[query] for query in self._queries], dtype=np.float64)
        means = self._means(data)
        tail = (1 - (self._level if level is None else level)) / 2
        low, high = np.quantile(means, [tail, 1 - tail])
        return Estimate(mean=float(data.mean()), low=float(low), high=float(high))

    def difference(
        self, values: Mapping[str, float], baseline: Mapping[str, float], *, level: float | None = None
    ) -> Estimate:
        """Mean and interval of ``values - baseline``, query by query."""
        return self.estimate(
            {query: values[query] - baseline[query] for query in self._queries}, level=level
        )

    def _means(self, data: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        means = np.empty(self._resamples, dtype=np.float64)
        for start, counts in self._drawn():
            means[start : start + len(counts)] = counts.astype(np.float64) @ data / len(data)
        return means

    def _drawn(self) -> list[tuple[int, NDArray[np.uint16]]]:
        """How often each query is in each resample, in blocks; drawn once."""
        import numpy as np

        if self._blocks is None:
            generator = np.random.default_rng(self._seed)
            count = len(self._queries)
            self._blocks = []
            for start in range(0, self._resamples, _BLOCK):
                counts = np.empty((min(_BLOCK, self._resamples - start), count), dtype=np.uint16)
                for row in counts:
                    row[:] = np.bincount(generator.integers(0, count, count), minlength=count)
                self._blocks.append((start, counts))
        return self._blocks


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra(
            f"measuring needs the package 'ir-measures', which cannot be imported: {error}",
            hint="Install it: pip install 'pgsift[evaluate]'",
        ) from error
    return ir_measures
