"""Help, generated pages and the README say what is there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from pgsift_cli.app import EXIT_CODES, app

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gen_cli_docs  # noqa: E402
import gen_sql_api  # noqa: E402


def commands() -> list[tuple[str, Any]]:
    return gen_cli_docs.walk(typer.main.get_command(app))


NAMES = [name for name, _ in commands()]


def examples(help: str) -> list[str]:
    _, _, block = help.partition("Example")
    lines = (line.strip() for line in block.splitlines()[1:] if not line.strip().startswith("psql "))
    return [
        re.sub(r"^(?:PGSIFT_DSN=\S+ |.* \| (?=pgsift))|(?<! --) \| .*$", "", line) for line in lines if line
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_examples(name: str) -> None:
    command = dict(commands())[name]
    assert command.help.strip()
    found = examples(command.help)
    assert found, "no example"
    assert all(line.startswith((name, "pgsift ingest", "pgsift embed-queries")) for line in found)
    for parameter in command.params:
        if parameter.name != "context":
            assert parameter.help, parameter.name


def parses(line: str) -> None:
    """Fails unless the line is a valid command; nothing is run."""
    root = typer.main.get_command(app)

    def nothing(**_values: Any) -> None:
        """In place of what the command does."""

    def defuse(command: Any) -> None:
        command.callback = nothing
        for child in getattr(command, "commands", {}).values():
            defuse(child)

    defuse(root)
    root.main(shlex.split(line)[1:], standalone_mode=False)


@pytest.mark.parametrize("name", ["pgsift", *NAMES])
def test_examples_are_valid(name: str) -> None:
    root = typer.main.get_command(app)
    help = root.help if name == "pgsift" else dict(commands())[name].help
    for line in examples(help or ""):
        parses(line)


def test_examples_are_really_checked() -> None:
    with pytest.raises(Exception, match="No such option"):
        parses("pgsift search x --no-such-option")


def test_json_on_every_command() -> None:
    without = [name for name, command in commands() if not any("--json" in p.opts for p in command.params)]
    assert without == ["pgsift server psql"]  # it becomes psql


def test_cli_page_is_up_to_date() -> None:
    assert gen_cli_docs.PAGE.read_text(encoding="utf-8") == gen_cli_docs.render()


def test_cli_page_has_every_command_and_exit_code() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"\n## {name}\n" in page
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in page


def test_exit_codes_of_exceptions_are_documented() -> None:
    from pgsift import errors

    for name in errors.__all__:
        cls = getattr(errors, name)
        if isinstance(cls, type):
            assert cls.exit_code in EXIT_CODES


def test_sql_page_is_up_to_date(conn: Any) -> None:
    assert gen_sql_api.PAGE.read_text(encoding="utf-8") == gen_sql_api.render(conn)


def test_sql_page_has_every_public_function() -> None:
    page = gen_sql_api.PAGE.read_text(encoding="utf-8")
    files = [path.stem for path in (ROOT / "sql/functions").glob("*.sql")]
    assert len(files) > 20
    for name in files:
        assert f"\n### sift.{name}\n" in page


def test_a_page_out_of_date_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("old\n", encoding="utf-8")
    assert gen_sql_api.finish(page, "new\n", check=True) == 1
    assert "-old" in capsys.readouterr().err
    assert gen_sql_api.finish(page, "new\n", check=False) == 0
    assert gen_sql_api.finish(page, "new\n", check=True) == 0


@pytest.mark.parametrize(
    "arguments", [["--help"], ["search", "--help"], ["db", "upgrade", "--help"], ["--version"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    heavy = ["psycopg", "alembic", "sqlalchemy", "numpy", "onnxruntime", "sqlglot", "rich", "pgsift.store"]
    code = (
        "import sys, json; from pgsift_cli.app import main; code = main(sys.argv[2:]);"
        "print('\\n' + json.dumps([code, [m for m in sys.argv[1].split(',') if m in sys.modules]]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, ",".join(heavy), *arguments], check=True, capture_output=True, text=True
    )
    assert json.loads(result.stdout.splitlines()[-1]) == [0, []]


def test_version(cli: Callable[..., Any]) -> None:
    from pgsift import __version__

    assert cli("--version").out == f"pgsift {__version__}\n"
