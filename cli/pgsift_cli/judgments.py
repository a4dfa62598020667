"""``pgsift judgments …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, All, As, Session, command, principals
from pgsift_cli.output import safe

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Judgments: how well passages and documents answer queries.",
)

Judge = Annotated[str | None, typer.Option("--judge", metavar="NAME", help="Of one judge alone.")]


def listed(
    session: Session,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="QUERY", help="For a query; case, width and white space do not count."),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Of a document.")] = None,
    judge: Judge = None,
    as_: As = None,
    all_: All = False,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many, the last first.")] = 20,
    below: Annotated[
        int | None, typer.Option("--below", metavar="ID", help="Only those with a lower number: the next page.")
    ] = None,
) -> None:
    """List judgments of documents that may be seen, the last first, with what became of the passage.

    document: the document as a whole was judged. passage: it is there, word for word. text: the document is as it
    was and cut otherwise. changed: the passage is not in it any more. gone: the document is not there, which
    --all alone tells.

    \b
    Examples:
      pgsift judgments list
      pgsift judgments list --query "pump recall" --as group:staff --json
      pgsift judgments list --key papers/pumps.pdf --judge anna
    """
    who = principals(as_, all_, False)
    with session.store() as store:
        found = store.judgments(
            session.tenant, principals=who, query=query, key=key, judged_by=judge, k=k, below=below
        )
    if session.json:
        session.out.document({"judgments": found})
        return
    session.out.table(
        ["id#", "grade#", "query", "key", "chunk#", "page#", "place", "by", "at", "note"],
        [
            (
                one.judgment_id,
                one.grade,
                one.query,
                one.key,
                one.chunk_id,
                one.page,
                one.place,
                one.judged_by,
                f"{one.judged_at:%Y-%m-%d %H:%M}",
                one.note or "",
            )
            for one in found
        ],
    )


def add(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The query that is to be answered.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the document.")],
    grade: Annotated[
        int,
        typer.Argument(metavar="GRADE", min=0, max=3, help="0 not relevant, 1 related, 2 relevant, 3 answers it."),
    ],
    chunk: Annotated[
        int | None,
        typer.Option("--chunk", metavar="N", help="The passage: number of a chunk. Default: the whole document."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Who judges. Default: the database login.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why.")] = None,
    as_: As = None,
    all_: All = False,
) -> None:
    """Record how well a passage, or a document, answers a query. A judge's former judgment of it is replaced.

    \b
    Examples:
      pgsift judgments add "pump recall" papers/pumps.pdf 2
      pgsift judgments add "pump recall" papers/pumps.pdf 3 --chunk 4711 --judge anna --note "names the batch"
      pgsift judgments add "sick pay" handbook/travel.md 0 --as group:staff --json
    """
    who = principals(as_, all_, False)
    with session.store() as store:
        number = store.judge(
            session.tenant, query, key, grade, chunk=chunk, principals=who, judged_by=judge, note=note
        )
    if session.json:
        session.out.document({"judgment_id": number})
    else:
        session.out.line(f"judgment {number}")


def remove(
    session: Session,
    numbers: Annotated[list[int], typer.Argument(metavar="ID…", help="Numbers of judgments, as listed.")],
    as_: As = None,
    all_: All = False,
) -> None:
    """Take judgments back. The exit code is 3 where there is none of some number that may be seen.

    \b
    Examples:
      pgsift judgments remove 12 13
      pgsift judgments remove 12 --all --json
    """
    who = principals(as_, all_, False)
    with session.store() as store:
        removed = [n for n in numbers if store.remove_judgment(session.tenant, n, principals=who)]
    if session.json:
        session.out.document({"removed": removed})
    else:
        session.out.line(f"removed {len(removed):,}")
    for number in numbers:
        if number not in removed:
            session.out.remark(f"no judgment {number}, or none that may be seen")
    if len(removed) < len(set(numbers)):
        raise typer.Exit(NOT_FOUND)


def export(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that is not there yet, or is empty.")],
    judge: Judge = None,
    judged_only: Annotated[
        bool,
        typer.Option(
            "--judged-only",
            help="Write the judged documents alone. Among them searches look better than they are.",
        ),
    ] = False,
    as_: As = None,
    all_: All = False,
) -> None:
    """Make a collection for pgsift evaluate and pgsift tune of what was judged: queries, grades, and the documents
    that may be seen.

    A document's grade is what it was given as a whole, else the best that a passage of it was given; of several
    judges the lower median counts.

    \b
    Examples:
      pgsift judgments export judged
      pgsift judgments export judged-by-anna --judge anna --as group:staff --json
    """
    from pgsift.evaluate.judged import export_judgments

    who = principals(as_, all_, False)
    with session.store() as store:
        made = export_judgments(
            store, session.tenant, folder, principals=who, judged_by=judge, judged_only=judged_only
        )
    if session.json:
        session.out.document(made)
        return
    session.out.line(
        f"{safe(made.folder)}: {made.queries:,} queries, {made.judgments:,} judged documents, "
        f"{made.documents:,} documents"
    )
    if made.left_out:
        session.out.remark(f"left out: {made.left_out:,} judgments of passages that are not there any more")


command(app, "list")(listed)
command(app, "add")(add)
command(app, "remove")(remove)
command(app, "export")(export)
