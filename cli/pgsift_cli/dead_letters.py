"""``pgsift dead-letters …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import SOME_FAILED, Session, command, document_embedder
from pgsift_cli.ingest import EmbedderName, remarks

app = typer.Typer(rich_markup_mode=None)

Number = Annotated[int, typer.Option("-k", metavar="N", help="How many, the last to fail first.")]
Run = Annotated[
    int | None, typer.Option("--run", metavar="ID", help="Of those that failed in this ingest run alone.")
]
Ids = Annotated[
    list[int] | None,
    typer.Argument(metavar="[ID]…", help="Numbers of letters, as listed.", show_default=False),
]
Everything = Annotated[bool, typer.Option("--all", help="All letters.")]


def dead_letters(session: Session, k: Number = 20, run: Run = None) -> None:
    """List what could not be ingested, and why; the commands below read it again or forget it.

    \b
    Examples:
      pgsift dead-letters
      pgsift dead-letters retry --all
    """
    listed(session, k, run)


def listed(session: Session, k: Number = 20, run: Run = None) -> None:
    """List what could not be ingested and is missing, and why.

    A source has one letter, however often it failed. The letter goes when the source is ingested.

    \b
    Examples:
      pgsift dead-letters list
      pgsift dead-letters list --run 12 --json
    """
    with session.store() as store:
        letters = store.dead_letters(session.tenant, k=k, run_id=run)
    if session.json:
        session.out.document({"dead_letters": list(letters)})
        return
    session.out.table(
        ["id#", "run#", "source", "stage", "reason", "failed#", "last"],
        [
            (
                letter.dead_letter_id,
                letter.run_id,
                letter.key or letter.source_uri,
                letter.stage,
                letter.reason,
                letter.failures,
                f"{letter.failed_at:%Y-%m-%d %H:%M:%S}",
            )
            for letter in letters
        ],
    )


def retry(
    session: Session, ids: Ids = None, everything: Everything = False, embedder: EmbedderName = "minilm"
) -> None:
    """Read the sources of dead letters again, with the options of the run they failed in.

    A letter whose source is ingested now goes; one that fails again stays and is counted up, and the exit
    code is 7. What came from standard input or from a program cannot be read again.

    \b
    Examples:
      pgsift dead-letters retry --all
      pgsift dead-letters retry 12 13 --embedder none
    """
    chosen = _chosen(ids, everything)
    model = document_embedder(embedder)
    with session.store() as store, session.out.progress() as progress:
        report = store.retry_dead_letters(session.tenant, chosen, embedder=model, progress=progress)
    if session.json:
        session.out.document(report)
    else:
        session.out.record(
            {
                "mended": f"{report.mended:,}",
                "failed again": f"{report.failed:,}",
                "not retried": f"{len(report.not_retried):,}",
            }
        )
        for run in report.reports:
            remarks(session, run)
            for failure in run.failures:
                session.out.remark(
                    f"failed: {failure.key or failure.source_uri or '?'} ({failure.stage}): {failure.reason}"
                )
        if report.not_retried:
            session.out.remark("letters that came from no file are not retried; ingest their sources again")
    if report.failed:
        raise typer.Exit(SOME_FAILED)


def clear(session: Session, ids: Ids = None, everything: Everything = False) -> None:
    """Forget dead letters: what failed stays missing and is listed no more.

    \b
    Examples:
      pgsift dead-letters clear 12
      pgsift dead-letters clear --all
    """
    chosen = _chosen(ids, everything)
    with session.store() as store:
        if chosen is None:
            chosen = [letter.dead_letter_id for letter in store.dead_letters(session.tenant, k=2**31 - 1)]
        count = store.clear_dead_letters(session.tenant, chosen)
    if session.json:
        session.out.document({"cleared": count})
    else:
        session.out.line(f"cleared {count:,}")


def _chosen(ids: list[int] | None, everything: bool) -> list[int] | None:
    if bool(ids) == everything:
        raise typer.BadParameter("name letters by their numbers, or pass --all")
    return ids or None


command(app, "dead-letters", group=True)(dead_letters)
command(app, "list")(listed)
command(app, "retry")(retry)
command(app, "clear")(clear)
