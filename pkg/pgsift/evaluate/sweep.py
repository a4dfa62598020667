"""Comparing settings of a search on a judged collection: :func:`tune`.

The collection is stored once. Each ranking is asked of the database once for every setting that it depends on: the
lexical one for each k1, b and field weights, the dense one once. Depth, rrf_k, leg weights and floors are then
applied to these rankings by :mod:`pgsift.domain.fusion`, which gives the same as ``sift.search`` with an explicit
depth. Nothing is ever set: the outcome is a table.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from pgsift.domain import bm25
from pgsift.domain.fusion import RRF_K, fuse
from pgsift.embed import Embedder, load_embedder, reads
from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate import UNITS, Collection, Progress, _silent, load_collection
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, score_run
from pgsift.evaluate.report import _aligned, _interval, _markdown

if TYPE_CHECKING:
    from pgsift.store import Store

# So many documents of each ranking are measured.
_KEPT = 100


@dataclass(frozen=True)
class Settings:
    """What a search is tuned by. ``min_score`` and ``max_distance`` are the floors of the rankings before fusion,
    ``None`` for none; ``weights`` are those of the lexical and the dense ranking."""

    k1: float = bm25.K1
    b: float = bm25.B
    title_weight: float = 1.0
    abstract_weight: float = 1.0
    depth: int = 100
    rrf_k: float = RRF_K
    weights: tuple[float, float] = (1.0, 1.0)
    min_score: float | None = None
    max_distance: float | None = None

    def __post_init__(self) -> None:
        bm25.validate_parameters(self.k1, self.b)
        positive = {"title_weight": self.title_weight, "abstract_weight": self.abstract_weight}
        for name, value in positive.items():
            if not 0 <= value < math.inf:
                raise InvalidArgument(f"{name} is {value}, must be finite and not negative")
        if not 1 <= self.depth <= 10_000:
            raise InvalidArgument(f"depth is {self.depth}, must lie between 1 and 10,000")
        if not 0 <= self.rrf_k <= 1e100:
            raise InvalidArgument(f"rrf_k is {self.rrf_k}, must lie between 0 and 1e100")
        pair: tuple[float, ...] = tuple(self.weights)
        # A list would do for a search, but settings are told apart by their hash.
        object.__setattr__(self, "weights", pair)
        if len(pair) != 2 or not all(0 <= weight < math.inf for weight in pair) or not any(pair):
            raise InvalidArgument(
                f"weights are {self.weights}, must be two finite numbers, not negative and not both zero"
            )
        if any(value is not None and math.isnan(value) for value in (self.min_score, self.max_distance)):
            raise InvalidArgument("min_score and max_distance must be numbers, not NaN")

    @property
    def lexical(self) -> tuple[float, float, float, float]:
        """What the lexical ranking depends on."""
        return (self.k1, self.b, self.title_weight, self.abstract_weight)

    def described(self, than: Settings) -> str:
        """Where these differ from others: ``k1 0.9, weights 1:0.5``."""
        changed = [
            f"{item.name} {shown(getattr(self, item.name))}"
            for item in fields(self)
            if getattr(self, item.name) != getattr(than, item.name)
        ]
        return ", ".join(changed) or "current"


PARAMETERS: tuple[str, ...] = tuple(item.name for item in fields(Settings))
#: What is compared where nothing is said.
DEFAULTS: Mapping[str, Sequence[Any]] = {
    "k1": (0.6, 0.9, 1.2, 1.6, 2.0),
    "b": (0.3, 0.5, 0.75, 0.9),
    "title_weight": (1.0, 2.0, 4.0),
    "depth": (50, 100, 200),
    "rrf_k": (1.0, 5.0, 10.0, 20.0, 60.0, 100.0),
    "weights": ((1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (0.5, 1.0), (0.25, 1.0)),
}
# What matters to fusion alone.
_OF_FUSION = ("depth", "rrf_k", "weights", "max_distance")


@dataclass(frozen=True)
class TuneRow:
    """One setting: its measures, and their paired differences to the current one's (``None`` of that itself)."""

    label: str
    settings: Settings
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate] | None


@dataclass(frozen=True)
class Best:
    """The setting with the highest mean of a measure.

    ``difference`` is that to the current setting, with an interval at the level that stands for all
    comparisons together (Bonferroni: 1 - (1 - level) / number of other settings): the best of many is better
    than the current by chance alone. ``differs`` says whether that interval leaves out zero.
    """

    measure: str
    label: str
    mean: float
    difference: Estimate
    differs: bool


