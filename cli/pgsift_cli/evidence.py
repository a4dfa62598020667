"""``pgsift evidence``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, All, As, Mapped, Session, command, principals


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "evidence")(evidence)


def evidence(
    session: Session,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Key of the document, as printed by pgsift search.")
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    windows: Annotated[
        int, typer.Option("--windows", metavar="N", min=1, max=50, help="How many passages at most.")
    ] = 2,
    width: Annotated[
        int, typer.Option("--width", metavar="N", min=20, max=4000, help="Characters of each.")
    ] = 600,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="TIME",
            help="The document as it was at that time, e.g. 2024-05-31 or 2024-05-31T16:30:00+02:00 (UTC "
            "without an offset), with today's permissions.",
        ),
    ] = None,
) -> None:
    """Print the passages of one document that answer a query, with page, section and place.

    Those with the most words of the query, in the order of the text; a table that one touches is printed
    whole, up to 4,000 characters. Where no word of the query occurs, the beginning of the text.

    \b
    Examples:
      pgsift evidence papers/pumps.pdf "failure of pumps"
      pgsift evidence handbook/travel.md "sick pay" --as group:staff --windows 5 --width 300
      pgsift evidence papers/pumps.pdf "failure of pumps" --json
    """
    who = principals(as_, all_, mapped)
    with session.store() as store:
        found = store.evidence(
            session.tenant, key, query, windows=windows, width=width, principals=who, as_of=as_of
        )
    if session.json:
        session.out.document({"key": key, "query": query, "evidence": found})
    else:
        session.out.evidence(key, found)
    if not found:
        session.out.remark("no document of this key, or none that may be seen")
        raise typer.Exit(NOT_FOUND)
