"""``pgsift delete``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, Session, command
from pgsift_cli.output import safe


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "delete")(delete)


def delete(
    session: Session,
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY…", help="Keys of documents, as printed by pgsift documents.")
    ],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Kept with the tombstone.")
    ] = None,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Keep no history either: of the document, a hash of its key, who, when and why are all that "
            "stays. Also of documents deleted earlier.",
        ),
    ] = False,
    missing_ok: Annotated[
        bool, typer.Option("--missing-ok", help="A key without a document is no error.")
    ] = False,
) -> None:
    """Delete documents with everything made of them.

    Their chunks, postings and vectors are gone in one commit; a tombstone stays, and the history where the
    tenant keeps one, unless --purge removes it. "pgsift audit deletion KEY" proves that nothing is left. The
    exit code is 3 when there was no document of some key; the others are deleted.

    \b
    Examples:
      pgsift delete handbook/old.md
      pgsift delete a.md b.md --reason "replaced by c.md"
      pgsift delete personnel/1042.md --purge --reason "request of 2024-05-31"
    """
    from pgsift.models import DeleteResult

    with session.store() as store:
        if purge:
            results = [
                DeleteResult(result.key, result.purged)
                for result in store.purge(session.tenant, keys, reason=reason)
            ]
        else:
            results = list(store.delete(session.tenant, keys, reason=reason))
    if session.json:
        session.out.document({"results": results})
    else:
        for result in results:
            session.out.line(f"{'deleted  ' if result.deleted else 'not there'}  {safe(result.key)}")
    if not missing_ok and not all(result.deleted for result in results):
        raise typer.Exit(NOT_FOUND)
