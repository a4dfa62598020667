from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import documents
import pytest
from documents import page_of, raw_pdf, text_at
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsift.errors import InvalidDocument, MissingExtra
from pgsift.ingest import sources
from pgsift.ingest.chunker import Chunker
from pgsift.ingest.formats import FORMATS, Limits, building
from pgsift.ingest.formats import pool as pools
from pgsift.ingest.formats.charset import decoded
from pgsift.ingest.formats.detect import detect
from pgsift.ingest.parsers import Parsed, parse

for _module in ("pypdfium2", "docx", "pptx", "openpyxl", "lxml", "docutils", "pylatexenc", "fpdf"):
    pytest.importorskip(_module)


def shape(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks]


FILES: dict[str, Any] = {
    "pdf": lambda: documents.two_column_pdf(3),
    "docx": documents.docx_file,
    "pptx": documents.pptx_file,
    "xlsx": documents.xlsx_file,
    "odt": documents.odt_file,
    "epub": documents.epub_file,
    "rst": lambda: documents.RST_FILE,
    "latex": lambda: documents.LATEX_FILE,
}


@pytest.mark.parametrize("format", FILES)
def test_chunks_are_spans_and_their_pages_hold_them(format: Any) -> None:
    parsed = parse(FILES[format](), format)
    previous = 0
    for block in parsed.blocks:
        assert previous <= block.start < block.end <= len(parsed.text)
        assert parsed.text[block.start : block.end].strip()
        assert parsed.text[previous : block.start].isspace() or previous == block.start == 0
        previous = block.end
    assert list(parsed.pages) == sorted(parsed.pages)
    for span in Chunker(20).chunk(parsed.text, parsed.blocks):
        page = parsed.page(span.start)
        if page is not None:
            assert parsed.pages[page - 1] <= span.start
            assert page == len(parsed.pages) or span.start < parsed.pages[page]


# PDF


