"""PPTX by python-pptx (MIT): each slide is a page; its title is a heading, then shapes from top to bottom and
left to right, tables as pipe tables, the speaker's notes last."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder
from pgsift.ingest.formats.docx import core_metadata
from pgsift.ingest.formats.zipped import opened
from pgsift.ingest.parsers import Parsed


def read(content: bytes, limits: Limits) -> Parsed:
    """A presentation."""
    with needs("pptx"):
        import pptx
    opened(content, limits, "presentation")
    try:
        presentation = pptx.Presentation(io.BytesIO(content))
    except (KeyError, ValueError) as error:
        raise InvalidDocument(f"the presentation is broken: {error}") from None
    builder = TextBuilder()
    count = 0
    for slide in presentation.slides:
        count += 1
        builder.page()
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            builder.add(" ".join(title.text_frame.text.split()), "heading", 1 if count == 1 else 2)
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False) and shape.has_table:
                builder.table([[cell.text for cell in row.cells] for row in shape.table.rows])
            elif shape.has_text_frame:
                _text(shape, builder)
            elif getattr(shape, "has_chart", False) and shape.has_chart:
                _chart(shape.chart, builder)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text
            if notes.strip():
                builder.add(f"Notes: {_lines(notes)}")
    properties = presentation.core_properties
    return builder.parsed(
        title=properties.title,
        metadata={**core_metadata(properties), "page_count": count},
        language=properties.language,
    )


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """Shapes in the order they are read, groups opened."""
    ordered = sorted(shapes, key=lambda shape: ((shape.top or 0) // 360_000, shape.left or 0))
    for shape in ordered:
        inner = getattr(shape, "shapes", None)
        if inner is not None and depth < 20:
            yield from _shapes(inner, depth + 1)
        elif not _is_furniture(shape):
            yield shape


def _is_furniture(shape: Any) -> bool:
    """A date, a footer or the number of the slide."""
    if not shape.is_placeholder:
        return False
    kind = shape.placeholder_format.type
    return kind is not None and kind.name in ("DATE", "FOOTER", "SLIDE_NUMBER")


def _text(shape: Any, builder: TextBuilder) -> None:
    listed = (
        shape.is_placeholder
        and shape.placeholder_format.type is not None
        and (shape.placeholder_format.type.name in ("BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT"))
    )
    paragraphs = [(p.level, _lines(p.text)) for p in shape.text_frame.paragraphs if p.text.strip()]
    for level, text in paragraphs:
        if listed and len(paragraphs) > 1:
            builder.add(f"{'  ' * level}- {text}".lstrip(), "item")
        else:
            builder.add(text)


def _lines(text: str) -> str:
    return text.replace("\v", "\n").strip()


def _chart(chart: Any, builder: TextBuilder) -> None:
    """A chart as the table it was drawn from."""
    try:
        title = chart.chart_title.text_frame.text if chart.has_title else ""
        plot = chart.plots[0]
        series = list(plot.series)
        rows = [["", *(str(one.name or "") for one in series)]]
        for number, category in enumerate(plot.categories):
            values = [one.values[number] if number < len(one.values) else None for one in series]
            rows.append([str(category), *("" if value is None else f"{value:g}" for value in values)])
    except (KeyError, ValueError, IndexError, AttributeError, TypeError):
        return  # of a kind that python-pptx does not know
    builder.table(rows, title)
