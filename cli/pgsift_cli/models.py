"""``pgsift models …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import Session, command
from pgsift_cli.output import safe

app = typer.Typer(help="Embedding models: list and register.", no_args_is_help=True, rich_markup_mode=None)


def list_(session: Session) -> None:
    """List the registered models.

    \b
    Example:
      pgsift models list
    """
    with session.store() as store:
        found = list(store.models())
    if session.json:
        session.out.document({"models": found})
        return
    session.out.table(
        ["model", "revision", "dimensions#", "metric", "precision", "weights"],
        [
            (
                m.model,
                m.revision,
                m.dimensions,
                m.metric,
                m.precision,
                f"{m.lexical_weight:g}, {m.dense_weight:g}",
            )
            for m in found
        ],
    )


def register(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name under which vectors are stored.")],
    dimensions: Annotated[
        int,
        typer.Option(
            "--dimensions", metavar="N", help="Length of the vectors, up to 2,000, or 4,000 as halfvec."
        ),
    ],
    revision: Annotated[str, typer.Option("--revision", metavar="TEXT", help="Version of the model.")] = "",
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="cosine, ip or l2.")] = "cosine",
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="NAME", help="vector or halfvec. Default: by dimensions."),
    ] = None,
    query_prefix: Annotated[
        str, typer.Option("--query-prefix", metavar="TEXT", help="What the model wants before a query.")
    ] = "",
    document_prefix: Annotated[
        str, typer.Option("--document-prefix", metavar="TEXT", help="What the model wants before a document.")
    ] = "",
) -> None:
    """Register an embedding model that vectors come from; ingest does it by itself for the models it knows.

    \b
    Example:
      pgsift models register text-embedding-3-large --dimensions 3072 --revision 2024-01
    """
    with session.store() as store:
        number = store.register_model(
            name,
            dimensions,
            revision=revision,
            metric=metric,
            precision=precision,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
    if session.json:
        session.out.document({"model": name, "model_id": number})
    else:
        session.out.line(f"model {safe(name)}")


command(app, "list", tenant=False)(list_)
command(app, "register", tenant=False)(register)
