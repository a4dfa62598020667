"""Parsers: bytes or text in, text with its blocks out.

=========  ===========================================================================================
format     what becomes of it
=========  ===========================================================================================
text       kept as it is; blank lines part paragraphs
markdown   kept as it is, markup included; blocks by markdown-it (CommonMark and pipe tables); YAML or
           TOML front matter gives title, classification, language, license, dates and metadata (a title
           that is no text too), and is not text; it never grants access
html       its main text by trafilatura (extra ``html``); headings, list items, code and tables told
           apart
others     read by an adapter of :mod:`pgsift.ingest.formats` in a process of its own
=========  ===========================================================================================

The title is the front matter's, else that of the first first-level heading (Markdown), or that of
``<title>``, else of the first ``<h1>`` (HTML). A heading at the very start that says what the title says is
a block of kind ``title``. A title is never made up from a file name.

Front matter says for its document ``classification``, ``language`` (or ``lang``), ``license``, ``observed_at``,
``valid_from``, ``valid_to`` and ``retain_until``, in either case and with ``-`` or a blank for ``_``. One of these
that is no text or no date is :class:`~pgsift.errors.InvalidDocument` and never metadata, and so is front matter
that cannot be read and names a classification or a date to retain until: what decides where a text may go is
heeded or refused.

Bytes are UTF-8, or what their byte order mark says, which is dropped; HTML may declare another encoding. Of other
bytes the encoding is found where the extra ``charset`` is installed, and told in the metadata (``encoding``); else
they are :class:`~pgsift.errors.InvalidDocument`.
"""

from __future__ import annotations

import codecs
import datetime
import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from pgsift.errors import InvalidDocument
from pgsift.ingest.chunker import Block
from pgsift.ingest.cleaning import clean_text
from pgsift.ingest.formats.charset import decoded

if TYPE_CHECKING:
    from pgsift.ingest.formats import Limits

Format = Literal["text", "markdown", "html", "pdf", "docx", "pptx", "xlsx", "odt", "epub", "rst", "latex"]

#: Format by file extension. Files that hold several documents are :mod:`pgsift.ingest.sources`'s; of the others
#: the content decides, see :mod:`pgsift.ingest.formats.detect`.
EXTENSIONS: dict[str, Format] = {
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".odt": "odt",
    ".epub": "epub",
    ".rst": "rst",
    ".tex": "latex",
    ".latex": "latex",
}

