"""``pgsift doctor`` and ``pgsift repair``: what is wrong with a store, and mending it."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import PROBLEMS_FOUND, Session, command
from pgsift_cli.output import safe

app = typer.Typer(rich_markup_mode=None)


def doctor(
    session: Session,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Tenant to look at. Default: all of them.")
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=1, metavar="N", help="How many chunks of each tenant to look at.")
    ] = 1000,
    full: Annotated[
        bool, typer.Option("--full", help="Count everything: exact, and about a millisecond a chunk.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended without a loss, then look again.")
    ] = False,
) -> None:
    """Look a store over: statistics, postings, references, indexes, rights, server. Each finding comes with
    the command that mends it; docs/operations.md explains them one by one.

    The exit code is 0 when nothing is worse than an info, and 1 when there are warnings or errors.

    \b
    Examples:
      pgsift doctor
      pgsift doctor --tenant acme --full
      pgsift doctor --fix --dsn postgresql://admin@db/app
      pgsift doctor --json
    """
    with session.store() as store:
        report = store.doctor(tenant, sample=None if full else sample, fix=fix)
    if session.json:
        session.out.document({"healthy": report.healthy} | report.to_dict())
    else:
        for done in report.mended:
            outcome = "done" if done.failure is None else f"failed: {safe(done.failure)}"
            session.out.line(f"mended\t{safe(done.check_name)}\t{safe(done.action)}\t{outcome}")
        for finding in report.findings:
            where = f"{finding.tenant_name}: {finding.object}" if finding.tenant_name else finding.object
            words = (finding.severity, finding.check_name, where, finding.finding)
            session.out.line("\t".join(map(safe, words)))
            also = finding.safe_fix and not finding.remedy.startswith("pgsift doctor")
            session.out.line(f"\t{'--fix, or' if also else 'to do:'} {safe(finding.remedy)}")
        if not report.findings:
            session.out.line("nothing wrong")
    if not report.healthy:
        raise typer.Exit(PROBLEMS_FOUND)


def repair(session: Session) -> None:
    """Mend what is derived in a tenant, from its documents: postings, statistics, references.

    In steps that are committed one by one; interrupted, it can be run again. Searches and ingests go on
    meanwhile. pgsift doctor says when it is needed.

    \b
    Example:
      pgsift repair --tenant acme
    """
    with session.store() as store:
        mended = store.repair(session.tenant)
    if session.json:
        session.out.document([item.to_dict() for item in mended])
        return
    for item in mended:
        session.out.line(f"{safe(item.step)}\t{safe(item.object)}\t{safe(item.mended)}")
    if not mended:
        session.out.line("nothing wrong")


def register(root: typer.Typer) -> None:
    """Add the commands of this module."""
    root.add_typer(app, name="doctor")
    command(root, "repair")(repair)


command(app, "doctor", tenant=False, group=True)(doctor)
