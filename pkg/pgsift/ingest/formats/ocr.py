"""Text of scanned pages by Tesseract (Apache-2.0), by way of tesserocr (MIT), which brings the program but not its
languages: these are Tesseract's ``*.traineddata``, as packages of the system have them.

A page is drawn by pdfium, turned upright where the data ``osd`` say how, and recognized; what comes back is words
with their boxes in points, so that :mod:`~pgsift.ingest.formats.layout` finds columns, paragraphs and tables as it
does for text that was set. Lines of scripts written from right to left keep Tesseract's order.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from statistics import median
from typing import Any

from pgsift.errors import MissingExtra
from pgsift.ingest.formats import Limits
from pgsift.ingest.formats.layout import Line, Segment, Word, page_lines

#: Dots an inch a page is drawn with, and the most pixels a page may have, beyond which it is drawn smaller.
RESOLUTION = 300
MAX_PIXELS = 40_000_000
#: Words below this confidence, of 100, are specks of dirt more often than words.
CONFIDENCE = 25
#: A page that is less sure as a whole is tried the other ways up.
UNSURE = 70
# Where packages of Debian, Fedora, Homebrew and others put Tesseract's data.
_FOLDERS = (
    "/usr/share/tesseract-ocr/*/tessdata", "/usr/share/tesseract-ocr/tessdata", "/usr/share/tessdata",
    "/usr/share/tesseract/tessdata", "/usr/local/share/tessdata", "/opt/homebrew/share/tessdata",
    "/opt/local/share/tessdata",
)  # fmt: skip
# Tesseract's names where they are not those of ISO 639-2.
_NAMES = {"zh": "chi_sim", "zh-Hans": "chi_sim", "zh-CN": "chi_sim", "zh-Hant": "chi_tra", "zh-TW": "chi_tra",
          "no": "nor", "nb": "nor", "ku": "kmr", "sr": "srp", "az": "aze", "uz": "uzb"}  # fmt: skip


@dataclass(slots=True)
class Recognized:
    """What was found on a page: its lines by region, as the layout has them, and how sure it is, of 100."""

    number: int
    regions: list[list[Line]]
    height: float
    confidence: float


def tesseract_names(languages: Sequence[str]) -> tuple[str, ...]:
    """Tesseract's names of languages, given as these or as BCP 47 tags: ``de`` and ``deu`` are ``deu``."""
    from pgsift.ingest.languages import iso_639_2, normalized

    found = []
    for name in languages:
        tag = normalized(name) if len(name.partition("_")[0]) == 2 or "-" in name else None
        short = None if tag is None else tag.partition("-")[0]
        found.append(_NAMES.get(tag or "") or _NAMES.get(short or "") or iso_639_2(short or "") or name)
    return tuple(dict.fromkeys(found))


def data_folder(names: Sequence[str]) -> str:
    """The folder with Tesseract's data of some languages. Raises :class:`~pgsift.errors.MissingExtra` where there
    is none."""
    told = os.environ.get("TESSDATA_PREFIX")
    folders = [told, os.path.join(told, "tessdata")] if told else []
    folders += [found for pattern in _FOLDERS for found in sorted(glob(pattern), reverse=True)]
    best: tuple[int, str] = (-1, "")
    for folder in folders:
        there = sum(Path(folder, f"{name}.traineddata").is_file() for name in names)
        if there > best[0]:
            best = (there, folder)
    if best[0] < len(names):
        missing = [name for name in names if not Path(best[1], f"{name}.traineddata").is_file()]
        raise MissingExtra(
            f"there are no data of Tesseract for {', '.join(missing)}",
            hint="Install them, for example on Debian: apt install "
            + " ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in missing)
            + "; or name a folder of *.traineddata in TESSDATA_PREFIX.",
        )
    return best[1]


def check(limits: Limits) -> None:
    """Refuse to recognize what cannot be: :class:`~pgsift.errors.MissingExtra` without tesserocr or the data of a
    language."""
    if limits.ocr != "off":
        _tesserocr()
        data_folder(tesseract_names(limits.ocr_languages))


