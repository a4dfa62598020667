"""``pgsift explain`` and ``pgsift why-not``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsift_cli._common import (
    NOT_FOUND,
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
from pgsift_cli.search import Mode, Unit, _cap, _filter, _weights

if TYPE_CHECKING:
    from pgsift.models import Explanation


class Claims(StrEnum):
    """What becomes of claims."""

    merged = "merged"
    chunks = "chunks"
    claims = "claims"
    mixed = "mixed"


Query = Annotated[str, typer.Argument(metavar="QUERY", help="As given to pgsift search.")]
ModeOption = Annotated[Mode, typer.Option("--mode", metavar="NAME", help="hybrid, lexical or dense.")]
UnitOption = Annotated[Unit, typer.Option("--unit", metavar="NAME", help="chunk or document: what is ranked.")]
FilterOption = Annotated[
    str | None, typer.Option("--filter", metavar="FILTER", help="As given to pgsift search: JSON, or like SQL.")
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="What embeds the query; default: the model of the tenant. none: no vector.",
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option("--weights", metavar="L,D", help="Weights of the lexical and the dense ranking, e.g. 1,0.5."),
]
DepthOption = Annotated[
    int | None, typer.Option("--depth", metavar="N", help="Ranks of each ranking that are fused.")
]
RrfKOption = Annotated[
    float | None, typer.Option("--rrf-k", metavar="X", help="Constant of reciprocal rank fusion.")
]
MinScore = Annotated[
    float | None, typer.Option("--min-score", metavar="X", help="The least BM25 score of a lexical match.")
]
MaxDistance = Annotated[
    float | None, typer.Option("--max-distance", metavar="X", help="The greatest distance of a dense match.")
]
K1 = Annotated[float | None, typer.Option("--k1", metavar="X", help="BM25: how soon repeats stop to count.")]
B = Annotated[float | None, typer.Option("--b", metavar="X", help="BM25: how much length is marked down.")]
TitleWeight = Annotated[
    float | None, typer.Option("--title-weight", metavar="X", help="What a word in the title counts as.")
]
AbstractWeight = Annotated[
    float | None, typer.Option("--abstract-weight", metavar="X", help="What a word in an abstract counts as.")
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Of a search of what was stored at that time.")
]
StrategyOption = Annotated[
    Claims, typer.Option("--strategy", metavar="NAME", help="merged, chunks, claims or mixed.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "explain")(explain)
    command(app, "why-not")(why_not)


def explain(
    session: Session,
    query: Query,
    target: Annotated[
        str,
        typer.Argument(
            metavar="CHUNK|KEY", help="Number of a chunk, or key of a document, of which the best chunk is taken."
        ),
    ],
    key: Annotated[
        bool, typer.Option("--key", help="It is a key, though it looks like the number of a chunk.")
    ] = False,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    mode: ModeOption = Mode.hybrid,
    unit: UnitOption = Unit.chunk,
    filter: FilterOption = None,
    embedder: EmbedderOption = None,
    weights: WeightsOption = None,
    depth: DepthOption = None,
    rrf_k: RrfKOption = None,
    min_score: MinScore = None,
    max_distance: MaxDistance = None,
    k1: K1 = None,
    b: B = None,
    title_weight: TitleWeight = None,
    abstract_weight: AbstractWeight = None,
    strategy: StrategyOption = Claims.merged,
    as_of: AsOf = None,
    plain: Plain = False,
    strip_questions: Strip = None,
    expand: Expand = None,
) -> None:
    """Show why a chunk has the score it has: term by term, ranking by ranking, and how they are fused.

    The options are those of pgsift search. df and idf are left out for logins that may not know them.

    \b
    Examples:
      pgsift explain "sick pay" handbook/travel.md
      pgsift explain "sick pay" 42 --as group:hr
      pgsift explain "pump" 42 --mode lexical --json
    """
    number = int(target) if target.isascii() and target.isdecimal() and not key else None
    who, conditions, pair = principals(as_, all_, mapped), _filter(filter), _weights(weights)
    with session.store() as store:
        parts = store.explain(
            session.tenant,
            query,
            number,
            key=target if number is None else None,
            principals=who,
            filter=conditions,
            mode=mode.value,
            unit=unit.value,
            embedder=None if mode is Mode.lexical else query_embedder(session, store, embedder),
            weights=pair,
            depth=depth,
            rrf_k=rrf_k,
            min_score=min_score,
            max_distance=max_distance,
            k1=k1,
            b=b,
            title_weight=title_weight,
            abstract_weight=abstract_weight,
            strategy=strategy.value,
            as_of=as_of,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
        )
    if session.json:
        session.out.document({"chunk_id": parts.chunk_id, "score": parts.score, "parts": list(parts)})
    elif parts:
        _print(session, parts)
    if not parts:
        session.out.remark("no such chunk or document that may be seen")
        raise typer.Exit(NOT_FOUND)


def _print(session: Session, parts: Explanation) -> None:
    """One table of terms, one of rankings, and a line with the score."""
    out = session.out
    terms = parts.of("term")
    if terms:
        out.table(
            ["term", "tf#", "df#", "length#", "idf#", "contribution#", "note"],
            [(t.name, _short(t.tf), t.df, t.doc_length, _short(t.idf), _short(t.value), t.detail) for t in terms],
        )
    legs = {leg.name: leg for leg in parts.of("leg")}
    out.table(
        ["ranking", "figure#", "rank#", "part#", "note"],
        [
            (
                part.name,
                _short(legs[part.name].value) if part.name in legs else None,
                legs[part.name].rank if part.name in legs else None,
                f"{part.value:.7f}",
                part.detail,
            )
            for part in parts.of("fusion")
        ],
    )
    score = parts.of("score")[0]
    out.line(
        f"chunk {parts.chunk_id}: "
        + (f"score {score.value:.7f}" if score.value is not None else safe(score.detail or "no score"))
    )
    settings = parts.of("setting")
    if settings:
        out.line(", ".join(f"{safe(setting.name)} {_short(setting.value)}" for setting in settings))


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def why_not(
    session: Session,
    query: Query,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Key of a document, as printed by pgsift documents.")
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option("--chunk", metavar="N", help="One chunk instead of a document: its number."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many hits are asked for.")] = 10,
    skip: Annotated[int, typer.Option("--skip", metavar="N", help="How many of the best hits are left out.")] = 0,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    mode: ModeOption = Mode.hybrid,
    unit: UnitOption = Unit.chunk,
    filter: FilterOption = None,
    per_document: Annotated[
        str, typer.Option("--per-document", metavar="N", help="Hits of one document at most. 0 or none: no cap.")
    ] = "3",
    mmr: Annotated[
        float | None, typer.Option("--mmr", metavar="X", help="Between 0 and 1: as given to pgsift search.")
    ] = None,
    token_budget: Annotated[
        int | None, typer.Option("--token-budget", metavar="N", help="As given to pgsift search.")
    ] = None,
    embedder: EmbedderOption = None,
    weights: WeightsOption = None,
    depth: DepthOption = None,
    rrf_k: RrfKOption = None,
    min_score: MinScore = None,
    max_distance: MaxDistance = None,
    k1: K1 = None,
    b: B = None,
    title_weight: TitleWeight = None,
    abstract_weight: AbstractWeight = None,
    strategy: StrategyOption = Claims.merged,
    claims_k: Annotated[int, typer.Option("--claims-k", metavar="N", help="How many hits may be claims.")] = 3,
    as_of: AsOf = None,
    collapse_clusters: Annotated[
        bool, typer.Option("--collapse-clusters", help="As given to pgsift search.")
    ] = False,
    plain: Plain = False,
    strip_questions: Strip = None,
    expand: Expand = None,
) -> None:
    """Tell why a document, or a chunk, is not among the hits of a search; the first reason there is.

    The options are those of pgsift search. What does not exist and what may not be seen are told apart nowhere.

    \b
    Examples:
      pgsift why-not "sick pay" handbook/travel.md
      pgsift why-not "pump" reports/4711.md -k 3 --filter "metadata.year >= 2020" --as group:staff
      pgsift why-not "pump" --chunk 42 --json
    """
    if (key is None) == (chunk is None):
        raise typer.BadParameter("name a document by its key, or one chunk with --chunk")
    who, conditions, pair, cap = (
        principals(as_, all_, mapped),
        _filter(filter),
        _weights(weights),
        _cap(per_document),
    )
    with session.store() as store:
        found = store.why_not(
            session.tenant,
            query,
            key,
            chunk=chunk,
            k=k,
            skip=skip,
            principals=who,
            filter=conditions,
            mode=mode.value,
            unit=unit.value,
            per_document=cap,
            mmr=mmr,
            token_budget=token_budget,
            embedder=None if mode is Mode.lexical else query_embedder(session, store, embedder),
            weights=pair,
            depth=depth,
            rrf_k=rrf_k,
            min_score=min_score,
            max_distance=max_distance,
            k1=k1,
            b=b,
            title_weight=title_weight,
            abstract_weight=abstract_weight,
            strategy=strategy.value,
            claims_k=claims_k,
            as_of=as_of,
            collapse_clusters=collapse_clusters,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
        )
    if session.json:
        session.out.document(found)
    else:
        values: dict[str, Any] = found.to_dict()
        session.out.line(safe(values.pop("sentence")))
        session.out.record({name: value for name, value in values.items() if value is not None})
    if found.reason == "absent":
        raise typer.Exit(NOT_FOUND)
