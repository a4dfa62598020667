"""HTML: the main text by trafilatura, rendered with its structure.

trafilatura (Apache-2.0 since 1.8) drops navigation, sidebars, comments and scripts, and keeps headings,
paragraphs, lists, tables, code and quotations as elements; :func:`_render` writes those as text and notes
where each stands. A page that names no main part (``main``, ``article``) is wrapped in one, because
trafilatura's search by trial and error loses headings and lists that a search engine must not lose. In a part
that is named, links do not count against a table or a list. Where trafilatura finds nothing at all (pages of
a few words), the body is rendered without scripts, styles, navigation, footers and forms.
"""

from __future__ import annotations

import codecs
import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pgsift.errors import InvalidDocument, MissingExtra
from pgsift.ingest.chunker import Block
from pgsift.ingest.cleaning import clean_text
from pgsift.ingest.parsers import Parsed, one_line

_DECLARED = re.compile(
    rb"<(?:meta[^>]+charset\s*=\s*|\?xml[^>]+encoding\s*=\s*)[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE
)
_SPACE = re.compile(r"[ \t\n\r\f\v]+")
_BLOCK_TAGS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "body",
        "header",
        "footer",
        "aside",
        "nav",
        "address",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "quote",
        "blockquote",
        "hr",
        "details",
        "summary",
        "center",
        "form",
        "fieldset",
        "list",
        "ul",
        "ol",
        "table",
        "row",
        "tr",
        "thead",
        "tbody",
        "tfoot",
        "caption",
        "head",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "item",
        "li",
    ]
)
_DROPPED = frozenset(
    [
        "script",
        "style",
        "nav",
        "footer",
        "aside",
        "form",
        "template",
        "noscript",
        "svg",
        "math",
        "iframe",
        "object",
        "button",
        "select",
        "textarea",
        "canvas",
        "title",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def decode_html(content: bytes) -> tuple[str, int]:
    """Text of a page without byte order mark: UTF-8 where it is valid, else as declared, else as browsers
    do (Windows-1252)."""
    match = _DECLARED.search(content, 0, 4096)
    declared = match.group(1).decode("ascii") if match else "windows-1252"
    if not (b"\x1b" in content and declared.lower().startswith("iso-2022")):
        try:
            return content.decode("utf-8"), 0
        except UnicodeDecodeError:
            pass
    try:
        name = codecs.lookup(declared).name
        # The label of ISO 8859-1 means Windows-1252 on the web (WHATWG Encoding, 4.2).
        text = content.decode("cp1252" if name in ("iso8859-1", "ascii", "utf-8") else name, "replace")
    except (LookupError, UnicodeError, TypeError):
        text = content.decode("cp1252", "replace")
    return text, text.count("\ufffd")


def parse_html(text: str, cleaned: int) -> Parsed:
    """Text, blocks and title of a page; see the module."""
    trafilatura, config = _trafilatura()
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(text.encode("utf-8"), parser=parser) if text.strip() else None
    except (etree.ParserError, etree.XMLSyntaxError):
        tree = None
    for entry in parser.error_log:
        if entry.type_name == "ERR_RESOURCE_LIMIT":
            # What comes after is missing from the tree.
            raise InvalidDocument(f"the page cannot be read to its end: {entry.message.partition(',')[0]}")
    if tree is None:
        return Parsed("", [], cleaned=cleaned)
    title = one_line(tree.findtext(".//title"))
    language = tree.get("lang") or None
    metadata: dict[str, Any] = {}
    for element in tree.iterfind(".//meta[@name]"):
        name = (element.get("name") or "").strip().lower()
        value = one_line(element.get("content"))
        if name in ("author", "description", "keywords", "date") and value:
            metadata.setdefault(name, value)
    rendered, blocks = "", list[Block]()
    main = _main_text(trafilatura, config, tree)
    if main is not None:
        rendered, blocks = _render(main)
    if not blocks:
        body = tree.find("body")
        if body is not None:
            rendered, blocks = _render(body)
    first = next((block for block in blocks if block.kind == "heading" and block.level == 1), None)
    if title is None and first is not None:
        title = first.heading
    if (
        first is not None
        and title is not None
        and first is blocks[0]
        and first.heading.casefold() in title.casefold()
    ):
        blocks[0] = first._replace(kind="title")
    return Parsed(rendered, blocks, title, metadata, language, cleaned=cleaned)


def _main_text(trafilatura: Any, config: Any, tree: Any) -> Any:
    from lxml import etree

    page = copy.deepcopy(tree)
    body = page.find("body")
    for element in page.iter("pre"):
        # As trafilatura tells code from quotations.
        if element.find(".//code") is None:
            code = element.makeelement("code")
            code.text, element.text = element.text, None
            code.extend(list(element))
            element.append(code)
    declared = page.xpath("//main | //article | //*[@role='main'] | //*[@itemprop='articleBody']")
    for element in declared:
        # trafilatura takes tables and lists full of links for navigation; the page itself says otherwise.
        etree.strip_tags(element, "a")
    if body is not None and not declared:
        article = body.makeelement("article")
        article.extend(list(body))
        article.text, body.text = body.text, None
        body.append(article)
    try:
        found = trafilatura.bare_extraction(
            page,
            with_metadata=False,
            include_comments=False,
            include_tables=True,
            include_formatting=True,
            favor_recall=True,
            output_format="xml",
            config=config,
        )
    except (RecursionError, ValueError, TypeError, AttributeError, AssertionError):
        return None
    return None if found is None else found.body


@cache
def _trafilatura() -> tuple[Any, Any]:
    try:
        import trafilatura
        from trafilatura.settings import use_config
    except ImportError as error:
        raise MissingExtra(
            f"HTML needs the package 'trafilatura', which cannot be imported: {error}",
            hint="Install it: pip install 'pgsift[html]'",
        ) from error
    config = copy.deepcopy(use_config())
    # Below its minimum size trafilatura gives one paragraph without structure; no size is too small here.
    for name in ("MIN_EXTRACTED_SIZE", "MIN_OUTPUT_SIZE", "MIN_FILE_SIZE"):
        config.set("DEFAULT", name, "0")
    config.set("DEFAULT", "EXTRACTION_TIMEOUT", "0")
    return trafilatura, config


class _Writer:
    """Collects inline text and turns it into blocks, parted by a blank line (list items by a line end)."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.blocks: list[Block] = []
        self.inline: list[str] = []

    def flush(self, kind: str = "paragraph", level: int = 0, *, verbatim: bool = False) -> None:
        text = "".join(self.inline)
        self.inline.clear()
        if verbatim:
            text = text.strip("\n\r").rstrip()
        else:
            lines = (" ".join(line.split()) for line in text.split("\n"))
            text = "\n".join(line for line in lines if line)
        text, _ = clean_text(text)
        if not text.strip():
            return
        if kind == "item":
            text = f"- {text}"
        if self.blocks:
            separator = "\n" if kind == "item" and self.blocks[-1].kind == "item" else "\n\n"
            self.parts.append(separator)
            self.length += len(separator)
        heading = one_line(text) or "" if kind == "heading" else ""
        self.blocks.append(Block(self.length, self.length + len(text), kind, level, heading))  # type: ignore[arg-type]
        self.parts.append(text)
        self.length += len(text)


def _render(root: Any) -> tuple[str, list[Block]]:
    """Text and blocks of an element of HTML, or of trafilatura's result, whose tags differ a little."""
    writer = _Writer()
    inline = writer.inline
    table_depth = verbatim_depth = 0
    items = 0
    first_cell = True

    def close() -> None:
        if not table_depth and not verbatim_depth:
            writer.flush("item" if items else "paragraph")

    for event, element, tag in _walk(root):
        if event == "text":
            text = element
            inline.append(text if verbatim_depth else _SPACE.sub(" ", text))
            continue
        opening = event == "start"
        if tag in ("br", "lb"):
            if opening:
                inline.append(" " if table_depth and not verbatim_depth else "\n")
        elif tag == "table":
            if opening:
                close()
                table_depth += 1
            else:
                table_depth -= 1
                if not table_depth:
                    writer.flush("table")
        elif table_depth:
            if tag in ("row", "tr") and table_depth == 1:
                first_cell = True
                inline.append("\n")
            elif tag in ("cell", "td", "th"):
                if opening:
                    inline.append("" if first_cell else " | ")
                    first_cell = False
            elif tag in _BLOCK_TAGS:
                inline.append(" ")
        elif tag == "pre" or (tag == "code" and "\n" in "".join(element.itertext())):
            if opening:
                close()
                verbatim_depth += 1
            else:
                verbatim_depth -= 1
                if not verbatim_depth:
                    writer.flush("code", verbatim=True)
        elif tag in _HEADINGS or tag == "head":
            if opening:
                close()
            elif not verbatim_depth:
                name = tag if tag in _HEADINGS else (element.get("rend") or "h2")
                writer.flush("heading", _HEADINGS.get(name, 2))
        elif tag in ("item", "li"):
            close()
            items = max(items + (1 if opening else -1), 0)
        elif tag in _BLOCK_TAGS:
            close()
    table_depth = verbatim_depth = 0
    close()
    return "".join(writer.parts), writer.blocks


def _walk(root: Any) -> Iterator[tuple[str, Any, str]]:
    """Starts and ends of elements and the texts between them, in order, without recursion; dropped elements
    left out."""
    stack: list[tuple[Any, Iterator[Any]]] = []

    def enter(element: Any) -> Iterator[tuple[str, Any, str]]:
        yield "start", element, element.tag
        if element.text:
            yield "text", element.text, ""
        stack.append((element, iter(element)))

    yield from enter(root)
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is not None:
            if isinstance(child.tag, str) and child.tag not in _DROPPED and child.get("hidden") is None:
                yield from enter(child)
            elif child.tail:
                yield "text", child.tail, ""
            continue
        stack.pop()
        yield "end", element, element.tag
        if stack and element.tail:
            yield "text", element.tail, ""
