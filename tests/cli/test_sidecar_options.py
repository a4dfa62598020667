"""--bib, --language, --ocr and --parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

REFS = """
@book{knots2010, title = {Knots and Ropes}, author = {Roe, R.}, year = 2010}
@book{lost, title = {Nobody Has It}}
@book{lost, title = {Twice}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "knots2010.txt").write_text("A text about knots, and about the ropes that they are made of.")
    (tmp_path / "own.txt").write_text("Something else that nobody has an entry for, in plain words.")
    (tmp_path / "refs.bib").write_text(REFS)
    return tmp_path


@pytest.mark.parametrize("command", ["ingest", "sync"])
def test_a_bibliography(cli: Cli, folder: Path, command: str) -> None:
    pytest.importorskip("pybtex")
    pytest.importorskip("pylatexenc")
    done = cli(command, str(folder), "--bib", str(folder / "refs.bib"), "--embedder", "none", "--language", "en")
    assert done.code == 0, done.err
    assert "1 files without an entry, 1 entries without a file" in done.err
    assert "the citekey 'lost' is that of refs.bib, line 3 too" in done.err
    assert "2 entries, 1 files have one" in done.out and "languages: en 2" in done.out
    shown = cli("cite", "knots2010", "--format", "csl-json").json
    assert shown[0]["title"] == "Knots and Ropes" and shown[0]["issued"] == {"date-parts": [[2010]]}
    options = ("--bib", str(folder / "refs.bib"), "--embedder", "none", "--language", "en", "--json")
    report = cli("ingest", str(folder), *options).json
    assert report["unchanged"] == 2
    assert report["bibliography"]["entries_without_file"] == 1 and report["bibliography"]["citekeys"] == ["lost"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--bib", "absent.bib"], "absent.bib"),
        (["--language", "no language"], "no language"),
        (["--ocr-language", "deu"], "--ocr"),
        (["--ocr", "perhaps"], "perhaps"),
        (["--ocr", "auto", "--ocr-language", "../x"], "ocr_languages"),
        (["--parser", "another"], "docling"),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, folder: Path, options: list[str], told: str) -> None:
    done = cli("ingest", str(folder), "--embedder", "none", *options)
    assert done.code == 2 and told in done.err
