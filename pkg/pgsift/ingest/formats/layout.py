"""From words on a page to lines, paragraphs, tables and headings in reading order.

Coordinates are points with the origin at the upper left of the page as it is read, x to the right and y down.

1. Words of one base line that stand close make a *segment*; a gap of more than :data:`GAP` times the size of
   the type parts segments (columns, cells of tables).
2. A *gutter* is a vertical strip that at most a third of the lines cross, with prose on both sides: lines that
   fill their column. What crosses it (titles, wide figures, tables) parts the page into bands; in each band the
   left column is read before the right one, and each is looked at in the same way again. Cells of tables do not
   fill their columns and so do not make a gutter.
3. In what is left, segments of the same height on the page are one line. Neighbouring lines of at least two
   segments each, three or more of them, whose segments stand in the same columns are a *table*.
4. Lines become paragraphs: a new one begins after a larger distance than usual, at a change of the size or
   weight of the type, at an indented line, at a bullet or number of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal

GAP = 1.15
_BULLET = re.compile(r"(?:[•‣◦▪▫●○■□–—*·∙]|[-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")


@dataclass(slots=True)
class Word:
    """A word in its box; ``size`` is that of the type in points, ``base`` where its base line is."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool = False
    base: float = 0.0


@dataclass(slots=True)
class Segment:
    """Words that follow each other on one base line."""

    words: list[Word]
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    base: float

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def width(self) -> float:
        return self.x1 - self.x0


@dataclass(slots=True)
class Line:
    """Segments of the same height, from left to right."""

    segments: list[Segment]
    x0: float = field(init=False)
    y0: float = field(init=False)
    x1: float = field(init=False)
    y1: float = field(init=False)
    size: float = field(init=False)
    bold: bool = field(init=False)
    base: float = field(init=False)

    def __post_init__(self) -> None:
        self.x0 = min(segment.x0 for segment in self.segments)
        self.x1 = max(segment.x1 for segment in self.segments)
        self.y0 = min(segment.y0 for segment in self.segments)
        self.y1 = max(segment.y1 for segment in self.segments)
        longest = max(self.segments, key=lambda segment: segment.width)
        self.size = longest.size
        self.base = longest.base
        self.bold = all(segment.bold for segment in self.segments)

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)


@dataclass(slots=True)
class Group:
    """Lines that belong together: a paragraph, an item of a list, or a table with its rows."""

    kind: Literal["paragraph", "item", "table"]
    lines: list[Line]
    rows: list[list[str]] = field(default_factory=list)

    @property
    def size(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def page_lines(words: Sequence[Word]) -> list[list[Line]]:
    """The lines of a page in reading order, by region; a region is read to its end."""
    segments = _segments(words)
    regions: list[list[Segment]] = []
    _order(segments, regions, 0)
    return [lines for lines in map(_lines, regions) if lines]


def groups(lines: Sequence[Line]) -> list[Group]:
    """The paragraphs, items and tables of a region."""
    found: list[Group] = []
    position = 0
    while position < len(lines):
        rows = _table(lines, position)
        if rows is not None:
            found.append(Group("table", list(lines[position : position + len(rows)]), rows))
            position += len(rows)
            continue
        end = position + 1
        while end < len(lines) and _table(lines, end) is None:
            end += 1
        found += _paragraphs(lines[position:end])
        position = end
    return found


def _segments(words: Iterable[Word]) -> list[Segment]:
    segments: list[Segment] = []
    current: Segment | None = None
    longest = ""
    for word in words:
        if (
            current is not None
            and min(word.y1, current.y1) - max(word.y0, current.y0)
            > 0.5 * min(word.y1 - word.y0, current.y1 - current.y0)
            and -0.5 * word.size < word.x0 - current.x1 < GAP * max(word.size, current.words[-1].size)
        ):
            current.words.append(word)
            current.x1 = max(current.x1, word.x1)
            current.y0, current.y1 = min(current.y0, word.y0), max(current.y1, word.y1)
            current.bold = current.bold and word.bold
            # A number of a note, or an initial, is not what the line is set in.
            if len(word.text) > len(longest):
                longest, current.size, current.base = word.text, word.size, word.base
        else:
            current = Segment([word], word.x0, word.y0, word.x1, word.y1, word.size, word.bold, word.base)
            segments.append(current)
            longest = word.text
    return segments


def _order(segments: list[Segment], regions: list[list[Segment]], depth: int) -> None:
    gutter = _gutter(segments) if depth < 4 else None
    if gutter is None:
        if segments:
            regions.append(segments)
        return
    bands: list[tuple[list[Segment], list[Segment]]] = [([], [])]
    # What crosses the gutter ends a band; what follows it directly stays with it.
    for segment in sorted(segments, key=lambda s: (s.y0 + s.y1, s.x0)):
        if segment.x0 < gutter < segment.x1:
            if bands[-1][1]:
                bands.append(([], []))
            bands[-1][0].append(segment)
        else:
            bands[-1][1].append(segment)
    for wide, columns in bands:
        if wide:
            # Short pieces beside a wide line (a number, a last word) belong to it.
            bottom = max(s.y1 for s in wide)
            beside = [s for s in columns if (s.y0 + s.y1) / 2 < bottom]
            columns = [s for s in columns if (s.y0 + s.y1) / 2 >= bottom]
            regions.append(wide + beside)
        for side in (
            [s for s in columns if (s.x0 + s.x1) / 2 < gutter],
            [s for s in columns if (s.x0 + s.x1) / 2 >= gutter],
        ):
            if side:
                _order(side, regions, depth + 1)


def _gutter(segments: Sequence[Segment]) -> float | None:
    """Where two columns of prose part; ``None`` where there are not two."""
    if len(segments) < 8:
        return None
    left, right = min(s.x0 for s in segments), max(s.x1 for s in segments)
    size = median(s.size for s in segments)
    if right - left < 16 * size:
        return None
    best: tuple[float, float] | None = None
    # Columns begin where many lines begin.
    starts = sorted({round(s.x0) for s in segments if left + 6 * size < s.x0 < right - 6 * size})
    for start in starts:
        x = start - 1.0
        crossing = [s for s in segments if s.x0 < x < s.x1]
        if len(crossing) > len(segments) / 3:
            continue
        before = [s for s in segments if s.x1 <= x]
        after = [s for s in segments if s.x0 >= x]
        if len(before) < 3 or len(after) < 3 or not _is_prose(before) or not _is_prose(after):
            continue
        # Both must stand beside each other, not one below the other.
        low = max(min(s.y0 for s in before), min(s.y0 for s in after))
        high = min(max(s.y1 for s in before), max(s.y1 for s in after))
        if high - low < 2 * size:
            continue
        gap = min(s.x0 for s in after) - max(s.x1 for s in before)
        rank = (-len(crossing), gap)
        if best is None or rank > (best[0], gap):
            best = (-len(crossing), x)
            if not crossing:
                break
    return None if best is None else best[1]


def _is_prose(segments: Sequence[Segment]) -> bool:
    width = max(s.x1 for s in segments) - min(s.x0 for s in segments)
    size = median(s.size for s in segments)
    full = sum(s.width > 0.6 * width for s in segments)
    words = sum(len(s.words) for s in segments) / len(segments)
    return width > 8 * size and full >= 0.4 * len(segments) and words >= 3


def _lines(segments: Sequence[Segment]) -> list[Line]:
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: (s.y0 + s.y1) / 2):
        middle = (segment.y0 + segment.y1) / 2
        for row in reversed(rows[-3:]):
            if row[0].y0 <= middle <= row[0].y1 and all(
                segment.x0 >= other.x1 - 0.5 * other.size or segment.x1 <= other.x0 + 0.5 * other.size
                for other in row
            ):
                row.append(segment)
                break
        else:
            rows.append([segment])
    return [Line(sorted(row, key=lambda s: s.x0)) for row in rows]