_BLANK_LINE = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\s*")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FENCE = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n|\r|\n)")
_MAX_FRONT_MATTER = 64 * 1024
_DATES = frozenset({"observed_at", "valid_from", "valid_to", "retain_until"})
_SAID = frozenset({"classification", "language", "license"}) | _DATES
# A line that would say where a text may go, in front matter that cannot be read.
_POLICY = re.compile(
    r"^[ \t]*[\"']?(classification|retain[-_ ]until)[\"']?[ \t]*[:=]", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text and what its source said about it."""

    text: str
    blocks: list[Block]
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None
    license: str | None = None
    #: Characters replaced because PostgreSQL, or the encoding, cannot hold them.
    cleaned: int = 0
    classification: str | None = None
    #: Dates and times in ISO 8601.
    observed_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    retain_until: str | None = None
    #: Where each page (slide, sheet) begins, in order, for sources that have pages; a page without text begins
    #: where the next does.
    pages: Sequence[int] = ()
    #: Which page begins there, where the text does not go through them one by one (a note at the foot of a page
    #: stands after a paragraph that ends on the next); else they are numbered from 1.
    page_numbers: Sequence[int] = ()

    def page(self, position: int) -> int | None:
        """The number, from 1, of the page that a character is on."""
        number = bisect_right(self.pages, position)
        if not number:
            return None
        return self.page_numbers[number - 1] if self.page_numbers else number

    def page_breaks(self, start: int, end: int) -> list[tuple[int, int]]:
        """Where other pages begin between two characters, counted from the first, and which these are."""
        number = bisect_right(self.pages, start)
        page = self.page(start)
        breaks: list[tuple[int, int]] = []
        if page is None:
            return breaks
        while number < len(self.pages) and self.pages[number] < end:
            at = self.pages[number]
            number = bisect_right(self.pages, at)
            following = self.page(at)
            if following is not None and following != page:
                breaks.append((at - start, following))
                page = following
        return breaks


def parser_name(kind: Format, limits: Limits | None = None) -> str:
    """Name and version of the parser of a format; stored with every document and part of its content hash."""
    from pgsift.ingest.formats import DOCLING, FORMATS

    if limits is not None and limits.parser == "docling" and kind in DOCLING:
        return f"docling/1 docling={_version('docling-slim')} docling-core={_version('docling-core')}"
    if limits is not None and limits.ocr != "off" and kind == "pdf":
        return (
            f"{parser_name(kind)} ocr={limits.ocr}:{'+'.join(limits.ocr_languages)} "
            f"tesserocr={_version('tesserocr')}"
        )
    if kind in FORMATS:
        spec = FORMATS[kind]
        return " ".join([f"{kind}/{spec.version}", *(f"{name}={_version(name)}" for name in spec.packages)])
    if kind == "markdown":
        return f"markdown/2 markdown-it-py={_version('markdown-it-py')}"
    if kind == "html":
        return f"html/2 trafilatura={_version('trafilatura')}"
    return "text/1"


def limits_of(parser: str | None, limits: Limits) -> Limits:
    """Limits with the way of reading that the name of a document's parser tells."""
    told = re.search(r" ocr=(auto|force):(\S+)", parser or "")
    if told is not None:
        way: Any = told.group(1)
        limits = replace(limits, ocr=way, ocr_languages=tuple(told.group(2).split("+")))
    return replace(limits, parser="docling") if (parser or "").startswith("docling/") else limits


@cache
def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def decode(content: bytes, kind: Format = "text") -> tuple[str, int]:
    """The text of some bytes, and how many characters had to be replaced (HTML only)."""
    if kind == "html" and not content.startswith(_MARKS):
        from pgsift.ingest.html import decode_html

        return decode_html(content)
    return decoded(content)[0], 0


def parse(content: str | bytes, kind: Format = "text", limits: Limits | None = None) -> Parsed:
    """Text, blocks and title of a source. ``limits`` are those of a parser that runs in a process of its own.

    Raises :class:`~pgsift.errors.InvalidDocument` for bytes in no known encoding, an unknown format and what
    cannot be read, and :class:`~pgsift.errors.MissingExtra` where the extra of a format is not installed.
    """
    from pgsift.ingest.formats import FORMATS, Limits

    if kind in FORMATS:
        if isinstance(content, str):
            if kind not in ("rst", "latex"):
                raise InvalidDocument(f"a document of format {kind} is bytes, not a text")
            content = content.encode("utf-8", "surrogatepass")
        from pgsift.ingest.formats.pool import pool

        return pool().parse(content, kind, limits or Limits())
    replaced = 0
    encoding: str | None = None
    if isinstance(content, bytes):
        if kind == "html":
            content, replaced = decode(content, kind)
        else:
            content, encoding = decoded(content)
    text, cleaned = clean_text(content)
    cleaned += replaced
    found = {} if encoding in (None, "utf-8", "utf-16", "utf-32") else {"encoding": encoding}
    if kind == "text":
        return Parsed(text, _paragraphs(text), metadata=found, cleaned=cleaned)
    if kind == "markdown":
        parsed = _markdown(text, cleaned)
        return replace(parsed, metadata={**found, **parsed.metadata}) if found else parsed
    if kind == "html":
        from pgsift.ingest.html import parse_html

        return parse_html(text, cleaned)
    raise InvalidDocument(f"unknown format {kind!r}", hint=f"Use {', '.join(get_args(Format))}.")


def _paragraphs(text: str) -> list[Block]:
    if "\n" not in text and "\r" not in text:
        return [Block(0, len(text), "paragraph")] if text else []
    blocks = []
    position = 0
    for match in _BLANK_LINE.finditer(text):
        if match.start() > position:
            blocks.append(Block(position, match.start(), "paragraph"))
        position = match.end()
    if position < len(text):
        blocks.append(Block(position, len(text), "paragraph"))
    return blocks


def one_line(text: str | None) -> str | None:
    """A title on one line, its white space made single blanks; ``None`` when nothing is left."""
    return (" ".join(text.split()) or None) if text else None


# Markdown


@cache
def _markdown_it() -> Any:
    from markdown_it import MarkdownIt

    # Only blocks are wanted; the text stays as it was written.
    return MarkdownIt("commonmark").enable("table").disable("inline")


@cache
def _inline() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _plain(source: str) -> str:
    """The words of a heading without its markup."""
    if not re.search(r"[`*_\[\]<>&\\!]", source) or len(source) > 2000:
        return one_line(source) or ""
    parts: list[str] = []
    for token in _inline().parseInline(source)[0].children or []:
        if token.type in ("text", "code_inline") or token.type == "image":
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return one_line("".join(parts)) or ""


def _markdown(text: str, cleaned: int) -> Parsed:
    matter, offset = _front_matter(text)
    said = _said(matter)
    # markdown-it counts lines as these, and gives each block as a range of them.
    starts = [offset, *(match.end() for match in _NEWLINE.finditer(text, offset)), len(text)]

    def at(line: int) -> int:
        return starts[min(line, len(starts) - 1)]

    blocks: list[Block] = [Block(0, offset, "skip")] if offset else []
    tokens = _markdown_it().parse(text[offset:])
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = at(token.map[0]), at(token.map[1])
        if token.level == 1 and token.type == "list_item_open":
            blocks.append(Block(start, end, "item"))
        elif token.level:
            continue
        elif token.type == "heading_open":
            blocks.append(Block(start, end, "heading", int(token.tag[1]), _plain(tokens[index + 1].content)))
        elif token.type in ("fence", "code_block"):
            blocks.append(Block(start, end, "code"))
        elif token.type == "table_open":
            blocks.append(Block(start, end, "table"))
        elif token.type not in ("bullet_list_open", "ordered_list_open"):
            blocks.append(Block(start, end, "paragraph"))
    title = one_line(_taken(matter, "title"))
    first = next(
        (block for block in blocks if block.kind == "heading" and block.level == 1 and block.heading), None
    )
    if first is not None:
        if title is None:
            title = first.heading
        position = blocks.index(first)
        if first.heading.casefold() == title.casefold() and position == (1 if offset else 0):
            blocks[position] = first._replace(kind="title")
    return Parsed(text, blocks, title, matter, cleaned=cleaned, **said)  # type: ignore[arg-type]


def _taken(matter: dict[str, Any], name: str) -> str | None:
    """The text of a member, taken out of the front matter; of another type it stays there, and so comes into
    the metadata."""
    value = matter.get(name)
    if isinstance(value, datetime.date):
        value = value.isoformat()
    if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
        del matter[name]
        return str(value)
    if value is None or value == "":
        matter.pop(name, None)
    return None


def _said(matter: dict[str, Any]) -> dict[str, str]:
    """What front matter says about its document beside the title, taken out of it. ``lang`` counts where there
    is no ``language``; an empty member says nothing, but for the classification."""
    members: dict[str, str] = {}
    for written in list(matter):
        name = re.sub(r"[\s-]+", "_", written.strip().casefold())
        if name not in _SAID and name != "lang":
            continue
        if matter[written] is None or (matter[written] == "" and name != "classification"):
            del matter[written]
        elif name in members:
            raise InvalidDocument(
                f"the front matter says {name} twice: {members[name][:100]} and {written[:100]}",
                hint="Take one of them out of the file.",
            )
        else:
            members[name] = written
    alias = members.pop("lang", None)
    if alias is not None:
        members.setdefault("language", alias)
    return {
        name: _date(matter.pop(written), name) if name in _DATES else _text(matter.pop(written), name)
        for name, written in members.items()
    }


def _text(value: object, name: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    found = "empty" if isinstance(value, str) else f"{_shown(value)}, not a text"
    raise InvalidDocument(f"{name} in the front matter is {found}", hint=f"Write it in quotes: {name}: \"…\".")


def _date(value: object, name: str) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        if isinstance(value, str):
            datetime.datetime.fromisoformat(value)
            return value
    except ValueError:
        pass
    raise InvalidDocument(
        f"{name} in the front matter is {_shown(value)}, not a date or time",
        hint="Write it in ISO 8601, for example 2024-05-31 or 2024-05-31T16:30:00Z.",
    )


def _shown(value: object) -> str:
    return clean_text(repr(value))[0][:100]


def _front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The mapping at the top of a text, and where the text after it begins; ``({}, 0)`` where there is
    none."""
    opening = _FENCE.match(text)
    if opening is None:
        return {}, 0
    fence = opening.group(1)
    closing = re.compile(rf"^{re.escape(fence)}[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE).search(
        text.replace("\r", "\n"), opening.end(), opening.end() + _MAX_FRONT_MATTER
    )
    if closing is None:
        # Perhaps no front matter: a text may begin with a rule. What follows up to a blank line tells.
        blank = _BLANK_LINE.search(text, opening.end())
        _refuse_policy(text[opening.end() : blank.start() if blank else None])
        return {}, 0
    source = text[opening.end() : closing.start()]
    loaded = _toml(source) if fence == "+++" else _yaml(source)
    if not isinstance(loaded, dict):
        _refuse_policy(source)
        return {}, 0
    end = closing.end()
    if text[end - 1 : end + 1] == "\r\n":
        end += 1
    return {str(key): value for key, value in loaded.items()}, end


def _refuse_policy(source: str) -> None:
    """Raise for front matter that cannot be read and says where the text may go."""
    found = _POLICY.search(source.replace("\r", "\n"))
    if found is not None:
        raise InvalidDocument(
            f"the front matter cannot be read, and names {found.group(1).lower()}",
            hint="Mend its YAML or TOML, without aliases, and close it with the line it begins with.",
        )


def _toml(source: str) -> object:
    try:
        return tomllib.loads(_NEWLINE.sub("\n", source))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _yaml(source: str) -> object:
    import yaml

    try:
        # An alias can make a page of text stand for gigabytes, and front matter has no use for one.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source, Loader=yaml.SafeLoader)):
            return None
        return yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