def test_two_columns_are_read_one_after_the_other_without_running_heads() -> None:
    parsed = parse(documents.two_column_pdf(4), "pdf")
    marks = [
        mark for page in range(4) for mark in (f"LEFT{page}", f"ENDLEFT{page}", f"RIGHT{page}", f"ENDRIGHT{page}")
    ]
    positions = [parsed.text.index(f"{mark} " if mark.startswith(("LEFT", "RIGHT")) else mark) for mark in marks]
    assert positions == sorted(positions)
    for page in range(4):
        assert documents.prose(250, 2 * page) in parsed.text
        assert documents.prose(250, 2 * page + 1) in parsed.text
    assert "Journal of Pumps" not in parsed.text
    headings = [(block.level, block.heading) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [
        (1, "Two columns of prose about pumps and valves"),
        *((2, f"{number} Section {number}") for number in (1, 2, 3, 4)),
    ]
    assert (parsed.title, parsed.language) == ("Two columns", "en-GB")
    assert parsed.metadata["authors"] == ["Ada Lovelace", "Charles Babbage"]
    assert [parsed.page(position) for position in positions] == [page + 1 for page in range(4) for _ in range(4)]


def test_lines_written_across_both_columns_are_still_columns() -> None:
    left, right = documents.prose(180, 1).split(), documents.prose(180, 2).split()
    content = b""
    for number in range(30):
        y = 700 - 12 * number
        content += text_at(60, y, " ".join(left[6 * number : 6 * number + 6]), 8)
        content += text_at(330, y, " ".join(right[6 * number : 6 * number + 6]), 8)
    text = parse(raw_pdf([content]), "pdf").text
    assert " ".join(left) in " ".join(text.split())
    assert " ".join(right) in " ".join(text.split())


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_rotated_pages(rotate: int) -> None:
    lines = ["The first line of the page", "goes on with the second"]
    assert parse(raw_pdf([page_of(lines)], rotate=rotate), "pdf").text == " ".join(lines)


def test_text_that_is_turned_on_the_page() -> None:
    content = b"BT /F1 10 Tf 0 1 -1 0 300 100 Tm (The first line is turned) Tj ET\n"
    content += b"BT /F1 10 Tf 0 1 -1 0 312 100 Tm (and so is the second) Tj ET\n"
    assert parse(raw_pdf([content]), "pdf").text == "The first line is turned and so is the second"


def test_furniture_is_removed_only_where_it_repeats_on_most_pages() -> None:
    def page(number: int, head: str) -> bytes:
        lines = documents.prose(60, number).split()
        return (
            text_at(72, 770, head, 8)
            + page_of([" ".join(lines[at : at + 10]) for at in range(0, 60, 10)])
            + text_at(300, 30, f"Page {number} of 6", 8)
        )

    heads = ["A running head"] * 4 + ["Twice only"] * 2
    text = parse(raw_pdf([page(number, head) for number, head in enumerate(heads, 1)]), "pdf").text
    assert "A running head" not in text and "of 6" not in text
    assert text.count("Twice only") == 2
    two = parse(raw_pdf([page(1, "A head"), page(2, "A head")]), "pdf").text
    assert two.count("A head") == 2  # of two pages nobody knows


def test_divided_words_are_joined_and_compounds_are_not() -> None:
    lines = ["A well-known pump has a tur-", "bine, and the well-", "known valve is self-", "Sealing."]
    text = parse(raw_pdf([page_of(lines)]), "pdf").text
    assert text == "A well-known pump has a turbine, and the well-known valve is self-Sealing."


def test_a_word_divided_between_pages_begins_the_page_where_it_goes_on() -> None:
    pages = [page_of(["The pump has a tur-"], top=60), page_of(["bine of steel."])]
    parsed = parse(raw_pdf(pages), "pdf")
    assert parsed.text == "The pump has a turbine of steel."
    assert (parsed.page(parsed.text.index("tur")), parsed.page(parsed.text.index("steel"))) == (1, 2)


def test_a_table_without_rules_is_a_pipe_table() -> None:
    rows = [
        ("pump", "pressure in bar", "state"),
        ("P1", "3.5", "open"),
        ("P2", "4.0", "closed|no"),
        ("P3", "", "open"),
    ]
    content = page_of(["What was measured is in the table below, and nothing else was."], top=720)
    for number, row in enumerate(rows[:3]):
        for x, cell in zip((72, 200, 380), row, strict=True):
            content += text_at(x, 690 - 14 * number, cell)
    content += page_of(["The text goes on after it for a while."], top=620)
    parsed = parse(raw_pdf([content]), "pdf")
    assert [text for kind, _, text in shape(parsed) if kind == "table"] == [
        "| pump | pressure in bar | state |\n| --- | --- | --- |\n| P1 | 3.5 | open |\n| P2 | 4.0 | closed\\|no |"
    ]
    assert [kind for kind, _, _ in shape(parsed)] == ["paragraph", "table", "paragraph"]


def test_pages_without_text_are_told() -> None:
    parsed = parse(raw_pdf([page_of(["One."]), b"0 0 10 10 re f", page_of(["Three."])]), "pdf")
    assert parsed.metadata["pages_without_text"] == [2]
    assert parsed.page(parsed.text.index("Three")) == 3


@pytest.mark.parametrize("title", ["Microsoft Word - draft3.doc", "untitled", "paper.tex", ""])
def test_a_title_that_a_program_wrote_is_none(title: str) -> None:
    info = {"Title": f"({title})".encode()}
    assert parse(raw_pdf([page_of(["Only words in one size."])], info=info), "pdf").title is None


def test_a_doi_is_the_documents_own() -> None:
    own = raw_pdf([page_of(["A paper. https://doi.org/10.1234/abc.(5)."])])
    assert parse(own, "pdf").metadata["doi"] == "10.1234/abc.(5)"
    assert "doi" not in parse(raw_pdf([page_of(["See 10.1234/other for more."])]), "pdf").metadata


# The others


def test_docx() -> None:
    parsed = parse(documents.docx_file(), "docx")
    assert shape(parsed) == [
        ("title", 1, "Pump report"),
        ("heading", 1, "Methods"),
        ("paragraph", 0, "We measured the pressure of each pump."),
        ("item", 0, "- first sensor"),
        ("item", 0, "- second sensor"),
        (
            "table",
            0,
            "| r0c0 | r0c1 | r0c2 |\n| --- | --- | --- |\n| r1c0 | r1c1 | r1c2 |\n| r2c0 | r2c1 | a\\|b |",
        ),
        ("heading", 2, "Results"),
        ("paragraph", 0, "Kept added"),
    ]
    assert (parsed.title, parsed.language, parsed.metadata["authors"]) == (
        "Pump report",
        "en-GB",
        ["Ada Lovelace"],
    )


def test_pptx() -> None:
    parsed = parse(documents.pptx_file(), "pptx")
    assert shape(parsed) == [
        ("heading", 1, "Overview"),
        ("item", 0, "- Why pumps fail"),
        ("item", 0, "- How to notice"),
        ("paragraph", 0, "Notes: Mention the cavitation."),
        ("heading", 2, "Numbers"),
        ("table", 0, "| pump | bar |\n| --- | --- |\n| P1 | 3.5 |"),
    ]
    assert parsed.title == "Pumps in practice"
    assert [parsed.page(block.start) for block in parsed.blocks] == [1, 1, 1, 1, 2, 2]


def test_xlsx() -> None:
    parsed = parse(documents.xlsx_file(), "xlsx")
    assert shape(parsed) == [
        ("heading", 2, "Pumps"),
        ("table", 0, "| pump | bar | checked |\n| --- | --- | --- |\n| P1 | 3.5 | TRUE |\n| P2 | 4 | FALSE |"),
        ("paragraph", 0, "Measured at noon"),
        ("heading", 2, "Valves"),
        ("table", 0, "| valve | state |\n| --- | --- |\n| V1 | open |"),
    ]
    assert parsed.title is None
    assert parsed.page(parsed.text.index("V1")) == 2


def test_odt() -> None:
    parsed = parse(documents.odt_file(), "odt")
    assert shape(parsed) == [
        ("heading", 1, "Methods"),
        ("paragraph", 0, "We measured  the pump.[1]"),
        ("item", 0, "- first"),
        ("item", 0, "- second"),
        ("table", 0, "| pump | bar |\n| --- | --- |\n| P1 |  |"),
        ("paragraph", 0, "[1] Twice."),
    ]
    assert (parsed.title, parsed.language) == ("Pump notes", "de-DE")


def test_epub() -> None:
    parsed = parse(documents.epub_file(), "epub")
    assert shape(parsed) == [
        ("heading", 1, "The first chapter"),
        ("paragraph", 0, "Pumps move water\xa0fast."),
        ("item", 0, "- one"),
        ("item", 0, "- inner"),
        ("item", 0, "- two"),
        ("heading", 1, "The second chapter"),
        ("code", 0, "x = 1\n  y = 2"),
        ("table", 0, "| pump | bar |\n| --- | --- |\n| P1 | 3 |"),
    ]
    assert (parsed.title, parsed.language) == ("A book of pumps", "en")
    assert parsed.metadata == {"authors": ["Ada Lovelace"], "year": 1843, "doi": "10.1234/pumps.1"}


def test_rst() -> None:
    parsed = parse(documents.RST_FILE, "rst")
    assert shape(parsed) == [
        ("title", 1, "Guide"),
        ("paragraph", 0, "Intro text with code and a link."),
        ("heading", 2, "Section"),
        ("item", 0, "- one"),
        ("item", 0, "- two"),
        ("code", 0, "x = 1"),
        ("heading", 3, "Sub"),
        ("paragraph", 0, "Text [1] here."),
        ("paragraph", 0, "argument"),
        ("paragraph", 0, "Inner content."),
        ("paragraph", 0, "[1] A note."),
    ]
    assert parsed.metadata == {"authors": ["Ada Lovelace"], "year": 2024}


def test_latex() -> None:
    parsed = parse(documents.LATEX_FILE, "latex")
    assert shape(parsed) == [
        ("heading", 2, "Introduction"),
        ("paragraph", 0, "Pumps [a,b] are fast; see $x^2 + y$. Müller said so.[1]"),
        ("paragraph", 0, "Second paragraph – with a dash."),
        ("code", 0, "\\begin{equation}\n E = mc^2\n\\end{equation}"),
        ("item", 0, "- one"),
        ("item", 0, "- two"),
        ("table", 0, "| pump | bar |\n| --- | --- |\n| P1 | 3 |"),
        ("code", 0, "x = {1}"),
        ("heading", 2, "References"),
        ("paragraph", 0, "A. Author. A title."),
        ("paragraph", 0, "[1] He did."),
    ]
    assert (parsed.title, parsed.language) == ("On Pumps", "en")
    assert parsed.metadata == {"authors": ["Ada Lovelace", "Charles Babbage"], "year": 2021}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ada Lovelace; Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ("Ada Lovelace and Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ("Ada Lovelace, Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ("Lovelace, Ada", ["Lovelace, Ada"]),
        ("", []),
        (None, []),
    ],
)
def test_names(value: str | None, expected: list[str]) -> None:
    assert building.names(value) == expected


