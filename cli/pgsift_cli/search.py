"""``pgsift search``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from pgsift_cli._common import (
    All,
    As,
    Expand,
    Mapped,
    Plain,
    Session,
    Strip,
    command,
    principals,
    query_embedder,
)
from pgsift_cli.output import safe

LEFT_OUT = "left out of the query: "


class Unit(StrEnum):
    """What a hit is."""

    chunk = "chunk"
    document = "document"


class Strategy(StrEnum):
    """What becomes of claims."""

    merged = "merged"
    chunks = "chunks"
    claims = "claims"
    mixed = "mixed"


class Mode(StrEnum):
    """Which rankings take part."""

    hybrid = "hybrid"
    lexical = "lexical"
    dense = "dense"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "search")(search)


def search(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for: words, and operators.")],
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many hits.")] = 10,
    skip: Annotated[
        int, typer.Option("--skip", metavar="N", help="Leave out the N best hits: the pages before this one.")
    ] = 0,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            metavar="NAME",
            help="hybrid, lexical or dense: rank by words (BM25) and by vectors, or by one of them.",
        ),
    ] = Mode.hybrid,
    unit: Annotated[
        Unit,
        typer.Option(
            "--unit",
            metavar="NAME",
            help="chunk: every hit is a passage. document: every hit is a document, scored as a whole and shown "
            "by its best passage.",
        ),
    ] = Unit.chunk,
    filter: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help="""Which documents, as JSON ('{"metadata.year": {"$gte": 2020}}') or like SQL """
            """("metadata.year >= 2020").""",
        ),
    ] = None,
    per_document: Annotated[
        str,
        typer.Option(
            "--per-document",
            metavar="N",
            help="At most so many hits of one document; the next best of others move up. 0 or none: no cap.",
        ),
    ] = "3",
    mmr: Annotated[
        float | None,
        typer.Option(
            "--mmr",
            metavar="X",
            help="Between 0 and 1: prefer hits unlike those before them; 1 is relevance alone, 0.7 a start.",
        ),
    ] = None,
    token_budget: Annotated[
        int | None,
        typer.Option(
            "--token-budget",
            metavar="N",
            help="Bound the texts of all hits together, a token for every four bytes; what does not fit is "
            "passed over.",
        ),
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option(
            "--rerank",
            metavar="MODEL",
            help="Have a model judge the first hits: onnx:FOLDER, sentence-transformers:NAME, cohere:MODEL or tei "
            "(address in PGSIFT_RERANK_URL, key in PGSIFT_RERANK_KEY).",
        ),
    ] = None,
    rerank_depth: Annotated[
        int | None,
        typer.Option("--rerank-depth", metavar="N", help="How many hits --rerank judges. Default: 50."),
    ] = None,
    token_embedder: Annotated[
        str | None,
        typer.Option(
            "--token-embedder",
            metavar="MODEL",
            help="Rerank by late interaction, over token vectors that ingest stored with the same model: "
            "onnx:FOLDER.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            metavar="MODEL",
            help="What embeds the query; default: the model of the tenant. none: no vector.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="L,D",
            help="Weights of the lexical and the dense ranking, e.g. 1,0.5. Default: the model's.",
        ),
    ] = None,
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
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", metavar="X", help="Leave out lexical matches with a lower BM25 score."),
    ] = None,
    max_distance: Annotated[
        float | None,
        typer.Option("--max-distance", metavar="X", help="Leave out dense matches that are further away."),
    ] = None,
    k1: Annotated[
        float | None,
        typer.Option("--k1", metavar="X", help="BM25: how soon repeats stop to count. Default: the tenant's."),
    ] = None,
    b: Annotated[
        float | None,
        typer.Option("--b", metavar="X", help="BM25: how much length is marked down. Default: the tenant's."),
    ] = None,
    title_weight: Annotated[
        float | None,
        typer.Option(
            "--title-weight", metavar="X", help="What a word in the title counts as. Default: the tenant's."
        ),
    ] = None,
    abstract_weight: Annotated[
        float | None,
        typer.Option(
            "--abstract-weight", metavar="X", help="What a word in an abstract counts as. Default: the tenant's."
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="TIME",
            help="Search what was stored at that time, e.g. 2024-05-31 or 2024-05-31T16:30:00+02:00 (UTC "
            "without an offset), with today's permissions.",
        ),
    ] = None,
    collapse_clusters: Annotated[
        bool,
        typer.Option(
            "--collapse-clusters",
            help="Of near-duplicates, show the document with the best hit only; see pgsift duplicates.",
        ),
    ] = False,
    sources: Annotated[
        bool,
        typer.Option(
            "--sources",
            help="Tell how many independent sources the hits are: documents that repeat each other, or stand "
            "in one another, count once.",
        ),
    ] = False,
    remember: Annotated[
        bool,
        typer.Option(
            "--remember",
            help="Keep the vector of the query in the database, so that its text alone is searched by "
            "vectors from psql too.",
        ),
    ] = False,
    plain: Plain = False,
    strip_questions: Strip = None,
    expand: Expand = None,
    snippet_width: Annotated[
        int,
        typer.Option(
            "--snippet-width",
            metavar="N",
            min=20,
            max=4000,
            help="Characters of the passage that is shown of each hit: the one with most words of the query.",
        ),
    ] = 300,
    log: Annotated[
        bool,
        typer.Option(
            "--log",
            help="Record the query, its settings and what came back; see pgsift log. For logins that may write.",
        ),
    ] = False,
    strategy: Annotated[
        Strategy,
        typer.Option(
            "--strategy",
            help="What becomes of claims: merged, they stand for the passages that bear them out; mixed, both "
            "side by side; chunks, none; claims, nothing else.",
        ),
    ] = Strategy.merged,
    claims_k: Annotated[
        int, typer.Option("--claims-k", metavar="N", min=0, help="How many hits may be claims.")
    ] = 3,
    full: Annotated[
        bool, typer.Option("--full", help="Print whole chunks instead of passages.")
    ] = False,
) -> None:
    """Search as public, or as whoever --as names.

    "a phrase" and +word must be there, -word must not, pre* is any word that begins so; other words are
    optional, and rank. What of the query was left out, and what was added, is told on standard error.

    Every hit tells its fused score, its rank and raw figure in each ranking, and where it stands in its
    document.

    \b
    Examples:
      pgsift search "failure modes of co-simulation"
      pgsift search '"co simulation" +modelica -tutorial solver*'
      pgsift search "sick pay" --as user:1042 --as group:hr -k 3
      pgsift search "pump" --filter "metadata.year >= 2020 AND kind = 'table'"
      pgsift search "pump" --mode lexical --json
      pgsift search "pump" -k 10 --skip 10
      pgsift search "pump" --unit document --title-weight 2
      pgsift search "sick pay" --as-of 2024-05-31
      pgsift search "pump recall" --sources
      pgsift search "pump recall" -k 20 --mmr 0.7 --token-budget 3000
      pgsift search "pump recall" --per-document none
      pgsift search "pump recall" --log
      pgsift search "pump recall" --strategy claims
      pgsift search "pump recall" --rerank onnx:models/cross-encoder --rerank-depth 30
    """
    from pgsift.embed import reads
    from pgsift.rerank import load_reranker, load_token_embedder

    who = principals(as_, all_, mapped)
    conditions, pair, cap = _filter(filter), _weights(weights), _cap(per_document)
    judge = load_reranker(rerank) if rerank is not None else None
    if judge is None and rerank_depth is not None:
        raise typer.BadParameter("it is for --rerank, which is missing", param_hint="'--rerank-depth'")
    late = load_token_embedder(token_embedder) if token_embedder is not None else None
    with session.store() as store:
        model = None if mode is Mode.lexical else query_embedder(session, store, embedder)
        result = store.search(
            session.tenant,
            query,
            k=k,
            skip=skip,
            principals=who,
            filter=conditions,
            mode=mode.value,
            unit=unit.value,
            per_document=cap,
            mmr=mmr,
            token_budget=token_budget,
            rerank=judge,
            rerank_depth=rerank_depth,
            token_embedder=late,
            embedder=model,
            weights=pair,
            depth=depth,
            rrf_k=rrf_k,
            k1=k1,
            b=b,
            title_weight=title_weight,
            abstract_weight=abstract_weight,
            min_score=min_score,
            max_distance=max_distance,
            as_of=as_of,
            collapse_clusters=collapse_clusters,
            sources=sources,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
            report_terms=True,
            snippet_width=snippet_width,
            strategy=strategy.value,
            claims_k=claims_k,
            log=log,
        )
        if remember and model is not None and (mode is Mode.dense or reads(model, query)):
            store.cache_query_embedding(session.tenant, query, embedder=model, plain=plain)
    if session.json:
        session.out.document(result)
        return
    session.out.hits(result, full=full)
    for note in notes(result.warnings):
        session.out.remark(f"note: {note}")
    if result.sources:
        session.out.line(f"independent sources: {result.distinct_sources} of {len(result.sources)} documents")
        for item in result.sources:
            if item.counts_with is not None:
                session.out.line(
                    f"\t{safe(item.key)}\tcounts with {safe(item.counts_with)}\t{item.relation}\t"
                    f"{item.similarity:.3f}"
                )
    if not result:
        session.out.remark("no hits")
    if result.query_id is not None:
        session.out.remark(f"recorded: {result.query_id}")


def notes(warnings: Sequence[str]) -> list[str]:
    """The warnings of a result, the words left out in one."""
    left_out = [w.removeprefix(LEFT_OUT) for w in warnings if w.startswith(LEFT_OUT)]
    others = [w for w in warnings if not w.startswith(LEFT_OUT)]
    return others + ([LEFT_OUT + ", ".join(left_out)] if left_out else [])


def _filter(text: str | None) -> Any:
    """JSON when it looks like it, else SQL syntax, which the library parses."""
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"the filter is not JSON: {error}", param_hint="'--filter'") from None


def _cap(text: str) -> int | None:
    """A cap per document; ``None`` is none."""
    if text.strip().lower() == "none":
        return None
    try:
        return int(text) or None
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number nor none", param_hint="'--per-document'"
        ) from None


def _weights(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not two numbers such as 1,0.5", param_hint="'--weights'"
        ) from None