def _tesserocr() -> Any:
    try:
        import tesserocr
    except ImportError:
        raise MissingExtra(
            "recognizing text needs the extra 'ocr' (tesserocr is missing)",
            hint="Install it: pip install 'pgsift[ocr]', and Tesseract's data (on Debian: apt install "
            "tesseract-ocr)",
        ) from None
    return tesserocr


def recognize(document: Any, numbers: Sequence[int], limits: Limits) -> Iterator[Recognized]:
    """Pages of a document of pypdfium2, by their numbers from 1.

    Raises :class:`~pgsift.errors.MissingExtra` without tesserocr or the data of a language.
    """
    tesserocr = _tesserocr()
    names = tesseract_names(limits.ocr_languages)
    folder = data_folder(names)
    upright = Path(folder, "osd.traineddata").is_file()
    with (
        tesserocr.PyTessBaseAPI(path=folder, lang="+".join(names), psm=tesserocr.PSM.AUTO) as reader,
        _turner(tesserocr, folder if upright else None) as turner,
    ):
        # Whether there is nothing to recognize on a page is not worth a warning.
        reader.SetVariable("debug_file", os.devnull)
        for number in numbers:
            page = document[number - 1]
            try:
                yield _page(tesserocr, reader, turner, page, number)
            finally:
                page.close()


class _turner:
    """Tesseract as it tells which side of a page is up, where it has the data for that."""

    def __init__(self, tesserocr: Any, folder: str | None) -> None:
        self._reader = None
        if folder is not None:
            self._reader = tesserocr.PyTessBaseAPI(path=folder, lang="osd", psm=tesserocr.PSM.OSD_ONLY)

    def __enter__(self) -> _turner:
        return self

    def __exit__(self, *error: object) -> None:
        if self._reader is not None:
            self._reader.End()

    def quarters(self, drawn: _Drawn) -> int:
        """How many quarters clockwise turn a page upright; 0 where that is not clear."""
        if self._reader is None:
            return 0
        self._reader.SetImageBytes(drawn.content, drawn.width, drawn.height, 1, drawn.stride)
        self._reader.SetSourceResolution(RESOLUTION)
        found = self._reader.DetectOrientationScript()
        if not found or found["orient_conf"] < 2:
            return 0
        return int(found["orient_deg"]) // 90 % 4


@dataclass(slots=True)
class _Drawn:
    content: bytes
    width: int
    height: int
    stride: int
    scale: float


def _draw(page: Any, quarters: int) -> _Drawn:
    width, height = page.get_size()
    scale = RESOLUTION / 72
    if width * height * scale * scale > MAX_PIXELS:
        scale = (MAX_PIXELS / (width * height)) ** 0.5
    bitmap = page.render(scale=scale, rotation=90 * quarters, grayscale=True)
    try:
        return _Drawn(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, scale)
    finally:
        bitmap.close()


@dataclass(slots=True)
class _Found:
    """The text of a page as Tesseract writes it, and its words line by line, each with its confidence."""

    text: str = ""
    lines: list[list[tuple[Word, float]]] = field(default_factory=list)

    @property
    def confidence(self) -> float:
        """The mean confidence of the letters; 0 without any."""
        pairs = [(len(word.text), sure) for line in self.lines for word, sure in line]
        return sum(count * sure for count, sure in pairs) / sum(count for count, _ in pairs) if pairs else 0.0


