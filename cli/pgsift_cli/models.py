"""``pgsift models …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsift_cli._common import (
    NOT_FOUND,
    SOME_FAILED,
    Session,
    command,
    confirm,
    document_embedder,
    model_embedder,
    writing_embedders,
)
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift import Store
    from pgsift.embed import Embedder
    from pgsift.models import BackfillReport

app = typer.Typer(
    help="Embedding models: register, embed what is stored, compare, switch, drop.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="Name of a registered model.")]


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
        ["model", "revision", "dimensions#", "metric", "precision", "quantization", "weights"],
        [
            (
                m.model,
                m.revision,
                m.dimensions,
                m.metric,
                m.precision,
                m.quantization,
                f"{m.lexical_weight:g}, {m.dense_weight:g}",
            )
            for m in found
        ],
    )


def status(session: Session) -> None:
    """Show the models of a tenant: which its searches use, which ingest keeps current, what is missing.

    \b
    Examples:
      pgsift models status
      pgsift models status --tenant acme --json
    """
    with session.store() as store:
        found = store.tenant_models(session.tenant)
    if session.json:
        session.out.document({"models": found})
        return
    session.out.table(
        [
            "model",
            "state",
            "vectors#",
            "missing#",
            "withheld#",
            "queries#",
            "missing queries#",
            "table MB#",
            "index MB#",
        ],
        [
            (
                m.model,
                m.state,
                f"{m.vectors:,}",
                f"{m.missing:,}",
                f"{m.withheld:,}",
                f"{m.cached_queries:,}",
                f"{m.missing_queries:,}",
                f"{m.table_bytes / 1e6:.1f}",
                f"{m.index_bytes / 1e6:.1f}",
            )
            for m in found
        ],
    )


def register(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name under which vectors are stored.")],
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            metavar="SPEC",
            help="What makes the vectors, as in pgsift ingest, where that is not NAME: one embedder may stand "
            "behind several models.",
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            "--dimensions",
            metavar="N",
            help="Length of the vectors, up to 2,000, or 4,000 as halfvec. Left out, the embedder is loaded and "
            "says this and all below.",
        ),
    ] = None,
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="TEXT", help="Version of the model.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="cosine, ip or l2. Default: cosine.")
    ] = None,
    query_prefix: Annotated[
        str | None, typer.Option("--query-prefix", metavar="TEXT", help="What the model wants before a query.")
    ] = None,
    document_prefix: Annotated[
        str | None,
        typer.Option("--document-prefix", metavar="TEXT", help="What the model wants before a document."),
    ] = None,
    pooling: Annotated[
        str | None, typer.Option("--pooling", metavar="NAME", help="How tokens become a text: mean, cls.")
    ] = None,
    normalized: Annotated[
        bool | None,
        typer.Option("--normalized/--not-normalized", help="Whether the vectors have length one."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="NAME", help="vector or halfvec. Default: by dimensions."),
    ] = None,
    quantization: Annotated[
        str,
        typer.Option(
            "--quantization",
            metavar="NAME",
            help="none, or binary: an index of one bit a dimension, whose hits are ranked by the vectors.",
        ),
    ] = "none",
) -> None:
    """Register an embedding model that vectors come from; ingest does it by itself for the models it knows.

    A model is its name, revision, dimensions, metric, precision, pooling, normalization and prefixes together.
    Registering it again is harmless; under the same name another one is refused.

    \b
    Examples:
      pgsift models register minilm
      pgsift models register minilm-small --embedder minilm --precision halfvec --quantization binary
      pgsift models register text-embedding-3-large --dimensions 3072 --revision 2024-01
    """
    properties: dict[str, Any] = {"precision": precision, "quantization": quantization, "embedder": embedder}
    given = {
        "dimensions": dimensions,
        "revision": revision,
        "metric": metric,
        "query_prefix": query_prefix,
        "document_prefix": document_prefix,
        "pooling": pooling,
        "normalized": normalized,
    }
    if dimensions is None:
        wrong = next((option for option, value in given.items() if value is not None), None)
        if wrong is not None:
            raise typer.BadParameter(
                "it goes with --dimensions; without, the embedder says it",
                param_hint=f"--{wrong.replace('_', '-')}",
            )
        from pgsift.embed import load_embedder, properties_of

        source = load_embedder(embedder or name)
        properties |= properties_of(source) | {"embedder": source.name}
        properties |= {
            "lexical_weight": float(getattr(source, "lexical_weight", 1.0)),
            "dense_weight": float(getattr(source, "dense_weight", 1.0)),
        }
    else:
        properties |= {option: value for option, value in given.items() if value is not None}
    with session.store() as store:
        number = store.register_model(name, **properties)
    if session.json:
        session.out.document({"model": name, "model_id": number})
    else:
        session.out.line(f"model {safe(name)}")


def backfill(
    session: Session,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="Name of the model. Default: all that the tenant keeps current; minilm where it has none.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            metavar="SPEC",
            help="What makes the vectors, as in pgsift ingest. Default: what the model is registered with.",
        ),
    ] = None,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Of every tenant that keeps the model current.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="N", help="Embed at most so many chunks a second. Default: no limit."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Chunks stored in one transaction.")] = 256,
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Do not have ingest keep the model current from now on, as it does otherwise."
        ),
    ] = False,
) -> None:
    """Embed the chunks that have no vector of a model: all of them for a new model beside the one in use.

    What is done stays when it is interrupted; run again, it goes on, and nothing is embedded twice. Searches,
    ingest and deletions go on meanwhile. Queries whose vectors are cached for searches by text get one too.

    \b
    Examples:
      pgsift models backfill
      pgsift models backfill onnx:models/bge-m3 --tenant acme --rate 20
      pgsift models backfill minilm-small --all-tenants
    """
    if embedder == "none":
        raise typer.BadParameter("none has no vectors to give", param_hint="--embedder")
    if all_tenants and model is None:
        raise typer.BadParameter("name the model", param_hint="--all-tenants")
    reports: list[BackfillReport] = []
    with session.store() as store, session.out.backfill() as progress:
        work: list[tuple[str, Embedder]]
        if model is None and embedder is None:
            work = [(session.tenant, one) for one in writing_embedders(session, store, None)]
        else:
            one = _embedder(store, model, embedder)
            tenants = [session.tenant]
            if all_tenants:
                tenants = [tenant.tenant for tenant in store.tenants() if one.name in tenant.kept_models]
            work = [(tenant, one) for tenant in tenants]
        try:
            for tenant, one in work:
                reports.append(
                    store.backfill(
                        tenant,
                        embedder=one,
                        keep=not once,
                        rate=rate,
                        batch=batch,
                        progress=progress,
                    )
                )
        except BaseException as error:
            done = getattr(error, "backfill_report", None)
            if done is not None:
                _print(session, [*reports, done])
                session.out.remark("what is stored stays; run it again to go on")
            raise
    _print(session, reports)
    if any(report.failed for report in reports):
        raise typer.Exit(SOME_FAILED)


def _embedder(store: Store, model: str | None, spec: str | None) -> Embedder:
    from pgsift.embed import named

    if spec is None:
        assert model is not None
        return model_embedder(store, model)
    embedder = document_embedder(spec)
    assert embedder is not None
    return embedder if model is None else named(embedder, model)


def _print(session: Session, reports: list[BackfillReport]) -> None:
    if session.json:
        session.out.document({"backfills": reports})
        return
    for report in reports:
        parts = [f"{report.stored:,} vectors stored ({report.computed:,} computed, {report.reused:,} known)"]
        parts += [f"{report.queries:,} queries"] * bool(report.queries)
        parts += [f"{report.gone:,} chunks gone meanwhile"] * bool(report.gone)
        parts += [f"{report.failed:,} failed"] * bool(report.failed)
        parts += [f"{report.missing:,} missing"] * bool(report.missing)
        parts += [f"{report.withheld:,} withheld from remote embedders"] * bool(report.withheld)
        session.out.line(f"{safe(report.tenant)}, {safe(report.model)}: {', '.join(parts)}")
        for failure in report.failures:
            session.out.remark(failure)


def fit_terms(
    session: Session,
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Name of the model. Default: the active one of the tenant."),
    ] = None,
    forms: Annotated[
        str | None,
        typer.Option(
            "--forms",
            metavar="NAME",
            help="Which word is embedded for a term: frequent, its most frequent form in the corpus; or neutral, "
            "one the corpus has no say in. Default: frequent; neutral where statistics are of what is visible.",
        ),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Remove the vectors that are there and make them again.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Look at all chunks, not only at those that came since the last time.")
    ] = False,
) -> None:
    """Make a vector for each term of a tenant, so that searches by text alone find by meaning too.

    The database then makes the vector of a query of those of its terms: in sift.search, where it is given none and
    none is cached, and in sift.embed_query. Run it after an ingest: words that came since the last time have no
    vector before. What is done stays when it is interrupted.

    \b
    Examples:
      pgsift models fit-terms
      pgsift models fit-terms minilm --tenant acme --json
      pgsift models fit-terms --anew --forms neutral
    """
    with session.store() as store, session.out.backfill() as progress:
        name = model or store.tenant(session.tenant).model
        if name is None:
            raise typer.BadParameter("the tenant has no active model: name one", param_hint="MODEL")
        report = store.fit_terms(
            session.tenant,
            embedder=model_embedder(store, name),
            forms=forms,
            anew=anew,
            whole=whole,
            progress=progress,
        )
    if session.json:
        session.out.document(report)
        return
    parts = [f"{report.stored:,} terms of {report.chunks:,} chunks got a vector, {report.terms:,} have one"]
    parts += [f"{report.unread:,} are of a script that the model does not read"] * bool(report.unread)
    parts += [f"{report.failed:,} failed"] * bool(report.failed)
    session.out.line(f"{safe(report.tenant)}, {safe(report.model)}: {', '.join(parts)}")


def terms(session: Session) -> None:
    """Show of which models the terms of a tenant have vectors, and how many chunks came later.

    \b
    Example:
      pgsift models terms --tenant acme
    """
    with session.store() as store:
        found = store.term_fits(session.tenant)
    if session.json:
        session.out.document({"models": found})
        return
    session.out.table(
        ["model", "terms#", "forms", "chunks#", "later chunks#", "fitted"],
        [
            (
                m.model,
                f"{m.terms:,}",
                m.forms,
                f"{m.chunks:,}",
                f"{m.later_chunks:,}",
                "" if m.fitted_at is None else f"{m.fitted_at:%Y-%m-%d %H:%M}",
            )
            for m in found
        ],
    )


def drop_terms(session: Session, model: ModelName) -> None:
    """Remove the vectors of the terms of a tenant: its searches by text alone are by words again.

    \b
    Example:
      pgsift models drop-terms minilm
    """
    with session.store() as store:
        removed = store.drop_term_embeddings(session.tenant, model)
    if session.json:
        session.out.document({"model": model, "terms": removed})
    else:
        session.out.line(f"{removed:,} vectors of terms removed")


def keep(session: Session, model: ModelName) -> None:
    """Have ingest keep the vectors of a model current, beside those of the active one.

    What is stored already gets its vectors by pgsift models backfill, which keeps the model, too.

    \b
    Example:
      pgsift models keep static
    """
    with session.store() as store:
        store.keep_model(session.tenant, model)
    _said(session, model, "kept")


def retire(session: Session, model: ModelName) -> None:
    """Have ingest keep the vectors of a model current no longer. Those that are there stay.

    \b
    Example:
      pgsift models retire static
    """
    with session.store() as store:
        store.keep_model(session.tenant, model, False)
    _said(session, model, "retired")


def activate(
    session: Session,
    model: ModelName,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Also when chunks have no vector of it, which no search by meaning finds."
        ),
    ] = False,
) -> None:
    """Make a model the one that searches of the tenant use.

    Refused while chunks have no vector of it. The model before stays kept: activating it again is the way back.

    \b
    Examples:
      pgsift models activate onnx:models/bge-m3
      pgsift models activate minilm --tenant acme
    """
    with session.store() as store:
        before = store.activate_model(session.tenant, model, allow_missing=allow_missing)
        states = store.tenant_models(session.tenant, model)
    if session.json:
        session.out.document({"model": model, "before": before})
        return
    session.out.line(f"model {safe(model)} is active, before it {safe(before or 'none')}")
    for state in states:
        if state.missing_queries:
            session.out.remark(
                f"{state.missing_queries:,} cached queries have no vector of it: pgsift models backfill {model}"
            )


def drop(
    session: Session,
    model: ModelName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a model with all its vectors: of all tenants, of the past, and of cached queries.

    The active model of a tenant is not removed. For a moment at the end searches wait.

    \b
    Example:
      pgsift models drop static --yes
    """
    with session.store() as store:
        if not yes:
            confirm(f"Remove the model {safe(model)} and all its vectors, of all tenants?")
        dropped = store.drop_model(model)
    if session.json:
        session.out.document({"model": model, "dropped": dropped})
    elif dropped:
        session.out.line(f"dropped: {safe(model)}")
    if not dropped:
        session.out.remark(f"there is no model {model}")
        raise typer.Exit(NOT_FOUND)


