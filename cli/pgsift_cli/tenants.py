"""``pgsift tenants …``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pgsift_cli._common import NOT_FOUND, Session, command, confirm
from pgsift_cli.output import safe

app = typer.Typer(
    help="Tenants: list, create, drop, and who sees new documents.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the tenant.")]
Principals = Annotated[
    list[str] | None,
    typer.Option("--principal", metavar="PRINCIPAL", help="e.g. public or group:staff; repeat for several."),
]


class Statistics(StrEnum):
    """Whose N, df and avgdl score a search."""

    TENANT = "tenant"
    VISIBLE = "visible"


def list_(session: Session) -> None:
    """List the tenants.

    \b
    Example:
      pgsift tenants list
    """
    with session.store() as store:
        found = list(store.tenants())
    if session.json:
        session.out.document({"tenants": found})
        return
    session.out.table(
        ["tenant", "analyzer", "model", "default access", "k1#", "b#", "created"],
        [
            (
                t.tenant,
                t.analyzer,
                t.model,
                ", ".join(t.default_principals or ()),
                t.k1,
                t.b,
                f"{t.created_at:%Y-%m-%d %H:%M}",
            )
            for t in found
        ],
    )


def create(
    session: Session,
    name: Name,
    analyzer: Annotated[
        str,
        typer.Option(
            "--analyzer", metavar="NAME", help="english, standard or identifiers. It cannot be changed later."
        ),
    ] = "english",
    principal: Principals = None,
    k1: Annotated[
        float, typer.Option("--k1", metavar="X", help="BM25: how soon repeats of a term stop to count.")
    ] = 1.2,
    b: Annotated[
        float, typer.Option("--b", metavar="X", help="BM25: how much long chunks are marked down, 0 to 1.")
    ] = 0.75,
    index_title: Annotated[
        str,
        typer.Option(
            "--index-title",
            metavar="WHERE",
            help="first: a title is found with the first chunk that is ranked; none: not at all.",
        ),
    ] = "first",
    exist_ok: Annotated[
        bool, typer.Option("--exist-ok", help="A tenant of this name and these settings is no error.")
    ] = False,
    history: Annotated[
        bool | None,
        typer.Option(
            "--history/--no-history",
            help="Whether superseded and deleted versions are kept, for search --as-of. Default: they are.",
        ),
    ] = None,
) -> None:
    """Make a tenant: documents, statistics and permissions of its own.

    Documents ingested without --acl are seen by --principal; without that, by nobody but those who write.

    \b
    Examples:
      pgsift tenants create acme --principal group:acme
      pgsift tenants create code --analyzer identifiers --principal public
      pgsift tenants create feed --no-history
    """
    with session.store() as store:
        number = store.create_tenant(
            name,
            analyzer=analyzer,
            k1=k1,
            b=b,
            default_principals=principal,
            index_title=index_title,
            exist_ok=exist_ok,
            keep_history=history,
        )
    if session.json:
        session.out.document({"tenant": name, "tenant_id": number})
    else:
        session.out.line(f"tenant {safe(name)}")


def set_(
    session: Session,
    name: Name,
    history: Annotated[
        bool | None,
        typer.Option(
            "--history/--no-history", help="Whether superseded and deleted versions are kept from now on."
        ),
    ] = None,
    remote_classification: Annotated[
        list[str] | None,
        typer.Option(
            "--remote-classification",
            metavar="NAME",
            help="Only documents of this classification may be sent to a remote embedder; repeat for "
            "several.",
        ),
    ] = None,
    remote_any: Annotated[
        bool, typer.Option("--remote-any", help="Documents of any classification, or none, may be sent.")
    ] = False,
    remote_retained: Annotated[
        bool | None,
        typer.Option(
            "--remote-retained/--no-remote-retained",
            help="Whether documents that are to be kept until a date may be sent to a remote embedder.",
        ),
    ] = None,
    statistics: Annotated[
        Statistics | None,
        typer.Option(
            "--statistics",
            help="Whose term statistics score a search: the tenant's, or those of what the caller may see, "
            "which tell nobody of hidden documents and are slower.",
        ),
    ] = None,
    k1: Annotated[
        float | None, typer.Option("--k1", metavar="X", help="BM25: how soon repeats of a term stop to count.")
    ] = None,
    b: Annotated[
        float | None, typer.Option("--b", metavar="X", help="BM25: how much length is marked down, 0 to 1.")
    ] = None,
    title_weight: Annotated[
        float | None,
        typer.Option("--title-weight", metavar="X", help="What a word in the title counts as; 1: as any other."),
    ] = None,
    abstract_weight: Annotated[
        float | None,
        typer.Option(
            "--abstract-weight", metavar="X", help="What a word in an abstract counts as; 1: as any other."
        ),
    ] = None,
    min_chunk_tokens: Annotated[
        int | None,
        typer.Option(
            "--min-chunk-tokens",
            metavar="N",
            help="Chunks with fewer tokens are not ranked, tables, figures and claims excepted. Refused where "
            "that would change chunks that are stored.",
        ),
    ] = None,
    chunker: Annotated[
        str | None,
        typer.Option(
            "--chunker",
            metavar="NAME",
            help="What cuts the documents that are ingested from now on, as in pgsift ingest.",
        ),
    ] = None,
    context_prefix: Annotated[
        bool | None,
        typer.Option(
            "--context-prefix/--no-context-prefix",
            help="Whether title and section are indexed with every chunk of what is ingested from now on.",
        ),
    ] = None,
) -> None:
    """Change options of a tenant, those named alone.

    \b
    Examples:
      pgsift tenants set acme --no-history
      pgsift tenants set acme --remote-classification public --no-remote-retained
      pgsift tenants set acme --statistics visible
      pgsift tenants set acme --title-weight 2 --k1 0.9
      pgsift tenants set papers --min-chunk-tokens 20
      pgsift tenants set manuals --chunker parent --context-prefix
    """
    if remote_any and remote_classification:
        raise typer.BadParameter("--remote-any and --remote-classification exclude each other")
    options: dict[str, Any] = {}
    if history is not None:
        options["keep_history"] = history
    if remote_classification or remote_any:
        options["remote_classifications"] = remote_classification or None
    if remote_retained is not None:
        options["remote_retained"] = remote_retained
    if statistics is not None:
        options["statistics"] = statistics.value
    ranking = {
        "k1": k1,
        "b": b,
        "title_weight": title_weight,
        "abstract_weight": abstract_weight,
        "min_chunk_tokens": min_chunk_tokens,
        "chunker": chunker,
        "context_prefix": context_prefix,
    }
    options |= {option: value for option, value in ranking.items() if value is not None}
    with session.store() as store:
        store.set_tenant(name, **options)
        found = store.tenant(name)
    if session.json:
        session.out.document(found)
    else:
        names = found.remote_classifications
        allowed = "any classification" if names is None else ", ".join(map(safe, names)) or "nothing"
        session.out.line(
            f"tenant {safe(name)}: history {'kept' if found.keep_history else 'not kept'}; "
            f"to a remote embedder {allowed}"
            f"{'' if found.remote_retained else ', nothing with a date to be kept until'}"
            f"; statistics of {'the tenant' if found.statistics == 'tenant' else 'what is visible'}"
            f"; k1 {found.k1:g}, b {found.b:g}, title weight {found.title_weight:g}, "
            f"abstract weight {found.abstract_weight:g}"
            f"{'' if found.min_chunk_tokens == 1 else f'; chunks of {found.min_chunk_tokens} tokens or more'}"
            f"{'' if found.chunker is None else f'; chunker {safe(found.chunker)}'}"
            f"{'; prefixes of title and section' if found.context_prefix else ''}"
        )


def drop(
    session: Session,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a tenant with all its documents.

    \b
    Example:
      pgsift tenants drop acme --yes
    """
    if not yes:
        confirm(f"Remove the tenant {safe(name)} with all its documents?")
    with session.store() as store:
        dropped = store.drop_tenant(name)
    if session.json:
        session.out.document({"tenant": name, "dropped": dropped})
    else:
        session.out.line(f"{'dropped' if dropped else 'there is no'} tenant {safe(name)}")
    if not dropped:
        raise typer.Exit(NOT_FOUND)


def default_access(session: Session, name: Name, principal: Principals = None) -> None:
    """Say who sees documents that are ingested from now on without --acl; without --principal nobody does.

    \b
    Examples:
      pgsift tenants default-access acme --principal group:acme
      pgsift tenants default-access acme
    """
    with session.store() as store:
        store.set_default_access(name, principal or [])
    if session.json:
        session.out.document({"tenant": name, "default_principals": principal or []})
    else:
        session.out.line(f"tenant {safe(name)}: {', '.join(map(safe, principal or [])) or 'nobody'}")


command(app, "list", tenant=False)(list_)
command(app, "create", tenant=False)(create)
command(app, "set", tenant=False)(set_)
command(app, "drop", tenant=False)(drop)
command(app, "default-access", tenant=False)(default_access)
