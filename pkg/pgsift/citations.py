"""Documents as references in a bibliography: CSL-JSON comes from the database (:meth:`pgsift.Store.cite`),
BibTeX is made of it here.

BibTeX is written by pybtex (``pip install 'pgsift[cite]'``), which knows how LaTeX wants its special characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pgsift.errors import MissingExtra
from pgsift.models import Citation

__all__ = ["bibtex", "located"]

_TYPES = {
    "article-journal": "article", "article-magazine": "article", "article-newspaper": "article", "book": "book",
    "chapter": "incollection", "paper-conference": "inproceedings", "thesis": "phdthesis", "report": "techreport",
    "manuscript": "unpublished",
}  # fmt: skip
_FIELDS = {
    "title": "title", "publisher-place": "address",
    "collection-title": "series", "volume": "volume", "issue": "number",
    "page": "pages", "edition": "edition", "DOI": "doi", "ISBN": "isbn", "ISSN": "issn", "URL": "url",
    "language": "language", "note": "note",
}  # fmt: skip
_CONTAINERS = {"article": "journal", "incollection": "booktitle", "inproceedings": "booktitle"}
_PUBLISHERS = {"phdthesis": "school", "techreport": "institution"}
_NUMBERS = tuple(str(number) for number in range(1, 13))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Names and numbers that are read by programs: LaTeX's special characters stand in them as they are.
_VERBATIM = frozenset({"doi", "url", "isbn", "issn"})


def located(citation: Citation) -> Mapping[str, Any]:
    """A record of CSL-JSON with the page to point at, where there is one, as ``locator`` and ``label`` under
    ``custom``: CSL has a locator where something is cited, and none in a bibliography."""
    if citation.page is None:
        return citation.csl
    custom = citation.csl.get("custom")
    known = dict(custom) if isinstance(custom, Mapping) else {}
    return {**citation.csl, "custom": {**known, "locator": str(citation.page), "label": "page"}}


def bibtex(items: Iterable[Mapping[str, Any]]) -> str:
    """Records of CSL-JSON as one BibTeX file, in their order, UTF-8.

    A page to point at (:func:`located`) is told in a comment at the head. Keys are the ids with what BibTeX does
    not allow in a key replaced by ``-``, and a number where two would be the same. :class:`MissingExtra` without
    pybtex.
    """
    try:
        from pybtex.database import BibliographyData, Entry
    except ImportError:
        raise MissingExtra(
            "BibTeX is written by the package pybtex, which is not installed",
            hint="Run: pip install 'pgsift[cite]'; CSL-JSON needs nothing.",
        ) from None
    entries: dict[str, Any] = {}
    taken: set[str] = set()
    pages = ""
    for item in items:
        key = base = re.sub(r"[\s,{}\"'#%~\\()=@]+", "-", str(item.get("id", ""))).strip("-") or "document"
        number = 1
        # BibTeX takes keys that differ in case alone for the same.
        while key.lower() in taken:
            number += 1
            key = f"{base}-{number}"
        taken.add(key.lower())
        custom = item.get("custom")
        if isinstance(custom, Mapping) and custom.get("label") == "page" and _text(custom.get("locator")):
            pages += f"% {key}: p. {_text(custom['locator'])}\n"
        kind = _TYPES.get(str(item.get("type")), "misc")
        entries[key] = Entry(kind, fields=_fields(item, kind), persons=_persons(item))
    return pages + str(BibliographyData(entries).to_string("bibtex")) if entries else ""


def _fields(item: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    fields = [
        (name, _pages(text) if name == "pages" else text)
        for csl, name in _FIELDS.items()
        if (text := _text(item.get(csl)))
    ]
    if container := _text(item.get("container-title")):
        fields.append((_CONTAINERS.get(kind, "howpublished"), container))
    if publisher := _text(item.get("publisher")):
        fields.append((_PUBLISHERS.get(kind, "publisher"), publisher))
    year, month = _year_and_month(item.get("issued"))
    if year:
        fields.append(("year", year))
        if month in _NUMBERS:
            fields.append(("month", _MONTHS[_NUMBERS.index(month)]))
    return [
        (name, re.sub(r"[{}\"\\]", "", value) if name in _VERBATIM else _latex(value))
        for name, value in fields
    ]


def _persons(item: Mapping[str, Any]) -> dict[str, list[Any]]:
    from pybtex.database import Person

    persons: dict[str, list[Any]] = {}
    for role in ("author", "editor"):
        given = item.get(role)
        for name in given if isinstance(given, list | tuple) else (given,):
            known = name if isinstance(name, Mapping) else {"literal": name}
            # Who has a first name alone has it for a name.
            family = _text(known.get("family"))
            whole = _text(known.get("literal")) or ("" if family else _text(known.get("given")))
            if whole:
                person = Person()
                # One piece: in braces, so that no part of it is taken for a first name.
                person.last_names = ["{" + _latex(whole.replace("{", "").replace("}", "")) + "}"]
            elif family:
                particle = _text(known.get("non-dropping-particle")) or _text(known.get("dropping-particle"))
                person = Person(
                    first=_latex(_text(known.get("given"))),
                    prelast=_latex(particle),
                    last=_latex(family),
                    lineage=_latex(_text(known.get("suffix"))),
                )
            else:
                continue
            persons.setdefault(role, []).append(person)
    return persons


def _text(value: Any) -> str:
    """A value of a record that somebody else made: Crossref gives titles as lists of one, and what is no text
    is none."""
    if isinstance(value, list | tuple):
        return _text(value[0]) if value else ""
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return str(value).strip()
    return ""


def _year_and_month(issued: Any) -> tuple[str, str]:
    parts = issued.get("date-parts") if isinstance(issued, Mapping) else None
    while isinstance(parts, list | tuple) and parts and isinstance(parts[0], list | tuple):
        parts = parts[0]
    if not isinstance(parts, list | tuple) or not parts:
        return "", ""
    month = _text(parts[1]) if len(parts) > 1 else ""
    return _text(parts[0]), month.removeprefix("0")


def _pages(text: str) -> str:
    return re.sub(r"(?<=\w)\s*[-\u2013]\s*(?=\w)", "--", text)


def _latex(text: str) -> str:
    """What pybtex leaves: backslashes and dollars of plain text, braces that do not match."""
    level = 0
    for character in text:
        level += (character == "{") - (character == "}")
        if level < 0:
            break
    if level:
        text = text.replace("{", "").replace("}", "")
    text = text.replace("\\", "\0").replace("$", r"\$").replace("^", r"\textasciicircum{}")
    return re.sub(r"\s+", " ", text.replace("\0", r"\textbackslash{}")).strip()
