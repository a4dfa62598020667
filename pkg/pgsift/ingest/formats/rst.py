"""reStructuredText by docutils (public domain): the document tree as text, with headings, lists, tables, code
and notes.

Nothing is included from other files, and no raw HTML is passed on. Directives and roles that docutils does not
know (Sphinx's, mostly) keep their content. Fields before the text are metadata.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, find_doi, names, year_of
from pgsift.ingest.parsers import Parsed, decode

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": io.StringIO(),
    "_disable_config": True,
    "syntax_highlight": "none",
    "line_length_limit": 10_000_000,
    "docinfo_xform": True,
    "doctitle_xform": True,
    "sectsubtitle_xform": False,
    "smart_quotes": False,
}


def read(content: bytes, limits: Limits) -> Parsed:
    """A reStructuredText document."""
    del limits
    with needs("rst"):
        import docutils.core
        from docutils import nodes
    source, replaced = decode(content)
    _permit_unknown()
    # NUL marks escapes in docutils.
    cleaned = source.count("\0")
    tree = docutils.core.publish_doctree(source.replace("\0", " "), settings_overrides=_SETTINGS)
    writer = _Writer(nodes)
    writer.builder.cleaned = replaced + cleaned
    writer.walk(tree, 0)
    for label, note in writer.notes:
        writer.builder.add(f"[{label}] {note}")
    said = writer.said
    return writer.builder.parsed(
        title=None,
        metadata={
            "authors": said.get("authors") or [name for text in said.get("author", []) for name in names(text)],
            "year": year_of(next(iter(said.get("date", [])), None)),
            "doi": find_doi(" ".join(said.get("doi", []))),
            "keywords": ", ".join(said.get("keywords", [])),
        },
        language=next(iter(said.get("language", []) or said.get("lang", [])), None),
    )


def _permit_unknown() -> None:
    """Let directives and roles of other tools be: their content is text."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles

    class Unknown(Directive):  # type: ignore[misc]
        has_content = True
        optional_arguments = 1
        final_argument_whitespace = True
        code = False

        def run(self) -> list[Any]:
            if self.name in _CODE_DIRECTIVES:
                text = "\n".join(self.content)
                return [nodes.literal_block(text, text)]
            if self.name in _SILENT_DIRECTIVES:
                return []
            container = nodes.container()
            if self.arguments:
                container += nodes.paragraph("", self.arguments[0])
            self.state.nested_parse(self.content, self.content_offset, container)
            return [container]

    class Options(dict):  # type: ignore[type-arg]
        """Any option is fine."""

        def __bool__(self) -> bool:
            return True

        def __getitem__(self, name: str) -> Any:
            return directives.unchanged

        def __contains__(self, name: object) -> bool:
            return True

    Unknown.option_spec = Options()
    known = directives.directive

    def directive(name: str, language: Any, document: Any) -> Any:
        found, messages = known(name, language, document)
        # Of code docutils knows fewer options than Sphinx, and would drop what has others.
        if found is None or name in _CODE_DIRECTIVES:
            return type("Unknown", (Unknown,), {}), []
        return found, messages

    def plain(_role: str, rawtext: str, text: str, *_rest: Any, **_options: Any) -> Any:
        return [nodes.inline(rawtext, text.partition(" <")[0])], []

    known_role = roles.role

    def role(name: str, language: Any, lineno: int, reporter: Any) -> Any:
        found, messages = known_role(name, language, lineno, reporter)
        return (found, messages) if found is not None else (plain, [])

    if known.__name__ != "directive" or not getattr(known, "permits", False):
        directive.permits = True  # type: ignore[attr-defined]
        directives.directive = directive
        roles.role = role


_CODE_DIRECTIVES = frozenset({"code-block", "sourcecode", "highlight-block", "prompt", "doctest", "testcode"})
_SILENT_DIRECTIVES = frozenset(
    {"toctree", "index", "highlight", "module", "currentmodule", "autoclass", "automodule", "autofunction", "meta"}
)


