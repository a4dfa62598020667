"""``pgsift query-terms``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import Session, command


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "query-terms")(query_terms)


def query_terms(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A query as given to pgsift search.")],
) -> None:
    """Show what a query searches for by words, and what is left out of it and why.

    \b
    Examples:
      pgsift query-terms "How do I report an accident at the winch?"
      pgsift query-terms get_user_by_email --json
    """
    with session.store() as store:
        terms = store.query_terms(session.tenant, query)
    if session.json:
        session.out.document(terms)
        return
    session.out.table(
        ("term", "searched", "reason"), [(t.term, "yes" if t.kept else "no", t.reason) for t in terms]
    )
