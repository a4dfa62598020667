"""EPUB: its chapters in reading order, read with lxml (BSD). Headings, lists, tables, code; each chapter's file
is a page. The navigation is not read."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, find_doi, year_of
from pgsift.ingest.formats.zipped import opened, parse_xml, xml
from pgsift.ingest.parsers import Parsed

_DC = "{http://purl.org/dc/elements/1.1/}"
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "aside",
        "header",
        "footer",
        "main",
        "blockquote",
        "figure",
        "figcaption",
        "dl",
        "dt",
        "dd",
        "address",
        "details",
        "summary",
        "body",
        "center",
        "hr",
        "fieldset",
        "form",
    ]
)
_SKIPPED = frozenset(
    ["script", "style", "nav", "head", "svg", "audio", "video", "iframe", "object", "template", "rp", "rt"]
)
_SPACE = re.compile(r"[ \t\r\n\f]+")


def read(content: bytes, limits: Limits) -> Parsed:
    """An EPUB."""
    with needs("epub"):
        import lxml.etree  # noqa: F401
    archive = opened(content, limits, "EPUB")
    rights = xml(archive, "META-INF/encryption.xml", "EPUB")
    container = xml(archive, "META-INF/container.xml", "EPUB")
    found = None if container is None else next((e for e in container.iter("{*}rootfile")), None)
    if found is None:
        raise InvalidDocument("the EPUB is broken: META-INF/container.xml names no package")
    place = unquote(found.get("full-path") or "")
    package = xml(archive, place, "EPUB")
    if package is None:
        raise InvalidDocument(f"the EPUB is broken: {place[:200]} is not in it")
    items = {
        item.get("id"): (item.get("href") or "", item.get("media-type") or "", item.get("properties") or "")
        for item in package.iter("{*}item")
    }
    if rights is not None and _is_locked(rights, {href for href, kind, _ in items.values() if "html" in kind}):
        raise InvalidDocument("the EPUB is protected: its text is encrypted", hint="Save it without protection.")
    builder = TextBuilder()
    chapters = missing = 0
    for reference in package.iter("{*}itemref"):
        href, kind, properties = items.get(reference.get("idref"), ("", "", ""))
        if not href or "html" not in kind or "nav" in properties.split():
            continue
        name = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(href)))
        try:
            chapter = archive.read(name)
        except KeyError:
            missing += 1
            continue
        chapters += 1
        builder.page()
        Renderer(builder).render(parse_xml(chapter, f"EPUB: {name[:200]}", lenient=True))
    if not chapters:
        raise InvalidDocument("the EPUB is broken: none of its chapters is in it")
    said = _said(package)
    title, language = said.pop("title"), said.pop("language")
    return builder.parsed(
        title=title, metadata={**said, "missing_chapters": missing or None}, language=language or None
    )


def _is_locked(rights: Any, chapters: set[str]) -> bool:
    """Whether chapters are encrypted; fonts often are, and do not matter."""
    names = [unquote(e.get("URI") or "") for e in rights.iter("{*}CipherReference")]
    return any(name.endswith(chapter) for name in names for chapter in chapters)


def _said(package: Any) -> dict[str, Any]:
    def texts(name: str) -> list[str]:
        return [" ".join("".join(e.itertext()).split()) for e in package.iter(f"{_DC}{name}")]

    def first(name: str) -> str:
        return next((text for text in texts(name) if text), "")

    return {
        "title": first("title"),
        "language": first("language"),
        "authors": [name for name in texts("creator") if name],
        "publisher": first("publisher"),
        "year": year_of(first("date")),
        "doi": find_doi(" ".join(texts("identifier"))),
        "isbn": next(
            (found.group() for text in texts("identifier") if (found := re.search(r"97[89][\d-]{10,14}", text))),
            None,
        ),
        "subject": ", ".join(texts("subject")),
        "rights": first("rights"),
    }


class Renderer:
    """Appends the text of an XHTML tree to a builder."""

    def __init__(self, builder: TextBuilder) -> None:
        self.builder = builder
        self.run: list[str] = []

    def render(self, root: Any) -> None:
        """The body, or the whole where there is none."""
        body = next((e for e in root.iter() if _name(e) == "body"), root)
        self.walk(body, 0)
        self.flush()

    def flush(self) -> None:
        text, self.run = "".join(self.run), []
        lines = [_SPACE.sub(" ", line).strip() for line in text.split("\v")]
        self.builder.add("\n".join(line for line in lines if line).replace("\u00ad", ""))

    def walk(self, element: Any, depth: int) -> None:
        if element.text:
            self.run.append(element.text)
        for child in element:
            self.child(child, depth)
            if child.tail:
                self.run.append(child.tail)

    def child(self, element: Any, depth: int) -> None:
        name = _name(element)
        if not name or name in _SKIPPED or depth > 200 or element.get("hidden") is not None:
            return
        if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.flush()
            self.builder.add(_flat(element), "heading", int(name[1]))
        elif name == "br":
            self.run.append("\v")
        elif name == "pre":
            self.flush()
            self.builder.add("".join(element.itertext()).strip("\n"), "code")
        elif name == "table":
            self.flush()
            caption = next((_flat(e) for e in element.iter() if _name(e) == "caption"), "")
            self.builder.table(_rows(element), caption)
        elif name in ("ul", "ol"):
            self.flush()
            for number, item in enumerate((e for e in element if _name(e) == "li"), 1):
                mark = f"{number}. " if name == "ol" else "- "
                inner = [e for e in item if _name(e) in ("ul", "ol")]
                self.builder.add(mark + _flat(item, set(inner)) if _flat(item, set(inner)) else "", "item")
                for nested in inner:
                    self.child(nested, depth + 1)
        elif name in _BLOCKS:
            self.flush()
            self.walk(element, depth + 1)
            self.flush()
        elif name == "img":
            self.run.append(" " + (element.get("alt") or "") + " ")
        else:
            self.walk(element, depth + 1)


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _flat(element: Any, without: set[Any] = frozenset()) -> str:  # type: ignore[assignment]
    return _SPACE.sub(" ", "".join(_texts(element, without))).strip().replace("\u00ad", "")


def _texts(element: Any, without: set[Any]) -> Iterator[str]:
    if element.text:
        yield element.text
    for child in element:
        name = _name(child)
        if child not in without and name and name not in _SKIPPED:
            if name == "br" or name in _BLOCKS:
                yield " "
            yield from _texts(child, without)
            if name in _BLOCKS:
                yield " "
        if child.tail:
            yield child.tail


def _rows(table: Any) -> list[list[str]]:
    rows = []
    for row in table.iter():
        if _name(row) != "tr":
            continue
        cells: list[str] = []
        for cell in row:
            if _name(cell) in ("td", "th"):
                cells.append(_flat(cell))
                span = cell.get("colspan") or "1"
                cells += [""] * (min(int(span), 100) - 1 if span.isdigit() else 0)
        rows.append(cells)
    return rows
