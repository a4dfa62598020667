"""DOCX by python-docx (MIT): headings by their styles, lists, tables, footnotes, formulas as text.

Deleted text of tracked changes is left out, inserted text is kept. Headers and footers of pages are not read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, find_doi, names
from pgsift.ingest.formats.zipped import opened, xml
from pgsift.ingest.parsers import Parsed

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_HEADING = re.compile(r"heading (\d)$", re.IGNORECASE)
_LIBRARIES = frozenset({"python-docx", "Steve Canny", "openpyxl"})
_LEFT_OUT = frozenset(f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText"))
_ELSEWHERE = ("}drawing", "}pict", "}Fallback", "}AlternateContent", "}txbxContent")
_OTHER_TYPES = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_CODE = re.compile(r"(source )?code|html preformatted|plain text|macro", re.IGNORECASE)


def read(content: bytes, limits: Limits) -> Parsed:
    """A Word document."""
    with needs("docx"):
        from docx.opc.part import PartFactory
        from docx.package import Package
        from docx.parts.document import DocumentPart
    # docx.Document refuses what has macros, or is a template, for its type alone.
    PartFactory.part_type_for.update(dict.fromkeys(_OTHER_TYPES, DocumentPart))
    archive = opened(content, limits, "Word document")
    try:
        part = Package.open(io.BytesIO(content)).main_document_part
        if not isinstance(part, DocumentPart):
            raise InvalidDocument(f"the content is no Word document, but {part.content_type[:200]}")
        document = part.document
    except (KeyError, ValueError) as error:
        raise InvalidDocument(f"the Word document is broken: {error}") from None
    styles = _styles(document)
    notes = _notes(archive)
    builder = TextBuilder()
    _walk(document.element.body, builder, styles, notes)
    for number, note in notes.items():
        builder.add(f"[{number}] {note}")
    properties = document.core_properties
    return builder.parsed(title=properties.title, metadata=core_metadata(properties), language=properties.language)


def core_metadata(properties: Any) -> dict[str, Any]:
    """What the core properties of an Office file say, without what python-docx and its kin write by themselves."""
    created = properties.created
    return {
        "authors": [name for name in names(properties.author) if name not in _LIBRARIES],
        "subject": properties.subject,
        "keywords": properties.keywords,
        "created": created.date().isoformat() if created is not None else None,
        "doi": find_doi(f"{properties.identifier or ''} {properties.subject or ''}"),
    }


def _styles(document: Any) -> dict[str, str]:
    """Names of styles by their id; that of one based on a heading is the heading's."""
    found: dict[str, str] = {}
    for style in document.styles:
        name, base, steps = style.name or "", style, 0
        while base is not None and steps < 10:
            if _HEADING.match(base.name or "") or base.name in ("Title", "Caption"):
                name = base.name
                break
            base, steps = getattr(base, "base_style", None), steps + 1
        found[style.style_id] = name
    return found


