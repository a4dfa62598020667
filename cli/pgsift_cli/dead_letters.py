"""``pgsift dead-letters …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, SOME_FAILED, Session, command, model_embedder
from pgsift_cli.ingest import remarks

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
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder", metavar="MODEL", help="As in pgsift ingest. Default: that of the run a letter is of."
    ),
]
_ALL = 2**31 - 1


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
    session: Session, ids: Ids = None, everything: Everything = False, embedder: EmbedderName = None
) -> None:
    """Read the sources of dead letters again, with the options of the run they failed in.

    A letter whose source is ingested now goes; one that fails again stays and is counted up, and the exit
    code is 7. It is 3 where there is no letter of some number; the others are retried. What came from
    standard input or from a program cannot be read again.

    \b
    Examples:
      pgsift dead-letters retry --all
      pgsift dead-letters retry 12 13 --embedder none
    """
    chosen = _chosen(ids, everything)
    from pgsift.models import RetryReport

    reports = []
    with session.store() as store, session.out.progress() as progress:
        letters = store.dead_letters(session.tenant, k=_ALL, ids=chosen)
        by_model: dict[str | None, list[int]] = {}
        for letter in letters:
            model = embedder if embedder is not None else (letter.parameters or {}).get("model")
            by_model.setdefault(model, []).append(letter.dead_letter_id)
        for model, numbers in by_model.items():
            reports.append(
                store.retry_dead_letters(
                    session.tenant,
                    numbers,
                    embedder=None if model in (None, "none") else model_embedder(store, model),
                    progress=progress,
                )
            )
    report = RetryReport(
        sum(part.retried for part in reports),
        sum(part.mended for part in reports),
        sum(part.failed for part in reports),
        tuple(number for part in reports for number in part.not_retried),
        tuple(run for part in reports for run in part.reports),
    )
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
    unknown = _unknown(session, chosen, [letter.dead_letter_id for letter in letters])
    if report.failed or unknown:
        raise typer.Exit(SOME_FAILED if report.failed else NOT_FOUND)


def clear(session: Session, ids: Ids = None, everything: Everything = False) -> None:
    """Forget dead letters: what failed stays missing and is listed no more.

    The exit code is 3 when there is no letter of some number; the others are forgotten.

    \b
    Examples:
      pgsift dead-letters clear 12
      pgsift dead-letters clear --all
    """
    chosen = _chosen(ids, everything)
    with session.store() as store:
        found = [letter.dead_letter_id for letter in store.dead_letters(session.tenant, k=_ALL, ids=chosen)]
        count = store.clear_dead_letters(session.tenant, found)
    if session.json:
        session.out.document({"cleared": count})
    else:
        session.out.line(f"cleared {count:,}")
    if _unknown(session, chosen, found):
        raise typer.Exit(NOT_FOUND)


def _unknown(session: Session, chosen: list[int] | None, found: list[int]) -> bool:
    """Whether there is no letter of some number that was named, which is told."""
    unknown = sorted(set(chosen or ()) - set(found))
    for number in unknown:
        session.out.remark(f"no dead letter {number}")
    return bool(unknown)


def _chosen(ids: list[int] | None, everything: bool) -> list[int] | None:
    if bool(ids) == everything:
        raise typer.BadParameter("name letters by their numbers, or pass --all")
    return ids or None


command(app, "dead-letters", group=True)(dead_letters)
command(app, "list")(listed)
command(app, "retry")(retry)
command(app, "clear")(clear)
