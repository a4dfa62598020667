"""PDF by pdfium (BSD and Apache-2.0 licensed, by way of pypdfium2): words with their boxes, put into reading
order.

pdfium finds the characters, the words and where they stand; :mod:`~pgsift.ingest.formats.layout` orders them.
Pages and text that are turned by a quarter are turned back. Lines that repeat at the top or bottom of most
pages (running heads, numbers of pages) are left out. A word divided at the end of a line is joined, unless the
document writes it with a hyphen elsewhere. Larger type and bold lines of their own are headings, the outline of
the file tells their levels where it has one.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import hypot
from statistics import median
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.chunker import BlockKind
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder, find_doi, names
from pgsift.ingest.formats.layout import CAPITALS, Group, Line, Word, caption_of, groups, page_lines
from pgsift.ingest.parsers import Parsed

_MAX_CHARS_PER_PAGE = 2_000_000
# What pdfium writes for a hyphen at the end of a line, and the soft hyphen.
_HYPHENS = "\x02\ufffe\u00ad"
# After such a hyphen the next line follows at once.
_WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]?|[\x02\ufffe]")
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.)\s+\S")
_LEVELS = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s")
# What fonts call themselves that are bold and do not tell their weight.
_BOLD = re.compile(rb"(?i:bold|black|heavy|semibold)|-(?:B|Bd|BI|Bla)$|\.B(?:I|\+|$)|CMBX|NimbusRomNo9L-Medi")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff]")


@dataclass(slots=True)
class _Page:
    regions: list[list[Line]] = field(default_factory=list)
    height: float = 0.0
    cleaned: int = 0


def read(content: bytes, limits: Limits) -> Parsed:
    """A PDF. Raises :class:`~pgsift.errors.InvalidDocument` for one that is encrypted, broken, or has no text."""
    with needs("pdf"):
        import pypdfium2
        import pypdfium2.raw as raw
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).casefold() or "security" in str(error).casefold():
            raise InvalidDocument(
                "the PDF is encrypted and opens with a password only", hint="Save it without a password."
            ) from None
        raise InvalidDocument(f"the PDF is broken: {error}") from None
    count = len(document)
    if not count:
        raise InvalidDocument("the PDF has no pages")
    pages = []
    unread = []
    for number in range(count):
        # A page that is broken costs itself, not the others.
        try:
            page = document[number]
            try:
                pages.append(_page(raw, page))
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            unread.append(number + 1)
            pages.append(_Page())
    if len(unread) == count:
        raise InvalidDocument("the PDF is broken: none of its pages can be read")
    recognized = _recognized(document, pages, limits)
    if not any(page.regions for page in pages):
        which = f"none of its {count:,} pages has" if count > 1 else "its page has no"
        raise InvalidDocument(
            f"the PDF has no text layer: {which} text",
            hint=_no_text(limits),
        )
    _without_furniture(pages)
    names_of_info = ("Title", "Author", "Subject", "Keywords", "CreationDate", "Producer")
    info = {name: _info(raw, document, name) for name in names_of_info}
    builder = _build(pages, _outline(document))
    first = "\n".join(line.text for region in pages[0].regions for line in region)
    doi = find_doi(f"{info['Subject']} {info['Keywords']}") or _stated_doi(first)
    created = _DATE.match(info["CreationDate"])
    without_text = [number for number, page in enumerate(pages, 1) if not page.regions and number not in unread]
    builder.cleaned += sum(page.cleaned for page in pages)
    return builder.parsed(
        title=info["Title"],
        metadata={
            "authors": names(info["Author"]),
            "subject": info["Subject"],
            "keywords": info["Keywords"],
            "doi": doi,
            "created": "-".join(part for part in created.groups() if part) if created else None,
            "producer": info["Producer"],
            "page_count": count,
            "pages_without_text": without_text[:1000],
            "pages_ocr": list(recognized)[:1000],
            "ocr_confidence": round(sum(recognized.values()) / len(recognized)) if recognized else None,
            "pages_unread": unread[:1000],
        },
        language=_language(raw, document),
    )


def _recognized(document: Any, pages: list[_Page], limits: Limits) -> dict[int, float]:
    """Recognize the text of pages that have none, or of all, in their place; their numbers, and how sure it is."""
    numbers = [number for number, page in enumerate(pages, 1) if limits.ocr == "force" or not page.regions]
    if limits.ocr == "off" or not numbers:
        return {}
    from pgsift.ingest.formats.ocr import recognize

    found: dict[int, float] = {}
    for page in recognize(document, numbers, limits):
        pages[page.number - 1] = _Page(page.regions, page.height)
        if page.regions:
            found[page.number] = page.confidence
    return found


def _no_text(limits: Limits) -> str:
    if limits.ocr != "off":
        return "Nothing was recognized on its pages either. Perhaps it is in another language: --ocr-language."
    return (
        "If it was scanned, let its text be recognized: pip install 'pgsift[ocr]' with Tesseract's data "
        "(on Debian: apt install tesseract-ocr), then ingest it with --ocr auto."
    )


def _info(raw: Any, document: Any, name: str) -> str:
    """A value of the document's information, lone surrogates included."""
    size = raw.FPDF_GetMetaText(document, name.encode(), None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDF_GetMetaText(document, name.encode(), buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "surrogatepass").strip(" \t\r\n")


def _language(raw: Any, document: Any) -> str | None:
    function = getattr(raw, "FPDFCatalog_GetLanguage", None)
    if function is None:
        return None
    try:
        size = function(document, None, 0)
        if size <= 2:
            return None
        buffer = (ctypes.c_ushort * (size // 2))()
        function(document, buffer, size)
    except (ctypes.ArgumentError, TypeError):
        return None
    text = bytes(buffer).decode("utf-16-le", "replace").strip("\0 ")
    return text if re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*", text) else None


def _stated_doi(text: str) -> str | None:
    """A DOI on the first page, where it is said to be one: one in a list of references is another's."""
    found = re.search(r"(?:doi(?:\.org)?\s*[:/]?\s*)(10\.\d{4,9}/\S+)", text, re.IGNORECASE)
    return find_doi(found.group(1)) if found else None


def _outline(document: Any) -> dict[str, int]:
    """Levels of headings by their words."""
    found: dict[str, int] = {}
    try:
        for position, entry in enumerate(document.get_toc(max_depth=6)):
            if position >= 5000:
                break
            title = entry.get_title() if hasattr(entry, "get_title") else entry.title
            found.setdefault(_letters(title or ""), int(entry.level) + 1)
    except Exception:  # an outline that is broken is none
        return found
    found.pop("", None)
    return found


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _page(raw: Any, page: Any) -> _Page:
    text_page = page.get_textpage()
    result = _Page()
    try:
        count = min(raw.FPDFText_CountChars(text_page), _MAX_CHARS_PER_PAGE)
        if count <= 0:
            return result
        width, height = page.get_size()
        rotation = page.get_rotation() // 90 % 4
        text = _characters(raw, text_page, count)
        words, result.cleaned = _words(raw, text_page, text, (width, height), rotation)
        result.height = height
        upright, others = _by_direction(words, width, height)
        result.regions = page_lines(upright)
        for turned in others:
            result.regions += page_lines(turned)
    finally:
        text_page.close()
    return result


def _characters(raw: Any, text_page: Any, count: int) -> str:
    """One character for each that pdfium counts."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(text_page, 0, count, buffer) - 1
    if written == count:
        text = bytes(buffer)[: 2 * count].decode("utf-16-le", "surrogatepass")
        if len(text) == count:
            return text
    unicode = raw.FPDFText_GetUnicode
    codes = [unicode(text_page, index) for index in range(count)]
    return "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)


def _words(
    raw: Any, text_page: Any, text: str, size: tuple[float, float], rotation: int
) -> tuple[list[tuple[Word, int]], int]:
    """The words with their boxes on the page as it is shown, and the quarter turns clockwise they are set at."""
    width, height = size
    box = raw.FS_RECTF()
    reference = ctypes.byref(box)
    loose, angle_of = raw.FPDFText_GetLooseCharBox, raw.FPDFText_GetCharAngle
    weight_of = raw.FPDFText_GetFontWeight
    size_of, matrix_of, origin_of = raw.FPDFText_GetFontSize, raw.FPDFText_GetMatrix, raw.FPDFText_GetCharOrigin
    font_of = raw.FPDFText_GetFontInfo
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    fonts: dict[bytes, tuple[int, bool]] = {}
    matrix = raw.FS_MATRIX()
    origin = ctypes.c_double(), ctypes.c_double()
    origin_x, origin_y = (ctypes.byref(value) for value in origin)
    scale, scaled_at = 1.0, (0.0, 0.0)
    cleaned = 0
    words: list[tuple[Word, int]] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = match.group()
        if not loose(text_page, start, reference):
            continue
        left, right, top, bottom = box.left, box.right, box.top, box.bottom
        if end - start > 1 and loose(text_page, end - 1, reference):
            left, right = min(left, box.left), max(right, box.right)
            bottom, top = min(bottom, box.bottom), max(top, box.top)
        quarter = (round(angle_of(text_page, start) / 1.5707963) + rotation) % 4
        x0, y0, x1, y1 = _shown(left, bottom, right, top, width, height, rotation)
        tail = word[-1]
        hyphen = tail in _HYPHENS
        body = word[:-1] if hyphen else word
        dirty = len(_CONTROL.findall(body)) if not body.isprintable() else 0
        if dirty:
            cleaned += dirty
            body = _CONTROL.sub(" ", body).strip()
        if "\u00ad" in body:
            body = body.replace("\u00ad", "")
        if not body:
            cleaned += hyphen
            continue
        if hyphen:
            body += "\u00ad"
        across = max((y1 - y0) if quarter % 2 == 0 else (x1 - x0), 0.1)
        font_size = size_of(text_page, start)
        base = y1
        if origin_of(text_page, start, origin_x, origin_y):
            at = origin[0].value, origin[1].value
            if quarter == 0:
                base = _shown(at[0], at[1], at[0], at[1], width, height, rotation)[1]
            # Along a line the type is rarely scaled anew.
            if (font_size, at[1]) != scaled_at and matrix_of(text_page, start, ctypes.byref(matrix)):
                scale, scaled_at = hypot(matrix.c, matrix.d), (font_size, at[1])
        font_size *= scale
        if not 0.4 * across < font_size < 3 * across:
            font_size = across  # of fonts that are drawn, not set
        weight = weight_of(text_page, start)
        font_of(text_page, start, name, 128, ctypes.byref(flags))
        font = fonts.get(name.value)
        if font is None:
            font = fonts[name.value] = len(fonts) + 1, bool(_BOLD.search(name.value))
        bold = weight >= 600 or font[1]
        words.append((Word(body, x0, y0, x1, y1, font_size, bold, base, font[0]), quarter))
    return words, cleaned


def _shown(
    left: float, bottom: float, right: float, top: float, width: float, height: float, rotation: int
) -> tuple[float, float, float, float]:
    """A box of the page's own coordinates on the page as it is shown: turned clockwise, y down. ``width`` and
    ``height`` are those that are shown."""
    if rotation == 0:
        return left, height - top, right, height - bottom
    if rotation == 1:
        return bottom, left, top, right
    if rotation == 2:
        return width - right, bottom, width - left, top
    return width - top, height - right, width - bottom, height - left


def _by_direction(
    words: list[tuple[Word, int]], width: float, height: float
) -> tuple[list[Word], list[list[Word]]]:
    """Words of the direction that most letters have, turned upright, and those of each other direction."""
    by_quarter: dict[int, list[Word]] = defaultdict(list)
    letters: Counter[int] = Counter()
    for word, quarter in words:
        letters[quarter] += len(word.text)
        if quarter:
            x0, y0, x1, y1 = word.x0, word.y0, word.x1, word.y1
            if quarter == 1:
                word.x0, word.y0, word.x1, word.y1 = y0, width - x1, y1, width - x0
            elif quarter == 2:
                word.x0, word.y0, word.x1, word.y1 = width - x1, height - y1, width - x0, height - y0
            else:
                word.x0, word.y0, word.x1, word.y1 = height - y1, x0, height - y0, x1
            word.base = word.y1
        by_quarter[quarter].append(word)
    if not letters:
        return [], []
    main = letters.most_common(1)[0][0]
    return by_quarter[main], [by_quarter[quarter] for quarter in sorted(by_quarter) if quarter != main]


def _without_furniture(pages: list[_Page]) -> None:
    """Leave out the lines at the top and bottom of pages that stand there on most of them, numbers aside."""
    shown = [page for page in pages if page.regions]
    if len(shown) < 3:
        return
    body = median(line.size for page in shown for region in page.regions for line in region)
    edges: list[list[tuple[str, Line]]] = []
    seen: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for number, page in enumerate(shown):
        lines = sorted((line for region in page.regions for line in region), key=lambda line: line.y0)
        # Pages that are printed with marks to cut them have wide margins.
        top = [("top", line) for line in lines[:3] if line.y1 < 0.2 * page.height]
        bottom = [("bottom", line) for line in lines[-3:] if line.y0 > 0.8 * page.height]
        edges.append([(_furniture(place, line, body), line) for place, line in top + bottom])
        for key, line in edges[-1]:
            seen[key].append((line.base, number))

    def repeats(key: str, line: Line, number: int) -> bool:
        alike = {other for base, other in seen[key] if abs(base - line.base) < 9}
        # Left and right pages of a book have heads of their own.
        same_side = [other for other in alike if other % 2 == number % 2]
        return len(alike) > len(shown) / 2 or (
            len(same_side) >= 2 and len(same_side) > len(range(number % 2, len(shown), 2)) / 2
        )

    left = []
    for number, (page, found) in enumerate(zip(shown, edges, strict=True)):
        gone = {id(line) for key, line in found if repeats(key, line, number)}
        left.append(
            [kept for region in page.regions if (kept := [line for line in region if id(line) not in gone])]
        )
    # Lines around nothing are no furniture: labels, certificates, pages of a line each.
    if 2 * sum(not regions for regions in left) < len(shown):
        for page, regions in zip(shown, left, strict=True):
            page.regions = regions


def _furniture(place: str, line: Line, body: float) -> str:
    """What is the same of a line that repeats: the place, and the words without numbers."""
    text = line.text.casefold()
    if (not line.bold and line.size < 1.12 * body) or len(text) < 5:
        # In a heading the number is what tells it from others.
        text = re.sub(r"\d+", "#", text)
    # Roman numbers of pages, alone on their line.
    if re.fullmatch(r"[ivxlc]{1,7}", text.strip()):
        text = "#"
    return f"{place} {text}"


@dataclass(slots=True)
class _Part:
    """A group of lines in its place: the page, the region of it, and what it is."""

    page: int
    region: int
    group: Group
    kind: BlockKind
    level: int
    #: Figures, tables, captions and notes, between which the text goes on.
    apart: bool

    @property
    def lines(self) -> list[str]:
        return [line.text for line in self.group.lines]


def _build(pages: list[_Page], outline: dict[str, int]) -> TextBuilder:
    laid = [[groups(region) for region in page.regions] for page in pages]
    sizes: Counter[float] = Counter()
    words: set[str] = set()
    for page in laid:
        for region in page:
            for group in region:
                for line in group.lines:
                    sizes[round(line.size, 1)] += len(line.text)
                    words.update(word.strip(".,;:()\"'“”").casefold() for word in line.text.split())
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    parts = _parts(laid, body, outline)
    follows = _continuations(parts)
    taken = set(follows.values())
    builder = TextBuilder()
    now = 0
    for number, part in enumerate(parts):
        if number in taken:
            continue
        if part.page != now:
            builder.page(part.page)
            now = part.page
        if part.kind == "table":
            builder.table(part.group.rows)
            continue
        lines = part.lines
        begins = []
        following = number
        while following in follows:
            following = follows[following]
            if parts[following].page != now:
                now = parts[following].page
                begins.append((len(lines), now))
            lines += parts[following].lines
        text, offsets = _joined(lines, words)
        before = builder.length
        builder.add(text, part.kind, part.level)
        if builder.length > before:
            builder.pages_at((offsets[index], page) for index, page in begins)
        elif begins:
            builder.page(now)
    return builder


def _parts(laid: list[list[list[Group]]], body: float, outline: dict[str, int]) -> list[_Part]:
    """What the pages hold, in order; a caption below its table comes before it."""
    body, larger = _heading_sizes(laid, body)
    found: list[_Part] = []
    region_number = 0
    for number, page in enumerate(laid, 1):
        for region in page:
            region_number += 1
            for group in region:
                kind, level = _kind(group, body, larger, outline)
                small = group.size < 0.94 * body and kind != "heading"
                part = _Part(number, region_number, group, kind, level, small or kind in ("caption", "table"))
                before = found[-1] if found else None
                if (
                    kind == "caption"
                    and before is not None
                    and (before.kind, before.region) == ("table", region_number)
                    and caption_of(group.lines[0].text) == "table"
                    and not (len(found) > 1 and found[-2].kind == "caption" and found[-2].region == region_number)
                ):
                    found.insert(-1, part)
                else:
                    found.append(part)
    _front_matter(found, body)
    return found


# Headings that may stand between the title and the text, and are no names.
_OPENING = re.compile(
    r"(?:\d|[ivx]+\.|abstract|summary|introduction|key ?words|contents|preface|foreword|background|highlights|"
    r"overview|"
    r"zusammenfassung|einleitung|inhalt|r[ée]sum[ée]|sommaire|resumen|introducci|riassunto|resumo)",
    re.IGNORECASE,
)
_AUTHORS = re.compile(
    r"[,&@;*†‡§\d]|\b(?:and|und|et|y)\b|universit|institut|department|school|laborator", re.IGNORECASE
)


def _front_matter(parts: list[_Part], body: float) -> None:
    """Names and addresses below a title are no headings."""
    first = [part for part in parts if part.page == parts[0].page] if parts else []
    heads = [part for part in first if part.kind == "heading"]
    if not heads:
        return
    title = max(heads, key=lambda part: part.group.size)
    between: list[_Part] = []
    opened = False
    for part in first[first.index(title) + 1 :]:
        text = " ".join(part.lines)
        opened = part.kind == "heading" and bool(_OPENING.match(text))
        if opened or (len(part.group.lines) > 4 and part.group.size >= 0.94 * body):
            break
        if part.kind == "heading" and part.group.size < 0.97 * title.group.size:
            between.append(part)
    for part in between:
        if opened or _AUTHORS.search(" ".join(part.lines)):
            part.kind, part.level, part.apart = "paragraph", 0, True


def _continuations(parts: list[_Part]) -> dict[int, int]:
    """By the number of a part that of the one that goes on with it, in the next column or on the next page, past
    what stands apart there: a paragraph that is broken so is one."""
    by_region: dict[int, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        by_region[part.region].append(number)
    found: dict[int, int] = {}
    taken: set[int] = set()
    regions = sorted(by_region)
    for position, region in enumerate(regions):
        text = [number for number in by_region[region] if not parts[number].apart]
        one = parts[text[-1]] if text else None
        last = parts[by_region[region][-1]]
        for candidate in (one, last):
            if candidate is None or candidate.kind not in ("paragraph", "item", "caption"):
                continue
            number = text[-1] if candidate is one else by_region[region][-1]
            if number in found:
                continue
            other = _next(parts, by_region, regions[position + 1 :], candidate)
            if other is not None and other not in taken:
                found[number] = other
                taken.add(other)
    return found


def _next(parts: list[_Part], by_region: dict[int, list[int]], regions: list[int], one: _Part) -> int | None:
    end = one.group.lines[-1].text
    for region in regions[:8]:
        numbers = by_region[region]
        if parts[numbers[0]].page > one.page + 1:
            return None
        alike = [number for number in numbers if parts[number].apart == one.apart]
        if not alike:
            continue
        # Small type goes on where it is what comes next, text past what is set apart.
        other = parts[alike[0]]
        if (
            (alike[0] == numbers[0] or not one.apart)
            and other.kind == "paragraph"
            and abs(other.group.size - one.group.size) < 0.08 * one.group.size
            and _goes_on(end, other.group.lines[0].text)
        ):
            return alike[0]
        return None
    return None


def _goes_on(end: str, start: str) -> bool:
    """Whether a text that ended a column goes on with what begins the next."""
    end = end.rstrip()
    if end.endswith(("\u00ad", "-")):
        return start[:1].islower()
    return end[-1:] not in '.!?:;"”’' and (start[:1].islower() or (end[-1:] == "," and start[:1].isalnum()))


def _heading_sizes(laid: list[list[list[Group]]], body: float) -> tuple[float, list[float]]:
    """The size that a heading is larger than, and the sizes of what is, the largest first. Where a paper ends in
    many pages of references, these are set smaller than its text, and most of it."""
    found = [group for page in laid for region in page for group in region if group.kind != "table"]
    long: Counter[float] = Counter()
    for group in found:
        if len(group.lines) > 4:
            long[group.size] += sum(len(line.text) for line in group.lines)
    whole = sum(long.values())
    body = max([body, *(size for size, count in long.items() if count > 0.08 * whole and size < 1.5 * body)])
    sizes = {
        round(group.size)
        for group in found
        if group.kind == "paragraph" and group.size > 1.12 * body and len(group.lines) <= 4
    }
    return body, sorted(sizes, reverse=True)


def _kind(group: Group, body: float, larger: list[float], outline: dict[str, int]) -> tuple[BlockKind, int]:
    if group.kind in ("table", "caption"):
        return group.kind, 0
    text = " ".join(line.text for line in group.lines)
    if len(group.lines) <= 4 and len(text) < 250 and "@" not in text and any(map(str.isalpha, text)):
        level = outline.get(_letters(text)) or outline.get(_letters(_NUMBERED.sub("", text, count=1)))
        if level is not None:
            return "heading", min(level, 6)
        # A line that ends like a sentence is one, however large.
        sentence = text.rstrip()[-1:] in ".,;:" and len(text) > 60 and group.size < 1.35 * body
        if round(group.size) in larger and group.size > 1.12 * body and not sentence:
            return "heading", min(1 + larger.index(round(group.size)), 6)
        numbered = _LEVELS.match(text)
        if group.size > 0.95 * body and len(group.lines) <= 2 and CAPITALS.fullmatch(text):
            return "heading", min(len(larger) + (numbered.group(1).count(".") if numbered else 0) + 1, 6)
        first = next((character for character in text if character.isalpha()), "")
        if (
            group.bold
            and not first.islower()
            and group.size > 0.95 * body
            and len(group.lines) <= 2
            and len(text) < 120
            and text.rstrip()[-1:] not in ".,;"
            and (group.kind == "paragraph" or numbered)
        ):
            depth = numbered.group(1).count(".") + 1 if numbered else 1
            return "heading", min(len(larger) + depth, 6)
    return group.kind, 0


def _joined(lines: list[str], words: set[str]) -> tuple[str, list[int]]:
    """Lines as one text with a blank between them, divided words joined; and where each line begins."""
    text = ""
    offsets = []
    for line in lines:
        line = line.strip()
        if not text:
            offsets.append(0)
            text = line
            continue
        if text.endswith(("\u00ad", "-", "\u2010")) and text[-2:-1].isalpha() and line[:1].isalpha():
            head = re.split(r"\s", text)[-1][:-1].lstrip("(\"'“")
            tail = re.split(r"\s", line)[0].rstrip(".,;:)\"'”!?")
            hyphenated = f"{head}-{tail}".casefold() in words
            whole = f"{head}{tail}".casefold() in words
            if hyphenated and not whole:
                text = text[:-1] + "-"
            elif line[:1].islower() or whole:
                text = text[:-1]
            else:
                text = text[:-1] + "-"
            offsets.append(len(text))
            text += line
        else:
            text += " "
            offsets.append(len(text))
            text += line
    # Where nothing follows, and inside of a line, a hyphen is what it looks like.
    return text.replace("\u00ad", "-"), offsets
