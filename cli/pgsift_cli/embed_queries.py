"""``pgsift embed-queries``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pgsift_cli._common import Session, command, writing_embedders


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "embed-queries")(embed_queries)


def embed_queries(
    session: Session,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One query a line, as UTF-8; - is standard input.")
    ],
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder", metavar="MODEL", help="As in pgsift ingest. Default: the models kept current."
        ),
    ] = None,
) -> None:
    """Store the vectors of queries.

    Searching by the same text alone, as from psql or a BI tool, is hybrid then.

    \b
    Examples:
      pgsift embed-queries questions.txt
      echo "sick pay" | pgsift embed-queries -
    """
    if embedder == "none":
        raise typer.BadParameter("none has no vectors to give", param_hint="--embedder")
    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(
            f"{file} is not UTF-8: {error.reason} at byte {error.start}", param_hint="'FILE'"
        ) from None
    queries = [line for line in text.splitlines() if line.strip()]
    with session.store() as store:
        for model in writing_embedders(session, store, None if embedder is None else [embedder]):
            for query in queries:
                store.cache_query_embedding(session.tenant, query, embedder=model, model=model.name)
    if session.json:
        session.out.document({"queries": len(queries)})
    else:
        session.out.line(f"queries embedded: {len(queries):,}")