# Text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größere Pumpen fördern mehr Wasser, außer bei Überdruck.", "cp1252"),
        ("Насос перекачивает воду, когда клапан открыт и давление высокое.", "cp1251"),
        ("ポンプは水を運びます。弁が開いている時だけです。圧力が高い。", "cp932"),
        ("Zażółć gęślą jaźń: pompa tłoczy wodę, gdy zawór jest otwarty.", "cp1250"),
        ("水泵输送水，阀门打开时压力很高。", "gb18030"),
        ("One café in a long line of plain words of English.", "cp1252"),
        ("Насос перекачивает воду, когда клапан открыт.", "utf-16"),
        ("plain", "utf-32"),
    ],
)
def test_encodings_are_found(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding))[0] == text


def test_a_declared_encoding_comes_before_one_that_is_found() -> None:
    content = "# -*- coding: iso-8859-7 -*-\nΑντλία".encode("iso-8859-7")
    assert decoded(content) == ("# -*- coding: iso-8859-7 -*-\nΑντλία", "iso8859-7")
    assert decoded("Αντλία".encode("iso-8859-7"), "iso-8859-7")[0] == "Αντλία"


@pytest.mark.parametrize("content", [b"caf\xe9", b"\xff", b"\xff\xfea"])
def test_a_few_bytes_tell_no_encoding(content: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"^not (UTF-8: .*too short to tell|utf-16, though)"):
        decoded(content)


