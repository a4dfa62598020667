"""Sidecar bibliographies: what BibTeX, BibLaTeX or CSL-JSON say about files.

:func:`read_bibliography` reads one; :func:`assign` finds the file of each entry. Every entry becomes one record of
CSL-JSON, and :func:`said` tells from it what is given for a document beside its bytes, so that the same record
always gives the same document.

An entry finds its file by, in this order:

1. its field ``file``, as Zotero, JabRef and Mendeley write it, relative to the bibliography;
2. the name of a file that is the citekey, with or without the extension;
3. the DOI that a file says it has;
4. the title that a file says it has, letters and digits alone, where no DOI speaks against it.

Each step looks at the entries and files that the steps before it left, and counts only where one entry and one
file fit each other; what fits several is reported and not guessed. BibTeX is read with pybtex, its LaTeX turned
into text with pylatexenc (``pip install 'pgsift[cite]'``); CSL-JSON needs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote_to_bytes, urlsplit

from pgsift.errors import InvalidArgument, InvalidDocument, MissingExtra, PgsiftError
from pgsift.ingest.checking import checked_key
from pgsift.ingest.cleaning import clean_json, clean_text
from pgsift.ingest.formats.building import find_doi, year_of
from pgsift.ingest.formats.charset import decoded
from pgsift.ingest.formats.detect import detect
from pgsift.ingest.formats.pool import workers as pool_workers
from pgsift.ingest.languages import normalized
from pgsift.ingest.parsers import EXTENSIONS, Format, Parsed, one_line, parse
from pgsift.ingest.sources import Options, key_of, walk
from pgsift.models import AccessEntry, BibliographyReport

#: A bibliography over this many bytes is refused.
MAX_BYTES = 256 * 1024 * 1024
#: Names of each kind listed in a report, and characters of text parsed for their DOI or title that are kept.
REPORTED = 100
KEPT_CHARACTERS = 16_000_000

#: BibTeX's and BibLaTeX's types in CSL.
TYPES: Mapping[str, str] = {
    "article": "article-journal", "periodical": "periodical", "book": "book", "booklet": "pamphlet",
    "mvbook": "book", "collection": "book", "mvcollection": "book", "proceedings": "book",
    "mvproceedings": "book", "inbook": "chapter", "bookinbook": "chapter",
    "incollection": "chapter", "suppbook": "chapter", "inproceedings": "paper-conference",
    "conference": "paper-conference", "phdthesis": "thesis", "mastersthesis": "thesis", "thesis": "thesis",
    "techreport": "report", "report": "report", "manual": "report", "online": "webpage", "electronic": "webpage",
    "www": "webpage", "unpublished": "manuscript", "patent": "patent", "software": "software",
    "dataset": "dataset", "standard": "standard", "inreference": "entry", "reference": "book", "misc": "document",
}  # fmt: skip
# Fields with one text: CSL's name, and BibTeX's and BibLaTeX's, best first.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "collection-title": ("series",), "publisher": ("publisher", "institution", "school", "organization"),
    "publisher-place": ("address", "location"), "volume": ("volume",), "issue": ("issue", "number"),
    "page": ("pages",), "edition": ("edition",), "DOI": ("doi",), "ISBN": ("isbn",), "ISSN": ("issn",),
    "PMID": ("pmid",), "PMCID": ("pmcid",), "URL": ("url",), "language": ("language", "langid"), "note": ("note",),
    "keyword": ("keywords", "keyword"),
}  # fmt: skip
_CONTAINERS = ("journaltitle", "journal", "booktitle", "maintitle")
# What an entry has from the one its crossref names, where it does not say it itself.
_INHERITED = (
    "booktitle", "year", "date", "month", "publisher", "editor", "address", "location", "series", "volume",
    "journal", "journaltitle", "organization", "isbn", "issn",
)  # fmt: skip
_VERBATIM = frozenset({"doi", "url", "isbn", "issn", "file"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ENTRY = re.compile(r"^[ \t]*@[ \t]*[A-Za-z]+[ \t]*[{(]", re.MULTILINE)
_DATE = re.compile(r"(-?\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d])")
# Rich text that CSL-JSON may have in titles.
_TAG = re.compile(r"</?(?:i|b|em|strong|sub|sup|sc|span)(?:\s[^<>]*)?>", re.IGNORECASE)
_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
# Members of a record that are no part of a reference, or long.
_LEFT_OUT = frozenset({"id", "citation-key", "citekey", "abstract", "file", "attachments", "type"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its citekey, its record of CSL-JSON (without ``id``), and the paths its field ``file`` may
    mean, each file with its readings, best first."""

    citekey: str
    csl: Mapping[str, Any]
    files: tuple[tuple[str, ...], ...] = ()
    place: str = ""

    @property
    def doi(self) -> str | None:
        """Its DOI as it is compared."""
        return same_doi(self.csl.get("DOI"))

    @property
    def title(self) -> str:
        """Its title as it is compared; empty where it has none."""
        return same_title(title_of(self.csl))


