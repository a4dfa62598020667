"""Sidecar bibliographies: what entries say, and which file each of them finds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pgsift.errors import InvalidArgument
from pgsift.ingest.bibliography import (
    Assignment,
    File,
    assign,
    file_paths,
    read_bibliographies,
    read_bibliography,
    said,
    same_title,
    to_text,
)
from pgsift.ingest.parsers import Parsed

pytest.importorskip("pybtex")
pytest.importorskip("pylatexenc")

REFS = r"""
% What a reference manager writes.
@string{nature = "Nature"}
@article{goedel1931,
  author = {G{\"o}del, Kurt and {\O}rsted, Hans Christian and {World Health {\&} Organization}
            and Ludwig van Beethoven and King, Jr., Martin Luther and others},
  title = {{\"U}ber formal unentscheidbare S{\"a}tze der \emph{Principia} \& verwandter Systeme},
  journal = nature, year = 1931, month = sep, volume = 38, number = 1, pages = {173--198},
  doi = {https://doi.org/10.1007/BF01700692}, url = {https://example.org/a\_b},
  language = {ngerman}, keywords = {logic; incompleteness}, abstract = {Long.},
}
@inproceedings{knot2011, title = {Knots in Ropes}, crossref = {proc2011}, author = "{\'A}ngel P{\'e}rez"}
@proceedings{proc2011, title = {Proc. of Ropes}, year = {2011}, editor = {Zahn, Y.}, publisher = {Rope Press}}
@book(paren1, title = {In Parentheses}, date = {2020-05-31/2020-06-02}, subtitle = {A Study})
"""


def write(folder: Path, text: str, name: str = "refs.bib") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_entry_becomes_csl_with_its_latex_resolved(tmp_path: Path) -> None:
    entries = {entry.citekey: entry for entry in read_bibliography(write(tmp_path, REFS)).entries}
    assert list(entries) == ["goedel1931", "knot2011", "proc2011", "paren1"]
    assert entries["goedel1931"].csl == {
        "type": "article-journal",
        "title": "Über formal unentscheidbare Sätze der Principia & verwandter Systeme",
        "author": [
            {"family": "Gödel", "given": "Kurt"},
            {"family": "Ørsted", "given": "Hans Christian"},
            {"literal": "World Health & Organization"},
            {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
            {"family": "King", "given": "Martin Luther", "suffix": "Jr."},
        ],
        "container-title": "Nature", "issued": {"date-parts": [[1931, 9]]}, "volume": "38", "issue": "1",
        "page": "173-198", "DOI": "10.1007/BF01700692", "URL": "https://example.org/a_b", "language": "de",
        "keyword": "logic; incompleteness",
    }  # fmt: skip
    knot = entries["knot2011"].csl
    assert knot["container-title"] == "Proc. of Ropes" and knot["publisher"] == "Rope Press"
    assert knot["issued"] == {"date-parts": [[2011]]} and knot["title"] == "Knots in Ropes"
    assert entries["paren1"].csl["title"] == "In Parentheses: A Study"
    assert entries["paren1"].csl["issued"] == {"date-parts": [[2020, 5, 31]]}


def test_what_an_entry_gives_a_document(tmp_path: Path) -> None:
    entry = read_bibliography(write(tmp_path, REFS)).entries[0]
    given = said(entry.citekey, entry.csl)
    assert given["title"] == "Über formal unentscheidbare Sätze der Principia & verwandter Systeme"
    assert given["language"] == "de"
    metadata = given["metadata"]
    assert metadata["authors"] == [
        "Kurt Gödel", "Hans Christian Ørsted", "World Health & Organization", "Ludwig van Beethoven",
        "Martin Luther King Jr.",
    ]  # fmt: skip
    assert (metadata["year"], metadata["doi"], metadata["journal"]) == (1931, "10.1007/BF01700692", "Nature")
    assert metadata["keywords"] == ["logic", "incompleteness"] and metadata["csl"] == entry.csl
    assert "title" not in said("x", {"type": "book"}) and "year" not in said("x", {"type": "book"})["metadata"]


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{\'E}cole Normale Sup{\'e}rieure", "École Normale Supérieure"),
        (r"\v{S}af\'a\v{r}\'{\i}k, Erd{\H o}s", "Šafářík, Erdős"),
        (r"\c{c}\k{a}\aa\ss{}\L{}", "çąåßŁ"),
        (r"The {BERT} model --- $\alpha$-decay at 50\%", "The BERT model — α-decay at 50%"),
        (r"A \textit{foo}~\textbf{bar}\textsuperscript{2} \url{http://x.org}", "A foo bar2 http://x.org"),
        (r"\enquote{So} sagt \LaTeX{}", "“So” sagt LaTeX"),
        ("plain 100% & 5 [1]", "plain 100% & 5 [1]"),
        (r"unbalanced {brace", "unbalanced brace"),
    ],
)
def test_latex_becomes_text(latex: str, text: str) -> None:
    assert to_text(latex) == text


def test_broken_entries_cost_themselves(tmp_path: Path) -> None:
    text = """
@article{first, title = {One}}
@article{swallows, title = {never closed, year = 2000}
@book{second, title = "Two", note = "with
@article{no, an entry}
in it"}
@misc{novalue, title = }
@book{first, title = {Again}}
@article{third, title = {Three}, journal = undefinedmacro}
"""
    found = read_bibliographies([write(tmp_path, text)])
    assert [entry.citekey for entry in found.entries] == ["first", "second", "third"]
    assert "container-title" not in found.entries[2].csl
    assert len(found.problems) == 3
    assert "line 3" in found.problems[0] and "'swallows'" in found.problems[0]
    assert "line 7" in found.problems[1] and "'novalue'" in found.problems[1]
    assert "'first'" in found.problems[2] and "the first entry was taken" in found.problems[2]


def test_csl_json(tmp_path: Path) -> None:
    items = [
        {"id": "http://zotero.org/users/1/items/A", "citation-key": "smith2020", "type": "article-journal",
         "title": "On <i>E. coli</i>", "abstract": "Long.", "language": "en-us", "DOI": "10.1000/x",
         "author": [{"family": "Smith", "given": "A."}], "issued": {"date-parts": [["2020", 3]]}},
        {"id": 7, "title": ["From Crossref"]},
        {"title": "without an id"},
        "text",
        {"id": "zotero", "itemType": "book", "title": "its own JSON"},
    ]  # fmt: skip
    found = read_bibliography(write(tmp_path, json.dumps(items), "refs.json"))
    assert [entry.citekey for entry in found.entries] == ["smith2020", "7"]
    assert len(found.problems) == 3
    given = said("smith2020", found.entries[0].csl)
    assert given["title"] == "On E. coli" and given["language"] == "en-US"
    assert given["metadata"]["year"] == 2020 and "abstract" not in given["metadata"]["csl"]
    assert said("7", found.entries[1].csl)["title"] == "From Crossref"
    assert read_bibliography(write(tmp_path, json.dumps({"items": items[:1]}), "more.bib.json")).entries


@pytest.mark.parametrize("text", ["", "no bibliography", "{broken", '[{"id": '])
def test_what_is_no_bibliography_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_bibliography(write(tmp_path, text, "refs.json"))
    with pytest.raises(InvalidArgument):
        read_bibliography(tmp_path / "absent.bib")


@pytest.mark.parametrize(
    ("written", "paths"),
    [
        ("a.pdf", ["a.pdf"]),
        (":papers/a.pdf:PDF", ["papers/a.pdf"]),
        ("Full Text:papers/a b.pdf:application/pdf", ["papers/a b.pdf"]),
        (r"A\; B\: C.pdf:files/1/A\; B\: C.pdf:application/pdf", ["files/1/A; B: C.pdf"]),
        ("x.html;papers/a.pdf:PDF", ["x.html", "papers/a.pdf"]),
        (r"C:\papers\a.pdf", [r"C:\papers\a.pdf"]),
        (";", []),
    ],
)
def test_fields_that_name_files(tmp_path: Path, written: str, paths: list[str]) -> None:
    found = file_paths(written, tmp_path)
    assert [readings[0] for readings in found] == [os.path.abspath(tmp_path / path) for path in paths]


def test_a_path_of_mendeley_lacks_its_first_slash(tmp_path: Path) -> None:
    readings = file_paths(f":{str(tmp_path).lstrip('/')}/a.pdf:pdf", Path("/elsewhere"))[0]
    assert os.path.abspath(tmp_path / "a.pdf") in readings


# Matching

Facts = dict[str, tuple[str | None, str | None]]


@pytest.fixture
def matched(tmp_path: Path) -> Callable[[str, Facts], Assignment]:
    def match(bibliography: str, files: Facts) -> Assignment:
        for name in files:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(name)

        def parse(path: Path) -> tuple[bytes, Parsed]:
            doi, title = files[path.relative_to(tmp_path).as_posix()]
            return path.read_bytes(), Parsed("", [], title, {} if doi is None else {"doi": doi})

        found = read_bibliographies([write(tmp_path, bibliography)])
        return assign(found, [File(tmp_path / name, name) for name in files], parse)

    return match


def keys(assignment: Assignment, folder: Path, files: Facts) -> dict[str, str]:
    found = {name: assignment.match(folder / name) for name in files}
    return {name: match.key for name, match in found.items() if match is not None}


def test_files_find_their_entries_in_four_ways(
    tmp_path: Path, matched: Callable[[str, Facts], Assignment]
) -> None:
    files: Facts = {
        "one.pdf": (None, None),
        "supplement.pdf": (None, None),
        "byname2001.txt": ("10.1000/other", "Other"),
        "three.pdf": ("10.1000/ABC", "A wrong title"),
        "four.pdf": (None, "On Knots: and ropes!"),
        "five.pdf": ("10.1000/5", "On Knots: and ropes!"),
        "none.pdf": (None, "Something else"),
    }
    result = matched(
        """
        @article{byfile, title = {T1}, file = {:one.pdf:PDF;supplement.pdf}}
        @article{byname2001, title = {T2}}
        @article{bydoi, title = {T3}, doi = {10.1000/abc}}
        @article{bytitle, title = {On knots and Ropes}, doi = {10.1000/4}}
        @article{lost, title = {T5}, file = {gone.pdf}}
        """,
        files,
    )
    assert keys(result, tmp_path, files) == {
        "one.pdf": "byfile",
        "supplement.pdf": "byfile#supplement.pdf",
        "byname2001.txt": "byname2001",
        "three.pdf": "bydoi",
        "four.pdf": "bytitle",
    }
    report = result.report
    assert (report.entries, report.matched) == (5, 5)
    assert (report.files_without_entry, report.files) == (2, ("five.pdf", "none.pdf"))
    assert (report.entries_without_file, report.citekeys) == (1, ("lost",))
    assert report.ambiguous == () and report.problems == ()


@pytest.mark.parametrize(
    ("bibliography", "files"),
    [
        # One file, two entries; the file has the name of one of them.
        ("@book{a, file = {x.pdf}} @book{x, file = {x.pdf}}".replace(" @", "\n@"), {"x.pdf": (None, None)}),
        # Two files of the name, of which the title of one fits.
        ("@book{x, title = {T}}", {"x.pdf": (None, "T"), "x.txt": (None, None)}),
        ("@book{a, doi = {10.1000/1}, title = {T}}", {"x.pdf": ("10.1000/1", "T"), "y.pdf": ("10.1000/1", None)}),
        ("@book{a, doi = {10.1000/1}}\n@book{b, doi = {10.1000/1}}", {"x.pdf": ("10.1000/1", None)}),
        ("@book{a, title = {T}}\n@book{b, title = {t}}", {"x.pdf": (None, "T")}),
        ("@book{a, title = {T}}", {"x.pdf": (None, "T"), "y.pdf": (None, "t!")}),
    ],
)
def test_what_fits_several_is_reported_and_not_guessed(
    tmp_path: Path, matched: Callable[[str, Facts], Assignment], bibliography: str, files: Facts
) -> None:
    result = matched(bibliography, files)
    assert keys(result, tmp_path, files) == {}
    assert len(result.report.ambiguous) == 1
    assert result.report.files_without_entry == len(files)
    assert result.report.entries_without_file == result.report.entries


def test_a_field_may_name_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "x1.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "store" / "x1.txt")
    found = read_bibliographies([write(tmp_path, "@book{a, file = {store/x1.txt}}")])
    result = assign(found, [File(tmp_path / "link.txt", "link.txt")], lambda _: None)
    assert keys(result, tmp_path, {"link.txt": (None, None)}) == {"link.txt": "a"}
    # Both are given: the one that is named.
    both = [File(tmp_path / "link.txt", "link.txt"), File(tmp_path / "store" / "x1.txt", "store/x1.txt")]
    result = assign(found, both, lambda _: None)
    assert result.match(tmp_path / "link.txt") is None and result.report.matched == 1


def test_files_are_read_only_where_an_entry_is_left(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    files = [File(tmp_path / name, name) for name in ("a.txt", "b.txt")]

    def never(path: Path) -> tuple[bytes, Parsed] | None:
        raise AssertionError(path)

    found = read_bibliographies([write(tmp_path, "@book{a, title = {T}}")])
    assert assign(found, files, never).report.matched == 1
    found = read_bibliographies([write(tmp_path, "@book{c, year = {2000}}")])
    assert assign(found, files, never).report.matched == 0


def test_what_was_read_for_its_title_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    parsed = Parsed("x", [], "T")
    found = read_bibliographies([write(tmp_path, "@book{k, title = {T}}")])
    result = assign(found, [File(tmp_path / "a.txt", "a.txt")], lambda path: (path.read_bytes(), parsed))
    assert result.take_parsed(tmp_path / "a.txt", b"changed") is None
    result = assign(found, [File(tmp_path / "a.txt", "a.txt")], lambda path: (path.read_bytes(), parsed))
    assert result.take_parsed(tmp_path / "a.txt", b"x") is parsed
    assert result.take_parsed(tmp_path / "a.txt", b"x") is None


def test_titles_are_compared_by_letters_and_digits() -> None:
    assert same_title("On  Knots—and ﬁne Ropes (2nd ed.)") == same_title("on knots and FINE ropes 2ND ED")
    assert same_title("知識の構造") == "知識の構造" and same_title("—") == ""
