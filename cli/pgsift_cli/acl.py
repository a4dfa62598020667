"""``pgsift acl …``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pgsift_cli._common import NOT_FOUND, PROBLEMS_FOUND, Session, command
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift.models import AccessResult

app = typer.Typer(
    help="Who may see documents: show it, set it, grant and revoke, and check it for a person.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Keys = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY…]", help="Keys of documents, as printed by pgsift documents."),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prefix",
        metavar="PREFIX",
        help="All documents whose key begins so, and those that are ingested later without --acl.",
    ),
]
Default = Annotated[
    bool,
    typer.Option(
        "--default",
        help="What documents get that are ingested later without --acl, under no prefix with a rule.",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="PRINCIPAL", help="Who may see them, e.g. group:hr; repeat for several."),
]
Deny = Annotated[
    list[str] | None,
    typer.Option(
        "--deny",
        metavar="PRINCIPAL",
        help="Who may not, whatever else allows them; repeat for several.",
    ),
]


def show(session: Session, keys: Keys = None, prefix: Prefix = None) -> None:
    """Show who may see documents, and what says so.

    Without KEY and --prefix the rules alone: what documents get that are ingested without --acl, by prefix of
    their key, else by default. The exit code is 3 when there is no document of some key.

    \b
    Examples:
      pgsift acl show
      pgsift acl show handbook/pay.md
      pgsift acl show --prefix hr/ --json
    """
    if keys and prefix is not None:
        raise typer.BadParameter("KEY and --prefix exclude each other")
    with session.store() as store:
        found = store.show_access(session.tenant, keys or None, key_prefix=prefix)
    if session.json:
        session.out.document({"access": found})
    else:
        session.out.table(
            ["kind", "name", "allowed", "denied", "from"],
            [
                (
                    entry.kind,
                    entry.name,
                    ", ".join(entry.principals) or "nobody",
                    ", ".join(entry.denied),
                    entry.origin,
                )
                for entry in found
            ],
        )
    _missing(session, keys, [entry.name for entry in found])


def set_(
    session: Session,
    keys: Keys = None,
    prefix: Prefix = None,
    default: Default = False,
    allow: Allow = None,
    deny: Deny = None,
    nobody: Annotated[bool, typer.Option("--nobody", help="Nobody but those who write sees them.")] = False,
) -> None:
    """Say who may see documents, in place of what was said before.

    With --prefix rules of longer prefixes are dropped: everything under it is as said here. The exit code is
    3 when there is no document of some key; the others are changed.

    \b
    Examples:
      pgsift acl set handbook/pay.md --allow group:hr --deny user:1042
      pgsift acl set --prefix hr/ --allow group:hr
      pgsift acl set --default --allow public
      pgsift acl set draft.md --nobody
    """
    _one_target(keys, prefix, default)
    if nobody == bool(allow or deny):
        raise typer.BadParameter("say who with --allow and --deny, or --nobody")
    with session.store() as store:
        if default:
            store.set_default_access(session.tenant, allow or [], denied=deny)
            results: list[AccessResult] = []
        else:
            results = store.set_access(
                session.tenant, keys or None, allow or [], denied=deny, key_prefix=prefix
            )
    _changed(session, keys, results)


def grant(
    session: Session,
    keys: Keys = None,
    prefix: Prefix = None,
    default: Default = False,
    allow: Allow = None,
    deny: Deny = None,
) -> None:
    """Let principals see documents too, or deny them.

    A deny beats everything that allows. The exit code is 3 when there is no document of some key; the others
    are changed.

    \b
    Examples:
      pgsift acl grant handbook/pay.md --allow group:payroll
      pgsift acl grant --prefix hr/ --deny user:1042
      pgsift acl grant --default --allow group:staff
    """
    _one_target(keys, prefix, default)
    if not (allow or deny):
        raise typer.BadParameter("say who with --allow or --deny")
    with session.store() as store:
        results = store.grant_access(
            session.tenant, keys or None, allow, denied=deny, key_prefix=prefix, on_default=default
        )
    _changed(session, keys, results)


def revoke(
    session: Session,
    keys: Keys = None,
    prefix: Prefix = None,
    default: Default = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="PRINCIPAL", help="Who is no longer allowed; repeat for several."),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option("--deny", metavar="PRINCIPAL", help="Who is no longer denied; repeat for several."),
    ] = None,
) -> None:
    """Take principals off those who may see documents, or off those denied.

    Who may see them through a group of theirs still does: take them out of the group, or deny them. The exit
    code is 3 when there is no document of some key; the others are changed.

    \b
    Examples:
      pgsift acl revoke handbook/pay.md --allow group:payroll
      pgsift acl revoke --prefix hr/ --deny user:1042
    """
    _one_target(keys, prefix, default)
    if not (allow or deny):
        raise typer.BadParameter("say who with --allow or --deny")
    with session.store() as store:
        results = store.revoke_access(
            session.tenant, keys or None, allow, denied=deny, key_prefix=prefix, on_default=default
        )
    _changed(session, keys, results)


def check(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a document.")],
    as_: Annotated[
        list[str], typer.Option("--as", metavar="PRINCIPAL", help="For whom; repeat for several principals.")
    ],
) -> None:
    """Tell whether somebody may see a document, and why; the exit code is 1 when not.

    Groups count. Applications (sift_app) are not told whether a document that may not be seen exists.

    \b
    Examples:
      pgsift acl check handbook/pay.md --as user:1042
      pgsift acl check handbook/pay.md --as user:1042 --as public --json
    """
    with session.store() as store:
        answer = store.check_access(session.tenant, key, as_)
    if session.json:
        session.out.document(answer)
    else:
        entries = answer.denied_by or answer.granted_by
        by = f" by {', '.join(map(safe, entries))}" if entries else ""
        session.out.line(f"{'yes' if answer.visible else 'no'}: {answer.reason}{by}")
    if not answer.visible:
        raise typer.Exit(PROBLEMS_FOUND)


def replace_principal(
    session: Session,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The principal as it is called now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What it is called from now on.")],
) -> None:
    """Rename a principal: in all access lists, rules, groups and mappings of database roles of the tenant.

    Whoever searches as NEW sees at once what OLD saw, and OLD sees nothing any more. A NEW that is there
    already keeps what it has. Only owners (sift_owner) may do this. Access lists that files, feeds and scripts
    name themselves are not changed.

    \b
    Examples:
      pgsift acl replace-principal group:personnel group:people
      pgsift acl replace-principal user:1042 user:2042 --json
    """
    with session.store() as store:
        done = store.replace_principal(session.tenant, old, new)
    if session.json:
        session.out.document(done)
    else:
        session.out.line(
            f"replaced in {done.lists:,} access lists, {done.memberships:,} memberships of groups, "
            f"{done.roles:,} mapped roles"
        )


def _one_target(keys: list[str] | None, prefix: str | None, default: bool) -> None:
    if (bool(keys), prefix is not None, default).count(True) != 1:
        raise typer.BadParameter("say what: KEY…, --prefix or --default, one of them")


def _changed(session: Session, keys: list[str] | None, results: Sequence[AccessResult]) -> None:
    if session.json:
        session.out.document({"results": results})
    elif keys:
        for result in results:
            session.out.line(f"{'changed  ' if result.changed else 'as it was'}  {safe(result.key)}")
    else:
        changed = sum(result.changed for result in results)
        session.out.line(f"{changed} of {len(results)} documents changed; the rule is kept for new ones")
    _missing(session, keys, [result.key for result in results])


def _missing(session: Session, keys: list[str] | None, found: Sequence[str]) -> None:
    missing = sorted(set(keys or ()) - set(found))
    for key in missing:
        session.out.remark(f"not there: {key}")
    if missing:
        raise typer.Exit(NOT_FOUND)


command(app, "show")(show)
command(app, "set")(set_)
command(app, "grant")(grant)
command(app, "revoke")(revoke)
command(app, "check")(check)
command(app, "replace-principal")(replace_principal)
