"""``pgsift documents``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, principals


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "documents")(documents)


def documents(
    session: Session,
    prefix: Annotated[str | None, typer.Argument(metavar="[PREFIX]", help="Only keys that begin so.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many.")] = 100,
    after: Annotated[
        str | None, typer.Option("--after", metavar="KEY", help="Go on after this key: the next page.")
    ] = None,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    unranked: Annotated[
        bool,
        typer.Option(
            "--unranked",
            help="Only documents that no search for passages finds: none of their chunks is ranked.",
        ),
    ] = False,
) -> None:
    """List documents by key.

    Those that public may see, or whoever --as names.

    \b
    Examples:
      pgsift documents
      pgsift documents hr/ --as group:hr
      pgsift documents --all -k 1000 --json
      pgsift documents --all --unranked
    """
    who = principals(as_, all_, mapped)
    if unranked:
        if prefix is not None:
            raise typer.BadParameter("--unranked lists documents of any prefix")
        with session.store() as store:
            hidden = list(store.unranked_documents(session.tenant, principals=who, k=k, after=after))
        if session.json:
            session.out.document({"documents": hidden})
            return
        session.out.table(
            ["key", "title", "chunks#", "references#", "kinds"],
            [(i.key, i.title, i.chunks, i.reference_chunks, ", ".join(i.kinds)) for i in hidden],
        )
        return
    with session.store() as store:
        found = list(
            store.documents(
                session.tenant, principals=who, key_prefix=prefix, k=k, after=after
            )
        )
    if session.json:
        session.out.document({"documents": found})
        return
    session.out.table(
        ["key", "title", "version#", "chunks#", "visible to", "updated"],
        [
            (
                item.key,
                item.title,
                item.version,
                item.chunks,
                ", ".join(item.visible_to or ()),
                f"{item.updated_at:%Y-%m-%d %H:%M}",
            )
            for item in found
        ],
    )
    if k and len(found) == k:
        session.out.remark(f"perhaps there are more: --after {found[-1].key}")
