"""HTML: rendered with its structure, the main text chosen by trafilatura.

A page is a sequence of runs of text, parted where an element begins or ends that browsers lay out as a
block, a list item, or a cell of a table; inside a run elements join (``C<sub>2</sub>`` is one word) and
``<br>`` breaks the line. trafilatura (Apache-2.0 since 1.8) is shown the runs as plain paragraphs, list items
and cells in the containers they stand in, and says which belong to the main text; navigation, sidebars and
what else surrounds an article do not. What it keeps is rendered from the page itself, with headings, lists,
tables and code. So nothing it does to the inside of a run, or to elements nested in ways it does not expect,
joins or loses words. Where it keeps nothing (pages of a few words), all runs are rendered but those of forms,
and those too where there are no others.

Never rendered are navigation, footers, sidebars (``aside``), form controls with their options, scripts,
styles, embedded objects, the readings of ruby text, and elements with the attribute ``hidden``. A page that
names no main part (``main``, ``article``) is wrapped in one, because trafilatura's search by trial and error
loses what a search engine must not lose. In a part that is named, links do not count against a table or a
list.
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
# Where no paragraph is open, its end tag stands for an empty one (HTML standard, 13.2.6.4.7), and parts what
# is around it; libxml2 skips it. It also ends a heading where a paragraph begins in it, and skips the heading's
# own end tag. A rule says the same everywhere.
_END_OF_P = re.compile(r"</(p|h[1-6])(?:[ \t\n\r\f/][^>]*)?>", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r\f\v]+")
# The number of a run, as it is shown to trafilatura; the page's own brackets of this kind are left out there.
_MARK = re.compile("\u27e6([0-9]+)\u27e7")
_NO_MARKS = dict.fromkeys((0x27E6, 0x27E7), " ")
# What a head may hold (HTML standard, 13.2.6.4.4), and two that older pages have there.
_IN_HEAD = frozenset(
    ["base", "basefont", "bgsound", "link", "meta", "noscript", "script", "style", "template", "title"]
)
# What the rendering section of the HTML standard (15.3) displays as a block or a list item.
_BLOCK_TAGS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "html",
        "legend",
        "li",
        "listing",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "plaintext",
        "pre",
        "search",
        "section",
        "summary",
        "ul",
        "xmp",
    ]
)
_TABLE_TAGS = frozenset(
    [
        "table",
        "caption",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "td",
        "th",
    ]
)
_PARTING = _BLOCK_TAGS | _TABLE_TAGS
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_DROPPED = frozenset(
    [
        "script",
        "style",
        "nav",
        "footer",
        "aside",
        "template",
        "noscript",
        "noembed",
        "noframes",
        "svg",
        "iframe",
        "object",
        "applet",
        "audio",
        "video",
        "button",
        "select",
        "datalist",
        "textarea",
        "canvas",
        "map",
        "title",
        "head",
        "rp",
        "rt",
        "rtc",
    ]
)
# Dropped, and laid out as blocks or boxes of their own.
_PARTING_DROPPED = frozenset(
    [
        "iframe",
        "object",
        "applet",
        "video",
        "canvas",
        "select",
        "textarea",
        "button",
        "map",
    ]
)
# Their ids and classes are made of what they say: a heading with the id "navigation" is no navigation.
_NAMED_FREELY = frozenset(["h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "li", "pre", "summary", "legend"])
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
    if "</xmp" not in text.lower():
        text = _END_OF_P.sub(r"</\1><hr>", text)
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
    body = _body(tree)
    if body is not None:
        kept = _main_runs(trafilatura, config, body)
        rendered, blocks = _render(body, kept)
        if kept is None and not blocks:
            rendered, blocks = _render(body, None, forms=True)
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


def _body(tree: Any) -> Any:
    """The body of a page, with what libxml2 left in the head: it knows no ``main`` or ``article``, and takes their
    beginning for no end of a head that was not closed."""
    head, body = tree.find("head"), tree.find("body")
    if head is None:
        return body
    first = next((n for n, element in enumerate(head) if element.tag not in _IN_HEAD), None)
    if first is None:
        return body
    misplaced = head[first:]
    if body is None:
        body = tree.makeelement("body")
        tree.append(body)
    text, body.text = body.text, None
    for position, element in enumerate(misplaced):
        body.insert(position, element)
    if text:
        misplaced[-1].tail = (misplaced[-1].tail or "") + text
    return body


def _main_runs(trafilatura: Any, config: Any, body: Any) -> set[int] | None:
    """The numbers of the runs that trafilatura keeps, in the order of :func:`_walk`; ``None`` for none."""
    try:
        found = trafilatura.bare_extraction(
            _page_of_runs(body),
            with_metadata=False,
            include_comments=False,
            include_tables=True,
            include_formatting=False,
            favor_recall=True,
            output_format="xml",
            config=config,
        )
    except (RecursionError, ValueError, TypeError, AttributeError, AssertionError):
        return None
    if found is None or found.body is None:
        return None
    return {int(number) for number in _MARK.findall("".join(found.body.itertext()))} or None


def _page_of_runs(body: Any) -> Any:
    """The page as trafilatura is shown it: every run one paragraph, list item or cell, its number in front of
    its text, in the containers of the page with their attributes."""
    from lxml import html

    declared = body.xpath(
        "boolean(.//main | .//article | .//*[@role='main'] | .//*[@itemprop='articleBody'])"
    )
    page = html.Element("html")
    top = html.Element("body")
    page.append(top)
    containers: list[Any] = [top]
    if not declared:
        article = html.Element("article")
        top.append(article)
        containers.append(article)
    # The outermost list or table of simple content, whose inside is flattened.
    flat: Any = None
    links = named = headings = 0
    pieces: list[tuple[bool, str]] = []

    def close(run: int) -> None:
        """Add the run that ends here."""
        if any(text.strip() for _, text in pieces):
            parent = containers[-1]
            kind = {"ul": "li", "table": "tr", "tr": "td"}.get(parent.tag, "p")
            element = html.Element(kind)
            parent.append(element)
            if kind == "tr":
                cell = html.Element("td")
                element.append(cell)
                element = cell
            last: Any = None
            mark = f"\u27e6{run}\u27e7"
            for linked, text in pieces:
                shown = mark + _SPACE.sub(" ", text).translate(_NO_MARKS) if text else ""
                mark = ""
                if linked:
                    last = html.Element("a", href="#")
                    last.text = shown
                    element.append(last)
                elif last is None:
                    element.text = (element.text or "") + shown
                else:
                    last.tail = (last.tail or "") + shown
        pieces.clear()

    run = 0
    for event, element, tag in _walk(body, forms=True):
        if event == "text":
            linked = bool(links) and not named and not headings
            if pieces and pieces[-1][0] == linked:
                pieces[-1] = (linked, pieces[-1][1] + element)
            else:
                pieces.append((linked, element))
            continue
        opening = event == "start"
        if tag == "a":
            links += 1 if opening else -1
        elif tag == "br":
            pieces.append((False, " "))
        elif tag in _HEADINGS:
            # A heading that links to itself is a heading.
            headings += 1 if opening else -1
        if _names_main(element, tag):
            named += 1 if opening else -1
        if tag not in _PARTING:
            continue
        close(run)
        run += 1
        if element is body or tag == "hr":
            continue
        if flat is not None:
            if element is flat:
                containers.pop()
                flat = None
            elif flat.tag == "table" and tag == "tr" and next(element.iterancestors("table")) is flat:
                if opening:
                    row = html.Element("tr")
                    containers[-1].append(row)
                    containers.append(row)
                else:
                    containers.pop()
            continue
        if opening:
            name = tag if tag in ("article", "main", "section", "form") else "div"
            if (tag in _LISTS or tag == "table") and _is_simple(element, tag):
                flat = element
                name = "table" if tag == "table" else "ul"
            container = html.Element(name)
            if tag not in _NAMED_FREELY:
                for attribute, value in element.attrib.items():
                    container.set(attribute, value)
            containers[-1].append(container)
            containers.append(container)
        else:
            containers.pop()
    return page


def _names_main(element: Any, tag: str) -> bool:
    return (
        tag in ("main", "article")
        or element.get("role") == "main"
        or element.get("itemprop") == "articleBody"
    )


def _is_simple(element: Any, tag: str) -> bool:
    """Whether a list or table is one of content, and not the layout of a part of the page."""
    layout = ("table", "article", "section", "main", "form", "nav", *_HEADINGS)
    if next(element.iterdescendants(*layout), None) is not None:
        return False
    return tag != "table" or element.get("role") not in ("presentation", "none")


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


def _render(root: Any, kept: set[int] | None, *, forms: bool = False) -> tuple[str, list[Block]]:
    """Text and blocks of an element: of the runs ``kept``, or of all."""
    writer = _Writer()
    inline = writer.inline
    table_depth = verbatim_depth = 0
    items = 0
    first_cell = True

    def close() -> None:
        if not table_depth and not verbatim_depth:
            writer.flush("item" if items else "paragraph")

    run = 0
    for event, element, tag in _walk(root, forms=forms or kept is not None):
        if event == "text":
            if kept is None or run in kept:
                inline.append(element if verbatim_depth else _SPACE.sub(" ", element))
            continue
        opening = event == "start"
        run += tag in _PARTING
        if tag == "br":
            if opening and (kept is None or run in kept):
                inline.append(" " if table_depth and not verbatim_depth else "\n")
        elif tag == "table":
            if opening:
                if table_depth or verbatim_depth:
                    inline.append(" ")
                close()
                table_depth += 1
            else:
                table_depth -= 1
                if table_depth or verbatim_depth:
                    inline.append(" ")
                else:
                    writer.flush("table")
        elif table_depth:
            if tag in ("tr", "caption") and table_depth == 1:
                first_cell = True
                inline.append("\n")
            elif tag in ("td", "th") and table_depth == 1:
                if opening:
                    inline.append("" if first_cell else " | ")
                    first_cell = False
                else:
                    inline.append(" ")
            elif tag in _PARTING:
                inline.append(" ")
        elif tag == "pre" or (tag == "code" and "\n" in "".join(element.itertext())):
            if verbatim_depth and tag == "pre":
                inline.append("\n")
            if opening:
                close()
                verbatim_depth += 1
            else:
                verbatim_depth -= 1
                if not verbatim_depth:
                    writer.flush("code", verbatim=True)
        elif verbatim_depth:
            if tag in _PARTING:
                inline.append("\n")
        elif tag in _HEADINGS:
            if opening:
                close()
            else:
                writer.flush("heading", _HEADINGS[tag])
        elif tag == "li":
            close()
            items = max(items + (1 if opening else -1), 0)
        elif tag in _PARTING:
            close()
    table_depth = verbatim_depth = 0
    close()
    return "".join(writer.parts), writer.blocks


def _walk(root: Any, *, forms: bool) -> Iterator[tuple[str, Any, str]]:
    """Starts and ends of elements and the texts between them, in order, without recursion; dropped elements
    left out."""
    stack: list[tuple[Any, Iterator[Any]]] = []

    def enter(element: Any) -> Iterator[tuple[str, Any, str]]:
        yield "start", element, element.tag
        if element.text:
            yield "text", element.text, ""
        stack.append((element, iter(element)))

    def is_dropped(element: Any) -> bool:
        return (
            not isinstance(element.tag, str)
            or element.tag in _DROPPED
            or (element.tag == "form" and not forms)
            or element.get("hidden") is not None
        )

    yield from enter(root)
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is not None:
            if child.tag == "math":
                yield "text", _formula(child), ""
            elif not is_dropped(child):
                yield from enter(child)
                continue
            elif child.tag in _PARTING or child.tag in _PARTING_DROPPED:
                # It stands between what is before and after it all the same.
                yield "start", child, "hr"
                yield "end", child, "hr"
            if child.tail:
                yield "text", child.tail, ""
            continue
        stack.pop()
        yield "end", element, element.tag
        if stack and element.tail:
            yield "text", element.tail, ""


def _formula(math: Any) -> str:
    """A formula of MathML: its source in TeX where the page brings it, else its symbols."""
    annotation = next((one for one in math.iter("annotation") if "tex" in one.get("encoding", "")), None)
    source = math.get("alttext") if annotation is None else "".join(annotation.itertext())
    if source and source.strip():
        return f"\\({source.strip()}\\)"
    return "".join(math.itertext())
