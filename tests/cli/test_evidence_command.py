"""Passages of documents: the page about them, the command, and how hits are shown."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import psycopg
import pytest
from conftest import Cli

from pgsift import Store
from pgsift.models import Hit, SearchResult
from pgsift_cli.app import main
from pgsift_cli.output import Output

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
FILLER = "Some words here. " * 40
TEXT = f"# Pumps\n\nThe pumps fail.\n\n{FILLER}\n\nThe failure of \x1b[31mpumps\x1b[0m is bad.\n"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_works(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    for block in _blocks("sh"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    assert "Only the operator touches the brake lever" in capsys.readouterr().out
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = [connection.execute(block.encode()).fetchall() for block in _blocks("sql")]
    assert len(found) == 4
    assert found[0][0][0] == "winch-safety.md"
    assert [row[-1] for row in found[1]] == [["touch", "brake", "accid"]]
    assert [rows[0][0] for rows in found[2:]] == ["winch-safety.md"] * 2
    printed = io.StringIO()
    names: dict[str, object] = {}
    for block in _blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "evidence.md", "exec"), names)
    assert "<b>accident</b>" in printed.getvalue()
    assert printed.getvalue().endswith("\n3 4\n")


def test_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "pumps.md").write_text(TEXT, encoding="utf-8")
    assert cli("ingest", str(tmp_path)).code == 0
    shown = cli("evidence", "pumps.md", "pump failure", "--width", "40")
    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert sum(line.startswith("pumps.md\t") for line in shown.out.splitlines()) == 2
    found = cli("evidence", "pumps.md", "pump failure", "--width", "40", "--json").json["evidence"]
    assert [passage["terms"] for passage in found] == [["pump"], ["failur"]]
    for passage in found:
        assert all(passage["text"][a:b].lower() in ("pumps", "failure") for a, b in passage["highlights"])
    assert cli("evidence", "absent.md", "pump").code == 3
    assert cli("evidence", "pumps.md", "pump", "--width", "5").code == 2
    assert cli("evidence", "pumps.md", "pump", "--as", "group:nobody").code == 3


def test_search_shows_the_passage(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "pumps.md").write_text(TEXT, encoding="utf-8")
    cli("ingest", str(tmp_path))
    best = cli("search", "failure", "--snippet-width", "60", "--json").json["hits"][0]
    assert len(best["snippet"]) <= 60
    assert best["body"][best["snippet_start"] :].startswith(best["snippet"])
    assert [best["snippet"][a:b] for a, b in best["highlights"]] == ["failure"]
    lines = cli("search", "failure", "--snippet-width", "60").out.splitlines()
    assert lines[1].startswith("\t… ")
    assert "The failure of" in lines[1] and "\x1b" not in lines[1]
    assert cli("search", "failure", "--snippet-width", "5").code == 2


def test_highlights_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Words found are bold and nothing of the text reaches the terminal as a command."""
    snippet = "the \x1b[2Jpump\n[bold]fails[/bold]"
    start = snippet.index("pump")
    hit = Hit(
        1, 0.5, 1, 0.5, None, None, 1, 1, "key", "Title", "text", None, None, 0, 50, 1,
        "before " + snippet + " after", {}, 0, "lexical", None,
        snippet=snippet, snippet_start=7, highlights=[[start, start + 4]],
    )  # fmt: skip
    out = Output()
    out.interactive = True
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    out.hits(SearchResult([hit]))
    shown = capsys.readouterr().out
    assert "\x1b[1;33mpump\x1b[0m" in shown
    assert "\x1b[2J" not in shown and "[bold]fails[/bold]" in shown
    assert shown.count("…") == 2