@dataclass(frozen=True)
class TuneReport:
    """What the settings of a search score on a collection; the first row is the current setting."""

    collection: str
    documents: int
    queries: int
    settings: Mapping[str, Any]
    current: Settings
    rows: Sequence[TuneRow]
    best: Mapping[str, Best]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "collection": self.collection,
            "documents": self.documents,
            "queries": self.queries,
            "settings": dict(self.settings),
            "current": asdict(self.current),
            "rows": [
                {
                    "label": row.label,
                    "settings": asdict(row.settings),
                    "measures": {name: estimate.to_dict() for name, estimate in row.estimates.items()},
                    "differences": None
                    if row.differences is None
                    else {name: estimate.to_dict() for name, estimate in row.differences.items()},
                }
                for row in self.rows
            ],
            "best": {
                measure: {
                    "label": best.label,
                    "mean": best.mean,
                    "difference": best.difference.to_dict(),
                    "differs": best.differs,
                }
                for measure, best in self.best.items()
            },
        }

    def table(self) -> list[tuple[str, ...]]:
        """A heading row, then one for each setting: measures, and the difference of nDCG@10 to the current one."""
        rows: list[tuple[str, ...]] = [("setting", *MEASURES, "nDCG@10 to current")]
        for row in self.rows:
            difference = "" if row.differences is None else _interval(row.differences[MEASURES[0]], signed=True)
            rows.append((row.label, *(_interval(row.estimates[measure]) for measure in MEASURES), difference))
        return rows

    def best_table(self) -> list[tuple[str, ...]]:
        """A heading row, then the best setting for each measure."""
        rows: list[tuple[str, ...]] = [("measure", "best", "mean", "to current", "beyond the interval")]
        for best in self.best.values():
            difference = "" if best.label == "current" else _interval(best.difference, signed=True)
            rows.append(
                (best.measure, best.label, f"{best.mean:.4f}", difference, "yes" if best.differs else "no")
            )
        return rows

    def notes(self) -> str:
        """How the intervals come about."""
        level, resamples = self.settings["level"], self.settings["resamples"]
        others = len(self.rows) - 1
        return (
            f"in brackets: the {level:.0%} percentile bootstrap interval over {self.queries:,} queries "
            f"({resamples:,} resamples, seed {self.settings['seed']}; differences are paired). The interval of "
            f"the best is at {_adjusted(level, others):.2%}, for {others} comparisons. Chosen and measured on the "
            "same queries: confirm on others. Nothing was changed."
        )

    def to_table(self) -> str:
        """Aligned lines of text."""
        current = ", ".join(f"{name} {shown(value)}" for name, value in asdict(self.current).items())
        said = "  ".join(f"{name}={value}" for name, value in self.settings.items() if value is not None)
        return "\n".join(
            [
                f"{self.collection}: {self.documents:,} documents, {self.queries:,} queries",
                said,
                f"current: {current}",
                "",
                *_aligned(self.table()),
                "",
                *_aligned(self.best_table()),
                "",
                self.notes(),
            ]
        )

    def to_markdown(self) -> str:
        """The tables as Markdown."""
        return f"{_markdown(self.table())}\n\n{_markdown(self.best_table())}\n\n{self.notes()}\n"