@dataclass(slots=True)
class Bibliography:
    """The entries of one or more files, what is wrong with others, and a fingerprint of all."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    paths: tuple[str, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """The entry of a file, and the key its document has, without prefix: the citekey, or for further files of the
    same entry the citekey, ``#`` and the name of the file."""

    key: str
    entry: Entry

    def said(self) -> dict[str, Any]:
        """What the entry gives a document, see :func:`said`."""
        return said(self.entry.citekey, self.entry.csl)


def same_doi(value: Any) -> str | None:
    """A DOI as it is compared: without what stands before it, in lower case; ``None`` where it is none."""
    if not isinstance(value, str):
        return None
    found = find_doi(value)
    return None if found is None else found.casefold()


def same_title(value: str | None) -> str:
    """A title as it is compared: its letters and digits, compatible forms and case made the same."""
    plain = unicodedata.normalize("NFKC", value or "").casefold()
    return "".join(character for character in plain if character.isalnum())


def title_of(csl: Mapping[str, Any]) -> str | None:
    """The title of a record as text."""
    return one_line(_TAG.sub("", _text(csl.get("title"))))


def said(citekey: str, csl: Mapping[str, Any]) -> dict[str, Any]:
    """What is given for the document of an entry: the fields ``title``, ``language`` and ``metadata`` of
    :class:`~pgsift.models.Document`; what the entry does not say is left out. ``metadata`` are ``citekey``,
    ``authors`` (as ``Given Family``), ``year``, ``doi``, ``type`` (CSL's), ``journal`` or ``booktitle``, ``url``,
    ``keywords``, and ``csl``, the record itself, by which the document is cited."""
    kind = _text(csl.get("type"))
    container = _text(csl.get("container-title"))
    doi = _text(csl.get("DOI"))
    keywords = csl.get("keyword")
    metadata: dict[str, Any] = {
        "citekey": citekey,
        "authors": [name for person in _list(csl.get("author")) if (name := _spoken(person))],
        "year": _year(csl.get("issued")),
        "doi": find_doi(doi) or _DOI_PREFIX.sub("", doi),
        "type": kind,
        "journal" if kind.startswith("article") or not kind else "booktitle": container,
        "url": _text(csl.get("URL")),
        "keywords": [part.strip() for part in re.split(r"[;,]", keywords) if part.strip()]
        if isinstance(keywords, str)
        else [],
    }
    result: dict[str, Any] = {
        "metadata": {name: value for name, value in metadata.items() if value not in (None, "", [])}
        | {"csl": dict(csl)}
    }
    title = title_of(csl)
    if title:
        result["title"] = title
    language = normalized(_text(csl.get("language")))
    if language:
        result["language"] = language
    return result


def _text(value: Any) -> str:
    """A text of a record that somebody else made; Crossref gives titles as lists of one."""
    if isinstance(value, list | tuple):
        return _text(value[0]) if value else ""
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return str(value).strip()
    return ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _spoken(person: Any) -> str:
    """A name as it is said."""
    if not isinstance(person, Mapping):
        return _text(person)
    literal = _text(person.get("literal"))
    if literal:
        return literal
    parts = (_text(person.get(name)) for name in
             ("given", "dropping-particle", "non-dropping-particle", "family", "suffix"))  # fmt: skip
    return " ".join(part for part in parts if part)


def _year(issued: Any) -> int | None:
    if isinstance(issued, Mapping):
        parts = issued.get("date-parts")
        while isinstance(parts, list) and parts:
            parts = parts[0]
        if isinstance(parts, int | str) and re.fullmatch(r"-?\d{1,5}", str(parts)):
            return int(parts)
        issued = issued.get("literal") or issued.get("raw")
    return year_of(_text(issued))


# Reading


def read_bibliographies(paths: Iterable[str | os.PathLike[str]]) -> Bibliography:
    """The entries of several files as one; of citekeys that occur twice the first entry counts."""
    whole = Bibliography()
    met: dict[str, str] = {}
    digest = hashlib.sha256()
    names: list[str] = []
    for path in paths:
        one = read_bibliography(path)
        names.append(os.fspath(path))
        digest.update(one.fingerprint.encode())
        whole.problems += one.problems
        for entry in one.entries:
            if entry.citekey in met:
                whole.problems.append(
                    f"{entry.place}: the citekey {entry.citekey!r} is that of {met[entry.citekey]} too; "
                    "the first entry was taken"
                )
                continue
            met[entry.citekey] = entry.place
            whole.entries.append(entry)
    whole.paths, whole.fingerprint = tuple(names), digest.hexdigest()
    return whole


