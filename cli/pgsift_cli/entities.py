"""``pgsift entities …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, no_empty_name, principals
from pgsift_cli._records import read_records

app = typer.Typer(
    help="Entities: names of things that chunks mention, to filter by.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; - reads standard input.")]


def add(session: Session, file: File) -> None:
    """Add mentions of entities to documents that are stored.

    Each line is an object with the key of the document, the number of a chunk, counted from 0, and names:

    \b
      {"key": "papers/pumps.md", "ordinal": 2, "entities": ["pump", "impeller"]}

    \b
    Example:
      pgsift entities add mentions.jsonl
    """
    with session.store() as store:
        number = sum(
            store.put_entities(session.tenant, key, mentions) for key, mentions in read_records(file).items()
        )
    if session.json:
        session.out.document({"added": number})
    else:
        session.out.line(f"{number} added")


def remove(session: Session, file: File) -> None:
    """Take mentions away again, those of a file like that of: pgsift entities add.

    \b
    Example:
      pgsift entities remove mentions.jsonl
    """
    with session.store() as store:
        number = sum(
            store.remove_entities(session.tenant, key, mentions)
            for key, mentions in read_records(file).items()
        )
    if session.json:
        session.out.document({"removed": number})
    else:
        session.out.line(f"{number} removed")


def list_(
    session: Session,
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="As given to pgsift search; left out: everything visible."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many; 0: all of them.")] = 20,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """List the entities that what a query matches mentions, those of most documents first.

    \b
    Examples:
      pgsift entities list
      pgsift entities list "sick pay" --as group:staff -k 0
    """
    with session.store() as store:
        found = store.facets(
            session.tenant, "entity", query, k=None if k == 0 else k + 1, principals=principals(as_, all_, mapped)
        )
    found = [one for one in found if one.value is not None]
    found = found[:k] if k else found
    if session.json:
        session.out.document({"entities": found})
    else:
        session.out.table(
            ["entity", "documents#", "chunks#"], [(one.value, one.documents, one.chunks) for one in found]
        )


def search(
    session: Session,
    entity: Annotated[
        str,
        typer.Argument(metavar="ENTITY", help="Its name, letter by letter.", callback=no_empty_name),
    ],
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", min=1, help="How many chunks.")] = 20,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """List the chunks that mention an entity, in the order of keys and of the text.

    \b
    Examples:
      pgsift entities search impeller
      pgsift entities search impeller --as group:staff -k 5 --json
    """
    with session.store() as store:
        found = store.chunks_by_entity(
            session.tenant, entity, k=k, principals=principals(as_, all_, mapped)
        )
    if session.json:
        session.out.document({"entity": entity, "chunks": found})
    else:
        session.out.table(
            ["key", "chunk#", "kind", "text"], [(one.key, one.ordinal, one.kind, one.body) for one in found]
        )


command(app, "add")(add)
command(app, "remove")(remove)
command(app, "list")(list_)
command(app, "search")(search)
