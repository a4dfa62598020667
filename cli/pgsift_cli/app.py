"""The root of the command: its commands, and the way from an exception to an exit code and a hint."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from pgsift_cli import (
    acl,
    browse,
    claims,
    dead_letters,
    delete,
    doctor,
    documents,
    duplicates,
    embed_queries,
    entities,
    evaluate,
    evidence,
    explain,
    explore,
    groups,
    history,
    ingest,
    judgments,
    log,
    manifest,
    models,
    query_terms,
    rebuild,
    search,
    stats,
    sync,
    tenants,
    topics,
    tune,
    vocabulary,
)
from pgsift_cli import db as db_commands
from pgsift_cli import doctor_acl as doctor_acl  # hangs itself on the group of the doctor
from pgsift_cli import server as server_commands
from pgsift_cli._common import Dsn, Globals, Home, Interrupted, Json, ReaderGone, TenantOption
from pgsift_cli.output import failure

EXIT_CODES = {
    0: "done",
    1: "an error of no other kind, or a check that found something",
    2: "wrong usage: an unknown option, an argument out of range, a filter or a vector that is refused",
    3: "the tenant, model or document named does not exist",
    4: "versions do not fit (schema, analyzer), or an optional package or model is missing",
    5: "the database role may not do this",
    6: "no server answers",
    7: "ingest went through, but some sources failed; they are listed by: pgsift dead-letters",
    8: "the statement was cancelled, ran out of time or gave way to another one; it can be repeated",
    9: "the server's disk is full, its memory used up, or it takes no more connections",
    70: "a fault in pgsift itself",
    130: "interrupted by Ctrl-C",
    143: "terminated (SIGTERM), in the same good order",
    141: "the reader of standard output went away",
}

app = typer.Typer(
    name="pgsift",
    # Plain help: quick, readable everywhere, and the same text as in docs/cli.md.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
    epilog="\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
)

for module in (
    ingest, sync, rebuild, search, browse, evidence, explain, explore, query_terms,
    delete, history, documents, stats, embed_queries, evaluate, tune,
):  # fmt: skip
    module.register(app)
doctor.register(app)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(manifest.app, name="manifest")
app.add_typer(log.app, name="log")
app.add_typer(judgments.app, name="judgments")
app.add_typer(tenants.app, name="tenants")
app.add_typer(acl.app, name="acl")
app.add_typer(groups.app, name="groups")
app.add_typer(vocabulary.app, name="vocabulary")
app.add_typer(claims.app, name="claims")
app.add_typer(entities.app, name="entities")
app.add_typer(models.app, name="models")
app.add_typer(duplicates.app, name="duplicates")
app.add_typer(topics.app, name="topics")
app.add_typer(db_commands.app, name="db")
app.add_typer(server_commands.app, name="server")


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"pgsift {version('pgsift')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    dsn: Dsn = None,
    home: Home = None,
    tenant: TenantOption = None,
    json_output: Json = False,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Put documents into PostgreSQL and find them: exact BM25, vectors, and both fused, with permissions.

    Without --dsn an embedded PostgreSQL is used; nothing has to be set up first. The options --dsn, --home,
    --tenant and --json are also taken after the command.

    \b
    Examples:
      pgsift ingest docs/
      pgsift search "failure modes of co-simulation"
      pgsift --dsn postgresql://app@db/prod stats
    """
    context.obj = Globals(dsn=dsn, home=home, tenant=tenant, json=json_output)


# Usage errors, by whichever copy of click the installed typer brings.
_UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    try:
        code = _run(arguments, as_json="--json" in before)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, ReaderGone):
        # Nobody reads any more. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141


def _run(arguments: list[str], *, as_json: bool) -> int:
    def failed(message: str, code: int, hint: str | None = None, sqlstate: str | None = None) -> int:
        failure(message, hint=hint, sqlstate=sqlstate, exit_code=code, json=as_json)
        return code

    try:
        result = typer.main.get_command(app).main(arguments, prog_name="pgsift", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(error.format_message() + "\n")
            return 2
        hint = f"See: {context.command_path} --help" if context is not None else "See: pgsift --help"
        return failed(error.format_message(), 2, hint)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except (Interrupted, KeyboardInterrupt, typer.Abort) as error:
        code = error.exit_code if isinstance(error, Interrupted) else 130
        return failed("interrupted", code, "What was stored so far stays, each document whole.")
    except (BrokenPipeError, ReaderGone):
        raise
    except Exception as error:
        return _library_error(error, failed)


# In the words of the command line, where those of the functions would not help.
_HINTS = {"PS001": "pgsift tenants list shows them; pgsift tenants create NAME makes one."}

# A path that was given and is not what it should be; other errors of the system are nobody's usage.
_PATH_ERRORS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_PATH_HINT = "Name a file that can be read; paths are relative to the current directory."


def _library_error(error: Exception, failed: Any) -> int:
    from pgsift.errors import PgsiftError, from_psycopg

    if not isinstance(error, PgsiftError):
        import psycopg

        if isinstance(error, psycopg.Error):
            known = from_psycopg(error)
            if known is None:
                message = error.diag.message_primary or str(error)
                return int(failed(message, 1, error.diag.message_hint, error.sqlstate))
            error = known
        elif isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            if isinstance(error, _PATH_ERRORS) and error.filename:
                return int(failed(f"{where}{error.strerror or error}", 2, _PATH_HINT))
            return int(failed(f"{where}{error.strerror or error}", 1))
        else:
            import traceback

            sys.stderr.write("".join(traceback.format_exception(error)))
            return int(failed(f"a fault in pgsift: {type(error).__name__}: {error}", 70))
    hint = _HINTS.get(error.sqlstate or "", error.hint)
    return int(failed(error.message, error.exit_code, hint, error.sqlstate))


if __name__ == "__main__":
    sys.exit(main())