def read_bibliography(path: str | os.PathLike[str]) -> Bibliography:
    """The entries of one file, BibTeX or CSL-JSON as its extension and content say.

    A broken entry is a problem and costs itself. Raises :class:`~pgsift.errors.InvalidArgument` for a file that
    cannot be read or is neither, and :class:`~pgsift.errors.MissingExtra` for BibTeX without pybtex and
    pylatexenc.
    """
    place = Path(path)
    name = clean_text(place.name)[0]
    try:
        if place.stat().st_size > MAX_BYTES:
            raise InvalidArgument(
                f"the bibliography {name!r} has more than {MAX_BYTES:,} bytes", hint="Divide it into several."
            )
        content = place.read_bytes()
        text = decoded(content)[0]
    except OSError as error:
        raise InvalidArgument(
            f"the bibliography {os.fspath(path)!r} cannot be read: {error.strerror or error}",
            hint="It is a file of BibTeX or CSL-JSON.",
        ) from None
    except InvalidDocument as error:
        raise InvalidArgument(
            f"the bibliography {name!r} cannot be read: {error.message}", hint=error.hint
        ) from None
    folder = place.absolute().parent
    begins = text.lstrip("\ufeff \t\r\n")[:1]
    if begins == "[" or (begins == "{" and place.suffix.lower() != ".bib"):
        entries, problems = _read_json(text, name, folder)
    elif "@" in text or place.suffix.lower() in (".bib", ".bibtex", ".biblatex"):
        entries, problems = _read_bibtex(text, name, folder)
    else:
        raise InvalidArgument(
            f"the bibliography {name!r} holds neither BibTeX nor CSL-JSON",
            hint="Reference managers export both.",
        )
    kept = []
    for entry in entries:
        try:
            checked_key(entry.citekey)
        except PgsiftError as error:
            problems.append(f"{entry.place}: {error.message}")
            continue
        kept.append(entry)
    return Bibliography(kept, problems, (os.fspath(path),), hashlib.sha256(content).hexdigest())


def _read_json(text: str, name: str, folder: Path) -> tuple[list[Entry], list[str]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"the bibliography {name!r} is not JSON: {clean_text(str(error))[0][:200]}",
            hint="Export it as CSL-JSON, or as BibTeX with the extension .bib.",
        ) from None
    if isinstance(whole, dict):
        whole = whole["items"] if isinstance(whole.get("items"), list) else [whole]
    entries: list[Entry] = []
    problems: list[str] = []
    for number, item in enumerate(whole, 1):
        place = f"{name}, item {number}"
        if not isinstance(item, dict):
            problems.append(f"{place}: it is no object")
            continue
        citekey = _text(item.get("citation-key")) or _text(item.get("id"))
        if not citekey:
            problems.append(f"{place}: it has no id")
            continue
        if "itemType" in item and "type" not in item:
            problems.append(f"{place}: it is an item of Zotero's own JSON; export CSL-JSON")
            continue
        csl = {key: value for key, value in item.items() if key not in _LEFT_OUT}
        csl["language"] = normalized(csl.get("language")) or csl.get("language")
        kind = _text(item.get("type"))
        if kind:
            csl["type"] = kind
        cleaned = clean_json({key: value for key, value in csl.items() if value not in (None, "", [], {})})[0]
        files = tuple(
            reading
            for value in _list(item.get("file"))
            if isinstance(value, str)
            for reading in file_paths(value, folder)
        )
        entries.append(Entry(citekey, cleaned, files, place))
    return entries, problems


def _read_bibtex(text: str, name: str, folder: Path) -> tuple[list[Entry], list[str]]:
    problems: list[str] = []
    raw = list(_entries(text, name, problems))
    by_key = {key.casefold(): fields for _, key, fields, _ in reversed(raw)}
    # JabRef's folder for files, which it notes in a comment.
    told = re.search(r"@comment\s*\{\s*jabref-meta:\s*fileDirectory[^:]*:((?:[^;\\]|\\.)+);", text, re.IGNORECASE)
    folders = [folder]
    if told is not None:
        folders.append(folder / re.sub(r"\\(.)", r"\1", told.group(1)).strip())
    entries = []
    for kind, key, fields, place in raw:
        parent = by_key.get(fields.get("crossref", "").strip().casefold())
        if parent is not None and parent is not fields:
            inherited = {field: parent[field] for field in _INHERITED if field in parent}
            if kind.startswith("in") and "title" in parent:
                inherited.setdefault("booktitle", parent["title"])
            fields = inherited | fields
        files: list[tuple[str, ...]] = []
        if value := fields.get("file"):
            # Mendeley writes LaTeX into it, others do not.
            readings = [file_paths(written, base) for written in dict.fromkeys((value, to_text(value)))
                        for base in folders]  # fmt: skip
            for number in range(max(map(len, readings))):
                files.append(tuple(dict.fromkeys(
                    path for reading in readings if number < len(reading) for path in reading[number]
                )))  # fmt: skip
        entries.append(Entry(clean_text(key)[0], _csl(kind, fields), tuple(files), place))
    return entries, problems