def test_binary_data_is_no_text() -> None:
    with pytest.raises(InvalidDocument, match="binary data"):
        decoded(bytes(range(256)) * 20)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=60)
def test_any_bytes_are_text_or_refused(content: bytes) -> None:
    try:
        text, _ = decoded(content)
    except InvalidDocument as error:
        assert error.message.startswith("not ")
    else:
        assert isinstance(text, str)


# What a file is


@pytest.mark.parametrize(
    ("content", "suffix", "expected"),
    [
        (documents.simple_pdf("x"), ".txt", "pdf"),
        (b"\n" + documents.simple_pdf("x"), ".pdf", "pdf"),
        (b"A line about %PDF-1.4 in a note", ".txt", "text"),
        (documents.docx_file(), ".zip", "docx"),
        (documents.xlsx_file(), ".pdf", "xlsx"),
        (documents.pptx_file(), "", "pptx"),
        (documents.odt_file(), ".zip", "odt"),
        (documents.epub_file(), ".docx", "epub"),
        (documents.zip_file({"inner.docx": documents.docx_file()}, stored=["inner.docx"]), ".docx", "zip"),
        (b"<!DOCTYPE html>\n<html>", ".pdf", "html"),
        (b"plain words", ".docx", "text"),
        (b"plain words", ".md", "markdown"),
        (b"a,b\n", ".csv", "csv"),
        (b"", ".txt", "text"),
    ],
)
def test_content_decides(content: bytes, suffix: str, expected: str) -> None:
    assert detect(content, suffix) == expected


# Limits


def test_what_takes_too_long_is_stopped() -> None:
    # The process of a limit of memory of its own has to start first, which takes longer than this.
    with pytest.raises(InvalidDocument, match=r"took longer than 0\.001 seconds and was stopped"):
        parse(documents.simple_pdf("x"), "pdf", Limits(seconds=0.001, memory_mb=777))


def test_what_takes_too_much_memory_is_stopped() -> None:
    limits = Limits(memory_mb=200, archive_ratio=10_000, archive_bytes=10**10)
    with pytest.raises(InvalidDocument, match=r"took more than 200 MB of memory|memory a parser has") as caught:
        parse(documents.docx_bomb(), "docx", limits)
    assert "--parse-memory" in (caught.value.hint or "")
    assert parse(documents.docx_file(), "docx", limits).title == "Pump report"