def _page(tesserocr: Any, reader: Any, turner: _turner, page: Any, number: int) -> Recognized:
    drawn = _draw(page, 0)
    quarters = turner.quarters(drawn)
    if quarters:
        # Said is how far the page is turned; it is drawn turned back.
        quarters = (4 - quarters) % 4
        drawn = _draw(page, quarters)
    found = _read(tesserocr, reader, drawn)
    if found.confidence < UNSURE:
        # A few words do not tell which side is up; upside down they are read as nonsense.
        for other in (2, 1, 3):
            turned = _draw(page, (quarters + other) % 4)
            read = _read(tesserocr, reader, turned)
            if read.confidence > max(found.confidence, UNSURE):
                drawn, found = turned, read
                break
    words = [word for line in found.lines for word in _even([word for word, _ in line])]
    if words:
        # Sizes are measured, and differ a little where they are the same.
        usual = median(word.size for word in words)
        for word in words:
            if 0.85 * usual < word.size < 1.15 * usual:
                word.size = round(usual, 1)
    regions = _from_right(found) if _is_from_right(words) else page_lines(words)
    return Recognized(
        number, [region for region in regions if region], drawn.height / drawn.scale, found.confidence
    )


def _read(tesserocr: Any, reader: Any, drawn: _Drawn) -> _Found:
    """What is on a page."""
    reader.SetImageBytes(drawn.content, drawn.width, drawn.height, 1, drawn.stride)
    reader.SetSourceResolution(round(72 * drawn.scale))
    result = _Found()
    found = reader.GetIterator() if reader.Recognize() else None
    if found is not None:
        for level in tesserocr.iterate_level(found, tesserocr.RIL.WORD):
            text = _text(level, tesserocr.RIL.WORD)
            confidence = level.Confidence(tesserocr.RIL.WORD)
            box = level.BoundingBox(tesserocr.RIL.WORD)
            if not text or box is None or confidence < CONFIDENCE:
                continue
            if not result.lines or level.IsAtBeginningOf(tesserocr.RIL.TEXTLINE):
                result.lines.append([])
            word = _word(level, tesserocr.RIL, text, box, drawn.scale)
            result.lines[-1].append((word, float(confidence)))
        result.text = reader.GetUTF8Text()
    reader.Clear()
    return result


def _from_right(found: _Found) -> list[list[Line]]:
    """Paragraphs of a text that is written from right to left, line by line. Tesseract gives its words with their
    letters as they are seen, from the left; the text is as it is read."""
    paragraphs = [part.splitlines() for part in re.split(r"\n\s*\n", found.text.strip())]
    boxes = [[word for word, _ in line] for line in found.lines]
    regions: list[list[Line]] = []
    number = 0
    for part in paragraphs:
        regions.append([])
        for text in filter(None, map(str.strip, part)):
            # Where a line was left out, it is that of another.
            words = boxes[min(number, len(boxes) - 1)]
            x0, x1 = min(word.x0 for word in words), max(word.x1 for word in words)
            word = Word(text, x0, words[0].y0, x1, words[0].y1, words[0].size, base=words[0].base)
            regions[-1].append(
                Line([Segment([word], x0, word.y0, x1, word.y1, word.size, False, word.base)])
            )
            number += 1
    return regions


def _text(level: Any, word: Any) -> str:
    try:
        return str(level.GetUTF8Text(word)).strip()
    except RuntimeError:  # of nothing
        return ""


def _word(level: Any, kind: Any, text: str, box: Sequence[int], scale: float) -> Word:
    x0, y0, x1, y1 = (value / scale for value in box)
    row = level.RowAttributes()
    size = row["row_height"] / scale if row and row.get("row_height") else y1 - y0
    base = level.Baseline(kind.TEXTLINE)
    return Word(text, x0, y0, x1, y1, size, base=max(point[1] for point in base) / scale if base else y1)


def _even(line: list[Word]) -> list[Word]:
    """The words of a line with one base line and size, as far up and down as the line is."""
    if line:
        base, size = median(word.base for word in line), median(word.size for word in line)
        y0, y1 = base - 0.8 * size, base + 0.2 * size
        for word in line:
            word.base, word.size, word.y0, word.y1 = base, size, y0, y1
    return line


def _is_from_right(words: Sequence[Word]) -> bool:
    """Whether most letters are of scripts that are written from right to left."""
    kinds = [unicodedata.bidirectional(character) for word in words for character in word.text[:20]]
    from_right = sum(kind in ("R", "AL") for kind in kinds)
    return 2 * from_right > from_right + kinds.count("L")
