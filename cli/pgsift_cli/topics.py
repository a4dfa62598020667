"""``pgsift topics …``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, principals
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift.models import Topic

app = typer.Typer(rich_markup_mode=None)


def topics(
    session: Session,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="Write topics, terms and documents to this file, as JSON."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the documents into this PNG file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page to look through; it is one file and loads nothing."
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="The same seed, documents and versions give the same topics."
        ),
    ] = 42,
    neighbors: Annotated[
        int | None,
        typer.Option(
            "--neighbors",
            metavar="N",
            help="Neighbours of a document that are looked at: few for finer topics, many for the large "
            "picture. Default: the square root of the number of documents, at most 15.",
        ),
    ] = None,
    min_size: Annotated[
        int | None,
        typer.Option(
            "--min-size",
            metavar="N",
            help="Documents that make a topic at least. Default: 2 of up to 19 documents, to 15 of 260.",
        ),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Keep the documents' vectors in the user's cache directory for the next run, or neither read "
            "nor write them there.",
        ),
    ] = True,
) -> None:
    """Find topics, and store them in place of the last ones.

    UMAP and HDBSCAN over one vector per document: the mean of its chunks' vectors. Needs at least two
    documents with vectors, and: pip install 'pgsift[topics]'. That all documents are outliers is an answer
    too. Files that are written speak of every document, whoever may see it.

    \b
    Examples:
      pgsift topics
      pgsift topics --output topics.json --plot topics.png --html topics.html
      pgsift topics --seed 7 --min-size 5 --json
    """  # fmt: skip
    with session.store() as store, session.out.steps() as progress:
        report = store.find_topics(
            session.tenant, seed=seed, neighbors=neighbors, min_size=min_size, cache=cache, progress=progress
        )
        if progress is not None and (plot or html):
            progress("draw", 0, None)
        if output is not None:
            from pgsift.topics import write_json

            write_json(report, output)
        if plot is not None:
            from pgsift.topic_pictures import write_png

            write_png(report, plot)
        if html is not None:
            from pgsift.topic_pictures import write_html

            write_html(report, html, title=f"Topics of {session.tenant}")
    if session.json:
        session.out.document(report)
        return
    run = report.run
    session.out.line(f"documents:  {run.documents:,}, {run.outliers:,} of them outliers")
    session.out.line(f"topics:     {run.topics:,}")
    session.out.line(f"model:      {run.model}, vectors of {report.cached:,} documents from the cache")
    session.out.line(f"time:       {report.seconds:.1f} s")
    _table(session, report.topics)
    if report.without_vector:
        session.out.remark(f"{report.without_vector:,} documents have no vector, and no topic")
    for written in (output, plot, html):
        if written is not None:
            session.out.remark(f"written: {safe(written)}")


def list_(
    session: Session,
    terms: Annotated[int, typer.Option("--terms", metavar="N", help="Terms of each topic.")] = 6,
    documents: Annotated[
        int, typer.Option("--documents", metavar="N", help="Representative documents of each topic.")
    ] = 1,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """List the topics of what public may see, or whoever --as names.

    Numbers, terms and documents are of these documents alone.

    \b
    Examples:
      pgsift topics list
      pgsift topics list --as group:legal --terms 10 --json
      pgsift topics list --all
    """
    with session.store() as store:
        found = store.topics(
            session.tenant, principals=principals(as_, all_, mapped), terms=terms, documents=documents
        )
    if session.json:
        session.out.document({"topics": found})
        return
    _table(session, found)
    if not found:
        session.out.remark("no topics: pgsift topics finds them")


def show(
    session: Session,
    topic: Annotated[int, typer.Argument(metavar="TOPIC", help="Number of the topic.")],
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many documents.")] = 20,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """Show the documents of a topic that public may see, or whoever --as names, the nearest to its centre first.

    The outliers are topic -1: put -- before it.

    \b
    Examples:
      pgsift topics show 3
      pgsift topics show 3 -k 100 --as user:1042 --json
      pgsift topics show --all -- -1
    """
    with session.store() as store:
        found = store.document_topics(
            session.tenant, topic=topic, k=k, principals=principals(as_, all_, mapped)
        )
    if session.json:
        session.out.document({"documents": found})
        return
    session.out.table(
        ["key", "title", "strength#", "distance#"],
        [
            (
                item.key,
                item.title or "",
                "" if item.strength is None else f"{item.strength:.2f}",
                "" if item.distance is None else f"{item.distance:.3f}",
            )
            for item in found
        ],
    )
    if not found:
        session.out.remark(f"no documents in topic {topic}")


def _table(session: Session, found: Sequence[Topic]) -> None:
    session.out.table(
        ["topic#", "documents#", "terms", "nearest"],
        [
            (
                "-" if item.topic < 0 else item.topic,
                item.documents,
                " ".join(item.terms),
                (item.titles[0] or item.keys[0]) if item.keys and item.topic >= 0 else "",
            )
            for item in found
        ],
    )


command(app, "topics", group=True)(topics)
command(app, "list")(list_)
command(app, "show")(show)
