"""``pgsift claims …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, principals
from pgsift_cli._records import read_records

app = typer.Typer(
    help="Claims: short assertions of a document, with the passages that bear them out.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; - reads standard input.")],
) -> None:
    """Add claims to documents that are stored.

    Each line is an object with the key of the document, the body of the claim, and supports, the numbers of
    the chunks that bear it out, counted from 0; and perhaps evidence_span, a verbatim quotation of one of
    them, effect, section, page and entities:

    \b
      {"key": "papers/pumps.md", "body": "Noise doubles the wear.", "supports": [2]}

    A claim that its sources do not bear out is an error, and nothing of its document is stored; one that is
    there already is left alone.

    \b
    Examples:
      pgsift claims add claims.jsonl
      cat claims.jsonl | pgsift claims add -
    """
    with session.store() as store:
        found = [
            {"key": key, **one.to_dict()}
            for key, claims in read_records(file).items()
            for one in store.put_claims(session.tenant, key, claims)
        ]
    if session.json:
        session.out.document({"claims": found})
        return
    created = sum(one["status"] == "created" for one in found)
    session.out.line(f"{created} created, {len(found) - created} unchanged")


def list_(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the document.")],
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
) -> None:
    """List the claims of a document, with their sources.

    \b
    Examples:
      pgsift claims list papers/pumps.md
      pgsift claims list papers/pumps.md --as group:staff --json
    """
    with session.store() as store:
        found = store.claims(session.tenant, key, principals=principals(as_, all_, mapped))
    if session.json:
        session.out.document({"key": key, "claims": found})
        return
    session.out.table(
        ["claim", "level", "sources", "quotation"],
        [
            (
                one.body,
                one.source_level or "",
                ", ".join(str(source["ordinal"]) for source in one.sources or ()),
                one.evidence_span or "",
            )
            for one in found
        ],
    )
    if not found:
        session.out.remark("no claims, or no such document that may be seen")


command(app, "add")(add)
command(app, "list")(list_)
