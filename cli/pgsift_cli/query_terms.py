"""``pgsift query-terms``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import All, As, Expand, Mapped, Plain, Session, Strip, command, principals


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "query-terms")(query_terms)


def query_terms(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A query as given to pgsift search.")],
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    plain: Plain = False,
    strip_questions: Strip = None,
    expand: Expand = None,
) -> None:
    """Show what a query searches for by words, what is left out of it and why, and what is added.

    What a prefix stands for depends on who searches: it is terms of documents he may see.

    \b
    Examples:
      pgsift query-terms "How do I report an accident at the winch?"
      pgsift query-terms '"co simulation" -tutorial solv*' --as group:research
      pgsift query-terms get_user_by_email --json
    """
    who = principals(as_, all_, mapped)
    with session.store() as store:
        terms = store.query_terms(
            session.tenant,
            query,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
            principals=who,
        )
    if session.json:
        session.out.document(terms)
        return
    session.out.table(
        ("term", "searched", "reason", "of"),
        [(t.term, "yes" if t.kept else "no", t.reason, t.origin) for t in terms],
    )