def _notes(archive: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for part, tag in (("word/footnotes.xml", "footnote"), ("word/endnotes.xml", "endnote")):
        root = xml(archive, part, "Word document")
        if root is None:
            continue
        for note in root.iter(f"{_W}{tag}"):
            if note.get(f"{_W}type") is None:
                text = " ".join(_text(p) for p in note.iter(f"{_W}p")).strip()
                if text:
                    found[("" if tag == "footnote" else "e") + (note.get(f"{_W}id") or "")] = text
    return found


def _walk(parent: Any, builder: TextBuilder, styles: dict[str, str], notes: dict[str, str]) -> None:
    for element in parent:
        if element.tag == f"{_W}p":
            _paragraph(element, builder, styles)
        elif element.tag == f"{_W}tbl":
            builder.table(_rows(element))
        elif element.tag == f"{_W}sdt":
            inner = element.find(f"{_W}sdtContent")
            if inner is not None:
                _walk(inner, builder, styles, notes)
        elif element.tag in (f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
            _walk(element, builder, styles, notes)


def _paragraph(element: Any, builder: TextBuilder, styles: dict[str, str]) -> None:
    # Text boxes stand in a paragraph and are not part of it.
    text = _text(element)
    properties = element.find(f"{_W}pPr")
    style = level = None
    numbered = False
    if properties is not None:
        named = properties.find(f"{_W}pStyle")
        style = styles.get(named.get(f"{_W}val"), "") if named is not None else None
        numbered = properties.find(f"{_W}numPr") is not None
        outline = properties.find(f"{_W}outlineLvl")
        if outline is not None and (outline.get(f"{_W}val") or "9") in "012345":
            level = int(outline.get(f"{_W}val")) + 1
    style = style or ""
    heading = _HEADING.match(style)
    if heading:
        level = min(max(int(heading.group(1)), 1), 6)
    if style == "Title":
        builder.add(text, "heading", 1)
    elif level is not None:
        builder.add(text, "heading", level)
    elif _CODE.search(style):
        if builder.blocks and builder.blocks[-1].kind == "code" and text.strip():
            builder.extend_code(text)
        else:
            builder.add(text, "code")
    elif numbered or style.startswith("List"):
        builder.add(f"- {text.strip()}" if text.strip() else "", "item")
    else:
        builder.add(text)
    for box in element.iter(f"{_W}txbxContent"):
        # Word writes a box twice, the second time for older versions.
        if not any(parent.tag.endswith("}Fallback") for parent in box.iterancestors()):
            for inner in box.iter(f"{_W}p"):
                builder.add(_text(inner))


def _text(paragraph: Any) -> str:
    return "".join(_pieces(paragraph))


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag == f"{_W}t":
            yield child.text or ""
        elif tag == f"{_W}tab":
            if element.tag == f"{_W}r":
                yield "\t"
        elif tag in (f"{_W}br", f"{_W}cr"):
            yield "\n"
        elif tag == f"{_W}noBreakHyphen":
            yield "-"
        elif tag == f"{_W}footnoteReference":
            yield f"[{child.get(f'{_W}id')}]"
        elif tag == f"{_W}endnoteReference":
            yield f"[e{child.get(f'{_W}id')}]"
        elif tag == f"{_M}t":
            yield child.text or ""
        elif tag == f"{_M}f":
            yield "("
            yield from _pieces(child.find(f"{_M}num")) if child.find(f"{_M}num") is not None else ()
            yield ")/("
            yield from _pieces(child.find(f"{_M}den")) if child.find(f"{_M}den") is not None else ()
            yield ")"
        elif tag in (f"{_M}sup", f"{_M}sub"):
            inner = "".join(_pieces(child))
            if inner:
                yield ("^" if tag.endswith("sup") else "_") + (inner if len(inner) == 1 else f"({inner})")
        elif not isinstance(tag, str) or tag in _LEFT_OUT or tag.endswith(_ELSEWHERE):
            continue
        else:
            yield from _pieces(child)


def _rows(table: Any) -> list[list[str]]:
    rows: list[list[str]] = []
    for row in table.iter(f"{_W}tr"):
        if row.getparent().tag == f"{_W}tbl" and row.getparent() is not table:
            continue  # a table in a cell is part of the cell's text
        cells: list[str] = []
        for cell in row.iter(f"{_W}tc"):
            if cell.getparent() is not row and not (
                cell.getparent().tag == f"{_W}sdtContent" and cell.getparent().getparent().getparent() is row
            ):
                continue
            merged = cell.find(f"{_W}tcPr/{_W}vMerge")
            text = " ".join(_text(p).strip() for p in cell.iter(f"{_W}p"))
            if merged is not None and merged.get(f"{_W}val") != "restart" and rows and len(cells) < len(rows[-1]):
                text = text.strip() or rows[-1][len(cells)]
            cells.append(text)
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            if span is not None:
                cells += [""] * (min(int(span.get(f"{_W}val") or 1), 100) - 1)
        rows.append(cells)
    return rows