def evaluate(
    session: Session,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL…", help="Models to compare; the first is the baseline.")
    ],
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            metavar="DIR",
            help="Folder with queries.jsonl and qrels.tsv, which judge documents of the tenant by their keys. "
            "Default: the judgments recorded in the tenant.",
        ),
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode",
            metavar="NAME",
            help="dense, hybrid or lexical; repeat for several. Default: both dense and hybrid.",
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", "--k", metavar="N", help="How many documents are asked for; recall@100 needs 100.")
    ] = 100,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="With --json: also the figures of every query.")
    ] = False,
) -> None:
    """Compare models on judged queries, searching the tenant as it is: before the switch.

    \b
    Examples:
      pgsift models evaluate minilm onnx:models/bge-m3 --collection judged/
      pgsift models evaluate minilm static --tenant acme --mode dense --json
    """
    from pgsift.evaluate.models import compare_models

    if markdown and session.json:
        raise typer.BadParameter("it excludes --json", param_hint="'--markdown'")
    with session.store() as store, session.out.steps() as progress:
        report = compare_models(
            store,
            session.tenant,
            [model_embedder(store, name) for name in models],
            collection=collection,
            modes=mode or ("dense", "hybrid"),
            k=k,
            progress=progress,
        )
    if session.json:
        session.out.document(report.to_dict(per_query=per_query))
    else:
        session.out.text(report.to_markdown() if markdown else report.to_table())


def _said(session: Session, model: str, state: str) -> None:
    if session.json:
        session.out.document({"model": model, "state": state})
    else:
        session.out.line(f"model {safe(model)}: {state}")


command(app, "list", tenant=False)(list_)
command(app, "status")(status)
command(app, "register", tenant=False)(register)
command(app, "backfill")(backfill)
command(app, "fit-terms")(fit_terms)
command(app, "terms")(terms)
command(app, "drop-terms")(drop_terms)
command(app, "keep")(keep)
command(app, "retire")(retire)
command(app, "evaluate")(evaluate)
command(app, "activate")(activate)
command(app, "drop", tenant=False)(drop)
