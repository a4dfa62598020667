"""``pgsift history`` and ``pgsift audit …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import EVERYTHING, NOT_FOUND, PROBLEMS_FOUND, Session, command, no_empty_name
from pgsift_cli.output import safe

audit = typer.Typer(
    help="Proofs: what is left of a deleted document.", no_args_is_help=True, rich_markup_mode=None
)

Key = Annotated[
    str, typer.Argument(metavar="KEY", help="Key of the document, as printed by pgsift documents.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "history")(history)
    app.add_typer(audit, name="audit")


def history(
    session: Session,
    key: Key,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Print the text as it was at that time, e.g. 2024-05-31 or 2024-05-31T16:30:00+02:00 (UTC "
            "without an offset).",
        ),
    ] = None,
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="PRINCIPAL",
            callback=no_empty_name,
            help="With whose permissions, those of today; repeat for several. Default: everything, which "
            "only those who write may see.",
        ),
    ] = None,
) -> None:
    """List the versions of a document and how it ended, or print its text as it was.

    Where text lay between chunks, the text that is printed is blank.

    \b
    Examples:
      pgsift history handbook/travel.md
      pgsift history handbook/travel.md --at 2024-05-31
      pgsift history handbook/travel.md --as group:staff --json
    """
    with session.store() as store:
        if at is not None:
            found = store.document_at(session.tenant, key, at, principals=as_ or EVERYTHING)
            if session.json:
                session.out.document({"key": key, "at": at, "document": found})
            elif found is not None:
                text = found.text
                session.out.remark(
                    f"version {found.version}, current from {found.current_from:%Y-%m-%d %H:%M:%S%z}"
                    + (f" to {found.current_to:%Y-%m-%d %H:%M:%S%z}" if found.current_to else "")
                )
                if text is None:
                    session.out.remark("its text was not kept")
                else:
                    for line in text.splitlines():
                        session.out.line(safe(line))
            if found is None:
                session.out.remark("no such document at that time")
                raise typer.Exit(NOT_FOUND)
            return
        versions = list(store.document_history(session.tenant, key, principals=as_ or EVERYTHING))
    if session.json:
        session.out.document({"key": key, "versions": versions})
    else:
        session.out.table(
            ["version#", "event", "from", "to", "title", "source version", "by", "reason"],
            [
                (
                    version.version,
                    version.event,
                    f"{version.current_from:%Y-%m-%d %H:%M:%S}",
                    f"{version.current_to:%Y-%m-%d %H:%M:%S}" if version.current_to else None,
                    version.title,
                    version.source_version,
                    version.changed_by,
                    version.reason,
                )
                for version in versions
            ],
        )
    if not versions:
        session.out.remark("no document of this key, or none that may be seen")
        raise typer.Exit(NOT_FOUND)


def deletion(
    session: Session,
    key: Key,
    purged: Annotated[
        bool, typer.Option("--purged", help="That no history is left either, as after pgsift delete --purge.")
    ] = False,
) -> None:
    """Prove that nothing is left of a deleted document.

    Every table is looked at where a trace may lie. The exit code is 0 when nothing is left that a search
    could draw from (with --purged, no history either), 1 when something is, 3 when no document ever had this
    key. Texts that other documents hold too are told, and are no fault.

    \b
    Examples:
      pgsift audit deletion personnel/1042.md
      pgsift audit deletion personnel/1042.md --purged --json
    """
    with session.store() as store:
        findings = list(store.audit_deletion(session.tenant, key))
    kinds = ("search", "history") if purged else ("search",)
    left = [finding for finding in findings if finding.found and finding.kind in kinds]
    known = any(finding.found for finding in findings)
    if session.json:
        session.out.document({"key": key, "clean": known and not left, "findings": findings})
    else:
        session.out.table(
            ["place", "kind", "found#", "note"],
            [(finding.place, finding.kind, finding.found, finding.note) for finding in findings],
        )
        if left:
            session.out.remark(f"left: {', '.join(finding.place for finding in left)}")
    if left:
        raise typer.Exit(PROBLEMS_FOUND)
    if not known:
        session.out.remark("no document was ever stored under this key")
        raise typer.Exit(NOT_FOUND)


command(audit, "deletion")(deletion)