def _entries(text: str, name: str, problems: list[str]) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Type, citekey, fields (names in lower case) and place of each entry that can be read."""
    try:
        from pybtex.database.input.bibtex import LowLevelParser, UndefinedMacro, month_names
        from pybtex.scanner import PybtexSyntaxError
        from pybtex.utils import CaseInsensitiveDict
    except ImportError:
        raise MissingExtra(
            "BibTeX is read with the packages pybtex and pylatexenc, which are not installed",
            hint="Run: pip install 'pgsift[cite]'; CSL-JSON needs nothing.",
        ) from None
    broken: list[str] = []

    def note(error: Any) -> None:
        if isinstance(error, UndefinedMacro):
            return  # costs its value, no more
        raise error

    parser = LowLevelParser(text, macros=CaseInsensitiveDict(month_names), handle_error=note)
    position = 0
    while (found := _ENTRY.search(text, position)) is not None:
        place = f"{name}, line {text.count(chr(10), 0, found.start()) + 1}"
        parser.pos = parser.command_start = found.start()
        parser.pos = text.index("@", found.start()) + 1
        try:
            command = tuple(parser.parse_command())
        except PybtexSyntaxError as error:
            key = parser.current_entry_key
            reason = clean_text(str(error).rpartition(": ")[2] or str(error))[0][:200]
            which = f"the entry {key!r}" if key else "the entry"
            broken.append(f"{place}: {which} is broken: {reason}")
            # It may have swallowed what follows it: go on at the next line that begins an entry.
            position = found.end()
            continue
        except Exception as error:
            if type(error).__name__ != "SkipEntry":
                raise
            position = found.end()
            continue
        # Values may hold lines that look like entries.
        position = max(parser.pos, found.end())
        kind = str(command[0]).lower()
        if kind in ("string", "preamble"):
            continue
        key, values = command[1]
        fields: dict[str, str] = {}
        for field_name, parts in values:
            written = " ".join("".join(parts).split())
            if written:
                fields.setdefault(field_name.lower(), written)
        yield kind, key, fields, place
    problems += broken


def _csl(kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """A BibTeX entry as a record of CSL-JSON."""
    record: dict[str, Any] = {"type": TYPES.get(kind, "document")}
    for name, candidates in _TEXTS.items():
        for candidate in candidates:
            if candidate in fields:
                value = fields[candidate]
                record[name] = _verbatim(value) if candidate in _VERBATIM else to_text(value)
                break
    if "language" in record:
        record["language"] = normalized(record["language"]) or record["language"]
    title = to_text(fields.get("title", ""))
    if title and "subtitle" in fields:
        title = f"{title}: {to_text(fields['subtitle'])}"
    record["title"] = title
    container = next((fields[name] for name in _CONTAINERS if name in fields), "")
    record["container-title"] = to_text(container)
    if "page" in record:
        record["page"] = re.sub(r"\s*(?:--+|[\u2013\u2014])\s*", "-", record["page"])
    if "DOI" in record:
        record["DOI"] = _DOI_PREFIX.sub("", record["DOI"])
    record["author"] = _names(fields.get("author", ""))
    record["editor"] = _names(fields.get("editor", ""))
    record["issued"] = _date(fields.get("date", ""), fields.get("year", ""), fields.get("month", ""))
    record["accessed"] = _date(fields.get("urldate", ""), "", "")
    cleaned = clean_json({name: value for name, value in record.items() if value not in (None, "", [])})[0]
    assert isinstance(cleaned, dict)
    return cleaned


def _verbatim(value: str) -> str:
    """A value that programs read, without the braces and escapes BibTeX may need."""
    return re.sub(r"\\([_&%#~{}])", r"\1", value).replace("{", "").replace("}", "").replace("\\url", "").strip()


def _date(date: str, year: str, month: str) -> dict[str, Any] | None:
    found = _DATE.match(date.strip())
    if found is not None:
        parts = [int(part) for part in found.groups() if part is not None]
        return {"date-parts": [parts]}
    text = to_text(year)
    if re.fullmatch(r"-?\d{1,5}", text):
        number = month.strip("{} .").casefold()
        if number.isdigit() and 1 <= int(number) <= 12:
            return {"date-parts": [[int(text), int(number)]]}
        if number[:3] in _MONTHS:
            return {"date-parts": [[int(text), _MONTHS.index(number[:3]) + 1]]}
        return {"date-parts": [[int(text)]]}
    literal = text or to_text(date)
    return {"literal": literal} if literal else None


def _names(value: str) -> list[dict[str, str]]:
    """Names as BibTeX divides them; ``{in braces}`` one is in one piece."""
    if not value:
        return []
    from pybtex.bibtex.utils import split_name_list
    from pybtex.database import InvalidNameString, Person

    result: list[dict[str, str]] = []
    for written in split_name_list(value):
        if not written or written.casefold() == "others":
            continue
        extended = dict(re.findall(r"(family|given|prefix|suffix)\s*=\s*(\{[^{}]*\}|[^,]+)", written))
        if "family" in extended:
            parts = {
                "family": extended["family"], "given": extended.get("given", ""),
                "non-dropping-particle": extended.get("prefix", ""), "suffix": extended.get("suffix", ""),
            }  # fmt: skip
        elif re.fullmatch(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", written):
            parts = {"literal": written}
        else:
            try:
                person = Person(written)
            except InvalidNameString:
                parts = {"literal": written}
            else:
                parts = {
                    "family": " ".join(person.last_names),
                    "given": " ".join([*person.first_names, *person.middle_names]),
                    "non-dropping-particle": " ".join(person.prelast_names),
                    "suffix": " ".join(person.lineage_names),
                }
                if not parts["given"] and len(person.last_names) == 1 and not person.prelast_names:
                    parts = {"literal": written}
        name = {part: text for part, written in parts.items() if (text := to_text(written))}
        if name:
            result.append(name)
    return result


@cache
def _converter() -> Callable[[str], str]:
    try:
        from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db
    except ImportError:
        raise MissingExtra(
            "BibTeX is read with the packages pybtex and pylatexenc, which are not installed",
            hint="Run: pip install 'pgsift[cite]'; CSL-JSON needs nothing.",
        ) from None
    from pylatexenc.latexwalker import LatexWalker
    from pylatexenc.latexwalker import get_default_latex_context_db as walker_context
    from pylatexenc.macrospec import std_macro

    taken = ("textsuperscript", "textsubscript", "mkbibquote", "mkbibemph", "enquote", "url", "ensuremath",
             "foreignquote", "texorpdfstring", "href", "textnormal", "uppercase", "lowercase")  # fmt: skip
    walking = walker_context()
    walking.add_context_category(
        "bibliographies",
        prepend=True,
        macros=[
            *(std_macro(name, False, 1) for name in taken[:8]),
            *(std_macro(name, False, 2) for name in taken[8:10]),
            *(std_macro(name, False, 1) for name in taken[10:]),
        ],
    )
    texts = get_default_latex_context_db()
    texts.add_context_category(
        "bibliographies",
        prepend=True,
        macros=[
            *(MacroTextSpec(name, "%s") for name in (*taken[:3], taken[3], *taken[5:7], *taken[10:])),
            MacroTextSpec("enquote", "“%s”"),
            MacroTextSpec("foreignquote", "“%s”"),
            MacroTextSpec("texorpdfstring", "%(2)s"),
            MacroTextSpec("href", "%(2)s"),
            MacroTextSpec("LaTeX", "LaTeX"),
            MacroTextSpec("TeX", "TeX"),
        ],
    )
    converter = LatexNodes2Text(
        latex_context=texts, math_mode="text", keep_comments=True, keep_braced_groups=False
    )

    def convert(source: str) -> str:
        nodes = LatexWalker(source, latex_context=walking, tolerant_parsing=True).get_latex_nodes()[0]
        return str(converter.nodelist_to_text(nodes))

    return convert


def to_text(value: str) -> str:
    """The text of a BibTeX value, its LaTeX resolved: ``G{\\"o}del`` is Gödel."""
    if not value or not re.search(r"[\\{}$~`']|--", value):
        return " ".join(value.split())
    try:
        text = _converter()(value)
    except MissingExtra:
        raise
    except Exception:  # what LaTeX could not read either stays as it is written
        text = value.replace("{", "").replace("}", "")
    return " ".join(text.split())


def file_paths(value: str, folder: Path) -> list[tuple[str, ...]]:
    """The files that a field ``file`` names, each with the paths it may mean, best first.

    Files are parted by ``;``, the parts of one by ``:`` (``description:path:type``, ``path:type`` or a path
    alone), both with a backslash where they belong to a name. Relative paths are those from ``folder``; a path
    that lacks the slash it began with, as Mendeley writes it, may be absolute too.
    """
    found: list[tuple[str, ...]] = []
    for one in _split(value, ";"):
        if not one.strip():
            continue
        if one.strip().startswith("file://"):
            found.append((_place(_readings(one.strip())[0]),))
            continue
        parts = [part.strip() for part in _split(one, ":")]
        # C:\papers\a.pdf, not escaped.
        for number in range(len(parts) - 1):
            if re.fullmatch(r"[A-Za-z]", parts[number]) and parts[number + 1][:1] in ("\\", "/"):
                parts[number : number + 2] = [f"{parts[number]}:{parts[number + 1]}"]
                break
        # description:path:type; path:type, description:path, or a name with a colon in it; path
        written = parts[1:2] if len(parts) > 2 else parts
        paths: list[str] = []
        for name in dict.fromkeys(filter(None, [*written, *([one.strip()] if len(parts) == 2 else [])])):
            for reading in _readings(name):
                paths.append(_place(folder / reading))
                if not reading.startswith("/"):
                    paths.append(_place("/" + reading))
        found.append(tuple(dict.fromkeys(paths)))
    return found


def _readings(name: str) -> list[str]:
    """What a path may be: without backslashes before what they protect; as it is; one of Windows."""
    if name.startswith("file://"):
        return [os.fsdecode(unquote_to_bytes(urlsplit(name).path))]
    if "\\" not in name:
        return [name]
    plain = re.sub(r"\\([\\:;_&%#~{} ])", r"\1", name)
    return list(dict.fromkeys((plain, name, plain.replace("\\", "/"))))


def _split(value: str, separator: str) -> list[str]:
    """Parts of a text at the separators that no backslash stands before."""
    return re.split(rf"(?<!\\){separator}", value)


def _place(path: str | os.PathLike[str]) -> str:
    """A path as it is compared: in one form of Unicode, since a Mac writes another than most bibliographies."""
    return unicodedata.normalize("NFC", os.path.abspath(path))


def _resolved(path: str | os.PathLike[str]) -> str | None:
    """A path with its links followed; ``None`` where there is nothing, or it is none."""
    try:
        return _place(os.path.realpath(path)) if os.path.exists(path) else None
    except (OSError, ValueError):  # too long, or with a NUL
        return None


# Matching


class Assignment:
    """Which file has which entry. ``report`` says what was found, and what was not."""

    def __init__(self, bibliography: Bibliography) -> None:
        self.bibliography = bibliography
        self.report = BibliographyReport()
        self._files: Mapping[str, File] = {}
        self._matches: dict[str, Match] = {}
        self._parsed: dict[str, tuple[str, Parsed]] = {}

    @property
    def paths(self) -> list[str]:
        """Where the bibliography can be read again."""
        return [os.path.abspath(path) for path in self.bibliography.paths]

    def match(self, path: Path) -> Match | None:
        """The entry of a file."""
        return self._matches.get(_place(path))

    def keys(self, prefix: str) -> list[tuple[str, str]]:
        """Of each file with an entry its key by its path and its key by the entry, both with the prefix."""
        return [(self._files[place].key, prefix + match.key) for place, match in self._matches.items()]

    def keep_paths(self, keys: Iterable[str]) -> None:
        """Leave the files of these keys, by their paths, without an entry: the entry's key would show them to
        others than their paths do."""
        wanted = set(keys)
        gone = {place: self._matches.pop(place) for place in [*self._matches] if self._files[place].key in wanted}
        if not gone:
            return
        held = {match.entry.citekey for match in self._matches.values()}
        files = sorted({*self.report.files, *(self._files[place].key for place in gone)})
        lost = {match.entry.citekey for match in gone.values()} - held
        told = [
            f"the file {self._files[place].key!r} keeps its path for a key: others may see what comes under "
            f"{match.key!r}; say with --acl (acl) who may see it"
            for place, match in gone.items()
        ]
        self.report = replace(
            self.report,
            matched=len(self._matches),
            files_without_entry=self.report.files_without_entry + len(gone),
            entries_without_file=self.report.entries_without_file + len(lost),
            files=tuple(files[:REPORTED]),
            citekeys=tuple(sorted({*self.report.citekeys, *lost})[:REPORTED]),
            problems=(*told, *self.report.problems)[:REPORTED],
        )

    def take_parsed(self, path: Path, content: bytes) -> Parsed | None:
        """What the file was parsed into when its entry was looked for, if it still holds the same; once."""
        found = self._parsed.pop(_place(path), None)
        return found[1] if found is not None and found[0] == hashlib.sha256(content).hexdigest() else None


@dataclass(frozen=True, slots=True)
class File:
    """A file that may have an entry: its path, its key without bibliography."""

    path: Path
    key: str


def assign(
    bibliography: Bibliography,
    files: Sequence[File],
    parse: Callable[[Path], tuple[bytes, Parsed] | None],
    workers: int = 1,
) -> Assignment:
    """Find the file of each entry, and the entry of each file.

    ``parse`` reads a file for its DOI and title; it is asked only about files that neither a field ``file`` nor
    their name has found an entry for, and only while there are entries left; ``workers`` at a time.
    """
    result = Assignment(bibliography)
    ambiguous: list[str] = []
    by_path: dict[str, File] = {}
    for one in files:
        by_path.setdefault(_place(one.path), one)
    result._files = by_path
    resolved: dict[str, set[str]] = defaultdict(set)
    for place, one in by_path.items():
        if real := _resolved(one.path):
            resolved[real].add(place)

    def find(readings: Sequence[str]) -> str | None:
        """The file that a field means: that of the path, or the only one it leads to."""
        for path in readings:
            if path in by_path:
                return path
            places = resolved.get(_resolved(path) or "", set())
            if len(places) == 1:
                return next(iter(places))
        return None

    claims: dict[str, list[tuple[Entry, int]]] = defaultdict(list)
    for entry in bibliography.entries:
        number = 0
        for readings in entry.files:
            named = find(readings)
            if named is not None and all(known is not entry for known, _ in claims[named]):
                claims[named].append((entry, number))
                number += 1
    claimed: dict[str, int] = defaultdict(int)
    unsure: set[str] = set()  # paths and citekeys that fit several: no later step may decide
    for place, owners in claims.items():
        if not owners:
            continue
        if len(owners) > 1:
            names = ", ".join(repr(entry.citekey) for entry, _ in owners[:5])
            ambiguous.append(f"the file {by_path[place].key!r} is that of several entries: {names}")
            unsure.add(place)
            unsure.update(f"@{entry.citekey}" for entry, _ in owners)
            continue
        entry = owners[0][0]
        first = claimed[entry.citekey] == 0
        claimed[entry.citekey] += 1
        name = clean_text(os.fsencode(by_path[place].path.name).decode("utf-8", "backslashreplace"))[0]
        result._matches[place] = Match(entry.citekey if first else f"{entry.citekey}#{name}", entry)

    def left() -> list[Entry]:
        return [
            entry for entry in bibliography.entries
            if not claimed[entry.citekey] and f"@{entry.citekey}" not in unsure
        ]  # fmt: skip

    def free() -> list[str]:
        return [place for place in by_path if place not in result._matches and place not in unsure]

    def pair(how: str, places: Mapping[str, list[str]], entries: Mapping[str, list[Entry]]) -> None:
        for value, owners in entries.items():
            found = places.get(value, [])
            if not found:
                continue
            if len(found) == 1 and len(owners) == 1:
                result._matches[found[0]] = Match(owners[0].citekey, owners[0])
                claimed[owners[0].citekey] = 1
                continue
            keys = ", ".join(repr(by_path[place].key) for place in found[:5])
            citekeys = ", ".join(repr(entry.citekey) for entry in owners[:5])
            ambiguous.append(
                f"{how} {citekeys} {'fits' if len(owners) == 1 else 'fit'} {keys}; none was taken"
            )
            unsure.update(found)
            unsure.update(f"@{entry.citekey}" for entry in owners)

    by_name: dict[str, list[str]] = defaultdict(list)
    for place in free():
        name = unicodedata.normalize("NFC", by_path[place].path.name)
        for form in dict.fromkeys((name, name.rpartition(".")[0])):
            if form:
                by_name[form].append(place)
    pair("by name", by_name, {unicodedata.normalize("NFC", entry.citekey): [entry] for entry in left()})

    waiting = [entry for entry in left() if entry.doi or entry.title]
    if waiting and (rest := free()):
        facts = _facts(result, [by_path[place] for place in rest], parse, workers)
        dois: dict[str, list[str]] = defaultdict(list)
        for place in rest:
            if facts[place][0]:
                dois[facts[place][0] or ""].append(place)
        pair("by DOI", dois, _grouped(waiting, lambda entry: entry.doi))
        still = {entry.citekey for entry in left()}
        entries = [entry for entry in waiting if entry.citekey in still]
        plain: dict[str, list[str]] = defaultdict(list)
        known = {entry.title: {other.doi for other in entries if other.title == entry.title} for entry in entries}
        for place in free():
            doi, title = facts[place]
            # Another DOI is another publication, however it is called.
            others = known.get(title, set())
            if title and (doi is None or None in others or doi in others):
                plain[title].append(place)
        pair("by title", plain, _grouped(entries, lambda entry: entry.title))
    result.report = _report(bibliography, result, by_path, claimed, ambiguous)
    return result


def seen_by_others(keys: Iterable[tuple[str, str]], access: Iterable[AccessEntry]) -> list[str]:
    """The keys by path of files that others might see under the key of their entry than under that of their path,
    where nobody says who may see them. ``access`` are the rules of the tenant, and the documents that have any of
    these keys: such a document keeps its list, and one whose list is its own was given it on purpose."""
    rules: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    documents: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    own: set[str] = set()
    for one in access:
        said = (frozenset(one.principals), frozenset(one.denied))
        (documents if one.kind == "document" else rules)[one.name] = said
        if one.kind == "document" and one.origin == "document":
            own.add(one.name)

    def ruled(key: str) -> tuple[frozenset[str], frozenset[str]] | None:
        return rules.get(max((name for name in rules if key.startswith(name)), key=len, default=""))

    return [
        path for path, key in keys if key not in own and (documents.get(path) or ruled(path)) != ruled(key)
    ]


def find_files(bibliography: Bibliography, given: Any, options: Options) -> Assignment:
    """Find the files of a bibliography among sources: paths, of which files and those in folders are looked at
    that hold one document."""
    files: list[File] = []
    if isinstance(given, str | os.PathLike):
        given = [given]
    for source in given if isinstance(given, list | tuple) else ():
        if not isinstance(source, str | os.PathLike) or os.fspath(source) == "-":
            continue
        path = Path(source)
        in_folder = path.is_dir()
        for found in walk(path, options) if in_folder else [path]:
            if isinstance(found, Path) and found.suffix.lower() in EXTENSIONS:
                files.append(File(found, key_of(found, path if in_folder else path.parent, options.prefix)))

    def parse_file(path: Path) -> tuple[bytes, Parsed] | None:
        try:
            if not path.is_file() or path.stat().st_size > options.max_bytes:
                return None
            content = path.read_bytes()
            kind: Any = options.format or detect(content, path.suffix.lower())
            return (content, parse(content, kind, options.limits)) if kind in get_args(Format) else None
        except (OSError, PgsiftError, RecursionError):
            return None  # it becomes a dead letter when it is ingested

    return assign(bibliography, files, parse_file, pool_workers(options.limits))


def _grouped(entries: Iterable[Entry], value: Callable[[Entry], str | None]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if found := value(entry):
            groups[found].append(entry)
    return groups


def _facts(
    result: Assignment, files: Sequence[File], parse: Callable[[Path], tuple[bytes, Parsed] | None], workers: int
) -> dict[str, tuple[str | None, str]]:
    """DOI and title of files, as they are compared. What was parsed is kept, as far as there is room for it."""
    facts: dict[str, tuple[str | None, str]] = {}
    room = KEPT_CHARACTERS
    with ThreadPoolExecutor(workers, thread_name_prefix="pgsift-bibliography") as threads:
        for one, found in zip(files, threads.map(lambda file: parse(file.path), files), strict=True):
            place = _place(one.path)
            if found is None:
                facts[place] = (None, "")
                continue
            content, parsed = found
            facts[place] = (same_doi(_text(parsed.metadata.get("doi"))), same_title(parsed.title))
            if len(parsed.text) <= room:
                room -= len(parsed.text)
                result._parsed[place] = (hashlib.sha256(content).hexdigest(), parsed)
    return facts


def _report(
    bibliography: Bibliography,
    result: Assignment,
    by_path: Mapping[str, File],
    claimed: Mapping[str, int],
    ambiguous: Sequence[str],
) -> BibliographyReport:
    files = [file.key for place, file in by_path.items() if place not in result._matches]
    entries = [entry.citekey for entry in bibliography.entries if not claimed.get(entry.citekey)]
    return BibliographyReport(
        entries=len(bibliography.entries),
        matched=len(result._matches),
        files_without_entry=len(files),
        entries_without_file=len(entries),
        files=tuple(sorted(files)[:REPORTED]),
        citekeys=tuple(sorted(entries)[:REPORTED]),
        ambiguous=tuple(ambiguous[:REPORTED]),
        problems=tuple(bibliography.problems[:REPORTED]),
    )


__all__ = [
    "TYPES", "Assignment", "Bibliography", "Entry", "File", "Match", "assign", "file_paths", "find_files",
    "read_bibliographies", "read_bibliography", "said", "same_doi", "same_title", "seen_by_others", "to_text",
]  # fmt: skip