def _table(lines: Sequence[Line], start: int) -> list[list[str]] | None:
    """Rows of the table that begins with a line."""
    first = lines[start]
    if len(first.segments) < 2:
        return None
    columns = [(s.x0, s.x1) for s in first.segments]
    rows = [[s.text for s in first.segments]]
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if len(line.segments) < 2 or line.y0 - lines[number - 1].y1 > 2.5 * line.size:
            break
        cells = [""] * len(columns)
        taken = list(columns)
        for segment in line.segments:
            matches = [
                index
                for index, (x0, x1) in enumerate(taken)
                if min(segment.x1, x1) - max(segment.x0, x0) > -0.3 * segment.size
            ]
            if len(matches) != 1 or cells[matches[0]]:
                break
            index = matches[0]
            cells[index] = segment.text
            taken[index] = (min(taken[index][0], segment.x0), max(taken[index][1], segment.x1))
        else:
            columns = taken
            rows.append(cells)
            continue
        break
    return rows if len(rows) >= 3 else None


def _paragraphs(lines: Sequence[Line]) -> list[Group]:
    found: list[Group] = []
    if not lines:
        return found
    left = min(line.x0 for line in lines)
    right = max(line.x1 for line in lines)
    steps = [step for one, other in pairwise(lines) if 0 < (step := other.base - one.base) < 3 * other.size]
    usual = min(median(steps), 2 * median(line.size for line in lines)) if steps else 0.0
    for line in lines:
        is_item = bool(_BULLET.match(line.text)) and len(line.text) > 3
        before = found[-1].lines[-1] if found else None
        if before is not None:
            step = line.base - before.base
            same_type = abs(line.size - before.size) < 0.12 * before.size and (
                line.bold == before.bold or not (len(found[-1].lines) == 1 and before.bold)
            )
            ended = before.x1 < right - 0.12 * (right - left) and before.text[-1:] in ".!?:;"
            indented = line.x0 - before.x0 > 0.7 * line.size and line.x0 - left < 4 * line.size
            hanging = found[-1].kind == "item" and line.x0 > found[-1].lines[0].x0 + 0.3 * line.size
            joined = (
                same_type
                and 0 < step < usual * 1.35 + 0.1 * line.size
                and not is_item
                and (hanging or not indented)
                and not (found[-1].kind == "item" and not hanging and ended)
                and not (ended and line.text[:1].isupper() and before.x1 < left + 0.7 * (right - left))
            )
            if joined:
                found[-1].lines.append(line)
                continue
        found.append(Group("item" if is_item else "paragraph", [line]))
    return found
