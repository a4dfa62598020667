"""A parsed text as adapters make it: part by part, with its blocks and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgsift.ingest.chunker import Block, BlockKind
from pgsift.ingest.cleaning import clean_json, clean_text
from pgsift.ingest.parsers import Parsed, one_line

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`\[\]]+")
# Titles that programs write and no author meant.
_NO_TITLE = re.compile(
    r"(microsoft (word|powerpoint|excel)\b.*|untitled( document)?|(word|powerpoint) (document|presentation)|"
    r"title|slide 1|doi:.*|"
    r"document ?\d*|.*\.(docx?|dotx?|pptx?|xlsx?|odt|rtf|tex|dvi|pdf|indd|qxp|qxd|ps|eps|html?))",
    re.IGNORECASE,
)


class TextBuilder:
    """Appends blocks, parted by blank lines, and remembers where they and the pages begin. Text is cleaned as it
    comes, so that positions hold."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.blocks: list[Block] = []
        self.pages: list[int] = []
        self.page_numbers: list[int] = []
        self.cleaned = 0

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def page(self, number: int | None = None) -> None:
        """Begin a page (slide, sheet), the next one unless it is named; what is added next is on it."""
        self.pages.append(self._length + (2 if self._length else 0))
        self.page_numbers.append(max(self.page_numbers, default=0) + 1 if number is None else number)

    def pages_at(self, begins: Iterable[tuple[int, int]]) -> None:
        """Begin pages at places of the block added last, counted from its first character; with their numbers."""
        start = self.blocks[-1].start
        for offset, number in begins:
            self.pages.append(start + offset)
            self.page_numbers.append(number)

    def add(self, text: str, kind: BlockKind = "paragraph", level: int = 0) -> None:
        """Append a block; one without text is nothing."""
        text, cleaned = clean_text(text)
        self.cleaned += cleaned
        text = text.rstrip() if kind in ("code", "table") else text.strip()
        if not text.strip():
            return
        if self._length:
            # Items of a list follow each other line by line.
            joint = "\n" if kind == "item" and self.blocks[-1].kind == "item" else "\n\n"
            if joint == "\n" and self.pages and self.pages[-1] > self._length:
                self.pages[-1] -= 1
            self._parts.append(joint)
            self._length += len(joint)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        heading = one_line(text) or "" if kind in ("heading", "title") else ""
        self.blocks.append(Block(start, self._length, kind, level, heading))

    def extend_code(self, line: str) -> None:
        """Append a line to the block added last, which is code."""
        line, cleaned = clean_text(line)
        self.cleaned += cleaned
        line = "\n" + line.rstrip()
        self._parts.append(line)
        self._length += len(line)
        self.blocks[-1] = self.blocks[-1]._replace(end=self._length)

    def table(self, rows: Sequence[Sequence[str]], caption: str = "") -> None:
        """Append a table as a pipe table, its first row as the header."""
        if caption.strip():
            self.add(caption)
        rendered = pipe_table(rows)
        if rendered:
            self.add(rendered, "table")

    def parsed(
        self,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        language: str | None = None,
        from_heading: bool = True,
    ) -> Parsed:
        """What was built. The title is the one given; with ``from_heading`` else that of the first heading,
        where it
        is of the first level and nothing stands before it. A first heading that says what the title says is of
        kind
        ``title``."""
        text = "".join(self._parts)
        title, changes = clean_text(title or "")
        self.cleaned += changes
        title = one_line(title) or ""
        if _NO_TITLE.fullmatch(title):
            title = ""
        first = self.blocks[0] if self.blocks else None
        if first is not None and first.kind in ("heading", "title"):
            if not title and from_heading and first.level <= 1:
                title = first.heading
            if first.heading.casefold() == title.casefold():
                self.blocks[0] = first._replace(kind="title")
            elif first.kind == "title":
                self.blocks[0] = first._replace(kind="heading", level=first.level or 1)
        cleaned_metadata, changes = clean_json(
            {name: value for name, value in (metadata or {}).items() if value not in (None, "", [], {})}
        )
        self.cleaned += changes
        return Parsed(
            text,
            self.blocks,
            title or None,
            cleaned_metadata,
            language=clean_text(language)[0] if language else None,
            cleaned=self.cleaned,
            pages=tuple(min(page, len(text)) for page in self.pages),
            page_numbers=()
            if self.page_numbers == list(range(1, len(self.pages) + 1))
            else tuple(self.page_numbers),
        )


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a pipe table; the first is the header. Rows and columns that are empty throughout are left out."""
    cells = [[_cell(value) for value in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    width = max(len(row) for row in cells)
    cells = [row + [""] * (width - len(row)) for row in cells]
    used = [column for column in range(width) if any(row[column] for row in cells)]
    lines = ["| " + " | ".join(row[column] for column in used) + " |" for row in cells]
    lines.insert(1, "|" + " --- |" * len(used))
    return "\n".join(lines)


def _cell(value: str) -> str:
    return " ".join(value.split()).replace("|", "\\|")


def find_doi(text: str) -> str | None:
    """The first DOI in a text, without what punctuation follows it."""
    found = _DOI.search(text)
    if found is None:
        return None
    doi = found.group().rstrip(".,;:'\"")
    while doi.endswith(")") and doi.count("(") < doi.count(")"):
        doi = doi[:-1].rstrip(".,;:")
    return doi


def names(value: str | None) -> list[str]:
    """Authors as a file names them in one string: parted by semicolons, else by line ends, else ``and`` or ``&``;
    a comma parts them only where each part has two words, since ``Lovelace, Ada`` is one name."""
    if not value:
        return []
    for separator in (r";", r"[\r\n]+", r"\s+(?:and|&)\s+"):
        parts = [part.strip(" ,") for part in re.split(separator, value) if part.strip(" ,")]
        if len(parts) > 1:
            return [name for part in parts for name in _commas(part)]
    return _commas(value.strip())


def _commas(value: str) -> list[str]:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if len(parts) > 1 and all(len(part.split()) > 1 for part in parts):
        return parts
    return [value] if value else []


def year_of(value: str | None) -> int | None:
    """The year a date begins with or consists of."""
    found = re.search(r"\b(1[4-9]\d\d|20\d\d)\b", value or "")
    return int(found.group()) if found else None
