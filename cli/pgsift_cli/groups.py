"""``pgsift groups …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import Session, command
from pgsift_cli.output import safe

app = typer.Typer(
    help="Groups of principals: whoever searches as a member sees what the group sees.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Group = Annotated[str, typer.Argument(metavar="GROUP", help="Name of the group, e.g. group:hr.")]
Members = Annotated[
    list[str], typer.Argument(metavar="MEMBER…", help="Principals, e.g. user:1042 or group:payroll.")
]


def add(session: Session, group: Group, members: Members) -> None:
    """Make principals members of a group. Groups may be members too.

    It holds from the next search on; nothing is indexed anew.

    \b
    Example:
      pgsift groups add group:hr user:1042 group:payroll
    """
    with session.store() as store:
        number = store.add_members(session.tenant, group, members)
    if session.json:
        session.out.document({"group": group, "added": number})
    else:
        session.out.line(f"{number} added to {safe(group)}")


def remove(session: Session, group: Group, members: Members) -> None:
    """Take principals out of a group.

    Who belongs to it through another group still does; pgsift groups list shows it.

    \b
    Example:
      pgsift groups remove group:hr user:1042
    """
    with session.store() as store:
        number = store.remove_members(session.tenant, group, members)
    if session.json:
        session.out.document({"group": group, "removed": number})
    else:
        session.out.line(f"{number} removed from {safe(group)}")


def list_(
    session: Session,
    group: Annotated[
        str | None, typer.Argument(metavar="[GROUP]", help="One group, with members through other groups.")
    ] = None,
) -> None:
    """List the members of a group, or the direct members of all groups.

    \b
    Examples:
      pgsift groups list
      pgsift groups list group:hr --json
    """
    with session.store() as store:
        found = store.members(session.tenant, group)
    if session.json:
        session.out.document({"members": found})
        return
    session.out.table(
        ["group", "member", "how"],
        [(item.of_group, item.member, "direct" if item.direct else "through a group") for item in found],
    )


command(app, "add")(add)
command(app, "remove")(remove)
command(app, "list")(list_)
