"""``pgsift stats``."""

from __future__ import annotations

import typer

from pgsift_cli._common import Session, command


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "stats")(stats)


def stats(session: Session) -> None:
    """Print the size of a tenant's corpus.

    \b
    Examples:
      pgsift stats
      pgsift stats --tenant acme --json
    """
    with session.store() as store:
        found = store.stats(session.tenant)
    if session.json:
        session.out.document(found)
        return
    session.out.record(
        {
            "documents": f"{found.documents:,}",
            "chunks": f"{found.chunks:,}, {found.indexed_chunks:,} with a term",
            "not ranked": f"{found.unranked_chunks:,} titles, headings and short chunks, "
            f"{found.reference_chunks:,} references",
            "unranked documents": f"{found.unranked_documents:,} without a chunk that is ranked",
            "tokens": f"{found.total_length:,}, {found.average_length:.1f} a chunk",
            "access lists": f"{found.access_lists:,}",
            "vectors": ", ".join(f"{count:,} of {name}" for name, count in found.vectors.items()) or "none",
            "dead letters": f"{found.dead_letters:,} open",
        }
    )
