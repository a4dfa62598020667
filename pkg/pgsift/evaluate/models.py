"""Comparing embedding models where they would work: on judged queries, in the tenant as it is.

Nothing is stored. Both models need their vectors there (``Store.backfill``).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pgsift.embed import Embedder, is_embeddable, reads
from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate.collection import load_judged_queries
from pgsift.evaluate.metrics import Bootstrap, score_run
from pgsift.evaluate.report import ModeResult, Report

if TYPE_CHECKING:
    from pgsift.evaluate import Progress
    from pgsift.store import Store

_MODES = ("lexical", "dense", "hybrid")
_PAGE = 1000


def compare_models(
    store: Store,
    tenant: str,
    embedders: Sequence[Embedder],
    *,
    collection: str | os.PathLike[str] | None = None,
    modes: Iterable[str] = ("dense", "hybrid"),
    principals: Iterable[str] | None = ("sift:writer",),
    k: int = 100,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Search a tenant with judged queries by each model, and compare what is found with the judgments.

    The queries are those of a folder with ``queries.jsonl`` and ``qrels.tsv``
    (:mod:`pgsift.evaluate.collection`), whose documents are the tenant's, by key; or without one those judged
    in the tenant (``Store.judge``), of several judgments the last. A document counts by its best grade and
    stands where its best chunk does. The report has a row for each mode and model, and the differences to the
    first model with paired intervals.

    Raises :class:`~pgsift.errors.InvalidArgument` where there is no judgment, or a mode is unknown, and
    :class:`~pgsift.errors.ModelUnavailable` where a model has no vectors in the tenant.
    """
    chosen = list(dict.fromkeys(modes))
    unknown = next((mode for mode in chosen if mode not in _MODES), None)
    if not chosen or unknown is not None:
        raise InvalidArgument(f"unknown mode {unknown!r}", hint=f"Use: {', '.join(_MODES)}.")
    if not embedders or len({one.name for one in embedders}) < len(embedders):
        raise InvalidArgument("pass one or several models of different names", hint="The first is the baseline.")
    if k < 1:
        raise InvalidArgument(f"k is {k}, must be at least 1", hint="100 measures recall@100.")
    names = None if principals is None else list(principals)
    queries, qrels = load_judged_queries(collection) if collection is not None else _recorded(store, tenant, names)
    bootstrap = Bootstrap(list(queries), resamples=resamples, level=level, seed=seed)
    results: dict[str, ModeResult] = {}
    for mode in chosen:
        for embedder in [None] if mode == "lexical" else embedders:
            label = mode if embedder is None else f"{mode}, {embedder.name}"
            rankings: dict[str, list[str]] = {}
            seconds: list[float] = []
            for number, (query, text) in enumerate(queries.items(), start=1):
                vector = None
                if embedder is not None and is_embeddable(text) and (mode == "dense" or reads(embedder, text)):
                    vector = embedder.embed_query(text)
                started = time.perf_counter()
                try:
                    hits = store.search(
                        tenant,
                        text,
                        k=k,
                        mode=mode,
                        principals=names,
                        query_embedding=vector,
                        model=None if embedder is None else embedder.name,
                        collapse=False,
                        per_document=1,
                        snippet_width=None,
                    )
                    rankings[query] = [hit.key for hit in hits]
                except NothingToSearch:
                    rankings[query] = []
                seconds.append(time.perf_counter() - started)
                if progress is not None:
                    progress(label, number, len(queries))
            per_query = score_run(qrels, rankings)
            results[label] = ModeResult(
                estimates={measure: bootstrap.estimate(values) for measure, values in per_query.items()},
                per_query=per_query,
                empty=sum(not ranking for ranking in rankings.values()),
                milliseconds=1000 * statistics.median(seconds),
            )
    differences = {}
    for mode in chosen:
        if mode == "lexical":
            continue
        rows = {label: one.per_query for label, one in results.items() if label.startswith(f"{mode}, ")}
        baseline = f"{mode}, {embedders[0].name}"
        for label in rows:
            if label != baseline:
                differences[label, baseline] = {
                    measure: bootstrap.difference(values, rows[baseline][measure])
                    for measure, values in rows[label].items()
                }
    return Report(
        collection=tenant,
        documents=store.stats(tenant).documents,
        queries=len(queries),
        judgments=sum(len(grades) for grades in qrels.values()),
        settings={
            "models": ", ".join(embedder.identity for embedder in embedders),
            "judgments": "recorded in the tenant" if collection is None else str(collection),
            "k": k,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        modes=results,
        differences=differences,
    )


def _recorded(
    store: Store, tenant: str, principals: Sequence[str] | None
) -> tuple[Mapping[str, str], Mapping[str, Mapping[str, int]]]:
    """Queries and grades as they were judged in the tenant."""
    latest: dict[tuple[str, str, int | None, str], int] = {}
    below: int | None = None
    while True:
        page = store.judgments(tenant, principals=principals, k=_PAGE, below=below)
        if not page:
            break
        below = page[-1].judgment_id
        for one in page:
            if one.place != "gone":
                latest.setdefault((one.query, one.key, one.char_start, one.judged_by), one.grade)
    grades: dict[str, dict[str, int]] = {}
    for (query, key, _, _), grade in latest.items():
        judged = grades.setdefault(query, {})
        judged[key] = max(grade, judged.get(key, 0))
    if not grades:
        raise InvalidArgument(
            f"no query is judged in the tenant {tenant!r}",
            hint="Judge some with Store.judge or sift.judge, or name a folder with queries.jsonl and qrels.tsv.",
        )
    return {query: query for query in grades}, grades
