"""``pgsift models …``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import Session, command, writing_embedder
from pgsift_cli.output import safe

app = typer.Typer(
    help="Embedding models: list, register, embed what has no vector.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


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


def backfill(
    session: Session,
    embedder: Annotated[
        str | None, typer.Option("--embedder", metavar="MODEL", help="As in pgsift ingest.")
    ] = None,
) -> None:
    """Embed the chunks of a tenant that have no vector of a model: those stored from SQL, or without one.

    What is done stays when it is interrupted; run again, it goes on.

    \b
    Examples:
      pgsift models backfill
      pgsift models backfill --tenant acme --embedder onnx:models/bge-m3
    """
    if embedder == "none":
        raise typer.BadParameter("none has no vectors to give", param_hint="--embedder")
    with session.store() as store, session.out.progress() as progress:
        model = writing_embedder(session, store, embedder)
        assert model is not None
        done = store.embed_missing(session.tenant, embedder=model, progress=progress)
    if session.json:
        session.out.document({"model": model.name, "embedded": done})
    else:
        session.out.line(f"chunks embedded: {done:,}")


command(app, "list", tenant=False)(list_)
command(app, "backfill")(backfill)
command(app, "register", tenant=False)(register)
