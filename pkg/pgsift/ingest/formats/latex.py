r"""LaTeX by pylatexenc (MIT): sections, lists, tables, captions and notes as text; formulas and code as they
are written.

Macros are not expanded: those that \newcommand defines are left as they stand, with their arguments. \input and
\include read nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, find_doi, year_of
from pgsift.ingest.parsers import Parsed, decode

_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
_VERBATIM = frozenset({"verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt"})
_MATH = frozenset(
    name + star
    for name in (
        "equation",
        "align",
        "gather",
        "multline",
        "eqnarray",
        "displaymath",
        "math",
        "flalign",
        "alignat",
    )
    for star in ("", "*")
)
_TABLES = frozenset({"tabular", "tabular*", "tabularx", "longtable", "array", "tabulary"})
_LISTS = frozenset({"itemize", "enumerate", "description", "compactitem", "compactenum"})
_NO_TEXT = frozenset(
    """
    label ref eqref pageref autoref cref Cref vspace hspace vskip hskip bibliographystyle bibliography
    usepackage documentclass input include includegraphics newcommand renewcommand providecommand
    DeclareMathOperator setlength pagestyle thispagestyle newtheorem hypersetup graphicspath setcounter
    addtocounter index maketitle tableofcontents centering noindent clearpage newpage appendix hline toprule
    midrule bottomrule cline cmidrule author title date thanks def let hfill vfill bigskip medskip smallskip
    small footnotesize scriptsize large Large LARGE nocite protect url@ pdfoutput PassOptionsToPackage
    RequirePackage definecolor color newenvironment renewenvironment numberwithin allowdisplaybreaks
    """.split()  # noqa: SIM905
)
_CITES = re.compile(r"(no)?cite\w*|Cite\w*|parencite|textcite|footcite")


def read(content: bytes, limits: Limits) -> Parsed:
    """A LaTeX document."""
    del limits
    with needs("latex"):
        from pylatexenc import latexwalker
    source, replaced = decode(content)
    source = re.sub(r"\r\n?", "\n", source)
    walker = latexwalker.LatexWalker(source, tolerant_parsing=True, latex_context=_context())
    nodes = walker.get_latex_nodes()[0]
    reader = _Reader(source)
    reader.builder.cleaned = replaced
    reader.preamble(nodes)
    body = _document(nodes)
    reader.blocks(nodes if body is None else body)
    reader.flush()
    for number, note in enumerate(reader.notes, 1):
        reader.builder.add(f"[{number}] {note}")
    said = reader.said
    return reader.builder.parsed(
        title=said.get("title"),
        metadata={
            "authors": [name for name in re.split(r"\s*\ue000\s*", said.get("author", "")) if name],
            "year": year_of(said.get("date")),
            "doi": find_doi(said.get("doi", "")),
        },
        language=_LANGUAGES.get(said.get("language", "")),
        from_heading=False,
    )


_LANGUAGES = {
    "english": "en",
    "american": "en",
    "british": "en",
    "german": "de",
    "ngerman": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "russian": "ru",
    "polish": "pl",
    "czech": "cs",
    "swedish": "sv",
}


def _context() -> Any:
    from pylatexenc import latexwalker, macrospec

    context = latexwalker.get_default_latex_context_db()
    one = [
        "thanks",
        "keywords",
        "address",
        "affiliation",
        "institute",
        "email",
        "subtitle",
        "chapter",
        "doi",
        "url",
    ]
    context.add_context_category(
        "pgsift",
        prepend=True,
        macros=[
            *(macrospec.std_macro(name, False, 1) for name in one),
            macrospec.std_macro("DeclareMathOperator", "*{{"),
            macrospec.std_macro("cmidrule", "[{"),
            macrospec.std_macro("multicolumn", "{{{"),
            macrospec.std_macro("multirow", "{{{"),
            macrospec.std_macro("textcolor", "{{"),
            macrospec.std_macro("href", "{{"),
            macrospec.std_macro("newtheorem", "*{[{["),
            macrospec.std_macro("caption", "*[{"),
            macrospec.std_macro("bibitem", "[{"),
            *(
                macrospec.std_macro(name, "*[[{")
                for name in ("citep", "citet", "autocite", "parencite", "textcite")
            ),
        ],
        environments=[
            macrospec.std_environment("tabularx", "{{"),
            macrospec.std_environment("longtable", "[{"),
            macrospec.std_environment("lstlisting", "["),
            macrospec.std_environment("minted", "[{"),
            macrospec.std_environment("thebibliography", "{"),
        ],
    )
    return context


def _document(nodes: Sequence[Any]) -> Sequence[Any] | None:
    for node in nodes:
        if node is not None and getattr(node, "environmentname", None) == "document":
            return list(node.nodelist)
    return None


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.builder = TextBuilder()
        self.run: list[str] = []
        self.notes: list[str] = []
        self.said: dict[str, str] = {}
        self.depth = 0

    # Blocks

    def flush(self) -> None:
        text, self.run = "".join(self.run), []
        for part in re.split(r"\n[ \t]*\n", text):
            lines = part.replace("\v", "\n").split("\n") if "\v" in part else [part]
            self.builder.add("\n".join(filter(None, (" ".join(line.split()) for line in lines))))

    def preamble(self, nodes: Sequence[Any]) -> None:
        """What is said of the document, wherever it stands."""
        for node in nodes:
            if node is None:
                continue
            name = getattr(node, "macroname", None)
            if name in ("title", "author", "date", "doi"):
                text = self.argument(node)
                if name == "author":
                    text = re.sub(r"\\and\b", "\ue000", self.argument(node, mark_and=True))
                self.said.setdefault(name, " ".join(text.split()))
            elif name == "usepackage" and "babel" in self.raw(node):
                found = re.search(r"\[([^\]]*)\]", self.raw(node))
                if found:
                    self.said.setdefault("language", found.group(1).split(",")[-1].strip())
            elif getattr(node, "environmentname", None) == "document":
                self.preamble(node.nodelist)

    def raw(self, node: Any) -> str:
        return self.source[node.pos : node.pos + node.len]

    def argument(self, node: Any, *, mark_and: bool = False) -> str:
        """The text of the last mandatory argument."""
        arguments = getattr(getattr(node, "nodeargd", None), "argnlist", None) or []
        for one in reversed(arguments):
            if one is not None and not _is_bracket(one):
                return self.inline([one], mark_and=mark_and)
        return ""

    def blocks(self, nodes: Sequence[Any]) -> None:
        self.depth += 1
        if self.depth > 100:
            raise RecursionError
        for node in nodes:
            if node is None:
                continue
            name = getattr(node, "environmentname", None)
            macro = getattr(node, "macroname", None)
            if macro in _LEVELS:
                self.flush()
                self.builder.add(" ".join(self.argument(node).split()), "heading", _LEVELS[macro])
            elif macro == "caption":
                self.flush()
                self.builder.add(" ".join(self.argument(node).split()))
            elif macro == "par":
                self.run.append("\n\n")
            elif macro == "bibitem":
                self.flush()
            elif name is not None:
                self.environment(node, name)
            elif _is_display(node):
                self.flush()
                self.builder.add(self.raw(node), "code")
            else:
                self.run.append(self.inline([node]))
        self.depth -= 1

    def environment(self, node: Any, name: str) -> None:
        self.flush()
        if name in _VERBATIM:
            body = self.raw(node).partition("}")[2].rpartition("\\end{")[0]
            body = re.sub(r"^(\[[^\]]*\])?(\{[^}]*\})?", "", body) if name in ("lstlisting", "minted") else body
            self.builder.add(body.strip("\n"), "code")
        elif name in _MATH:
            self.builder.add(self.raw(node), "code")
        elif name in _TABLES:
            self.builder.table(self.table(node))
        elif name in _LISTS:
            self.entries(node, name)
        elif name == "abstract":
            self.builder.add("Abstract", "heading", 2)
            self.blocks(node.nodelist)
            self.flush()
        elif name == "thebibliography":
            self.builder.add("References", "heading", 2)
            self.blocks(node.nodelist)
            self.flush()
        elif name in ("comment", "tikzpicture", "pgfpicture", "filecontents", "filecontents*"):
            return
        else:
            self.blocks(node.nodelist)
            self.flush()

    def entries(self, node: Any, name: str) -> None:
        number = 0
        mark = ""
        for child in node.nodelist:
            if getattr(child, "macroname", None) == "item":
                self.item(mark)
                number += 1
                label = next(
                    (
                        self.inline([a])
                        for a in (child.nodeargd.argnlist if child.nodeargd else [])
                        if a is not None
                    ),
                    "",
                )
                mark = (
                    f"{label.strip()}: "
                    if label.strip()
                    else f"{number}. "
                    if name.endswith("enum") or (name == "enumerate")
                    else "- "
                )
            elif getattr(child, "environmentname", None) in _LISTS | _VERBATIM | _MATH | _TABLES:
                self.item(mark)
                mark = ""
                self.environment(child, child.environmentname)
            else:
                self.run.append(self.inline([child]))
        self.item(mark)

    def item(self, mark: str) -> None:
        text, self.run = " ".join("".join(self.run).split()), []
        if text:
            self.builder.add(mark + text, "item" if mark else "paragraph")

    def table(self, node: Any) -> list[list[str]]:
        rows: list[list[str]] = [[]]
        cell: list[str] = []
        for child in node.nodelist:
            macro = getattr(child, "macroname", None)
            if getattr(child, "specials_chars", None) == "&":
                rows[-1].append("".join(cell))
                cell = []
            elif macro in ("\\", "tabularnewline", "cr"):
                rows[-1].append("".join(cell))
                cell = []
                rows.append([])
            else:
                cell.append(self.inline([child]))
                if macro == "multicolumn":
                    found = re.match(r"\\multicolumn\s*\{(\d+)\}", self.raw(child))
                    rows[-1] += [""] * (min(int(found.group(1)), 50) - 1 if found else 0)
        rows[-1].append("".join(cell))
        return rows

    # Text

    def inline(self, nodes: Sequence[Any], *, mark_and: bool = False) -> str:
        return "".join(self.piece(node, mark_and) for node in nodes if node is not None)

    def piece(self, node: Any, mark_and: bool) -> str:
        kind = type(node).__name__
        if kind == "LatexCharsNode":
            return _ligatures(node.chars)
        if kind == "LatexCommentNode":
            return ""
        if kind == "LatexGroupNode":
            return self.inline(node.nodelist, mark_and=mark_and)
        if kind == "LatexMathNode":
            return self.raw(node)
        if kind == "LatexSpecialsNode":
            shown = {"~": " ", "``": "“", "''": "”", "--": "–", "---": "—", "&": " ", "!`": "¡", "?`": "¿"}.get(
                node.specials_chars, node.specials_chars
            )
            return str(shown)
        if kind == "LatexEnvironmentNode":
            if node.environmentname in _MATH | _VERBATIM:
                return self.raw(node)
            return self.inline(node.nodelist)
        return self.macro(node, mark_and)

    def macro(self, node: Any, mark_and: bool) -> str:
        name = node.macroname
        after = node.macro_post_space or ""
        if name == "\\":
            return "\v"
        if name == "and":
            return "\\and " if mark_and else " and "
        if name in ("footnote", "footnotetext"):
            self.notes.append(" ".join(self.argument(node).split()))
            return f"[{len(self.notes)}]" + after
        if _CITES.fullmatch(name):
            found = re.search(r"\{([^{}]*)\}\s*$", self.raw(node))
            return f"[{found.group(1)}]" if found and name != "nocite" else ""
        if name == "href":
            return self.argument(node)
        if name == "verb":
            found = re.match(r"\\verb\*?(.)(.*?)\1", self.raw(node))
            return found.group(2) if found else ""
        if name in ("ref", "eqref", "autoref", "cref", "Cref", "pageref"):
            return self.argument(node) + after
        if name in _NO_TEXT:
            return ""
        from pylatexenc import latex2text

        arguments = [one for one in (node.nodeargd.argnlist if node.nodeargd else []) if one is not None]
        if not arguments or name in _ACCENTS:
            try:
                converted = latex2text.LatexNodes2Text(keep_comments=False).nodelist_to_text([node])
            except Exception:  # a macro it knows with arguments it does not
                converted = ""
            return str(converted) + after
        return self.inline([one for one in arguments if not _is_bracket(one)][-1:], mark_and=mark_and)


_ACCENTS = frozenset("'`^\"~=.cHkbdruvt")


def _ligatures(text: str) -> str:
    return text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”").replace("~", " ")


def _is_bracket(node: Any) -> bool:
    return getattr(node, "delimiters", None) == ("[", "]")


def _is_display(node: Any) -> bool:
    return type(node).__name__ == "LatexMathNode" and node.displaytype == "display"