def test_a_parser_that_crashes_costs_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    send = pools._Worker.send

    def crash(worker: Any, header: Any, payload: bytes) -> None:
        os.kill(worker.process.pid, signal.SIGSEGV)
        worker.process.wait()
        send(worker, header, payload)

    with monkeypatch.context() as patched:
        patched.setattr(pools._Worker, "send", crash)
        with pytest.raises(InvalidDocument, match=r"the parser of the PDF crashed \(SIGSEGV\)"):
            parse(documents.simple_pdf("x"), "pdf")
    assert parse(documents.simple_pdf("word"), "pdf").text == "word"


def test_workers_are_used_again_and_end_with_their_caller() -> None:
    pool = pools.Pool()
    limits = Limits(memory_mb=900)
    for _ in range(3):
        pool.parse(documents.simple_pdf("word"), "pdf", limits)
    [worker] = pool._idle
    assert worker.process.poll() is None
    pool.close()
    assert worker.process.poll() is not None


def test_an_expansion_that_is_left_ends_its_worker() -> None:
    pool = pools.Pool()
    members = pool.expand(b"text\none\ntwo\n", "csv", Limits(memory_mb=901))
    assert next(members).record is not None
    members.close()
    assert pool._idle == []


def test_a_missing_library_is_told_with_how_to_install_it() -> None:
    # In a process of its own, where nothing is imported yet.
    code = (
        "import sys; sys.modules['pypdfium2'] = None\n"
        "from pgsift.errors import MissingExtra\nfrom pgsift.ingest.formats import Limits, pdf\n"
        "try: pdf.read(b'', Limits())\nexcept MissingExtra as error: print(error.message, '|', error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "PDFs need the extra 'pdf' (pypdfium2 is missing) | Install it: pip install 'pgsift[pdf]'\n"
    )


def test_a_missing_library_is_told_by_the_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "docutils").mkdir()
    (tmp_path / "docutils" / "__init__.py").write_text("raise ImportError('gone', name='docutils')")
    monkeypatch.setattr(pools, "_PACKAGES", f"{tmp_path}{os.pathsep}{pools._PACKAGES}")
    pool = pools.Pool()
    with pytest.raises(MissingExtra) as caught:
        pool.parse(b"text", "rst", Limits(memory_mb=902))
    assert caught.value.hint == "Install it: pip install 'pgsift[rst]'"
    pool.close()


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="memory_mb must be at least 128, not 1"):
        Limits(memory_mb=1)


@pytest.mark.parametrize("format", [name for name, spec in FORMATS.items() if not spec.several])
@given(content=st.binary(max_size=200))
@settings(deadline=None, max_examples=15)
def test_any_bytes_are_parsed_or_refused(format: Any, content: bytes) -> None:
    starts = {"pdf": b"%PDF-1.4\n", "rst": b"", "latex": b""}
    try:
        parsed = parse(starts.get(format, b"PK\x03\x04") + content, format)
    except InvalidDocument:
        return
    parsed.text.encode()


@pytest.mark.parametrize("format", FILES)
def test_a_file_that_is_cut_is_parsed_or_refused(format: Any) -> None:
    content = FILES[format]()
    for share in (0.3, 0.6, 0.9, 0.99):
        try:
            parse(content[: int(len(content) * share)], format)
        except InvalidDocument as error:
            assert "crashed" not in error.message


def test_a_file_that_is_too_large_is_told_with_the_way_to_read_it(tmp_path: Path) -> None:
    place = tmp_path / "long.md"
    place.write_text("x" * 101)
    (refused,) = sources.read([place], sources.Options(limits=Limits(file_bytes=100)))
    assert isinstance(refused, sources.Broken)
    assert refused.reason == (
        "the file has more than 100 bytes. Divide it, or read it from Python with limits=Limits(file_bytes=...)."
    )
    (read,) = sources.read([place], sources.Options(limits=Limits(file_bytes=101)))
    assert isinstance(read, sources.Item)
    with pytest.raises(ValueError, match="file_bytes must be at least 1, not 0"):
        Limits(file_bytes=0)
