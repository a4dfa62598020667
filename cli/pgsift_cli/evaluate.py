"""``pgsift evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pgsift_cli._common import Session, command, document_embedder

if TYPE_CHECKING:
    from pgsift.embed import Embedder

Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Keep vectors in this folder between measurements; embedding is most of the work.",
    ),
]
Split = Annotated[
    bool,
    typer.Option(
        "--split",
        help="Cut documents into chunks as pgsift ingest does; else each is one chunk, as others measure.",
    ),
]


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
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--unit", metavar="NAME", help="chunk or document: what is ranked; repeat for both. Default: chunk."
        ),
    ] = None,
    split: Split = False,
    forms: Annotated[
        bool,
        typer.Option(
            "--forms",
            help="Also put the queries as keywords, and questions with and without the words that make them one.",
        ),
    ] = False,
    rerank: Annotated[
        str | None,
        typer.Option(
            "--rerank", metavar="MODEL", help="Also have a model judge the hybrid hits, as in pgsift search."
        ),
    ] = None,
    rerank_depth: Annotated[
        int | None,
        typer.Option("--rerank-depth", metavar="N", help="How many hits --rerank judges. Default: 50."),
    ] = None,
    cache: Cache = None,
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
    chunker: Annotated[
        list[str] | None,
        typer.Option(
            "--chunker",
            metavar="NAME",
            help="Compare chunkers, named as in pgsift ingest; repeat for each. Documents are ranked by their "
            "best chunk.",
        ),
    ] = None,
    context_prefix: Annotated[
        bool,
        typer.Option(
            "--context-prefix", help="With --chunker: each also with title and section indexed with every chunk."
        ),
    ] = False,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="With --chunker: known answers, JSON lines of query (an id or a text), answer, and key where one "
            "document alone has it. Default: answers.jsonl of the folder, where there is one.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="With --json: also the figures of every query.")
    ] = False,
) -> None:
    """Measure search on a judged collection.

    Printed are nDCG@10, recall@10, recall@100 and MRR@10 of each mode; what share of the relevant documents each
    ranking has alone, and what no fusion of both could exceed; and how many hits repeat one above them. The
    collection is stored in a tenant of its own, searched with every judged query, and removed again.

    With --chunker it is stored once with each of them, and compared are the documents they find and, for queries
    whose answer is known, how often it stands in what is shown of the first hits (docs/chunkers.md).

    \b
    Examples:
      pgsift evaluate collections/scifact
      pgsift evaluate collections/scifact --embedder none --analyzer standard --json
      pgsift evaluate collections/scifact --split --unit chunk --unit document --cache vectors
      pgsift evaluate collections/xquad-en --forms --markdown
      pgsift evaluate collections/manuals --chunker structure --chunker window --answers answers.jsonl
    """
    from pgsift.evaluate import evaluate as measure
    from pgsift.rerank import load_reranker

    if markdown and session.json:
        raise typer.BadParameter("it excludes --json", param_hint="'--markdown'")
    if rerank is None and rerank_depth is not None:
        raise typer.BadParameter("it is for --rerank, which is missing", param_hint="'--rerank-depth'")
    if chunker:
        if unit or split or forms or rerank is not None or depth is not None or rrf_k is not None:
            raise typer.BadParameter(
                "it stands without --unit, --split, --forms, --rerank, --depth and --rrf-k",
                param_hint="'--chunker'",
            )
    elif context_prefix or answers is not None:
        raise typer.BadParameter(
            "it is for --chunker, which is missing",
            param_hint="'--context-prefix'" if context_prefix else "'--answers'",
        )
    model = kept(document_embedder(embedder), cache)
    if chunker:
        from pgsift.evaluate.chunkers import compare_chunkers

        with session.store() as store, session.out.steps() as progress:
            compared = compare_chunkers(
                store,
                collection,
                chunker,
                context_prefix=context_prefix,
                answers=answers,
                modes=mode,
                analyzer=analyzer,
                embedder=model,
                k=k,
                progress=progress,
            )
        if session.json:
            session.out.document(compared.to_dict(per_query=per_query))
        else:
            session.out.text(compared.to_markdown() if markdown else compared.to_table())
        return
    judge = load_reranker(rerank) if rerank is not None else None
    with session.store() as store, session.out.steps() as progress:
        report = measure(
            store,
            collection,
            modes=mode,
            units=unit or ("chunk",),
            split=split,
            forms=forms,
            rerank=judge,
            rerank_depth=rerank_depth,
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
        session.out.text(report.to_markdown() if markdown else report.to_table())


def kept(embedder: Embedder | None, folder: Path | None) -> Embedder | None:
    """The embedder, looking into a folder first where one is named."""
    if embedder is None or folder is None:
        return embedder
    from pgsift.evaluate.cache import CachedEmbedder

    return cast("Embedder", CachedEmbedder(embedder, folder))
