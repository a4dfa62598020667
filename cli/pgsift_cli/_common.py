"""What all commands share: the connection options, and the session made of them."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from pgsift_cli.output import Output

if TYPE_CHECKING:
    from pgsift import Store
    from pgsift.embed import Embedder

# Exit codes beside those of the library's exceptions; the table is in the epilog of "pgsift --help".
SOME_FAILED = 7
NOT_FOUND = 3
PROBLEMS_FOUND = 1
NO_SERVER = 6

EVERYTHING = ("sift:writer",)

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn", metavar="DSN", rich_help_panel="Connection",
        help="PostgreSQL to use: a libpq string or a postgresql:// URL. Without it and without PGSIFT_DSN in "
        "the environment, an embedded server is used, and started when needed.",
    ),
]  # fmt: skip
Home = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", rich_help_panel="Connection",
        help="Where the embedded server lives. Also PGSIFT_HOME; default: the user's data directory.",
    ),
]  # fmt: skip
TenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="NAME", rich_help_panel="Connection",
        help="Tenant to work in. Also PGSIFT_TENANT; default: default.",
    ),
]  # fmt: skip
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; errors as JSON on standard error.")
]


class Interrupted(Exception):
    """Ctrl-C, under a name that typer does not deal with itself; or SIGTERM, if ``terminated``."""

    def __init__(self, terminated: bool = False) -> None:
        super().__init__()
        self.exit_code = 143 if terminated else 130


class Terminated(KeyboardInterrupt):
    """SIGTERM: as with Ctrl-C, what is under way ends in good order."""


def _terminate(*_: Any) -> None:
    raise Terminated


class ReaderGone(Exception):
    """Nobody reads standard output any more; likewise."""


@dataclass
class Globals:
    """Options given before the command; those given after it win."""

    dsn: str | None = None
    home: Path | None = None
    tenant: str | None = None
    json: bool = False


@dataclass
class Session:
    """What a command works with."""

    dsn: str | None
    home: Path | None
    tenant: str
    out: Output = field(repr=False)

    @property
    def json(self) -> bool:
        return self.out.json

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store these options name, closed at the end of the block."""
        from pgsift import Store

        with Store(self.dsn, home=self.home) as store:
            yield store

    def server_dsn(self) -> str:
        """The DSN these options name, without looking at the schema."""
        if self.dsn is not None:
            return self.dsn
        from pgsift import server

        return server.ensure_running(self.home)


def document_embedder(spec: str) -> Embedder | None:
    """The embedder that ``--embedder`` of a writing command names."""
    if spec == "none":
        return None
    from pgsift.embed import load_embedder

    return load_embedder(spec)


def model_embedder(store: Store, name: str) -> Embedder:
    """The embedder of a model: what it is registered with, else the embedder of that name."""
    from pgsift.embed import load_embedder, load_model

    registered = next((model for model in store.models() if model.model == name), None)
    return load_embedder(name) if registered is None else load_model(registered)


def writing_embedders(session: Session, store: Store, specs: list[str] | None) -> list[Embedder]:
    """The embedders of a command that stores vectors: those named, else those of the models that the tenant
    keeps current, or minilm where it has none yet. Of a model kept beside the active one that cannot be loaded
    here a remark tells."""
    if specs:
        named = [None if spec == "none" else model_embedder(store, spec) for spec in specs]
        if None in named and len(named) > 1:
            raise typer.BadParameter("none goes with no other", param_hint="--embedder")
        return [embedder for embedder in named if embedder is not None]
    from pgsift.embed import DEFAULT_EMBEDDER, load_embedder
    from pgsift.errors import InvalidArgument, MissingExtra, ModelUnavailable

    tenant = store.tenant(session.tenant)
    found: list[Embedder] = []
    for name in tenant.kept_models:
        try:
            found.append(model_embedder(store, name))
        except (InvalidArgument, MissingExtra, ModelUnavailable) as error:
            if name == tenant.model:
                raise type(error)(
                    error.message,
                    hint="Name the embedder that the vectors of the tenant's model come from with --embedder, or "
                    "pass --embedder none.",
                ) from error
            session.out.remark(
                f"note: the model {name} is kept current and gets no vectors now: {error.message}; later: "
                f"pgsift models backfill {name}"
            )
    return found or [load_embedder(DEFAULT_EMBEDDER)]


def query_embedder(session: Session, store: Store, spec: str | None) -> Embedder | None:
    """The embedder of a query: the one named, else that of the tenant's model where it can be had here.

    A login that may only read is not told the tenant's model; it searches by words, and by vectors where
    the database knows the query.
    """
    embedder, note = tenant_embedder(store, session.tenant, spec)
    if note is not None:
        session.out.remark(f"note: {note}")
    return embedder


