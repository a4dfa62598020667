"""Documents by docling (MIT), for those who want its models to find layout and tables: :func:`parsed_of` turns its
document into text with blocks and pages, :func:`read` has it made.

docling's models of PDFs must lie where ``DOCLING_ARTIFACTS_PATH`` says: a parser writes no file. They need more
memory and time than a parser is allowed by default. Its readers of Word, PowerPoint and Excel files need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from pgsift.errors import InvalidDocument, MissingExtra
from pgsift.ingest.chunker import BlockKind
from pgsift.ingest.cleaning import clean_text
from pgsift.ingest.formats import FORMATS, Limits
from pgsift.ingest.formats.building import TextBuilder
from pgsift.ingest.parsers import Parsed

# Everything else that has a text is a paragraph.
_KINDS: Mapping[str, BlockKind] = {
    "code": "code", "list_item": "item", "title": "heading", "section_header": "heading",
    "field_heading": "heading",
}  # fmt: skip
_BOXES = {"checkbox_selected": "[x] ", "checkbox_unselected": "[ ] "}


def read(content: bytes, limits: Limits, format: str) -> Parsed:
    """A document of one of :data:`~pgsift.ingest.formats.DOCLING`'s formats.

    Raises :class:`~pgsift.errors.MissingExtra` without docling, and :class:`~pgsift.errors.InvalidDocument` for
    what it cannot read.
    """
    try:
        from docling.datamodel.base_models import ConversionStatus, DocumentStream, InputFormat
        from docling.datamodel.pipeline_options import PdfPipelineOptions
        from docling.document_converter import DocumentConverter, PdfFormatOption
    except ImportError as error:
        raise MissingExtra(
            f"the parser docling needs the extra 'docling' ({error.name or error} is missing)",
            hint="Install it: pip install 'pgsift[docling]'",
        ) from None
    kind = InputFormat(format)
    options: dict[Any, Any] = {}
    if format == "pdf":
        pipeline = PdfPipelineOptions()
        pipeline.do_ocr = limits.ocr != "off"
        if pipeline.do_ocr:
            pipeline.ocr_options.force_full_page_ocr = limits.ocr == "force"
        options[kind] = PdfFormatOption(pipeline_options=pipeline)
    converter = DocumentConverter(allowed_formats=[kind], format_options=options)
    stream = DocumentStream(name=f"document.{format}", stream=BytesIO(content))
    try:
        found = converter.convert(stream, raises_on_error=False)
    except MemoryError:
        raise
    except Exception as error:  # what it is made of may be missing, or its models
        raise _refused(format, f"{type(error).__name__}: {error}") from None
    if found.status not in (ConversionStatus.SUCCESS, ConversionStatus.PARTIAL_SUCCESS):
        reasons = "; ".join(dict.fromkeys(" ".join(str(one.error_message).split()) for one in found.errors))
        raise _refused(format, reasons or found.status.value)
    return parsed_of(found.document)


def _refused(format: str, why: str) -> InvalidDocument:
    return InvalidDocument(
        f"docling cannot read the {FORMATS[format].label}: {clean_text(' '.join(why.split()))[0][:300]}",
        hint="Where its models are missing: docling-tools models download, and name their folder in "
        "DOCLING_ARTIFACTS_PATH.",
    )


def parsed_of(document: Any) -> Parsed:
    """A ``DoclingDocument`` as text with blocks and pages, in its own order; what it holds for page furniture is
    left out."""
    builder = TextBuilder()
    items = [item for item, _ in document.iterate_items(with_groups=False)]
    told = {ref.cref for item in items for ref in getattr(item, "captions", None) or ()}
    titled = any(_label(item) == "title" for item in items)
    title = ""
    for item in items:
        label = _label(item)
        if item.self_ref in told:
            continue  # stands with what it is the caption of
        caption = item.caption_text(document) if hasattr(item, "caption_text") else ""
        data = getattr(item, "data", None)
        text = getattr(item, "text", "") or ""
        spans = _begin_pages(builder, item)
        if data is not None and hasattr(data, "grid"):
            builder.table(_rows(data), caption)
            continue
        if caption.strip():
            builder.add(caption)
        if label == "list_item":
            marker = (getattr(item, "marker", "") or "").strip()
            text = f"{marker} {text}" if marker and not text.startswith(marker) else text
        if not text.strip():
            continue
        kind = _KINDS.get(label, "paragraph")
        level = 0
        if kind == "heading":
            level = 1 if label == "title" else min(getattr(item, "level", 1) + titled, 6)
            if label == "title" and not title:
                title = text
        before = len(builder.blocks)
        builder.add(_BOXES.get(label, "") + text, kind, level)
        if spans and len(builder.blocks) > before:
            builder.pages_at((min(offset, len(text)), number) for offset, number in spans)
    pages = getattr(document, "pages", None) or ()
    parsed = builder.parsed(title=title, metadata={"page_count": len(pages)} if pages else None)
    if not parsed.text.strip():
        raise InvalidDocument("docling found no text in the document")
    return parsed


def _label(item: Any) -> str:
    label = getattr(item, "label", "")
    return str(getattr(label, "value", label))


def _begin_pages(builder: TextBuilder, item: Any) -> list[tuple[int, int]]:
    """Begin the page that an item begins on; where in its text others begin, with their numbers."""
    where = getattr(item, "prov", None) or []
    if not where:
        return []
    number = where[0].page_no
    if not builder.page_numbers or builder.page_numbers[-1] != number:
        builder.page(number)
    spans = []
    for more in where[1:]:
        if more.page_no != number:
            spans.append((more.charspan[0], more.page_no))
            number = more.page_no
    return spans


def _rows(data: Any) -> list[list[str]]:
    """The cells of a table, those that span several at their first place alone."""
    rows = [[""] * data.num_cols for _ in range(data.num_rows)]
    for cell in data.table_cells:
        row, column = cell.start_row_offset_idx, cell.start_col_offset_idx
        if row < data.num_rows and column < data.num_cols:
            rows[row][column] = cell.text
    return rows
