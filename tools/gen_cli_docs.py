"""Write docs/cli.md from the commands themselves.

    python tools/gen_cli_docs.py            write the page
    python tools/gen_cli_docs.py --check    fail when the page is not what would be written

The page is made from names, help texts and defaults, not from typer's layout, so that another version of
typer gives the same page.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from typing import Any

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gen_sql_api import finish

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

SHARED = ("--dsn", "--home", "--tenant", "--json")

INTRODUCTION = """\
<!-- Written by tools/gen_cli_docs.py from the help of the commands; change it there, then: make docs -->

# Command line reference

`pgsift --help` and `pgsift COMMAND --help` say the same.
"""


def render() -> str:
    """The page."""
    from pgsift_cli.app import EXIT_CODES, app

    root = typer.main.get_command(app)
    page = [INTRODUCTION]
    page += [_text(root.help or ""), ""]
    page += ["## Options of all commands", "", *_options(root, shared=True), ""]
    page += [
        "Not every command takes every one of them: those of `db` and `server` know no tenant, and "
        "`server psql` "
        "no JSON.",
        "",
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---:|---|",
        *(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()),
        "",
    ]
    page += [_command(name, command) for name, command in walk(root)]
    return "\n".join(page).rstrip() + "\n"


def walk(group: Any, prefix: str = "pgsift") -> list[tuple[str, Any]]:
    """All commands under a group with their full names, in the order of its help."""
    found = []
    for name, command in group.commands.items():
        full = f"{prefix} {name}"
        is_group = hasattr(command, "commands")
        if not is_group or command.invoke_without_command:
            found.append((full, command))
        found += walk(command, full) if is_group else []
    return found


def _command(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_argument(p) for p in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", f"    {usage}", "", _text(command.help or ""), ""]
    if arguments:
        lines += [f"- `{_argument(p)}`: {p.help}" for p in arguments] + [""]
    lines += _options(command, shared=False)
    return "\n".join(lines).rstrip() + "\n"


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _options(command: Any, *, shared: bool) -> list[str]:
    rows = []
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.hidden or "completion" in parameter.opts[0]:
            continue
        if "--version" in parameter.opts or "--help" in parameter.opts:
            continue
        if (parameter.opts[0] in SHARED) != shared:
            continue
        names = ", ".join(f"`{name}`" for name in parameter.opts)
        if not parameter.is_flag:
            names += f" {parameter.metavar}"
        note = (parameter.help or "").replace("|", "\\|")
        default = getattr(parameter.default, "value", parameter.default)
        if parameter.required:
            note += " Required."
        elif default not in (None, "", False) and not callable(default) and "Default:" not in note:
            note += f" Default: {default}."
        rows.append(f"| {names} | {note} |")
    return ["| option | |", "|---|---|", *rows] if rows else []


def _text(help: str) -> str:
    """Help as Markdown: what click is told not to wrap becomes a code block."""
    paragraphs = []
    for paragraph in inspect.cleandoc(help).split("\n\n"):
        head, mark, rest = paragraph.partition("\b\n")
        if not mark:
            paragraphs.append(" ".join(paragraph.split()))
            continue
        title, *lines = (head + rest).splitlines()
        block = "\n".join(line.removeprefix("  ") for line in lines)
        paragraphs.append(f"{title}\n\n```sh\n{block}\n```")
    return "\n\n".join(paragraphs)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    return finish(PAGE, render(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
