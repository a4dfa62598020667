"""A folder of real and hostile files, ingested in one run: each is searchable or a dead letter with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import documents
import pytest

from pgsift.ingest.formats import Limits
from pgsift.ingest.parsers import parse
from pgsift.models import Document

for _module in ("pypdfium2", "docx", "pptx", "openpyxl", "lxml", "docutils", "pylatexenc", "fpdf", "trafilatura"):
    pytest.importorskip(_module)

PUBLIC = ["public"]

GOOD: dict[str, bytes] = {
    "two.pdf": documents.two_column_pdf(2),
    "report.docx": documents.docx_file(),
    "slides.pptx": documents.pptx_file(),
    "numbers.xlsx": documents.xlsx_file(),
    "notes.odt": documents.odt_file(),
    "book.epub": documents.epub_file(),
    "guide.rst": documents.RST_FILE,
    "paper.tex": documents.LATEX_FILE,
    "latin.txt": "Größere Pumpen fördern mehr Wasser, außer bei Überdruck.".encode("cp1252"),
    "really-a-pdf.docx": documents.simple_pdf("Wrong extension of cavitation."),
    "error-page.pdf": b"<!doctype html><html><body><p>Impeller not found</p></body></html>",
}
BAD: dict[str, tuple[bytes, str]] = {
    "encrypted.pdf": (documents.encrypted_pdf(), "opens with a password only"),
    "scan.pdf": (documents.image_pdf(2), "the PDF has no text layer: none of its 2 pages has text"),
    "empty.pdf": (b"", "the file has no bytes"),
    "empty.docx": (b"", "the file has no bytes"),
    "empty.zip": (b"", "the file has no bytes"),
    "cut.pdf": (documents.two_column_pdf(1)[:400], "the PDF is broken"),
    "noise.pdf": (bytes(range(256)) * 20, "neither that nor anything known"),
    "locked.docx": (documents.ENCRYPTED_OFFICE, "opens with a password only"),
    "old.docx": (documents.OLD_WORD, "a Word document of the old binary kind"),
    "photo.pdf": (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG image, which is not read"),
    "bomb.docx": (documents.docx_bomb(), "decompression bomb"),
    "bomb.zip": (documents.bomb(), "decompression bomb"),
    "cut.zip": (documents.zip_file({"a.txt": "text " * 500})[:-30], "is broken"),
    "cut.xlsx": (documents.zip_file({"xl/workbook.xml": "<workbook"}), "the workbook"),
    "deep.odt": (documents.odt_file("<text:span>" * 3000 + "</text:span>" * 3000), "is not well-formed XML"),
    "no-mail.eml": (b"\n\njust text\n", "the mail has no header"),
    "no-mail.mbox": (b"just text\n", "holds no message"),
    "header.csv": (b"a,b\n", "the names of columns and no row"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "papers"
    root.mkdir()
    for name, content in GOOD.items():
        (root / name).write_bytes(content)
    for name, (content, _) in BAD.items():
        (root / name).write_bytes(content)
    return root


def test_every_file_is_searchable_or_a_dead_letter_with_its_reason(store: Any, folder: Path) -> None:
    report = store.ingest("t", folder, limits=Limits(workers=2))
    letters = {letter.key: letter.reason for letter in store.dead_letters("t")}
    assert {name: reason in letters.get(name, "") for name, (_, reason) in BAD.items()} == dict.fromkeys(BAD, True)
    assert (letters.keys(), report.failed) == (BAD.keys(), len(BAD))
    assert report.created == len(GOOD)
    assert {document.key for document in store.documents("t", principals=PUBLIC)} == GOOD.keys()
    for query, key in {
        "LEFT1": "two.pdf",
        "first sensor": "report.docx",
        "cavitation mention": "slides.pptx",
        "noon": "numbers.xlsx",
        "measured twice": "notes.odt",
        "inner water": "book.epub",
        "unknown inner content": "guide.rst",
        "Müller": "paper.tex",
        "Überdruck": "latin.txt",
        "impeller": "error-page.pdf",
    }.items():
        assert key in [hit.key for hit in store.search("t", query, principals=PUBLIC)], query
    again = store.ingest("t", folder)
    assert (again.unchanged, again.failed, again.created) == (len(GOOD), len(BAD), 0)


def test_spans_and_pages_of_a_pdf(store: Any, tmp_path: Path) -> None:
    content = documents.two_column_pdf(4)
    (tmp_path / "two.pdf").write_bytes(content)
    store.ingest("t", tmp_path / "two.pdf", chunk_size=60)
    text = parse(content, "pdf").text
    for page in range(4):
        for side in ("LEFT", "RIGHT"):
            hit = store.search("t", f"{side}{page}", principals=PUBLIC)[0]
            assert hit.body == text[hit.char_start : hit.char_end]
            assert (hit.page, hit.title, hit.key) == (page + 1, "Two columns", "two.pdf")
    section = store.search("t", "LEFT2", principals=PUBLIC)[0].section
    assert section == "Two columns of prose about pumps and valves > 3 Section 3"


def test_the_page_is_that_of_the_matched_words(store: Any, tmp_path: Path) -> None:
    """In every format that has pages, wherever the chunk begins."""
    lines = ["The pump has a tur-"], ["bine of steel,", "and ends in brass."]
    pdf = documents.raw_pdf([documents.page_of(lines[0], top=60), documents.page_of(lines[1])])
    for name, content in (
        ("pump.pdf", pdf),
        ("slides.pptx", documents.pptx_file()),
        ("numbers.xlsx", documents.xlsx_file()),
        ("book.epub", documents.epub_file()),
    ):
        (tmp_path / name).write_bytes(content)
        store.ingest("t", tmp_path / name, chunker="window")
        parsed = parse(content, name.rpartition(".")[2])  # type: ignore[arg-type]
        assert parsed.pages
        # Of each of these there is one, in any form.
        words = [word for word in parsed.text.split() if len(word) > 3 and word.isalpha()]
        words = [word for word in words if parsed.text.lower().count(word.lower()[:4]) == 1]
        assert len({parsed.page(parsed.text.index(word)) for word in words}) > 1
        for word in sorted(words):
            place = parsed.text.index(word)
            page, page_end = parsed.page(place), parsed.page(place + len(word) - 1)
            hits = store.search("t", f'"{word}"', principals=PUBLIC, filter={"key": name}, snippet_width=20)
            for hit in hits:
                if word in hit.snippet:
                    assert (hit.snippet_page, hit.page) == (page, parsed.page(hit.char_start)), (name, word)
            (passage,) = store.evidence("t", name, word, windows=1, width=20, principals=PUBLIC)
            if word in passage.text:
                assert (passage.page, passage.page_end) == (page, page_end), (name, word)
                assert [one.page for one in store.cite("t", [name], principals=PUBLIC, query=word)] == [page]
    (hit,) = store.search("t", "brass", principals=PUBLIC)
    assert (hit.page, hit.snippet_page, hit.body) == (1, 2, "The pump has a turbine of steel, and ends in brass.")


def test_the_header_of_a_table_goes_with_every_part_of_it(store: Any) -> None:
    rows = [f"| town{number} | {number} |" for number in range(200)]
    text = "\n".join(["| city | inhabitants |", "|---|---|", *rows])
    store.ingest("t", [Document("towns", f"Before it.\n\n{text}\n\nAfter it.", "markdown")], chunk_size=40)
    hits = store.search("t", "inhabitants town150", principals=PUBLIC)
    assert (hits[0].kind, "town150" in hits[0].body, "inhabitants" in hits[0].body) == ("table", True, False)
    tables = [hit for hit in hits if hit.kind == "table"]
    found = store.search("t", "inhabitants", k=50, per_document=None, principals=PUBLIC)
    assert len(tables) > 0 and len(found) == sum("town" in hit.body for hit in found) > 5
    assert not store.search("t", "inhabitants", unit="document", principals=PUBLIC)[1:]


def test_a_file_without_bytes_is_a_dead_letter(store: Any, tmp_path: Path) -> None:
    (tmp_path / "nothing.txt").write_bytes(b"")
    (tmp_path / "nothing.md").write_bytes(b"")
    (tmp_path / "some.zip").write_bytes(documents.zip_file({"in.txt": b"", "full.txt": b"Words of brass."}))
    report = store.ingest("t", tmp_path)
    assert (report.created, report.failed) == (1, 3)
    letters = {letter.key: letter.reason for letter in store.dead_letters("t")}
    assert letters.keys() == {"nothing.txt", "nothing.md", "some.zip#in.txt"}
    assert all("the file has no bytes" in reason for reason in letters.values())


def test_nul_and_lone_surrogates_are_cleaned_counted_and_ingested(store: Any, tmp_path: Path) -> None:
    name = b"pump \xff.pdf"
    content = documents.raw_pdf(
        [documents.page_of(["A pump with \x03 half a pair and sur\x04 rogate"])],
        info={
            "Title": documents.utf16("Ti\0tle \ud800 x"),
            "Producer": documents.utf16("Pro\0ducer \udc00"),
            "Author": documents.utf16("A\0da"),
        },
        to_unicode={3: 0xD800, 4: 0xDFFF, **{code: code for code in range(32, 127)}},
    )
    path = tmp_path / "papers"
    path.mkdir()
    (path / name.decode("utf-8", "surrogateescape")).write_bytes(content)
    (path / "bad.pdf").write_bytes(b"%PDF-1.7 no more")
    report = store.ingest("t", path)
    assert (report.created, report.failed) == (1, 1)
    assert report.characters_cleaned == 5 + 2 + 1
    [document] = store.documents("t", principals=PUBLIC)
    assert (document.key, document.title) == ("pump \\xff.pdf", "Ti tle \ufffd x")
    assert document.metadata["producer"] == "Pro ducer \ufffd"
    assert document.metadata["authors"] == ["A da"]
    [hit] = store.search("t", "pump pair", principals=PUBLIC)
    assert "\ufffd" in hit.body


def test_archives_mails_and_rows(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "papers"
    root.mkdir()
    inner = documents.zip_file({"deep.txt": "A word from deep inside."})
    (root / "all.zip").write_bytes(
        documents.zip_file(
            {
                "a/report.docx": documents.docx_file(),
                "mail.eml": documents.eml_file(),
                "inner.zip": inner,
                "../../escape.txt": "out",
                "/etc/absolute.txt": "out",
                ".hidden.txt": "no",
                "__MACOSX/x.txt": "no",
                "photo.png": b"\x89PNG",
                "broken.pdf": b"%PDF-1.4",
            }
        )
    )
    (root / "box.mbox").write_bytes(documents.mbox_file())
    (root / "rows.csv").write_text(
        'id;title;text;year\n7;Valve;"A valve\nleaks";2020\n;Pump;A pump hums;2021\n9;x;y;z;too many\n',
        encoding="utf-8",
    )
    (root / "open.csv").write_text("id,text,acl\n1,secret,everyone\n", encoding="utf-8")
    report = store.ingest("t", root)
    letters = {letter.key: letter.reason for letter in store.dead_letters("t")}
    found = {document.key: document for document in store.documents("t", principals=PUBLIC)}
    assert found.keys() == {
        "all.zip#a/report.docx",
        "all.zip#mail.eml",
        "all.zip#mail.eml#report.pdf",
        "all.zip#mail.eml#message 1.eml",
        "all.zip#inner.zip#deep.txt",
        "box.mbox#m1@example.org",
        "box.mbox#m2@example.org",
        "rows.csv#7",
        "rows.csv#2",
    }
    assert {key: reason.partition(".")[0] for key, reason in letters.items()} == {
        "all.zip#../../escape.txt": "the name of the file leads out of the archive",
        "all.zip#/etc/absolute.txt": "the name of the file leads out of the archive",
        "all.zip#broken.pdf": letters["all.zip#broken.pdf"].partition(".")[0],
        "rows.csv#3": "the row has 5 fields, and 4 columns have names",
        "open.csv#1": "acl must be a list of principals",
    }
    assert "the PDF is broken" in letters["all.zip#broken.pdf"]
    assert report.failed == len(letters)
    assert found["rows.csv#7"].metadata == {"year": "2020"}
    assert found["all.zip#mail.eml"].title == "Grüße"
    assert found["all.zip#mail.eml"].metadata["from"] == ["Ada Lovelace <ada@example.org>"]
    [hit] = store.search("t", "attached report valve", principals=PUBLIC, k=1)
    assert (hit.key, hit.page) == ("all.zip#mail.eml#report.pdf", 1)
    [line] = [hit for hit in store.search("t", "pump room", principals=PUBLIC) if hit.key.startswith("box")]
    assert "From the pump room." in line.body and ">From" not in line.body


def test_a_synchronized_archive_loses_what_it_lost(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "papers"
    root.mkdir()
    archive = root / "all.zip"
    archive.write_bytes(documents.zip_file({"a.txt": "first", "b.txt": "second"}))
    assert store.sync("t", root).reconciled
    archive.write_bytes(documents.zip_file({"a.txt": "first"}))
    report = store.sync("t", root)
    assert report.reconciled and report.ingest.deleted == 1
    assert [document.key for document in store.documents("t", principals=PUBLIC)] == ["all.zip#a.txt"]


def test_kept_sources_are_rebuilt(store: Any, tmp_path: Path) -> None:
    (tmp_path / "report.docx").write_bytes(documents.docx_file())
    store.ingest("t", tmp_path / "report.docx", keep_source=True)
    report = store.rebuild("t")
    assert (report.unchanged, report.failed) == (1, 0)
