"""Documents as references in a bibliography: CSL-JSON comes from the database (:meth:`pgsift.Store.cite`),
BibTeX is made of it here.

BibTeX is written by pybtex (``pip install 'pgsift[cite]'``), which knows how LaTeX wants its special characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pgsift.errors import MissingExtra

__all__ = ["bibtex"]

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
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Names and numbers that are read by programs: LaTeX's special characters stand in them as they are.
_VERBATIM = frozenset({"doi", "url", "isbn", "issn"})


def bibtex(items: Iterable[Mapping[str, Any]]) -> str:
    """Records of CSL-JSON as one BibTeX file, in their order, UTF-8.

    Keys are the ids with what BibTeX does not allow in a key replaced by ``-``, and a number where two would be
    the same. :class:`MissingExtra` without pybtex.
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
    for item in items:
        key = base = re.sub(r"[\s,{}\"'#%~\\()=@]+", "-", str(item.get("id", ""))).strip("-") or "document"
        number = 1
        # BibTeX takes keys that differ in case alone for the same.
        while key.lower() in taken:
            number += 1
            key = f"{base}-{number}"
        taken.add(key.lower())
        kind = _TYPES.get(str(item.get("type")), "misc")
        entries[key] = Entry(kind, fields=_fields(item, kind), persons=_persons(item))
    return str(BibliographyData(entries).to_string("bibtex")) if entries else ""


def _fields(item: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    fields = [
        (name, _pages(str(item[csl])) if name == "pages" else str(item[csl]))
        for csl, name in _FIELDS.items()
        if item.get(csl) not in (None, "")
    ]
    if item.get("container-title"):
        fields.append((_CONTAINERS.get(kind, "howpublished"), str(item["container-title"])))
    if item.get("publisher"):
        fields.append((_PUBLISHERS.get(kind, "publisher"), str(item["publisher"])))
    issued = item.get("issued") or {}
    parts = (issued.get("date-parts") or [[]])[0] if isinstance(issued, Mapping) else []
    if parts:
        fields.append(("year", str(parts[0])))
        if len(parts) > 1 and str(parts[1]).isdigit() and 1 <= int(parts[1]) <= 12:
            fields.append(("month", _MONTHS[int(parts[1]) - 1]))
    return [
        (name, re.sub(r"[{}\"\\]", "", value) if name in _VERBATIM else _latex(value))
        for name, value in fields
    ]


def _persons(item: Mapping[str, Any]) -> dict[str, list[Any]]:
    from pybtex.database import Person

    persons: dict[str, list[Any]] = {}
    for role in ("author", "editor"):
        for name in item.get(role) or ():
            if name.get("literal"):
                person = Person()
                # One piece: in braces, so that no part of it is taken for a first name.
                person.last_names = [
                    "{" + _latex(str(name["literal"]).replace("{", "").replace("}", "")) + "}"
                ]
            else:
                particle = name.get("non-dropping-particle") or name.get("dropping-particle")
                person = Person(
                    first=_latex(str(name.get("given") or "")),
                    prelast=_latex(str(particle or "")),
                    last=_latex(str(name.get("family") or "")),
                    lineage=_latex(str(name.get("suffix") or "")),
                )
            persons.setdefault(role, []).append(person)
    return persons


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
    text = text.replace("\\", "\0").replace("$", r"\$")
    return re.sub(r"\s+", " ", text.replace("\0", r"\textbackslash{}")).strip()