class _Writer:
    def __init__(self, nodes: Any) -> None:
        self.nodes = nodes
        self.silent = (
            nodes.system_message,
            nodes.comment,
            nodes.target,
            nodes.substitution_definition,
            nodes.raw,
            nodes.pending,
            nodes.meta,
        )
        self.builder = TextBuilder()
        self.notes: list[tuple[str, str]] = []
        self.said: dict[str, list[str]] = {}

    def walk(self, parent: Any, depth: int) -> None:
        for node in parent.children:
            self.node(node, depth)

    def node(self, node: Any, depth: int) -> None:
        nodes, builder = self.nodes, self.builder
        if isinstance(node, nodes.title):
            builder.add(self.text(node), "heading", min(max(depth, 1), 6))
        elif isinstance(node, nodes.subtitle):
            builder.add(self.text(node), "heading", min(max(depth + 1, 2), 6))
        elif isinstance(node, nodes.section):
            # With a title of its own the document is the first level.
            above = 1 if isinstance(node.parent, nodes.document) and node.parent.get("title") else depth
            self.walk(node, above + 1 if depth or above else 1)
        elif isinstance(node, nodes.docinfo):
            self.fields(node)
        elif isinstance(node, nodes.literal_block | nodes.doctest_block | nodes.math_block):
            builder.add(node.astext(), "code")
        elif isinstance(node, nodes.bullet_list):
            self.items(node, depth, "- ")
        elif isinstance(node, nodes.enumerated_list):
            self.items(node, depth, "")
        elif isinstance(node, nodes.definition_list):
            for item in node.children:
                builder.add(self.lines(item), "item")
        elif isinstance(node, nodes.table):
            rows = [
                [self.text(entry) for entry in row.children if isinstance(entry, nodes.entry)]
                for row in node.findall(nodes.row)
            ]
            caption = " ".join(self.text(child) for child in node.children if isinstance(child, nodes.title))
            builder.table(rows, caption)
        elif isinstance(node, nodes.footnote | nodes.citation):
            label = next((self.text(child) for child in node.children if isinstance(child, nodes.label)), "*")
            rest = [self.text(child) for child in node.children if not isinstance(child, nodes.label)]
            self.notes.append((label, " ".join(rest)))
        elif isinstance(node, nodes.field_list):
            for item in node.children:
                builder.add(": ".join(self.text(child) for child in item.children), "item")
        elif isinstance(node, self.silent):
            return
        elif isinstance(node, nodes.image):
            builder.add(node.get("alt") or "")
        elif isinstance(node, nodes.TextElement):
            builder.add(self.text(node))
        else:
            self.walk(node, depth)

    def items(self, parent: Any, depth: int, mark: str) -> None:
        nodes = self.nodes
        number = int(parent.get("start", 1)) if not mark else 0
        for item in parent.children:
            simple = [child for child in item.children if isinstance(child, nodes.TextElement)]
            text = "\n".join(self.text(child) for child in simple if not isinstance(child, nodes.literal_block))
            self.builder.add(f"{mark or f'{number}. '}{text}" if text.strip() else "", "item")
            number += 1
            for child in item.children:
                if child not in simple or isinstance(child, nodes.literal_block):
                    self.node(child, depth)

    def lines(self, node: Any) -> str:
        return "\n".join(self.text(child) for child in node.children)

    def fields(self, node: Any) -> None:
        nodes = self.nodes
        for item in node.children:
            if isinstance(item, nodes.field):
                name, body = (self.text(child) for child in item.children)
                self.said.setdefault(name.casefold(), []).append(body)
            elif isinstance(item, nodes.authors):
                self.said["authors"] = [self.text(child) for child in item.children]
            else:
                self.said.setdefault(item.__class__.__name__, []).append(self.text(item))

    def text(self, node: Any) -> str:
        return "".join(self.pieces(node))

    def pieces(self, node: Any) -> Iterator[str]:
        nodes = self.nodes
        if isinstance(node, nodes.Text):
            text = str(node)
            yield text if isinstance(node.parent, nodes.literal) else text.replace("\n", " ")
        elif isinstance(node, nodes.footnote_reference | nodes.citation_reference):
            yield f"[{node.astext()}]"
        elif isinstance(node, nodes.system_message | nodes.raw):
            return
        elif isinstance(node, nodes.problematic):
            yield node.astext().strip("`|*")
        elif isinstance(node, nodes.image):
            yield node.get("alt") or ""
        else:
            for number, child in enumerate(node.children):
                if number and isinstance(child, nodes.paragraph | nodes.line | nodes.list_item):
                    yield " " if not isinstance(child, nodes.line) else "\n"
                yield from self.pieces(child)