def tenant_embedder(store: Store, tenant: str, spec: str | None) -> tuple[Embedder | None, str | None]:
    """As :func:`query_embedder`, for any tenant; with a sentence where it cannot be had here."""
    if spec is not None:
        return (None if spec == "none" else model_embedder(store, spec)), None
    from pgsift.errors import InvalidArgument, MissingExtra, ModelUnavailable, NotPermitted

    try:
        model = store.tenant(tenant).model
        return (None if model is None else model_embedder(store, model)), None
    except NotPermitted:
        return None, None
    except (InvalidArgument, MissingExtra, ModelUnavailable) as error:
        return None, f"the query is not embedded: {error.message}"


def principals(names: list[str] | None, everything: bool, mapped: bool) -> list[str] | None:
    """The principals of a search: those named, else ``public``; ``None`` leaves them to the login."""
    if sum((bool(names), everything, mapped)) > 1:
        raise typer.BadParameter("--as, --all and --mapped exclude each other")
    if mapped:
        return None
    return list(EVERYTHING) if everything else names or ["public"]


def confirm(question: str) -> None:
    """Ask on standard error; a no, or nobody there to be asked, is wrong usage."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise typer.BadParameter("this cannot be undone, and nobody is there to be asked; pass --yes")
    if answer.strip().lower() not in ("y", "yes"):
        raise typer.BadParameter("not confirmed; nothing was done")


def _given(*values: Any) -> Any:
    """The first value that was given at all."""
    return next((value for value in values if value is not None), None)


def no_empty_name(names: list[str] | None) -> list[str] | None:
    """Refuse a principal without a name, which an unset variable of a shell makes."""
    if names is not None and any(not name.strip() for name in names):
        raise typer.BadParameter("a principal is empty")
    return names


As = Annotated[
    list[str] | None,
    typer.Option(
        "--as", metavar="PRINCIPAL", callback=no_empty_name,
        help="Whose permissions to search with, e.g. user:1042, group:hr or public; repeat for several. "
        "Taken exactly as given. Default: public.",
    ),
]  # fmt: skip
All = Annotated[
    bool,
    typer.Option(
        "--all", help="See everything, as those who write do; refused to database roles that may only read."
    ),
]
Mapped = Annotated[
    bool,
    typer.Option(
        "--mapped",
        help="With the principals that the database login is mapped to; for logins with sift_reader.",
    ),
]


Plain = Annotated[
    bool,
    typer.Option(
        "--plain", help='Read all of the query as words: quotation marks, +, - and * are no operators.'
    ),
]
Strip = Annotated[
    bool | None,
    typer.Option(
        "--strip-questions/--keep-questions",
        help="Search for a question without the words that make it one, or with them. Default: the tenant's.",
    ),
]
Expand = Annotated[
    bool | None,
    typer.Option(
        "--expand/--no-expand",
        help="Add what acronyms stand for; see pgsift vocabulary. Default: the tenant's.",
    ),
]


def command(
    app: typer.Typer,
    name: str,
    *,
    connection: bool = True,
    tenant: bool = True,
    json: bool = True,
    group: bool = False,
    **settings: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register ``function(session, …)`` as a command that also takes the shared options, all by default;
    with ``group`` as what *app*, a group of commands, does when none of them is named."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = list(inspect.signature(function).parameters.values())[1:]
        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        shared: list[tuple[str, Any, Any]] = []
        if connection:
            shared += [("dsn", Dsn, None), ("home", Home, None)]
        if tenant:
            shared += [("tenant_name", TenantOption, None)]
        if json:
            shared += [("json_output", Json, False)]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        parameters += [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, annotation, default in shared
        ]
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        def run(*, context: typer.Context, **values: Any) -> None:
            if group and context.invoked_subcommand is not None:
                return
            given = context.find_root().obj or Globals()
            session = Session(
                dsn=_given(values.pop("dsn", None), given.dsn),
                home=_given(values.pop("home", None), given.home),
                tenant=_given(
                    values.pop("tenant_name", None),
                    given.tenant,
                    os.environ.get("PGSIFT_TENANT") or None,
                    "default",
                ),
                out=Output(json=values.pop("json_output", False) or given.json),
            )
            if session.dsn is None and session.home is None:
                session.dsn = os.environ.get("PGSIFT_DSN") or None
            if session.dsn == "":
                raise typer.BadParameter("the DSN is empty", param_hint="--dsn")
            in_main = threading.current_thread() is threading.main_thread()
            before = signal.signal(signal.SIGTERM, _terminate) if in_main else None
            try:
                function(session, **values)
            except KeyboardInterrupt as error:
                raise Interrupted(isinstance(error, Terminated)) from None
            except BrokenPipeError:
                raise ReaderGone from None
            finally:
                if in_main:
                    signal.signal(signal.SIGTERM, before or signal.SIG_DFL)

        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__module__ = function.__module__
        run.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (context, *parameters)}
        if group:
            app.callback(invoke_without_command=True, **settings)(run)
        else:
            app.command(name, **settings)(run)
        return function

    return register
