"""``pgsift related``, ``pgsift facets``, ``pgsift count`` and ``pgsift cite``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pgsift_cli._common import (
    NOT_FOUND,
    All,
    As,
    Mapped,
    Plain,
    Session,
    command,
    no_empty_name,
    principals,
    query_embedder,
)
from pgsift_cli.output import safe
from pgsift_cli.search import Mode, _filter

FilterOption = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="FILTER",
        help="""Which documents, as JSON ('{"metadata.year": {"$gte": 2020}}') or like SQL """
        """("metadata.year >= 2020").""",
    ),
]
Query = Annotated[
    str | None,
    typer.Argument(metavar="[QUERY]", help="As given to pgsift search; left out: everything visible."),
]


class Bucket(StrEnum):
    """How long a piece of time is."""

    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"


class Format(StrEnum):
    """How references are written."""

    bibtex = "bibtex"
    csl_json = "csl-json"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "related")(related)
    command(app, "facets")(facets)
    command(app, "count")(count)
    command(app, "cite")(cite)


def related(
    session: Session,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Key of a document, as printed by pgsift documents.")
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option("--chunk", metavar="N", help="One passage instead of a document: its chunk number."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many hits.")] = 10,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode", metavar="NAME", help="hybrid, lexical or dense: by rare terms and vectors, or by one."
        ),
    ] = Mode.hybrid,
    filter: FilterOption = None,
    per_document: Annotated[
        int, typer.Option("--per-document", metavar="N", help="At most so many of one document; 0: no cap.")
    ] = 1,
    terms: Annotated[
        int, typer.Option("--terms", metavar="N", help="How many of the rarest terms are looked for.")
    ] = 16,
) -> None:
    """Find what lies near a document or one passage: by its vectors and by its rarest terms.

    \b
    Examples:
      pgsift related handbook/travel.md
      pgsift related handbook/travel.md -k 3 --mode lexical --as group:staff
      pgsift related --chunk 42 --json
    """
    if (key is None) == (chunk is None):
        raise typer.BadParameter("name a document by its key, or one passage with --chunk")
    with session.store() as store:
        found = list(
            store.related(
                session.tenant,
                key,
                chunk=chunk,
                k=k,
                principals=principals(as_, all_, mapped),
                filter=_filter(filter),
                mode=mode.value,
                per_document=per_document or None,
                terms=terms,
            )
        )
    if session.json:
        session.out.document({"related": found})
        return
    session.out.table(
        ["rank#", "score#", "key", "title", "section", "by", "shares"],
        [
            (
                hit.rank,
                f"{hit.score:.4f}",
                hit.key,
                hit.title,
                hit.section,
                " ".join(
                    name
                    for name, rank in (("terms", hit.lexical_rank), ("vectors", hit.dense_rank))
                    if rank is not None
                ),
                " ".join(hit.shared_terms),
            )
            for hit in found
        ],
    )
    if not found:
        session.out.remark("nothing related, or no such document that may be seen")


def facets(
    session: Session,
    field: Annotated[
        str,
        typer.Argument(
            metavar="FIELD", help="A field that filters know: kind, language, observed_at, metadata.NAME, …"
        ),
    ],
    query: Query = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many values; 0: all of them.")] = 20,
    bucket: Annotated[
        Bucket | None,
        typer.Option(
            "--bucket", metavar="NAME", help="day, week, month, quarter or year, for a field of time."
        ),
    ] = None,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    filter: FilterOption = None,
    plain: Plain = False,
) -> None:
    """Count the values of a field among what a query matches.

    Exactly those chunks are counted that a lexical search would rank, were it asked for all of them.

    \b
    Examples:
      pgsift facets kind
      pgsift facets metadata.department "sick pay"
      pgsift facets observed_at "pump" --bucket month --json
    """
    with session.store() as store:
        found = store.facets(
            session.tenant,
            field,
            query,
            k=k or None,
            principals=principals(as_, all_, mapped),
            filter=_filter(filter),
            bucket=None if bucket is None else bucket.value,
            plain=plain,
        )
    if session.json:
        session.out.document({"field": field, "facets": found})
        return
    session.out.table(
        [field, "documents#", "chunks#"],
        [("(none)" if one.value is None else one.value, one.documents, one.chunks) for one in found],
    )
    if k and len(found) == k:
        session.out.remark("perhaps there are more values: -k 0 shows all")


def count(
    session: Session,
    query: Query = None,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    filter: FilterOption = None,
    plain: Plain = False,
) -> None:
    """Count what a query matches by words, among what one may see.

    \b
    Examples:
      pgsift count "pump cavitation"
      pgsift count --filter "metadata.year >= 2020" --as group:staff
      pgsift count '"sick pay" -draft' --json
    """
    with session.store() as store:
        found = store.count_matches(
            session.tenant,
            query,
            principals=principals(as_, all_, mapped),
            filter=_filter(filter),
            plain=plain,
        )
    if session.json:
        session.out.document(found)
        return
    session.out.record({"documents": found.documents, "chunks": found.chunks})


def cite(
    session: Session,
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY]...", callback=no_empty_name, help="Keys of documents, as printed by a search."
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="QUERY", help="Cite the documents that this search finds instead."),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", "--k", metavar="N", help="How many hits of the search are cited.")
    ] = 10,
    format: Annotated[
        Format, typer.Option("--format", metavar="NAME", help="bibtex or csl-json.")
    ] = Format.bibtex,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """Write documents as a bibliography, from their titles and metadata; nothing is invented.

    BibTeX needs the extra cite; CSL-JSON, which --json prints too, needs nothing. With --query, of documents that
    have pages, the page of the passage that answers it is told as well: in CSL-JSON as the locator under "custom",
    in BibTeX in a comment.

    \b
    Examples:
      pgsift cite smith2020 "papers/Müller 2021.pdf" > refs.bib
      pgsift cite --query "pump cavitation" -k 5 --format csl-json
    """
    from pgsift.citations import bibtex, located

    if bool(keys) == (query is not None):
        raise typer.BadParameter("name documents by their keys, or a search with --query")
    who = principals(as_, all_, mapped)
    with session.store() as store:
        if query is not None:
            model = query_embedder(session, store, None)
            keys = [
                hit.key for hit in store.search(session.tenant, query, k=k, principals=who, embedder=model)
            ]
        found = store.cite(session.tenant, keys or [], principals=who, query=query)
    missing = sorted(set(keys or []) - {one.key for one in found})
    if session.json or format is Format.csl_json:
        session.out.document([located(one) for one in found])
    elif found:
        for line in bibtex(located(one) for one in found).splitlines():
            session.out.line(safe(line))
    if missing:
        session.out.remark(f"no such document that may be seen: {', '.join(map(repr, missing))}")
    if not found:
        session.out.remark("nothing to cite")
        raise typer.Exit(NOT_FOUND)
