"""``pgsift doctor acl``: does the store show anybody what he may not see?"""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli import doctor
from pgsift_cli._common import PROBLEMS_FOUND, Session, command
from pgsift_cli.output import safe


def acl(
    session: Session,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Tenant to look at. Default: all of them.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, metavar="S", help="How long to go on asking.")
    ] = 10.0,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Ask the same questions as the run that had it.")
    ] = None,
) -> None:
    """Search as random principals and compare what comes back with the access lists.

    Those in use, unknown ones, combinations and groups are asked for through every function that takes
    principals, and mapped database roles through the views. Reported are documents, texts, scores and counts
    that should not have come back, and documents that should have. Nothing is written; a store in use can be
    examined. The login has to be a writer; superusers and the owner of the schema examine the most.

    The exit code is 0 when nothing was found, and 1 otherwise.

    \b
    Examples:
      pgsift doctor acl
      pgsift doctor acl --tenant acme --seconds 60
      pgsift doctor acl --seed 7 --json
    """
    from pgsift import doctor_acl

    report = doctor_acl.fuzz(session.server_dsn(), tenant=tenant, seconds=seconds, seed=seed)
    if session.json:
        session.out.document(report.to_dict())
    else:
        for found in report.findings:
            names = ", ".join(found.principals or ()) or "no principals"
            who = f"role {found.role}" if found.role else names
            session.out.line("\t".join(map(safe, (found.tenant, found.function, f"[{who}]", found.problem))))
        done = f"{report.calls} calls in {report.rounds} rounds, seed {report.seed}"
        partly = "" if report.from_tables else "; access lists as writers are told, mapped roles not examined"
        session.out.line(f"{len(report.findings)} findings; {done}{partly}")
    if not report.clean:
        raise typer.Exit(PROBLEMS_FOUND)


command(doctor.app, "acl", tenant=False)(acl)