def tune(
    store: Store,
    collection: str | os.PathLike[str] | Collection,
    lists: Mapping[str, Sequence[Any]] | None = None,
    *,
    current: Settings | None = None,
    grid: bool = False,
    unit: str = "chunk",
    split: bool = False,
    analyzer: str = "english",
    embedder: Embedder | str | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> TuneReport:
    """Measure settings of the search on a judged collection: hybrid with an embedder (given here, or the store's),
    lexical without.

    ``lists`` names parameters of :class:`Settings` with the values to try; left out, :data:`DEFAULTS`. Each
    value is tried with the other parameters as in ``current`` (a new tenant's settings where it is left out);
    with ``grid`` all combinations are. ``unit``, ``split`` and ``analyzer`` are as in
    :func:`pgsift.evaluate.evaluate`; ``resamples``, ``level`` and ``seed`` belong to the bootstrap.

    Raises :class:`~pgsift.errors.InvalidArgument` for a parameter or a value that there is not, and for those of
    fusion where there is no embedder.
    """
    if isinstance(embedder, str):
        embedder = load_embedder(embedder)
    embedder = embedder or store.embedder
    if current is None:
        current = Settings()
        if embedder is not None:
            both = (getattr(embedder, "lexical_weight", 1.0), getattr(embedder, "dense_weight", 1.0))
            current = replace(current, weights=both)
    if unit not in UNITS:
        raise InvalidArgument(f"unknown unit {unit!r}", hint=f"Use: {', '.join(UNITS)}.")
    candidates = _candidates(lists, current, grid=grid, fused=embedder is not None)
    if not isinstance(collection, Collection):
        collection = load_collection(collection)
    queries = collection.judged_queries
    bootstrap = Bootstrap(list(queries), resamples=resamples, level=level, seed=seed)
    show = progress or _silent
    deepest = max(one.depth for one in candidates)
    scored: list[tuple[Settings, dict[str, dict[str, float]]]] = []
    with ScratchTenant(store, analyzer=analyzer, embedder=embedder, split=split) as tenant:
        tenant.put(collection.documents, lambda done, total: show("ingest", done, total))
        legs = _Legs(tenant, queries, embedder, unit, deepest)
        if embedder is not None:
            legs.ask_dense(lambda done, total: show("dense ranking", done, total))
        by_leg: dict[tuple[float, ...], list[Settings]] = {}
        for one in candidates:
            by_leg.setdefault(one.lexical, []).append(one)
        for number, (parameters, group) in enumerate(by_leg.items(), start=1):
            stage = f"lexical ranking {number} of {len(by_leg)}"
            legs.ask_lexical(parameters, lambda done, total, stage=stage: show(stage, done, total))
            scored += [(one, score_run(collection.qrels, legs.rankings(one))) for one in group]
    per_query = {one: values for one, values in scored}
    rows = []
    for number, one in enumerate(candidates, start=1):
        show("intervals", number, len(candidates))
        differences = None
        if one != current:
            differences = {
                measure: bootstrap.difference(per_query[one][measure], per_query[current][measure])
                for measure in MEASURES
            }
        estimates = {measure: bootstrap.estimate(per_query[one][measure]) for measure in MEASURES}
        rows.append(TuneRow(one.described(current), one, estimates, differences))
    best = {}
    for measure in MEASURES:
        # The current setting wins a tie.
        top = max(rows, key=lambda row: row.estimates[measure].mean)
        shift = bootstrap.difference(
            per_query[top.settings][measure],
            per_query[current][measure],
            level=_adjusted(level, len(rows) - 1),
        )
        best[measure] = Best(
            measure, top.label, top.estimates[measure].mean, shift, not shift.low <= 0 <= shift.high
        )
    return TuneReport(
        collection=collection.name,
        documents=len(collection.documents),
        queries=len(queries),
        settings={
            "analyzer": analyzer,
            "embedder": None if embedder is None else embedder.identity,
            "unit": unit,
            "documents": "split" if split else "whole",
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        current=current,
        rows=rows,
        best=best,
    )


def parse_values(name: str, text: str) -> list[Any]:
    """The values of a parameter as written on a command line: ``0.6,0.9,1.2``, a range with both ends
    ``0.6:1.2:0.3``, or of weights pairs ``1:0.5,1:1``; ``none`` is no floor."""
    values: list[Any] = []
    for part in text.split(","):
        pieces = [piece.strip() for piece in part.split(":")]
        try:
            if pieces == ["none"] and name in ("min_score", "max_distance"):
                values.append(None)
            elif name == "weights":
                left, right = pieces
                values.append((float(left), float(right)))
            elif len(pieces) == 3:
                values += _range(*(float(piece) for piece in pieces))
            else:
                (one,) = pieces
                values.append(float(one))
        except ValueError:
            raise InvalidArgument(
                f"{part!r} is no value of {name}",
                hint="Write 1:0.5,1:1 for weights, else 0.6,0.9,1.2 or 0.6:1.2:0.3 (from:to:step).",
            ) from None
    if name == "depth":
        if any(value != int(value) for value in values):
            raise InvalidArgument("depth counts ranks: whole numbers")
        values = [int(value) for value in values]
    return values


def shown(value: Any) -> str:
    """A value as :func:`parse_values` reads it."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ":".join(f"{part:g}" for part in value)
    return f"{value:g}"


def _range(start: float, stop: float, step: float) -> list[float]:
    if not (step > 0 and math.isfinite(start) and math.isfinite(stop) and stop >= start):
        raise ValueError
    count = math.floor((stop - start) / step + 1e-9) + 1
    if count > 1000:
        raise ValueError
    # From the ends, not by adding up, and without the dust of binary fractions.
    return [round(start + step * number, 12) for number in range(count)]


def _adjusted(level: float, comparisons: int) -> float:
    return 1 - (1 - level) / max(comparisons, 1)


def _candidates(
    lists: Mapping[str, Sequence[Any]] | None, current: Settings, *, grid: bool, fused: bool
) -> list[Settings]:
    """The settings to measure, the current one first, each once."""
    if lists is None:
        lists = {name: values for name, values in DEFAULTS.items() if fused or name not in _OF_FUSION}
    for name, values in lists.items():
        if name not in PARAMETERS:
            raise InvalidArgument(f"unknown parameter {name!r}", hint=f"Use: {', '.join(PARAMETERS)}.")
        if not fused and name in _OF_FUSION:
            raise InvalidArgument(
                f"{name} is a parameter of the fusion, and there is no embedder", hint="Pass embedder='minilm'."
            )
        if not values:
            raise InvalidArgument(f"there is no value of {name} to try")
    tried = [current]
    if grid:
        for combination in itertools.product(*lists.values()):
            tried.append(replace(current, **dict(zip(lists, combination, strict=True))))
    else:
        tried += [replace(current, **{name: value}) for name, values in lists.items() for value in values]
    unique = list(dict.fromkeys(tried))
    if len(unique) > 5000:
        raise InvalidArgument(f"{len(unique):,} settings are too many", hint="Try fewer values, or no grid.")
    return unique


class _Legs:
    """The two rankings of every query, as the database gives them: chunk, document, and score or distance."""

    def __init__(
        self,
        tenant: ScratchTenant,
        queries: Mapping[str, str],
        embedder: Embedder | None,
        unit: str,
        depth: int,
    ) -> None:
        self._tenant = tenant
        self._queries = queries
        self._embedder = embedder
        self._options: dict[str, Any] = {"k": depth, "per_document": None}
        if unit != "chunk":
            self._options["unit"] = unit
        self._lexical: dict[str, list[tuple[int, str, float]]] = {}
        self._dense: dict[str, list[tuple[int, str, float]]] = {}

    def ask_dense(self, show: Any) -> None:
        assert self._embedder is not None
        for number, (key, text) in enumerate(self._queries.items(), start=1):
            # A query that the model does not read is searched by words, as by Store.search.
            if reads(self._embedder, text) and text.strip():
                vector = self._embedder.embed_query(text)
                hits = self._tenant.search(text, mode="dense", vector=vector, **self._options)
                self._dense[key] = [(hit.chunk_id, hit.key, hit.distance or 0.0) for hit in hits]
            show(number, len(self._queries))

    def ask_lexical(self, parameters: tuple[float, ...], show: Any) -> None:
        k1, b, title_weight, abstract_weight = parameters
        self._lexical = {}
        for number, (key, text) in enumerate(self._queries.items(), start=1):
            try:
                hits = self._tenant.search(
                    text,
                    mode="lexical",
                    vector=None,
                    k1=k1,
                    b=b,
                    title_weight=title_weight,
                    abstract_weight=abstract_weight,
                    **self._options,
                )
            except NothingToSearch:
                hits = []
            self._lexical[key] = [(hit.chunk_id, hit.key, hit.lexical_score or 0.0) for hit in hits]
            show(number, len(self._queries))

    def rankings(self, settings: Settings) -> dict[str, list[str]]:
        """The documents found with these settings, whose lexical ranking was asked for last."""
        runs = {}
        for key in self._queries:
            lexical = [
                (chunk, document)
                for chunk, document, score in self._lexical[key]
                if settings.min_score is None or score >= settings.min_score
            ]
            dense = [
                (chunk, document)
                for chunk, document, distance in self._dense.get(key, ())
                if settings.max_distance is None or distance <= settings.max_distance
            ]
            if self._embedder is None:
                order = [document for _, document in lexical]
            else:
                # In the unit document the two rankings may show different chunks of one document.
                numbers: dict[str, int] = {}
                for chunk, document in lexical + dense:
                    numbers.setdefault(document, chunk)
                by_document = "unit" in self._options
                legs = [
                    [numbers[document] if by_document else chunk for chunk, document in leg]
                    for leg in (lexical, dense)
                ]
                names = {
                    (numbers[document] if by_document else chunk): document
                    for chunk, document in lexical + dense
                }
                fused = fuse(legs, weights=settings.weights, rrf_k=settings.rrf_k, depth=settings.depth)
                order = [names[one.chunk_id] for one in fused]
            runs[key] = list(dict.fromkeys(order))[:_KEPT]
        return runs
