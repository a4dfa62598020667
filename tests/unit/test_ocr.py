"""Scanned pages: pictures of text, made here, are recognized by Tesseract where it is installed."""

from __future__ import annotations

import io
import textwrap
from difflib import SequenceMatcher
from functools import cache
from typing import Any

import pytest

from pgsift.errors import InvalidDocument, MissingExtra
from pgsift.ingest.chunker import Chunker
from pgsift.ingest.formats import Limits, ocr
from pgsift.ingest.parsers import limits_of, parse, parser_name

pytest.importorskip("pypdfium2")
LONG = 300

FIRST = (
    "Pump cavitation begins where the pressure in the inlet falls below the vapour pressure of the water. "
    "Bubbles form, travel into the impeller and collapse there; the noise is that of gravel in a tin."
)
SECOND = "The second page was laid on the glass upside down by somebody who was in a hurry."


@pytest.fixture(scope="module")
def tesseract() -> None:
    pytest.importorskip("tesserocr")
    pytest.importorskip("PIL")
    try:
        ocr.check(Limits(ocr="auto"))
    except MissingExtra as error:
        pytest.skip(error.message)


def picture(text: str, *, turned: int = 0, heading: str = "") -> Any:
    """A page of A6 at 150 dots an inch."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (620, 874), 255)
    draw = ImageDraw.Draw(page)
    y = 60
    if heading:
        draw.text((60, y), heading, font=ImageFont.load_default(44), fill=0)
        y += 90
    for line in textwrap.wrap(text, 34):
        draw.text((60, y), line, font=ImageFont.load_default(29), fill=0)
        y += 44
    return page.rotate(turned, expand=True)


def scanned(*pages: Any) -> bytes:
    target = io.BytesIO()
    pages[0].save(target, "PDF", save_all=True, append_images=pages[1:], resolution=150.0)
    return target.getvalue()


@cache
def scan() -> bytes:
    return scanned(picture(FIRST, heading="Pumps"), picture(SECOND, turned=180), picture(""))


def test_without_being_asked_a_scan_has_no_text() -> None:
    pytest.importorskip("PIL")
    with pytest.raises(InvalidDocument, match="no text layer") as caught:
        parse(scan(), "pdf")
    assert "pgsift[ocr]" in (caught.value.hint or "") and "--ocr auto" in (caught.value.hint or "")


@pytest.mark.usefixtures("tesseract")
def test_pages_are_recognized_upright_with_their_numbers() -> None:
    parsed = parse(scan(), "pdf", Limits(ocr="auto", seconds=LONG))
    wanted = f"Pumps\n\n{FIRST}\n\n{SECOND}"
    assert SequenceMatcher(None, parsed.text, wanted, autojunk=False).ratio() > 0.97, parsed.text
    assert [block.kind for block in parsed.blocks] == ["title", "paragraph", "paragraph"]
    assert parsed.metadata["pages_ocr"] == [1, 2] and parsed.metadata["pages_without_text"] == [3]
    assert parsed.metadata["ocr_confidence"] > 80
    assert parsed.page(parsed.text.index("gravel")) == 1 and parsed.page(parsed.text.index("glass")) == 2
    for span in Chunker().chunk(parsed.text, parsed.blocks):
        assert parsed.text[span.start : span.end].strip()


@pytest.mark.usefixtures("tesseract")
def test_pages_with_text_are_left_as_they_are() -> None:
    import documents
    import pypdfium2

    mixed = pypdfium2.PdfDocument.new()
    mixed.import_pages(pypdfium2.PdfDocument(documents.simple_pdf("Set text on the first page.")))
    mixed.import_pages(pypdfium2.PdfDocument(scanned(picture(SECOND))))
    target = io.BytesIO()
    mixed.save(target)
    limits = Limits(ocr="auto", ocr_languages=("en",), seconds=LONG)
    parsed = parse(target.getvalue(), "pdf", limits)
    assert parsed.text.startswith("Set text on the first page.") and "upside down" in parsed.text
    assert parsed.metadata["pages_ocr"] == [2]
    with pytest.raises(InvalidDocument, match="no text layer") as caught:
        parse(scanned(picture("")), "pdf", limits)
    assert "--ocr-language" in (caught.value.hint or "")


def test_text_written_from_right_to_left_keeps_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tesseract gives its words as they are seen, from the left, and the text as it is read."""
    from pgsift.ingest.formats.layout import Word

    lines = [[(Word("امدنع", 60, 0, 90, 10, 10), 90.0), (Word("ضفخني", 10, 0, 50, 10, 10), 80.0)],
             [(Word("يف", 10, 20, 50, 30, 10), 85.0)]]  # fmt: skip
    monkeypatch.setattr(ocr, "_read", lambda *_: ocr._Found("عندما ينخفض\n\nفي\n", lines))
    monkeypatch.setattr(ocr, "_draw", lambda *_: ocr._Drawn(b"", 100, 100, 100, 1.0))
    page = ocr._page(None, None, ocr._turner(None, None), None, 1)
    assert [[line.text for line in region] for region in page.regions] == [["عندما ينخفض"], ["في"]]
    assert page.confidence == 85


@pytest.mark.usefixtures("tesseract")
def test_what_is_missing_is_told_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtra, match="xyz"):
        ocr.check(Limits(ocr="auto", ocr_languages=("eng", "xyz")))
    monkeypatch.setitem(__import__("sys").modules, "tesserocr", None)
    with pytest.raises(MissingExtra, match="tesserocr"):
        ocr.check(Limits(ocr="force"))
    ocr.check(Limits())


def test_names_of_languages() -> None:
    assert ocr.tesseract_names(("de", "deu", "en-GB", "zh-Hant", "zh", "chi_sim", "frk", "sr")) == (
        "deu", "eng", "chi_tra", "chi_sim", "frk", "srp",
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [{"ocr": "maybe"}, {"ocr_languages": ()}, {"ocr_languages": ("../x",)}, {"parser": "other"}]
)
def test_wrong_ways_of_reading_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)


def test_the_way_of_reading_is_part_of_what_is_stored() -> None:
    limits = Limits(ocr="force", ocr_languages=("deu", "eng"))
    name = parser_name("pdf", limits)
    assert name.startswith(parser_name("pdf")) and name != parser_name("pdf")
    assert parser_name("docx", limits) == parser_name("docx")
    assert limits_of(name, Limits(seconds=7)) == Limits(ocr="force", ocr_languages=("deu", "eng"), seconds=7)
    assert limits_of(parser_name("pdf"), Limits()) == Limits()
    assert limits_of(parser_name("docx", Limits(parser="docling")), Limits()).parser == "docling"
