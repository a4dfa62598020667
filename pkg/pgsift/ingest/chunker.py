"""The chunker ``structure``: along headings, paragraphs and sentences, up to a target size, without overlap.

A parser gives a text and its blocks (:class:`Block`). The chunker gives spans: ``text[start:end]`` is a
chunk's body, character for character, always.

Size is counted in *units*: a word of a script written with spaces is one; a character of a script written
without (Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar) is one. That needs no model's tokenizer and is near
what one counts: 150 units of English come to 200 word pieces in prose and 235 in scientific abstracts, of
the 256 that the default model reads.

1. A heading begins a new chunk and belongs to it: the span starts at the heading's line, so that its words
   are searchable where they stand. Headings without text below them join the next chunk. The heading that
   is the document's title (:attr:`Block.kind` ``title``) belongs to no chunk; it is indexed as the title.
2. Blocks are added while the chunk stays within the target. Code and list items are kept whole when they fit.
3. A table is a chunk of its own, of kind ``table``, with its caption if that stands before it. It may have
   :data:`TABLE_SHARE` times the target, so that most stay whole; a larger one is split between lines, and the
   pieces after the first are indexed with its header in front of them (:mod:`pgsift.ingest.cutting`). Any other
   caption is a chunk of kind ``figure``, unless it comes right after a heading.
4. A block over the target is split into pieces of about equal size: between lines (code, tables, lists),
   else between sentences, else between words; a single word is never split, unless its script has no spaces
   between words.
5. A bibliography is kept and not ranked: from the last heading that is References, Bibliography, Works Cited or
   Literature Cited to the end, appendices included, chunks are of kind ``reference``. The heading may be
   numbered, in any case, and end in a colon or a full stop; one that merely begins with the word is none. In
   a text without headings a line of its own that begins a paragraph counts as one, unless it is the first.
6. White space at the ends of a chunk is left out, save the indentation where code or a list was split;
   nothing else is.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

BlockKind = Literal["heading", "title", "paragraph", "item", "code", "table", "caption", "skip"]
ChunkKind = Literal["text", "title", "section_header", "table", "figure", "reference"]

#: How many times the target a table may have and stay whole.
TABLE_SHARE = 3
#: Target size of a chunk, in units.
DEFAULT_TARGET = 150
_VERSION = "3"

# Scripts written without spaces: Thai, Lao, Myanmar, Hangul Jamo, Khmer, Kana, Bopomofo, Han with its
# extensions, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    "\U00020000-\U0003ffff"
)
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
# A sentence ends after .!?… and closing marks, before white space and something that is not lower case; or
# after ideographic stops, wherever they stand; or at a blank line.
_SENTENCE_END = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’»)\]]*+(?=\s)|[。！？｡]++[」』”’）】]*+|\n[ \t\r]*+(?=\n)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘«])(?:[^\W\d_]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Ff]igs?|[Ee]qs?|[Nn]os?|[Vv]ols?|[Pp]p|[Ee]d|[Cc]f|[Vv]s|al|"
    r"[Ee]\.g|[Ii]\.e|z\.[Bb]|[Aa]pprox|[Ii]nc|[Ll]td|[Cc]o)\.$"
)
_Splitter = Callable[[str, int, int], Iterable[tuple[int, int]]]
# "7. References", "VII References:", "[A] BIBLIOGRAPHY"; a number and nothing else before the word, and after it
# nothing but what tools put there: attributes of pandoc, links of Sphinx and MediaWiki.
_BIBLIOGRAPHY = re.compile(
    r"(?:[§\[(]?\s*(?:\d+(?:\.\d+)*|[ivxlc]+|[a-z])\s*(?:[.:)\]–—-]\s*|\s))?"
    r"(?:references|bibliography|works\s+cited|literature\s+cited)\s*[.:;]*(?:\s*(?:\{[^{}]*\}|[¶#]|\[edit\]))?",
    re.IGNORECASE,
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


class Block(NamedTuple):
    """A part of a text: characters ``start`` to ``end``, its kind, and a heading's level (1 to 6) and
    words."""

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk as characters ``start`` to ``end`` of its text, with the headings it stands under. ``context``
    is the wider passage, in characters too, that is shown for it where it is found; ``None``: itself. Chunks and
    white space are all that lies in one."""

    start: int
    end: int
    kind: ChunkKind = "text"
    section: tuple[str, ...] = ()
    context: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Chunker:
    """Chunker ``structure`` with its one parameter: the target size in units."""

    target: int = DEFAULT_TARGET

    def __post_init__(self) -> None:
        if not 1 <= self.target <= 100_000:
            raise ValueError(
                f"the target size of a chunk must lie between 1 and 100,000 units, not {self.target}"
            )

    @property
    def name(self) -> str:
        """Name, version and parameters; stored with every document and part of its content hash."""
        return f"structure/{_VERSION} target={self.target}"

    @property
    def spec(self) -> str:
        """How it is asked for."""
        return f"structure:target={self.target}"

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the chunks, in order, not overlapping; every character that is not white space and not
        in a block of kind ``title`` or ``skip`` lies in exactly one. ``pages``, where each begins, do not
        matter here."""
        del pages
        references = _bibliography(text, blocks)
        whole = len(blocks) == 1 and blocks[0][:3] == (0, len(text), "paragraph")
        if whole and references is None and size(text) <= self.target:
            start, end = _trim(text, 0, len(text))
            return [Span(start, end)] if start < end else []
        return _Builder(text, self.target, references).build(blocks)


def size(text: str) -> int:
    """Units of a text (see the module)."""
    if text.isascii():
        return len(text.split())
    return len(_UNIT.findall(text))


class _Builder:
    def __init__(self, text: str, target: int, references: int | None) -> None:
        self.text = text
        self.target = target
        #: Where the bibliography begins, and whether the blocks have come to it.
        self.references = len(text) + 1 if references is None else references
        self.in_references = False
        self.spans: list[Span] = []
        self.path: list[tuple[int, str]] = []
        # The chunk being built: characters, units, and whether it holds anything but headings.
        self.start = self.end = -1
        self.units = 0
        self.has_body = False
        #: What it is where it ends in a caption, which a table may follow: a figure, or with a heading, text.
        self.caption: ChunkKind | None = None

    def build(self, blocks: Sequence[Block]) -> list[Span]:
        for block in _complete(self.text, blocks):
            if not self.in_references and block.start >= self.references:
                self.flush()
                self.in_references = True
            if block.kind in ("title", "skip"):
                self.flush()
                continue
            start, end = _trim(self.text, block.start, block.end)
            if start >= end:
                continue
            if self.caption is not None and block.kind != "table":
                if self.caption == "figure":
                    self.flush("figure")
                self.caption = None
            if block.kind == "heading":
                self.heading(block, start, end)
            elif block.kind == "caption":
                if self.has_body:
                    self.flush()
                caption: ChunkKind = "figure" if self.start < 0 else "text"
                self.add(block.kind, start, end)
                self.caption = caption
            else:
                self.add(block.kind, start, end)
        self.flush(self.caption or "text")
        return self.spans

    def heading(self, block: Block, start: int, end: int) -> None:
        if self.has_body:
            self.flush()
        elif self.start >= 0 and self.path and block.level <= self.path[-1][0]:
            self.flush()  # an empty section: its heading stands alone
        while self.path and self.path[-1][0] >= block.level:
            self.path.pop()
        self.path.append((block.level, block.heading))
        if self.start < 0:
            self.start = start
        self.end = end
        self.units += size(self.text[start:end])

    def add(self, kind: BlockKind, start: int, end: int) -> None:
        units = size(self.text[start:end])
        target = self.target
        if kind == "table":
            target *= TABLE_SHARE
            if self.has_body and not (self.caption and self.units + units <= target):
                self.flush(self.caption or "text")
        elif self.has_body and self.units + units > self.target:
            self.flush()
        if self.units + units <= target:
            self.extend(start, end, units)
        else:
            # Headings that wait take room from the first piece.
            pieces = _split(self.text, start, end, kind, self.target, max(self.target - self.units, 1))
            for position, (piece_start, piece_end) in enumerate(pieces):
                if position:
                    self.flush("table" if kind == "table" else "text")
                self.extend(piece_start, piece_end, size(self.text[piece_start:piece_end]))
        if kind == "table":
            self.flush("table")

    def extend(self, start: int, end: int, units: int) -> None:
        if self.start < 0:
            self.start = start
        self.end = end
        self.units += units
        self.has_body = True

    def flush(self, kind: ChunkKind = "text") -> None:
        if self.start >= 0:
            section = tuple(name for _, name in self.path if name)
            if self.in_references:
                kind = "reference"
            elif not self.has_body:
                kind = "section_header"
            self.spans.append(Span(self.start, self.end, kind, section))
        self.start = self.end = -1
        self.units = 0
        self.has_body = False
        self.caption = None


def _bibliography(text: str, blocks: Sequence[Block]) -> int | None:
    """Where the bibliography of a text begins: at the start of a block."""
    found: int | None = None
    headings = [block for block in blocks if block.kind in ("heading", "title")]
    for block in headings:
        if block.kind == "heading" and _BIBLIOGRAPHY.fullmatch(block.heading.strip()):
            found = block.start
    if not headings:
        for block in blocks[1:]:
            line = text[block.start : block.end].strip().partition("\n")[0].strip()
            if block.kind == "paragraph" and len(line) < 60 and _BIBLIOGRAPHY.fullmatch(line):
                found = block.start
    return found


def _complete(text: str, blocks: Iterable[Block]) -> Iterable[Block]:
    """The blocks, with what lies between them as paragraphs: nothing a parser passes over is lost."""
    position = 0
    for block in blocks:
        if block.start > position and not text[position : block.start].isspace():
            yield Block(position, block.start, "paragraph")
        if block.end > position:
            yield block if block.start >= position else block._replace(start=position)
            position = block.end
    if position < len(text) and not text[position:].isspace():
        yield Block(position, len(text), "paragraph")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    body = text[start:end]
    stripped = body.strip()
    if not stripped:
        return start, start
    start += len(body) - len(body.lstrip())
    return start, start + len(stripped)


def _split(
    text: str, start: int, end: int, kind: BlockKind, target: int, first: int
) -> list[tuple[int, int]]:
    """Cut characters ``start`` to ``end`` into spans of at most ``target`` units (the first of at most
    ``first``)."""
    ways = (_lines, _sentences) if kind in ("code", "table", "item") else (_sentences, _bare_lines)
    return list(_pack(list(_pieces(text, start, end, ways, target)), target, first))


def _pieces(
    text: str, start: int, end: int, ways: Sequence[_Splitter], target: int
) -> Iterator[tuple[int, int, int]]:
    """Spans and their units, none over the target: cut the first way, what is still too large the next,
    then by words."""
    units = size(text[start:end])
    if units <= target:
        yield start, end, units
    elif ways:
        for part_start, part_end in ways[0](text, start, end):
            yield from _pieces(text, part_start, part_end, ways[1:], target)
    else:
        yield from _words(text, start, end, target)


def _pack(pieces: Sequence[tuple[int, int, int]], target: int, first: int) -> Iterable[tuple[int, int]]:
    """Join neighbouring pieces into spans of about equal size within the target."""
    remaining = sum(units for _, _, units in pieces)
    limit = first
    index = 0
    while index < len(pieces):
        # Equal shares of what remains: 210 units become twice 105, not 200 and 10.
        share = remaining / max(math.ceil((remaining + target - limit) / target), 1)
        start, end, total = pieces[index]
        index += 1
        while index < len(pieces):
            units = pieces[index][2]
            if total + units > limit or (total and total + units / 2 > share):
                break
            end = pieces[index][1]
            total += units
            index += 1
        yield start, end
        remaining -= total
        limit = target


def _lines(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    position = start
    while position < end:
        match = _LINE.match(text, position, end)
        stop = match.end() if match and match.end() > position else end
        span = _trim(text, position, stop)
        if span[0] < span[1]:
            # Indentation is part of a line of code; only the end is trimmed.
            yield position, span[1]
        position = stop


def _bare_lines(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    for line_start, line_end in _lines(text, start, end):
        yield _trim(text, line_start, line_end)


def _sentences(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    position = start
    for match in _SENTENCE_END.finditer(text, start, end):
        stop = match.end()
        following = text[stop : stop + 60].lstrip()[:1]
        if following.islower():
            continue
        if match.group().startswith(".") and _ABBREVIATION.search(text[max(position, stop - 12) : stop]):
            continue
        span = _trim(text, position, stop)
        if span[0] < span[1]:
            yield span
            position = stop
    span = _trim(text, position, end)
    if span[0] < span[1]:
        yield span


def _words(text: str, start: int, end: int, target: int) -> Iterator[tuple[int, int, int]]:
    """A sentence over the target, cut into as few and as equal runs of units as it takes."""
    units = list(_UNIT.finditer(text, start, end))
    count = math.ceil(len(units) / target)
    cuts = [number * len(units) // count for number in range(1, count)]
    low = 0
    for cut in [*cuts, len(units)]:
        while cut < len(units) and unicodedata.category(text[units[cut].start()]).startswith("M"):
            cut += 1  # a vowel sign stays with its letter
        if low < cut:
            yield units[low].start(), units[cut - 1].end(), cut - low
            low = cut
