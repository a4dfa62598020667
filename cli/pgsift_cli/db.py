"""``pgsift db …``: the schema in a database."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import PROBLEMS_FOUND, Session, command, confirm
from pgsift_cli.output import safe

app = typer.Typer(
    help="The schema sift in a database: install, upgrade, inspect.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def upgrade(
    session: Session,
    revision: Annotated[str, typer.Argument(metavar="[REVISION]", help="Revision to upgrade to.")] = "head",
) -> None:
    """Install the schema, or bring it to a newer revision. Repeating it is harmless.

    \b
    Examples:
      pgsift db upgrade --dsn postgresql://admin@db/app
      PGSIFT_DSN=service=app pgsift db upgrade
    """
    from pgsift import schema

    found = schema.upgrade(session.server_dsn(), revision)
    if session.json:
        session.out.document({"revision": found})
    else:
        session.out.line(f"the schema is at revision {found}")


def downgrade(
    session: Session,
    revision: Annotated[
        str,
        typer.Argument(
            metavar="REVISION", help="Revision to go back to; base removes the schema and its data."
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Bring the schema back to an older revision, or remove it.

    \b
    Examples:
      pgsift db downgrade 0001
      pgsift db downgrade base --yes
    """
    from pgsift import schema

    if not yes:
        what = (
            "Remove the schema sift and all documents in it?"
            if revision == "base"
            else f"Go back to revision {safe(revision)}?"
        )
        confirm(what)
    found = schema.downgrade(session.server_dsn(), revision)
    if session.json:
        session.out.document({"revision": found})
    else:
        session.out.line(
            f"the schema is at revision {found}" if found else "the schema is not installed any more"
        )


def status(session: Session) -> None:
    """Print the revision of the schema and the versions it stands on.

    \b
    Example:
      pgsift db status
    """
    from pgsift import schema

    found = schema.status(session.server_dsn())
    values = {
        "database": found.database,
        "postgresql": found.server_version,
        "pgvector": found.vector_version,
        "revision": found.current,
        "newest": found.head,
        "up_to_date": found.up_to_date,
        "pending": list(found.pending),
    }
    if session.json:
        session.out.document(values)
        return
    session.out.record(
        values | {
            "pgvector": f"{found.vector_version} in the schema {found.vector_schema}"
            if found.vector_version
            else "not installed",
            "revision": found.current or "not installed",
            "up_to_date": "yes" if found.up_to_date else "no: pgsift db upgrade",
            "pending": ", ".join(found.pending) or "none",
        }
    )  # fmt: skip


def check(session: Session) -> None:
    """Compare the schema with what it should be; the exit code is 1 when something is wrong.

    \b
    Example:
      pgsift db check
    """
    from pgsift import schema

    problems = schema.check(session.server_dsn())
    if session.json:
        session.out.document({"problems": problems})
    else:
        for problem in problems:
            session.out.line(safe(problem))
        if not problems:
            session.out.line("nothing wrong")
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)


def sql(
    session: Session,
    start: Annotated[
        str | None, typer.Option("--from", metavar="REVISION", help="What is installed. Default: nothing.")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="REVISION", help="Where to go; an older one gives the way back.")
    ] = "head",
) -> None:
    """Print the statements of an upgrade or a downgrade, to be run by hand. Needs no database.

    \b
    Examples:
      pgsift db sql | psql -X -v ON_ERROR_STOP=1
      pgsift db sql --from 0001 --to base
    """
    from pgsift import schema

    text = schema.render_sql(start, to)
    if session.json:
        session.out.document({"sql": text})
    else:
        session.out.line(text.rstrip("\n"))


for _name, _function in (
    ("upgrade", upgrade),
    ("downgrade", downgrade),
    ("status", status),
    ("check", check),
):
    command(app, _name, tenant=False)(_function)
command(app, "sql", tenant=False, connection=False)(sql)
