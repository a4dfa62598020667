"""What becomes of docling's own documents. They are made with docling-core, which is docling's model without its
readers and without torch; where it is not installed the tests are skipped."""

from __future__ import annotations

from typing import Any

import pytest

from pgsift.errors import InvalidDocument
from pgsift.ingest.chunker import Chunker
from pgsift.ingest.formats.docling import parsed_of

pytest.importorskip("docling_core")
from docling_core.types.doc import (
    BoundingBox,
    ContentLayer,
    DocItemLabel,
    DoclingDocument,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)


def on(page: int, start: int = 0, end: int = 1) -> ProvenanceItem:
    return ProvenanceItem(page_no=page, bbox=BoundingBox(l=0, t=0, r=1, b=1), charspan=(start, end))


def cell(text: str, row: int, column: int, columns: int = 1) -> TableCell:
    return TableCell(
        text=text, start_row_offset_idx=row, end_row_offset_idx=row + 1, start_col_offset_idx=column,
        end_col_offset_idx=column + columns, col_span=columns,
    )  # fmt: skip


def report() -> Any:
    document = DoclingDocument(name="report")
    for page in (1, 2, 3):
        document.add_page(page_no=page, size=Size(width=600, height=800))
    document.add_text(
        DocItemLabel.PAGE_HEADER, "Running head", prov=on(1), content_layer=ContentLayer.FURNITURE
    )
    document.add_title("Pumps in Winter", prov=on(1))
    document.add_text(DocItemLabel.TEXT, "A pump that stands still freezes.", prov=on(1))
    document.add_heading("Figures", level=1, prov=on(1))
    caption = document.add_text(DocItemLabel.CAPTION, "Table 1: frost", prov=on(2))
    data = TableData(
        num_rows=3, num_cols=2,
        table_cells=[cell("Measured in Oslo", 0, 0, 2), cell("day", 1, 0), cell("°C", 1, 1), cell("1 | 2", 2, 0),
                     cell("-4", 2, 1)],
    )  # fmt: skip
    document.add_table(data, caption=caption, prov=on(2))
    group = document.add_list_group()
    document.add_list_item("drain it", enumerated=True, marker="1.", parent=group, prov=on(2))
    document.add_list_item("open it", enumerated=True, marker="2.", parent=group, prov=on(2))
    document.add_heading("In Detail", level=2, prov=on(2))
    over = "This paragraph begins on the second page and ends on the third."
    item = document.add_text(DocItemLabel.TEXT, over, prov=on(2, 0, 38))
    item.prov.append(on(3, 38, len(over)))
    document.add_code("if frost:\n    drain()", prov=on(3))
    document.add_formula("Q = m c \\Delta T", prov=on(3))
    document.add_picture(caption=document.add_text(DocItemLabel.CAPTION, "Figure 1: ice", prov=on(3)), prov=on(3))
    return document


def test_a_document_of_docling() -> None:
    parsed = parsed_of(report())
    assert parsed.title == "Pumps in Winter"
    assert [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks] == [
        ("title", 1, "Pumps in Winter"),
        ("paragraph", 0, "A pump that stands still freezes."),
        ("heading", 2, "Figures"),
        ("paragraph", 0, "Table 1: frost"),
        ("table", 0, "| Measured in Oslo |  |\n| --- | --- |\n| day | °C |\n| 1 \\| 2 | -4 |"),
        ("item", 0, "1. drain it"),
        ("item", 0, "2. open it"),
        ("heading", 3, "In Detail"),
        ("paragraph", 0, "This paragraph begins on the second page and ends on the third."),
        ("code", 0, "if frost:\n    drain()"),
        ("paragraph", 0, "Q = m c \\Delta T"),
        ("paragraph", 0, "Figure 1: ice"),
    ]
    assert parsed.metadata == {"page_count": 3}
    words = ("still", "frost", "begins", "third", "drain()")
    pages = {word: parsed.page(parsed.text.index(word)) for word in words}
    assert pages == {"still": 1, "frost": 2, "begins": 2, "third": 3, "drain()": 3}


def test_chunks_are_spans_under_their_headings() -> None:
    parsed = parsed_of(report())
    found = Chunker(20).chunk(parsed.text, parsed.blocks)
    code = next(span for span in found if "drain()" in parsed.text[span.start : span.end])
    assert code.section[-2:] == ("Figures", "In Detail")


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(InvalidDocument):
        parsed_of(DoclingDocument(name="nothing"))


@pytest.mark.parametrize("format", ["docx", "pptx", "xlsx"])
def test_docling_itself_reads_office_files(format: str) -> None:
    """Needs docling; its readers of these need no models."""
    pytest.importorskip("docling.document_converter")
    documents = pytest.importorskip("documents")
    from pgsift.ingest.formats import Limits
    from pgsift.ingest.formats.docling import read
    from pgsift.ingest.parsers import parser_name

    limits = Limits(parser="docling")
    parsed = read(getattr(documents, f"{format}_file")(), limits, format)
    assert parsed.text.strip() and parsed.blocks
    assert parser_name(format, limits).startswith("docling/1 ")  # type: ignore[arg-type]
