"""``pgsift log …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, PROBLEMS_FOUND, Session, command, confirm, no_empty_name
from pgsift_cli.output import safe

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="The record of queries: what was asked, with which settings, and what came back.",
)

Number = Annotated[int, typer.Option("-k", metavar="N", help="How many, the last asked first.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Asked at that time or later, e.g. 2024-05-31.")
]
Before = Annotated[str | None, typer.Option("--before", metavar="TIME", help="Asked before that time.")]
Ids = Annotated[
    list[int] | None,
    typer.Argument(metavar="[ID]…", help="Numbers of entries, as listed.", show_default=False),
]


def listed(session: Session, k: Number = 20, since: Since = None, before: Before = None) -> None:
    """List recorded queries: those asked with pgsift search --log, or recorded by an application.

    \b
    Examples:
      pgsift log list
      pgsift log list -k 100 --since 2024-05-31 --json
    """
    with session.store() as store:
        entries = store.queries(session.tenant, k=k, since=since, before=before)
    if session.json:
        session.out.document({"queries": list(entries)})
        return
    session.out.table(
        ["id#", "asked", "by", "for", "query", "hits#", "bytes#", "ms#"],
        [
            (
                entry.query_id,
                f"{entry.asked_at:%Y-%m-%d %H:%M:%S}",
                entry.asked_by,
                "" if entry.principals is None else " ".join(entry.principals),
                entry.query,
                len(entry.hits),
                entry.payload_bytes,
                "" if entry.milliseconds is None else f"{entry.milliseconds:.0f}",
            )
            for entry in entries
        ],
    )


def show(
    session: Session, number: Annotated[int, typer.Argument(metavar="ID", help="Number of an entry, as listed.")]
) -> None:
    """Show a recorded query: its settings, and what came back. The exit code is 3 where there is none.

    \b
    Examples:
      pgsift log show 12
      pgsift log show 12 --json
    """
    with session.store() as store:
        entries = store.queries(session.tenant, ids=[number])
    if not entries:
        session.out.remark(f"no recorded query {number}")
        raise typer.Exit(NOT_FOUND)
    entry = entries[0]
    if session.json:
        session.out.document(entry)
        return
    session.out.record(
        {
            "query": entry.query,
            "asked": f"{entry.asked_at:%Y-%m-%d %H:%M:%S} by {entry.asked_by}",
            "for": "not recorded" if entry.principals is None else " ".join(entry.principals),
            "settings": ", ".join(f"{name}={value}" for name, value in entry.settings.items()) or "defaults",
            "defaults": ", ".join(f"{name}={value}" for name, value in entry.defaults.items()),
            "vector": "no" if entry.query_embedding is None else f"{len(entry.query_embedding)} numbers",
            "texts": "size not recorded"
            if entry.payload_bytes is None
            else f"{entry.payload_bytes:,} bytes, {entry.payload_characters:,} characters",
        }
    )
    session.out.line()
    session.out.table(
        ["rank#", "key", "version#", "chunk#", "score#", "BM25#", "distance#"],
        [
            (
                hit["rank"],
                "(purged)" if hit.get("purged") else hit["key"],
                hit.get("document_version", ""),
                hit.get("chunk_id", ""),
                _number(hit.get("score")),
                _number(hit.get("lexical_score")),
                _number(hit.get("distance")),
            )
            for hit in entry.hits
        ],
    )


def replay(
    session: Session,
    ids: Ids = None,
    k: Number = 100,
    since: Since = None,
    before: Before = None,
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as", metavar="PRINCIPAL", callback=no_empty_name,
            help="Ask for these instead of those it was asked for; repeat for several.",
        ),
    ] = None,
    current_settings: Annotated[
        bool,
        typer.Option(
            "--current-settings",
            help="Where a search left a setting to the tenant, take it as it is now and not as it was then.",
        ),
    ] = False,
    min_overlap: Annotated[
        float | None,
        typer.Option(
            "--min-overlap", metavar="X",
            help="Between 0 and 1: fail only where the rank-biased overlap of then and now is below.",
        ),
    ] = None,
    rerank: Annotated[
        str | None,
        typer.Option("--rerank", metavar="MODEL", help="As in pgsift search; for queries that it reranked."),
    ] = None,
) -> None:
    """Ask recorded queries again, and report what is different now.

    Asked is for whom it was asked then (or --as), with the settings and the vector of then, so that what
    differs comes from the documents. Told of each query is how many hits are where they were (kept), at
    another rank (moved), another chunk of a document that was stored anew (changed), no longer there (gone), there
    for the first time (new), or purged; of how many the scores changed; and how alike the rankings are
    (rank-biased overlap at 0.9 and Jaccard, 1 for equal ones).

    The exit code is 1 if some hit is not where it was (with --min-overlap: if a ranking is less alike), or a query
    could not be asked again; 3 where there is no entry of some number.

    \b
    Examples:
      pgsift log replay
      pgsift log replay 12 13 --json
      pgsift log replay --since 2024-05-31 --min-overlap 0.8
    """  # fmt: skip
    if min_overlap is not None and not 0 <= min_overlap <= 1:
        raise typer.BadParameter("must lie between 0 and 1", param_hint="'--min-overlap'")
    from pgsift.domain.drift import STATUSES
    from pgsift.rerank import load_reranker

    judge = load_reranker(rerank) if rerank is not None else None
    with session.store() as store, session.out.steps() as progress:
        report = store.replay_queries(
            session.tenant,
            k=k if ids is None else len(ids),
            ids=ids,
            since=since,
            before=before,
            principals=as_,
            current_settings=current_settings,
            rerank=judge,
            progress=None if progress is None else lambda done, total: progress("replay", done, total),
        )
    unknown = sorted(set(ids or ()) - {one.query_id for one in report.queries})
    if session.json:
        session.out.document(report)
    else:
        session.out.table(
            ["id#", "query", *(f"{status}#" for status in STATUSES), "rescored#", "Jaccard#", "overlap#"],
            [
                (
                    one.query_id,
                    one.query,
                    *(one.drift.count(status) for status in STATUSES),
                    one.drift.rescored,
                    f"{one.drift.jaccard:.3f}",
                    f"{one.drift.overlap:.3f}",
                )
                for one in report.queries
                if one.drift is not None
            ],
        )
        mean = "" if report.overlap is None else f"; mean overlap {report.overlap:.3f}"
        session.out.line(
            f"{len(report.queries) - report.failed:,} asked again, {report.drifted:,} with other hits or "
            f"ranks{mean}"
        )
    for one in report.queries:
        if one.problem is not None:
            session.out.remark(f"not asked again: {one.query_id}, {safe(one.problem)}")
    for number in unknown:
        session.out.remark(f"no recorded query {number}")
    if unknown:
        raise typer.Exit(NOT_FOUND)
    if min_overlap is None:
        differs = report.drifted > 0
    else:
        differs = any(one.drift is not None and one.drift.overlap < min_overlap for one in report.queries)
    if differs or report.failed:
        raise typer.Exit(PROBLEMS_FOUND)


def purge(
    session: Session,
    ids: Ids = None,
    before: Before = None,
    everything: Annotated[bool, typer.Option("--all", help="All entries.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove recorded queries: those asked before a time, or of some numbers.

    \b
    Examples:
      pgsift log purge --before 2024-01-01 --yes
      pgsift log purge 12 13 --yes
    """
    if sum((bool(ids), before is not None, everything)) != 1:
        raise typer.BadParameter("name entries by their numbers, or pass --before, or --all")
    if not yes:
        what = f"{len(ids):,} entries" if ids else "all entries" if everything else f"all entries before {before}"
        confirm(f"remove {what} of {session.tenant}?")
    with session.store() as store:
        count = store.purge_queries(
            session.tenant, before="9999-01-01" if everything else before, ids=ids or None
        )
    if session.json:
        session.out.document({"removed": count})
    else:
        session.out.line(f"removed {count:,}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


command(app, "list")(listed)
command(app, "show")(show)
command(app, "replay")(replay)
command(app, "purge")(purge)
