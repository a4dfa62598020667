"""Measuring retrieval quality on judged collections.

:func:`evaluate` stores a collection in a scratch tenant, searches it with every judged query in each mode,
and reports nDCG@10, recall@10, recall@100 and MRR@10 with bootstrap intervals. :mod:`pgsift.evaluate.memory`
does the same without a database, and ``python -m pgsift.evaluate.tune`` uses it to compare fusion weights and
depths. The measures need the extra ``evaluate``.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pgsift.embed import Embedder, load_embedder, reads
from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.collection import Collection, CollectionDocument, load_collection
from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, score_run
from pgsift.evaluate.report import ModeResult, Report, summarize

if TYPE_CHECKING:
    from pgsift.store import Store

__all__ = [
    "MEASURES",
    "MODES",
    "Bootstrap",
    "Collection",
    "CollectionDocument",
    "Estimate",
    "ModeResult",
    "Report",
    "evaluate",
    "load_collection",
    "score_run",
]

MODES: tuple[str, ...] = ("lexical", "dense", "hybrid")

# Called with the name of a stage ("ingest", "lexical", …), how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


def evaluate(
    store: Store,
    collection: str | os.PathLike[str] | Collection,
    *,
    modes: Sequence[str] | None = None,
    k: int = 100,
    analyzer: str = "english",
    embedder: Embedder | str | None = None,
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
    and text), so that figures compare with other systems'. ``modes`` is any of ``lexical``, ``dense`` and
    ``hybrid``; by default all of them when there is an ``embedder`` (given here, or the store's), else
    ``lexical``. ``k`` is how many hits
    are asked for; below 100, recall@100 means recall@k. ``weights``, ``depth`` and ``rrf_k`` are those of
    ``Store.search``, whose defaults hold where they are left out. ``resamples``, ``level`` and ``seed``
    belong to the bootstrap.

    Raises :class:`~pgsift.errors.InvalidArgument` for an unknown mode, a mode that needs an embedder without
    one, a collection that is malformed, and whatever the store raises.
    """
    if isinstance(embedder, str):
        embedder = load_embedder(embedder)
    embedder = embedder or store.embedder
    chosen = _checked_modes(modes, embedder)
    if k < 1:
        raise InvalidArgument(f"k is {k}, must be at least 1")
    if not isinstance(collection, Collection):
        collection = load_collection(collection)
    report_progress = progress or _silent
    queries = collection.judged_queries
    bootstrap = Bootstrap(list(queries), resamples=resamples, level=level, seed=seed)
    dense = [mode for mode in chosen if mode != "lexical"]
    results: dict[str, tuple[dict[str, list[str]], list[float], int]] = {}
    with ScratchTenant(store, analyzer=analyzer, embedder=embedder if dense else None) as tenant:
        tenant.put(collection.documents, lambda done, total: report_progress("ingest", done, total))
        vectors: dict[str, Any] = {}
        if dense and embedder is not None:
            for number, (key, text) in enumerate(queries.items(), start=1):
                vectors[key] = embedder.embed_query(text)
                report_progress("embed queries", number, len(queries))
        for mode in chosen:
            run: dict[str, list[str]] = {}
            times: list[float] = []
            empty = 0
            for number, (key, text) in enumerate(queries.items(), start=1):
                started = time.perf_counter()
                try:
                    run[key] = tenant.search(
                        text,
                        k=k,
                        mode=mode,
                        vector=vectors[key]
                        if mode == "dense" or (mode == "hybrid" and reads(embedder, text))
                        else None,
                        weights=weights,
                        depth=depth,
                        rrf_k=rrf_k,
                    )
                except NothingToSearch:
                    # A query of stopwords alone has no lexical leg; it counts as one that found nothing.
                    run[key] = []
                times.append(time.perf_counter() - started)
                empty += not run[key]
                report_progress(mode, number, len(queries))
            results[mode] = (run, times, empty)
    per_query = {mode: score_run(collection.qrels, run) for mode, (run, _, _) in results.items()}
    estimates, differences = summarize(per_query, bootstrap)
    return Report(
        collection=collection.name,
        documents=len(collection.documents),
        queries=len(queries),
        judgments=collection.judgments,
        settings={
            "analyzer": analyzer,
            "embedder": embedder.identity if dense and embedder is not None else None,
            "k": k,
            "depth": depth,
            "rrf_k": rrf_k,
            "weights": list(weights) if weights is not None else None,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        modes={
            mode: ModeResult(
                estimates=estimates[mode],
                per_query=per_query[mode],
                empty=empty,
                milliseconds=1000 * statistics.median(times),
            )
            for mode, (_, times, empty) in results.items()
        },
        differences=differences,
    )


def _silent(stage: str, done: int, total: int, /) -> None:
    del stage, done, total


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
