"""``pgsift evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsift_cli._common import Session, command, document_embedder


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "evaluate", tenant=False)(evaluate)


def evaluate(
    session: Session,
    collection: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION_DIR", help="Folder with corpus.jsonl, queries.jsonl and qrels.tsv."
        ),
    ],
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder", metavar="MODEL", help="As in pgsift ingest; none measures lexical search alone."
        ),
    ] = "minilm",
    analyzer: Annotated[
        str, typer.Option("--analyzer", metavar="NAME", help="english, standard or identifiers.")
    ] = "english",
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode", metavar="NAME", help="lexical, dense or hybrid; repeat for several. Default: all."
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", "--k", metavar="N", help="How many hits are asked for; recall@100 needs 100.")
    ] = 100,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", metavar="N", help="Ranks of each ranking that are fused. Default: the tenant's."
        ),
    ] = None,
    rrf_k: Annotated[
        float | None,
        typer.Option(
            "--rrf-k", metavar="X", help="Constant of reciprocal rank fusion. Default: the tenant's."
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="With --json: also the figures of every query.")
    ] = False,
) -> None:
    """Measure search on a judged collection.

    Printed are nDCG@10, recall@10, recall@100 and MRR@10 of each mode. The collection is stored in a tenant
    of its own, searched with every judged query, and removed again.

    \b
    Examples:
      pgsift evaluate collections/scifact
      pgsift evaluate collections/scifact --embedder none --analyzer standard --json
    """
    from pgsift.evaluate import evaluate as measure

    model = document_embedder(embedder)
    with session.store() as store, session.out.steps() as progress:
        report = measure(
            store,
            collection,
            modes=mode,
            k=k,
            analyzer=analyzer,
            embedder=model,
            depth=depth,
            rrf_k=rrf_k,
            progress=progress,
        )
    if session.json:
        session.out.document(report.to_dict(per_query=per_query))
    else:
        session.out.text(report.to_table())
