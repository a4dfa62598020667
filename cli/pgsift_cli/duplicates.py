"""``pgsift duplicates …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, principals
from pgsift_cli.output import safe

app = typer.Typer(
    help="Near-duplicates: documents of the same text, or nearly.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def find(
    session: Session,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            metavar="X",
            help="Share of common runs of five words from which on two texts are near-duplicates.",
        ),
    ] = 0.8,
) -> None:
    """Look for near-duplicates and put them into clusters.

    Only what is new or changed is looked at, unless the threshold is another one; interrupted, it goes on
    where it was. Needs: pip install 'pgsift[dedup]'

    \b
    Examples:
      pgsift duplicates find
      pgsift duplicates find --threshold 0.9 --json
    """
    with session.store() as store, session.out.steps() as progress:
        report = store.find_duplicates(session.tenant, threshold=threshold, progress=progress)
    if session.json:
        session.out.document(report)
        return
    session.out.line(f"documents:  {report.documents:,}, of these {report.signed:,} new or changed")
    session.out.line(f"compared:   {report.compared:,} pairs, {report.resembling:,} resemble each other")
    session.out.line(
        f"clusters:   {report.clusters:,} with {report.copies:,} copies, {report.revisions:,} revisions, "
        f"{report.syndicated:,} syndicated"
    )
    session.out.line(f"time:       {report.seconds:.1f} s")


def list_(
    session: Session,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many clusters.")] = 100,
    after: Annotated[
        int, typer.Option("--after", metavar="CLUSTER", help="Begin after this cluster: the next page.")
    ] = 0,
) -> None:
    """List the clusters of near-duplicates, whoever may see the documents.

    The first of each cluster, with neither relation nor similarity, is its representative: the document
    observed first.

    \b
    Examples:
      pgsift duplicates list
      pgsift duplicates list -k 20 --after 1042 --json
    """
    with session.store() as store:
        found = store.clusters(session.tenant, k=k, after=after)
    if session.json:
        session.out.document({"members": found})
        return
    session.out.table(
        ["cluster#", "relation", "similarity#", "key", "source"],
        [
            (
                item.cluster_id,
                item.relation or "",
                "" if item.representative else f"{item.similarity:.3f}",
                item.key,
                item.source_uri or "",
            )
            for item in found
        ],
    )
    if k and len({item.cluster_id for item in found}) == k:
        session.out.remark(f"perhaps there are more: --after {found[-1].cluster_id}")


def show(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the document.")],
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """Show the near-duplicates of a document, of those that public may see, or whoever --as names.

    \b
    Examples:
      pgsift duplicates show news/2024/pumps.html
      pgsift duplicates show contracts/lease-v2.txt --as group:legal --json
    """
    with session.store() as store:
        found = store.near_duplicates(session.tenant, key, principals=principals(as_, all_, mapped))
    if session.json:
        session.out.document({"near_duplicates": found})
        return
    session.out.table(
        ["relation", "similarity#", "key", "source", "observed"],
        [
            (
                item.relation,
                f"{item.similarity:.3f}",
                item.other_key,
                item.source_uri or "",
                f"{item.observed_at:%Y-%m-%d}",
            )
            for item in found
        ],
    )
    if not found:
        session.out.remark(f"no near-duplicates of {safe(key)}")


command(app, "find")(find)
command(app, "list")(list_)
command(app, "show")(show)
