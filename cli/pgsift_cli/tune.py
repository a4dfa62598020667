"""``pgsift tune``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pgsift_cli._common import Session, command, document_embedder
from pgsift_cli.evaluate import Cache, Split, kept


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "tune")(tune)


def _values(name: str, what: str, example: str) -> Any:
    return typer.Option(f"--{name}", metavar="LIST", help=f"{what}, e.g. {example}.")


def tune(
    session: Session,
    collection: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION_DIR", help="Folder with corpus.jsonl, queries.jsonl and qrels.tsv."
        ),
    ],
    k1: Annotated[str | None, _values("k1", "BM25: how soon repeats stop to count", "0.6,0.9,1.2")] = None,
    b: Annotated[str | None, _values("b", "BM25: how much length is marked down", "0:1:0.25")] = None,
    title_weight: Annotated[
        str | None, _values("title-weight", "What a word in the title counts as", "1,2,4")
    ] = None,
    abstract_weight: Annotated[
        str | None, _values("abstract-weight", "What a word in an abstract counts as", "1,2")
    ] = None,
    depth: Annotated[
        str | None, _values("depth", "How many ranks of each ranking are fused", "50,100,200")
    ] = None,
    rrf_k: Annotated[
        str | None, _values("rrf-k", "Constant of reciprocal rank fusion", "1,10,60")
    ] = None,
    weights: Annotated[
        str | None, _values("weights", "Weights of the lexical and the dense ranking", "1:0.5,1:1,0.5:1")
    ] = None,
    min_score: Annotated[
        str | None, _values("min-score", "Floor of the BM25 score", "none,2,4")
    ] = None,
    max_distance: Annotated[
        str | None, _values("max-distance", "Floor of the dense ranking", "none,0.6,0.8")
    ] = None,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Try all combinations; else one value after the other, all else as it is."),
    ] = False,
    current: Annotated[
        list[str] | None,
        typer.Option(
            "--current", metavar="NAME=VALUE",
            help="What to compare with, e.g. weights=1:0.5; repeat for several. Default: the settings of the "
            "tenant, or of a new one where there is none of that name; weights are the model's.",
        ),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder", metavar="MODEL", help="As in pgsift ingest; none tunes lexical search alone."
        ),
    ] = "minilm",
    analyzer: Annotated[
        str, typer.Option("--analyzer", metavar="NAME", help="english, standard or identifiers.")
    ] = "english",
    unit: Annotated[
        str, typer.Option("--unit", metavar="NAME", help="chunk or document: what is ranked.")
    ] = "chunk",
    split: Split = False,
    cache: Cache = None,
    resamples: Annotated[
        int, typer.Option("--resamples", metavar="N", help="Of the bootstrap.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the bootstrap.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Compare settings of the search on a judged collection.

    Printed are nDCG@10, recall@10, recall@100 and MRR@10 of each setting with bootstrap intervals over the
    queries, the paired difference to the current setting, and for each measure the best setting and whether it
    is better beyond the interval. Values are lists (0.6,0.9) or ranges (0.6:1.2:0.3, from:to:step). Without any,
    a few of each are tried.

    The collection is stored in a tenant of its own and removed again. No setting is changed: that is for
    pgsift tenants set.

    \b
    Examples:
      pgsift tune collections/scifact
      pgsift tune collections/scifact --k1 0.6:1.8:0.3 --b 0.3,0.5,0.75 --grid --embedder none
      pgsift tune collections/scifact --rrf-k 1,10,60 --weights 1:0.5,1:1,0.5:1 --json
    """  # fmt: skip
    from pgsift.evaluate.sweep import PARAMETERS, Settings, parse_values
    from pgsift.evaluate.sweep import tune as measure

    if markdown and session.json:
        raise typer.BadParameter("it excludes --json", param_hint="'--markdown'")
    given = {
        "k1": k1, "b": b, "title_weight": title_weight, "abstract_weight": abstract_weight, "depth": depth,
        "rrf_k": rrf_k, "weights": weights, "min_score": min_score, "max_distance": max_distance,
    }  # fmt: skip
    lists = {name: parse_values(name, text) for name, text in given.items() if text is not None}
    model = kept(document_embedder(embedder), cache)
    now = Settings()
    if model is not None:
        now = replace(
            now, weights=(getattr(model, "lexical_weight", 1.0), getattr(model, "dense_weight", 1.0))
        )
    with session.store() as store, session.out.steps() as progress:
        tenant = next((one for one in store.tenants() if one.tenant == session.tenant), None)
        if tenant is not None:
            now = replace(
                now,
                k1=tenant.k1,
                b=tenant.b,
                title_weight=tenant.title_weight,
                abstract_weight=tenant.abstract_weight,
                depth=tenant.depth,
                rrf_k=tenant.rrf_k,
            )
        for text in current or ():
            name, sign, value = text.partition("=")
            name = name.replace("-", "_")
            if not sign or name not in PARAMETERS or len(parse_values(name, value)) != 1:
                raise typer.BadParameter(
                    f"{text!r} is not NAME=VALUE of one of: {', '.join(PARAMETERS)}", param_hint="'--current'"
                )
            now = replace(now, **{name: parse_values(name, value)[0]})
        report = measure(
            store,
            collection,
            lists or None,
            current=now,
            grid=grid,
            unit=unit,
            split=split,
            analyzer=analyzer,
            embedder=model,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    if session.json:
        session.out.document(report.to_dict())
    else:
        session.out.text(report.to_markdown() if markdown else report.to_table())
