"""``pgsift vocabulary …``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from pgsift_cli._common import Session, command

app = typer.Typer(
    help="What acronyms stand for: searches add the words to queries that hold them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def import_(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file; - reads standard input.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget the acronyms that the file does not hold.")
    ] = False,
) -> None:
    """Take acronyms over from a TOML file.

    The file has a table [acronyms]; each entry is a text, or a list of texts:

    \b
      [acronyms]
      MRI = "magnetic resonance imaging"
      CI = ["confidence interval", "continuous integration"]

    An acronym is found in a query as it is written here, capitals included. What it stood for before is
    replaced. It holds from the next search on; nothing is indexed anew.

    \b
    Examples:
      pgsift vocabulary import vocabulary.toml
      pgsift vocabulary import vocabulary.toml --replace
    """
    vocabulary = _read(file)
    with session.store() as store:
        number = store.set_acronyms(session.tenant, vocabulary, replace=replace)
    if session.json:
        session.out.document({"acronyms": number})
    else:
        session.out.line(f"{number} acronyms")


def list_(session: Session) -> None:
    """List what the acronyms of the tenant stand for.

    \b
    Example:
      pgsift vocabulary list
    """
    with session.store() as store:
        found = store.acronyms(session.tenant)
    if session.json:
        session.out.document({"acronyms": found})
    else:
        session.out.table(["acronym", "stands for"], [(item.acronym, item.expansion) for item in found])


def remove(
    session: Session,
    acronyms: Annotated[list[str], typer.Argument(metavar="ACRONYM…", help="As they are listed.")],
) -> None:
    """Take acronyms out of the vocabulary.

    \b
    Example:
      pgsift vocabulary remove CI
    """
    with session.store() as store:
        number = store.remove_acronyms(session.tenant, acronyms)
    if session.json:
        session.out.document({"removed": number})
    else:
        session.out.line(f"{number} removed")


def _read(file: Path) -> dict[str, Any]:
    import sys

    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        entries = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="FILE") from None
    except ValueError as error:
        raise typer.BadParameter(f"{file} is not TOML: {error}", param_hint="FILE") from None
    acronyms = entries.get("acronyms")
    if set(entries) != {"acronyms"} or not isinstance(acronyms, dict):
        raise typer.BadParameter("the file must hold one table, [acronyms]", param_hint="FILE")
    for acronym, expansions in acronyms.items():
        texts = expansions if isinstance(expansions, list) else [expansions]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise typer.BadParameter(
                f"{acronym!r} must stand for a text or a list of texts", param_hint="FILE"
            )
    return acronyms


command(app, "import")(import_)
command(app, "list")(list_)
command(app, "remove")(remove)
