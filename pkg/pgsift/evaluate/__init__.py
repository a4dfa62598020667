"""Measuring retrieval quality on judged collections.

:func:`evaluate` stores a collection in a scratch tenant, searches it with every judged query in each mode,
and reports nDCG@10, recall@10, recall@100 and MRR@10 with bootstrap intervals, and what the two rankings have
and lack of each other. :func:`pgsift.evaluate.sweep.tune` compares settings in the same way.
:mod:`pgsift.evaluate.memory` measures without a database, and ``python -m pgsift.evaluate.tune`` uses it to
compare the fusion weights and depths of embedders. The measures need the extra ``evaluate``.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.query import is_question
from pgsift.embed import Embedder, load_embedder, reads
from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.analysis import FIRST, Duplicates, LegReport, compare_legs, keyword_form
from pgsift.evaluate.collection import Collection, CollectionDocument, load_collection
from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, score_run
from pgsift.evaluate.report import ModeResult, Report, summarize
from pgsift.rerank import Reranker

if TYPE_CHECKING:
    from pgsift.store import Store

__all__ = [
    "FORMS",
    "MEASURES",
    "MODES",
    "UNITS",
    "Bootstrap",
    "Collection",
    "CollectionDocument",
    "Estimate",
    "LegReport",
    "ModeResult",
    "Report",
    "evaluate",
    "keyword_form",
    "load_collection",
    "score_run",
]

MODES: tuple[str, ...] = ("lexical", "dense", "hybrid")
UNITS: tuple[str, ...] = ("chunk", "document")
#: How a query is put: as it is or as keywords, the words of a question kept or stripped.
FORMS: tuple[str, ...] = ("question, kept", "question, stripped", "keywords, kept", "keywords, stripped")

# Called with the name of a stage ("ingest", "lexical", …), how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


def evaluate(
    store: Store,
    collection: str | os.PathLike[str] | Collection,
    *,
    modes: Sequence[str] | None = None,
    units: Sequence[str] = ("chunk",),
    split: bool = False,
    forms: bool = False,
    k: int = 100,
    analyzer: str = "english",
    embedder: Embedder | str | None = None,
    rerank: Reranker | None = None,
    rerank_depth: int | None = None,
    weights: Sequence[float] | None = None,
    depth: int | None = None,
    rrf_k: float | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Measure ``store`` on a judged collection, end to end: what is searched is what is in the database.

    The collection goes into a tenant made for it and deleted afterwards, each document as one chunk (title
    and text), so that figures compare with other systems'; or with ``split`` cut into chunks as an ingest
    cuts it, and then a document stands where its best chunk does. ``modes`` is any of ``lexical``, ``dense``
    and ``hybrid``; by default all of them when there is an ``embedder`` (given here, or the store's), else
    ``lexical``. ``units`` are ``chunk``, ``document`` or both: what is ranked. ``forms`` also measures each
    mode with the queries as questions and as keywords, with and without the words that make a question one.
    ``rerank`` adds what a model makes of the hybrid hits (of chunks).

    ``k`` is how many documents are asked for; below 100, recall@100 means recall@k. ``weights``, ``depth``
    and ``rrf_k`` are those of ``Store.search``, whose defaults hold where they are left out. ``resamples``,
    ``level`` and ``seed`` belong to the bootstrap.

    Raises :class:`~pgsift.errors.InvalidArgument` for an unknown mode or unit, a mode that needs an embedder
    without one, a collection that is malformed, and whatever the store raises.
    """
    if isinstance(embedder, str):
        embedder = load_embedder(embedder)
    embedder = embedder or store.embedder
    chosen = _checked_modes(modes, embedder)
    asked_units = _checked_units(units)
    if k < 1:
        raise InvalidArgument(f"k is {k}, must be at least 1")
    if rerank is not None and "hybrid" not in chosen:
        raise InvalidArgument("a reranker judges hybrid hits", hint="Leave modes out, or name hybrid too.")
    if not isinstance(collection, Collection):
        collection = load_collection(collection)
    queries = collection.judged_queries
    bootstrap = Bootstrap(list(queries), resamples=resamples, level=level, seed=seed)
    dense = any(mode != "lexical" for mode in chosen)
    terms = get_analyzer(analyzer)
    runs: dict[str, _Run] = {}
    form_runs: dict[str, dict[str, _Run]] = {}
    with ScratchTenant(store, analyzer=analyzer, embedder=embedder if dense else None, split=split) as tenant:
        searcher = _Searcher(
            tenant,
            embedder if dense else None,
            Duplicates(terms),
            {"k": k, "weights": weights, "depth": depth, "rrf_k": rrf_k},
            progress or _silent,
        )
        tenant.put(collection.documents, lambda done, total: searcher.progress("ingest", done, total))
        if dense:
            searcher.embed(queries)
        for unit in asked_units:
            for mode in chosen:
                runs[_label(mode, unit, asked_units)] = searcher.run(mode, unit, queries)
            if rerank is not None and unit == "chunk":
                runs[_label("hybrid + rerank", unit, asked_units)] = searcher.run(
                    "hybrid", unit, queries, rerank=rerank, rerank_depth=rerank_depth
                )
        if forms:
            keywords = {key: keyword_form(text, terms) for key, text in queries.items()}
            if dense:
                searcher.embed(keywords)
            for mode in chosen:
                form_runs[mode] = {
                    form: searcher.run(
                        mode,
                        asked_units[0],
                        keywords if form.startswith("keywords") else queries,
                        strip=form.endswith("stripped"),
                        stage=f"{mode}, {form}",
                    )
                    for form in FORMS
                }
    results = {name: run.result(collection, bootstrap) for name, run in runs.items()}
    _, differences = summarize({name: one.per_query for name, one in results.items()}, bootstrap)
    legs = {}
    for unit in asked_units:
        lexical, semantic, hybrid = (runs.get(_label(mode, unit, asked_units)) for mode in MODES)
        if lexical is not None and semantic is not None:
            legs[unit] = compare_legs(
                collection.qrels,
                lexical.rankings,
                semantic.rankings,
                bootstrap,
                depth=k,
                hybrid=hybrid.rankings if hybrid is not None else None,
            )
    return Report(
        collection=collection.name,
        documents=len(collection.documents),
        queries=len(queries),
        judgments=collection.judgments,
        settings={
            "analyzer": analyzer,
            "embedder": embedder.identity if dense and embedder is not None else None,
            "units": ", ".join(asked_units),
            "documents": "split" if split else "whole",
            "rerank": rerank.identity if rerank is not None else None,
            "k": k,
            "depth": depth,
            "rrf_k": rrf_k,
            "weights": list(weights) if weights is not None else None,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        modes=results,
        differences=differences,
        forms={
            mode: {form: run.result(collection, bootstrap) for form, run in by_form.items()}
            for mode, by_form in form_runs.items()
        },
        legs=legs,
        questions=sum(map(is_question, queries.values())),
    )


@dataclass(frozen=True)
class _Run:
    """What one way of searching returned for every query."""

    rankings: Mapping[str, list[str]]
    milliseconds: float
    hits: int
    duplicates: int

    def result(self, collection: Collection, bootstrap: Bootstrap) -> ModeResult:
        per_query = score_run(collection.qrels, self.rankings)
        return ModeResult(
            estimates={measure: bootstrap.estimate(values) for measure, values in per_query.items()},
            per_query=per_query,
            empty=sum(not ranking for ranking in self.rankings.values()),
            milliseconds=self.milliseconds,
            duplicates=self.duplicates / self.hits if self.hits else 0.0,
        )


@dataclass(frozen=True)
class _Found:
    keys: list[str]
    seconds: float
    looked_at: int
    repeats: int


class _Searcher:
    """Searches a scratch tenant, and never twice for the same."""

    def __init__(
        self,
        tenant: ScratchTenant,
        embedder: Embedder | None,
        duplicates: Duplicates,
        options: dict[str, Any],
        progress: Progress,
    ) -> None:
        self._tenant = tenant
        self._embedder = embedder
        self._duplicates = duplicates
        self._options = options
        self.progress = progress
        self._vectors: dict[str, Any] = {}
        self._known: dict[tuple[Any, ...], _Found] = {}

    def embed(self, queries: Mapping[str, str]) -> None:
        assert self._embedder is not None
        for number, text in enumerate(queries.values(), start=1):
            if text not in self._vectors:
                self._vectors[text] = self._embedder.embed_query(text)
            self.progress("embed queries", number, len(queries))

    def run(
        self,
        mode: str,
        unit: str,
        queries: Mapping[str, str],
        *,
        strip: bool | None = None,
        rerank: Reranker | None = None,
        rerank_depth: int | None = None,
        stage: str | None = None,
    ) -> _Run:
        """Search with all queries; ``strip`` as in ``Store.search``, where the default is to strip
        questions."""
        found: dict[str, _Found] = {}
        for number, (key, text) in enumerate(queries.items(), start=1):
            options: dict[str, Any] = {}
            # Said only where it makes a difference: of a question whose words count.
            if strip is False and mode != "dense" and is_question(text):
                options["strip_questions"] = False
            if unit != "chunk":
                options["unit"] = unit
            if rerank is not None:
                options |= {"rerank": rerank, "rerank_depth": rerank_depth}
            same = (mode, text, *(f"{name}={value!r}" for name, value in options.items()))
            if same not in self._known:
                self._known[same] = self._search(text, mode, options)
            found[key] = self._known[same]
            self.progress(stage or (mode if rerank is None else "rerank"), number, len(queries))
        return _Run(
            rankings={key: one.keys for key, one in found.items()},
            milliseconds=1000 * statistics.median(one.seconds for one in found.values()),
            hits=sum(one.looked_at for one in found.values()),
            duplicates=sum(one.repeats for one in found.values()),
        )

    def _search(self, text: str, mode: str, options: dict[str, Any]) -> _Found:
        vector = None
        if mode == "dense" or (mode == "hybrid" and reads(self._embedder, text)):
            vector = self._vectors[text]
        started = time.perf_counter()
        try:
            hits = self._tenant.search(text, mode=mode, vector=vector, **self._options, **options)
        except NothingToSearch:
            # A query of stopwords alone has no lexical leg; it counts as one that found nothing.
            hits = []
        seconds = time.perf_counter() - started
        first = [hit.body for hit in hits[:FIRST]]
        return _Found([hit.key for hit in hits], seconds, len(first), self._duplicates.count(first))


def _silent(stage: str, done: int, total: int, /) -> None:
    del stage, done, total


def _label(mode: str, unit: str, units: Sequence[str]) -> str:
    """The name of a row: the mode, and the unit where it is not chunks alone."""
    return mode if tuple(units) == ("chunk",) or unit == "chunk" else f"{mode}, {unit}"


def _checked_units(units: Sequence[str]) -> tuple[str, ...]:
    if isinstance(units, str) or not units or any(unit not in UNITS for unit in units):
        raise InvalidArgument(
            f"units is {units!r}, must be a sequence of units", hint=f"Use: {', '.join(UNITS)}."
        )
    return tuple(dict.fromkeys(units))


def _checked_modes(modes: Sequence[str] | None, embedder: Embedder | None) -> tuple[str, ...]:
    if modes is None:
        return MODES if embedder is not None else ("lexical",)
    if isinstance(modes, str) or not modes:
        raise InvalidArgument(
            f"modes is {modes!r}, must be a sequence of modes", hint=f"Use: {', '.join(MODES)}."
        )
    for mode in modes:
        if mode not in MODES:
            raise InvalidArgument(f"unknown mode {mode!r}", hint=f"Use: {', '.join(MODES)}.")
        if mode != "lexical" and embedder is None:
            raise InvalidArgument(
                f"mode {mode!r} needs an embedder", hint="Pass embedder='minilm', or modes=('lexical',)."
            )
    return tuple(dict.fromkeys(modes))
