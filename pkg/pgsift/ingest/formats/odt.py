"""ODT: its XML read with lxml (BSD). Headings with their levels, lists, tables, notes; deleted text of tracked
changes is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, names
from pgsift.ingest.formats.zipped import opened, xml
from pgsift.ingest.parsers import Parsed

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_MOST = 1000


def read(content: bytes, limits: Limits) -> Parsed:
    """An OpenDocument text."""
    with needs("odt"):
        import lxml.etree  # noqa: F401
    archive = opened(content, limits, "OpenDocument text")
    manifest = xml(archive, "META-INF/manifest.xml", "OpenDocument text")
    if manifest is not None and any("encryption-data" in str(element.tag) for element in manifest.iter()):
        raise InvalidDocument(
            "the OpenDocument text is encrypted and opens with a password only", hint="Save it without a password."
        )
    root = xml(archive, "content.xml", "OpenDocument text")
    body = None if root is None else root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise InvalidDocument("the OpenDocument text is broken: it has no body")
    reader = _Reader(root)
    reader.walk(body)
    for label, note in reader.notes:
        reader.builder.add(f"[{label}] {note}")
    meta = xml(archive, "meta.xml", "OpenDocument text")
    said = _meta(meta) if meta is not None else {}
    language = said.pop("language", None)
    return reader.builder.parsed(title=said.pop("title", None), metadata=said, language=language)


def _level(heading: Any) -> int:
    level = heading.get(f"{_TEXT}outline-level") or "1"
    return min(max(int(level), 1), 6) if level.isdigit() else 1


def _meta(root: Any) -> dict[str, Any]:
    def text(name: str) -> str:
        found = root.find(f".//{name}")
        return (found.text or "").strip() if found is not None else ""

    keywords = [(element.text or "").strip() for element in root.iter(f"{_META}keyword")]
    created = text(f"{_META}creation-date")[:10]
    return {
        "title": text(f"{_DC}title"),
        "authors": names(text(f"{_META}initial-creator") or text(f"{_DC}creator")),
        "subject": text(f"{_DC}subject"),
        "keywords": ", ".join(keyword for keyword in keywords if keyword),
        "created": created,
        "language": text(f"{_DC}language"),
    }


class _Reader:
    def __init__(self, root: Any) -> None:
        self.builder = TextBuilder()
        self.notes: list[tuple[str, str]] = []
        # Automatic styles by the style they are made of.
        self.parents = {
            style.get(f"{_STYLE}name"): style.get(f"{_STYLE}parent-style-name") or ""
            for style in root.iter(f"{_STYLE}style")
        }

    def walk(self, parent: Any) -> None:
        for element in parent:
            tag = element.tag
            if tag == f"{_TEXT}h":
                self.builder.add(self.text(element), "heading", _level(element))
            elif tag == f"{_TEXT}p":
                self.paragraph(element)
            elif tag == f"{_TEXT}list":
                self.items(element, 0)
            elif tag == f"{_TABLE}table":
                self.builder.table(self.rows(element))
            elif tag in (f"{_TEXT}tracked-changes", f"{_TEXT}sequence-decls") or not isinstance(tag, str):
                continue
            else:
                self.walk(element)

    def paragraph(self, element: Any) -> None:
        style = element.get(f"{_TEXT}style-name") or ""
        style = (self.parents.get(style) or style).replace("_20_", " ")
        text = self.text(element)
        if style == "Title":
            self.builder.add(text, "heading", 1)
        elif style == "Preformatted Text":
            if self.builder.blocks and self.builder.blocks[-1].kind == "code":
                self.builder.extend_code(text)
            else:
                self.builder.add(text, "code")
        else:
            self.builder.add(text)

    def items(self, element: Any, depth: int) -> None:
        for item in element:
            if item.tag not in (f"{_TEXT}list-item", f"{_TEXT}list-header"):
                continue
            parts = [self.text(child) for child in item if child.tag in (f"{_TEXT}p", f"{_TEXT}h")]
            text = "\n".join(part.strip() for part in parts if part.strip())
            if text and any(child.tag == f"{_TEXT}h" for child in item):
                # A numbered heading is written as an item of a list.
                for child in item:
                    if child.tag == f"{_TEXT}h":
                        self.builder.add(self.text(child), "heading", _level(child))
            elif text:
                self.builder.add(f"- {text}", "item")
            for child in item:
                if child.tag == f"{_TEXT}list" and depth < 50:
                    self.items(child, depth + 1)

    def text(self, element: Any) -> str:
        return "".join(self.pieces(element)).replace("\u00ad", "")

    def pieces(self, element: Any) -> Iterator[str]:
        # White space counts as in HTML; blanks that count are elements.
        if element.text:
            yield " ".join(element.text.split("\n"))
        for child in element:
            tag = child.tag
            if tag == f"{_TEXT}s":
                count = child.get(f"{_TEXT}c") or "1"
                yield " " * (min(int(count), _MOST) if count.isdigit() else 1)
            elif tag == f"{_TEXT}tab":
                yield "\t"
            elif tag == f"{_TEXT}line-break":
                yield "\n"
            elif tag == f"{_TEXT}note":
                citation = child.find(f"{_TEXT}note-citation")
                body = child.find(f"{_TEXT}note-body")
                label = (citation.text or "*").strip() if citation is not None else "*"
                if body is not None:
                    self.notes.append((label, " ".join(self.text(p) for p in body.iter(f"{_TEXT}p"))))
                yield f"[{label}]"
            elif isinstance(tag, str) and tag not in (f"{_OFFICE}annotation", f"{_TEXT}tracked-changes"):
                yield from self.pieces(child)
            if child.tail:
                yield " ".join(child.tail.split("\n"))

    def rows(self, table: Any) -> list[list[str]]:
        rows: list[list[str]] = []
        for row in table.iter(f"{_TABLE}table-row"):
            cells: list[str] = []
            for cell in row:
                if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                    continue
                text = " ".join(self.text(p) for p in cell.iter(f"{_TEXT}p"))
                repeated = cell.get(f"{_TABLE}number-columns-repeated") or "1"
                count = int(repeated) if repeated.isdigit() else 1
                cells += [text] * min(count, _MOST if text.strip() else 1)
            rows.append(cells)
        return rows
