"""``pgsift server …``: the embedded PostgreSQL."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from pgsift_cli._common import NO_SERVER, Session, command
from pgsift_cli.output import safe

app = typer.Typer(
    help="The embedded PostgreSQL server: start, stop, look, psql.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _installed(session: Session) -> None:
    """Start the embedded server where it does not run, with schema and default tenant."""
    session.dsn = None
    with session.store() as store:
        store.tenants()  # a store connects at its first call


def start(session: Session) -> None:
    """Start the server unless it runs, install the schema, and print the DSN.

    Other commands do this by themselves.

    \b
    Examples:
      pgsift server start
      psql "$(pgsift server start)"
    """
    _installed(session)
    from pgsift import server

    dsn = server.ensure_running(session.home)
    if session.json:
        session.out.document({"dsn": dsn})
    else:
        session.out.line(safe(dsn))


def stop(session: Session) -> None:
    """Stop the server, ending its sessions.

    \b
    Example:
      pgsift server stop
    """
    from pgsift import server

    stopped = server.stop(session.home)
    if session.json:
        session.out.document({"stopped": stopped})
    else:
        session.out.line("stopped" if stopped else "it was not running")


def status(session: Session) -> None:
    """Say whether the server runs, and where its files are; the exit code is 6 when it does not run.

    \b
    Example:
      pgsift server status
    """
    from pgsift import server

    found = server.status(session.home)
    values: dict[str, Any] = {
        "running": found.running,
        "dsn": found.dsn,
        "pid": found.pid,
        "version": found.server_version,
        "home": str(found.home),
        "data_directory": str(found.data_directory),
        "log_file": str(found.log_file),
        "system_user": found.system_user,
    }
    if session.json:
        session.out.document(values)
    else:
        session.out.record(values | {"running": "yes" if found.running else "no"})
    if not found.running:
        raise typer.Exit(NO_SERVER)


def psql(
    session: Session,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENT…]", help="Handed to psql.")
    ] = None,
) -> None:
    """Open psql on the embedded database, started when needed.

    \b
    Examples:
      pgsift server psql
      pgsift server psql -- -c "SELECT key FROM sift.search('default', 'pump', principals => '{public}')"
    """
    _installed(session)
    from pgsift import server

    command_line = [*server.psql_command(session.home), *(arguments or [])]
    sys.stdout.flush()
    os.execv(command_line[0], command_line)


for _name, _function in (("start", start), ("stop", stop), ("status", status)):
    command(app, _name, tenant=False)(_function)
command(app, "psql", tenant=False, json=False)(psql)
