"""Counts, facets, relatives and references: the page about them, the commands, and what BibTeX is made."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/exploring.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return dsn


def test_the_page_works(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in _blocks("sh"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    out = capsys.readouterr().out
    assert "@misc{winch-safety.md," in out
    with psycopg.connect(place, autocommit=True) as connection:
        queries = [line for block in _blocks("sql") for line in block.splitlines()]
        assert len(queries) == 6
        for query in queries:
            assert connection.execute(query.encode()).fetchall(), query
    printed = io.StringIO()
    for block in _blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "exploring.md", "exec"), {})
    assert "title = " in printed.getvalue()


PAPER = {
    "type": "article",
    "author": "Knuth, Donald E. and Ludwig van Beethoven and {Bell & Howell}",
    "year": 1977,
    "month": "mar",
    "journal": "Journal of 100% $afe {DNA} pumps",
    "pages": "1--9",
    "doi": "https://doi.org/10.1000/x_y%20z",
}


@pytest.fixture
def library(place: str) -> str:
    with Store(place) as store:
        store.put_documents(
            "default",
            [
                {
                    "key": "knuth 1977",
                    "title": "Fast pattern matching in #strings",
                    "metadata": PAPER,
                    "text": "pump",
                },
                {
                    "key": "a",
                    "title": "First",
                    "metadata": {"csl": {"type": "book", "title": "Given"}},
                    "text": "pump",
                },
                {"key": "{a}", "text": "rare winch words"},
                {"key": "hidden", "title": "Secret", "text": "rare winch words", "acl": ["group:hr"]},
            ],
        )
    return place


@pytest.mark.usefixtures("library")
def test_csl_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "knuth 1977", "a", "{a}", "--format", "csl-json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "id": "knuth 1977",
            "type": "article-journal",
            "title": "Fast pattern matching in #strings",
            "author": [
                {"family": "Knuth", "given": "Donald E."},
                {"family": "van Beethoven", "given": "Ludwig"},
                {"literal": "Bell & Howell"},
            ],
            "issued": {"date-parts": [[1977, 3]]},
            "container-title": "Journal of 100% $afe {DNA} pumps",
            "page": "1-9",
            "DOI": "10.1000/x_y%20z",
        },
        {"id": "a", "type": "book", "title": "Given"},
        {"id": "{a}", "type": "document"},
    ]


@pytest.mark.usefixtures("library")
def test_bibtex_is_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    pybtex = pytest.importorskip("pybtex.database")
    assert main(["cite", "knuth 1977", "a", "{a}"]) == 0
    out = capsys.readouterr().out
    found: dict[str, Any] = pybtex.parse_string(out, "bibtex").entries
    assert list(found) == ["knuth-1977", "a", "a-2"]
    paper = found["knuth-1977"]
    assert paper.type == "article"
    assert dict(paper.fields) == {
        "title": r"Fast pattern matching in \#strings", "pages": "1--9", "doi": r"10.1000/x\_y\%20z",
        "year": "1977",
        "month": "mar", "journal": r"Journal of 100\% \$afe {DNA} pumps",
    }  # fmt: skip
    assert [str(person) for person in paper.persons["author"]] == [
        "Knuth, Donald E.", "van Beethoven, Ludwig", r"{Bell \& Howell}",
    ]  # fmt: skip
    assert found["a"].type == "book" and found["a-2"].type == "misc"


@pytest.mark.parametrize(
    "title",
    [r"C:\temp\x", "50 $ {", "} {", "a } b { c", "\\", "{}", "名前 – “x” ~ ^ _ &", 'say "no"', "a\x00b\nc"],
)
def test_no_title_breaks_the_file(title: str) -> None:
    pybtex = pytest.importorskip("pybtex.database")
    from pgsift.citations import bibtex

    item = {
        "id": "k",
        "title": title,
        "author": [{"literal": title}, {"family": title, "given": title}],
        "DOI": title,
    }
    entries = pybtex.parse_string(bibtex([item, {"id": "k2", "title": "after"}]), "bibtex").entries
    assert list(entries) == ["k", "k2"] and entries["k2"].fields["title"] == "after"


@pytest.mark.usefixtures("library")
def test_what_may_not_be_seen_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "hidden"]) == 3 and main(["cite", "absent"]) == 3
    first, _, second, _ = capsys.readouterr().err.splitlines()
    assert first.replace("hidden", "absent") == second
    assert main(["related", "hidden", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"related": []}
    assert main(["related", "{a}", "--mode", "lexical", "--json"]) == 0
    assert "hidden" not in capsys.readouterr().out
    assert main(["related", "{a}", "--mode", "lexical", "--as", "public", "--as", "group:hr", "--json"]) == 0
    (hit, *_) = json.loads(capsys.readouterr().out)["related"]
    assert hit["key"] == "hidden" and set(hit["shared_terms"]) == {"rare", "word", "winch"}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "arguments",
    [["cite"], ["cite", "a", "--query", "b"], ["related"], ["related", "a", "--chunk", "1"], ["facets"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2 and "See: pgsift" in capsys.readouterr().err


def test_related_goes_past_the_cap(place: str) -> None:
    """One document holds the hundred nearest passages; with one of each, others come all the same."""
    with Store(place) as store:
        store.create_tenant("many", default_principals=["public"])
        chunks = [{"body": f"turbine blade erosion sample{n}"} for n in range(250)]
        store.put_documents(
            "many", [{"key": "seed", "text": "turbine blade erosion"}, {"key": "big", "chunks": chunks}]
        )
        store.put_documents(
            "many",
            [
                {"key": f"d{n}", "text": f"a note on turbine maintenance and filler words number{n} here"}
                for n in range(5)
            ],
        )
        found = store.related("many", "seed", k=4, principals=["public"])
        assert found[0].key == "big" and len({hit.key for hit in found}) == 4
        assert len(store.related("many", "seed", k=100, per_document=None, principals=["public"])) == 100
