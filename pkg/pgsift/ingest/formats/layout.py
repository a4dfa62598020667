"""From words on a page to lines, paragraphs, tables and headings in reading order.

Coordinates are points with the origin at the upper left of the page as it is read, x to the right and y down.
Everything is linear in the number of words, sorting aside.

1. Words of one base line that stand close make a *segment*; a gap of more than :data:`GAP` times the size of
   the type parts segments (columns, cells of tables).
2. A *gutter* is a vertical strip that few lines cross where it stands, with a column of prose on both sides:
   lines that fill it, most of them or some in a row. What crosses it (titles, wide figures), and rows of cells
   on both sides of it (wide tables), part the page into bands; in each band the left column is read before the
   right one, and each is looked at in the same way again. Cells of tables do not fill their columns and so do
   not make a gutter, and a table within a column does not hide one.
3. In what is left, segments of the same height on the page are one line. Neighbouring lines whose segments stand
   in the same columns, and in no more than one at a time, are a *table*: three or more, or two below or above
   a caption that says it is one. Cells may be empty, those of the first column too.
4. Lines become paragraphs: a new one begins after a larger distance than usual, at a change of the size, weight
   or font of the type, at an indented line, at a bullet or number of a list, and at a caption.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal

GAP = 1.15
_BULLET = re.compile(r"(?:[•‣◦▪▫●○■□–—*·∙]|[-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
# "Figure 3:", "Table IV. …", "Fig. 2 |", "Abbildung 7"; with what follows the number, which tells a caption from
# a sentence that begins with the word.
_CAPTION = re.compile(
    r"(?:(?P<table>tables?|tab\.|tabelle|tableau|tabla|tabella|tabela)|"
    r"fig(?:ure|ura)?s?\b\.?|abb(?:ildung|\.)|schem[ea]|chart|plate|box|listing|algorithm|exhibit|map)"
    r"\s{0,3}(?:[A-Z]{0,2}\.?\d{1,3}(?:[.\-–]\d{1,3})*[a-z]?|[IVXL]{1,6})\b(?P<mark>\s*[.:|–—]|\s*\)|$)?",
    re.IGNORECASE,
)


# A numbered heading in capitals, alone on its line.
CAPITALS = re.compile(r"(?:[IVX]{1,5}|\d{1,2}(?:\.\d{1,2})*)\.?\s+[^\W\d_a-z][^a-zß-ÿ]{3,80}")


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
    #: A number for each font.
    font: int = 0


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
    font: int = 0

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

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
    font: int = field(init=False)

    def __post_init__(self) -> None:
        self.x0 = min(segment.x0 for segment in self.segments)
        self.x1 = max(segment.x1 for segment in self.segments)
        self.y0 = min(segment.y0 for segment in self.segments)
        self.y1 = max(segment.y1 for segment in self.segments)
        longest = max(self.segments, key=lambda segment: segment.width)
        self.size = longest.size
        self.base = longest.base
        self.font = longest.font
        self.bold = all(segment.bold for segment in self.segments)

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)


@dataclass(slots=True)
class Group:
    """Lines that belong together: a paragraph, an item of a list, a caption, or a table with its rows."""

    kind: Literal["paragraph", "item", "table", "caption"]
    lines: list[Line]
    rows: list[list[str]] = field(default_factory=list)

    @property
    def size(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def caption_of(text: str) -> Literal["table", "figure"] | None:
    """What a text is the caption of, if it begins like one."""
    found = _CAPTION.match(text)
    if found is None:
        return None
    return "table" if found["table"] else "figure"


def page_lines(words: Sequence[Word]) -> list[list[Line]]:
    """The lines of a page in reading order, by region; a region is read to its end."""
    regions: list[list[Segment]] = []
    _order(_without_line_numbers(_merged(_segments(words))), regions, 0)
    return [lines for lines in map(_lines, regions) if lines]


def groups(lines: Sequence[Line]) -> list[Group]:
    """The paragraphs, items, captions and tables of a region."""
    found: list[Group] = []
    position = 0
    for start, end, rows in _tables(lines):
        found += _paragraphs(lines[position:start])
        found.append(Group("table", list(lines[start:end]), rows))
        position = end
    return found + _paragraphs(lines[position:])


# Segments and columns


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
                longest, current.size, current.base, current.font = word.text, word.size, word.base, word.font
        else:
            current = Segment(
                [word], word.x0, word.y0, word.x1, word.y1, word.size, word.bold, word.base, word.font
            )
            segments.append(current)
            longest = word.text
    return segments


def _merged(segments: Iterable[Segment]) -> list[Segment]:
    """Segments of one base line that stand close are one, in whatever order the file draws them."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: s.base):
        if rows and segment.base - rows[-1][0].base < 0.15 * segment.size:
            rows[-1].append(segment)
        else:
            rows.append([segment])
    found: list[Segment] = []
    for row in rows:
        row.sort(key=lambda s: s.x0)
        current = row[0]
        found.append(current)
        for other in row[1:]:
            size = max(current.size, other.size)
            if -0.3 * size < other.x0 - current.x1 < GAP * size and abs(current.size - other.size) < 0.2 * size:
                if other.width > current.width:
                    current.size, current.font = other.size, other.font
                current.words = current.words + other.words
                current.x1 = max(current.x1, other.x1)
                current.y0, current.y1 = min(current.y0, other.y0), max(current.y1, other.y1)
                current.bold = current.bold and other.bold
            else:
                current = other
                found.append(current)
    return found


def _without_line_numbers(segments: list[Segment]) -> list[Segment]:
    """Leave out the numbers that drafts and transcripts have in the margin, one for each line of prose or for
    every fifth."""
    numbers = [s for s in segments if len(s.words) == 1 and s.text.isdigit() and len(s.text) <= 4]
    if len(numbers) < 5:
        return segments
    others = [s for s in segments if not (len(s.words) == 1 and s.text.isdigit())]
    prose = [s for s in others if _is_prose(s)]
    if len(prose) < 5 or not _is_column(others, surely=False):
        return segments
    left, right = min(s.x0 for s in prose), max(s.x1 for s in prose)
    gone: set[int] = set()
    for margin in ([s for s in numbers if s.x1 <= left], [s for s in numbers if s.x0 >= right]):
        margin.sort(key=lambda s: s.middle)
        steps = [int(other.text) - int(one.text) for one, other in pairwise(margin)]
        if len(margin) >= 5 and sum(step in (1, 5) for step in steps) >= 0.8 * len(steps):
            gone.update(map(id, margin))
    return [s for s in segments if id(s) not in gone] if gone else segments


def _order(segments: list[Segment], regions: list[list[Segment]], depth: int) -> None:
    gutter = _gutter(segments) if depth < 5 else None
    if gutter is None:
        if segments:
            regions.append(segments)
        return
    across = _rows_across(segments, gutter)
    bands: list[tuple[list[Segment], list[Segment]]] = [([], [])]
    # What crosses the gutter ends a band; what follows it directly stays with it.
    last: Segment | None = None
    for row in _rows(segments):
        # The last line of a paragraph that goes across may end before the gutter.
        if last is not None and len(row) == 1 and _goes_below(row[0], last):
            across.add(id(row[0]))
        wide = [s for s in row if s.x0 < gutter < s.x1 or id(s) in across]
        last = max(wide, key=lambda s: s.width, default=None)
        # What stands in front of it, as code before its comment, is of the same line.
        across.update(id(s) for s in row if wide and s.x1 <= gutter and len(s.words) < 5)
    for segment in sorted(segments, key=lambda s: (s.y0 + s.y1, s.x0)):
        if segment.x0 < gutter < segment.x1 or id(segment) in across:
            if bands[-1][1]:
                bands.append(([], []))
            bands[-1][0].append(segment)
        else:
            bands[-1][1].append(segment)
    for wide, columns in bands:
        if wide:
            # Short pieces beside a wide line (a number, a last word) belong to it.
            bottom = max(s.y1 for s in wide)
            beside = [s for s in columns if s.middle < bottom]
            columns = [s for s in columns if s.middle >= bottom]
            regions.append(wide + beside)
        for side in (
            [s for s in columns if (s.x0 + s.x1) / 2 < gutter],
            [s for s in columns if (s.x0 + s.x1) / 2 >= gutter],
        ):
            if side:
                _order(side, regions, depth + 1)


def _goes_below(segment: Segment, before: Segment) -> bool:
    """Whether a line stands right below another, in the same type and at the same edge."""
    return (
        abs(segment.size - before.size) < 0.05 * before.size
        and segment.font == before.font
        and abs(segment.x0 - before.x0) < 0.5 * before.size
        and 0 < segment.base - before.base < 1.5 * before.size
    )


def _is_prose(segment: Segment) -> bool:
    return len(segment.words) >= 2 and segment.x1 - segment.x0 >= 5 * segment.size


def _gutter(segments: Sequence[Segment]) -> float | None:
    """Where two columns of prose part; ``None`` where there are not two."""
    if len(segments) < 8:
        return None
    left, right = min(s.x0 for s in segments), max(s.x1 for s in segments)
    size = median(s.size for s in segments)
    if right - left < 16 * size:
        return None
    prose = [s for s in segments if _is_prose(s)]
    # Columns begin where many lines begin.
    starts = Counter(round(s.x0) for s in prose if left + 5 * size < s.x0 < right - 5 * size)
    least = max(3, len(prose) // 50)
    likely = sorted(start for start, count in starts.most_common(16) if count >= least)
    best: tuple[tuple[int, float], float] | None = None
    by_height = sorted(segments, key=lambda s: s.middle)
    for start in likely:
        x = min(s.x0 for s in segments if start - 3 <= s.x0 <= start + 1) - 0.5
        beside: list[Segment] = []
        edge = left
        for band in _bands(by_height, x):
            before = [s for s in band if s.x1 <= x and _is_prose(s)]
            after = [s for s in band if s.x0 >= x and _is_prose(s)]
            if len(before) < 3 or sum(s.x0 < x + 3 * size for s in after) < 3:
                continue
            # Both must stand beside each other, not one below the other.
            low = max(min(s.y0 for s in before), min(s.y0 for s in after))
            high = min(max(s.y1 for s in before), max(s.y1 for s in after))
            if high - low < 2 * size:
                continue
            beside += [s for s in band if low <= s.middle <= high]
            edge = max(edge, max((s.x1 for s in before if s.y1 > low and s.y0 < high), default=left))
        # The one with most words on the side that has less; what is indented alike, and code, make one too.
        sides = [s for s in beside if s.x1 <= x], [s for s in beside if s.x0 >= x]
        rank = (min(sum(len(s.words) for s in side) for side in sides), x - edge)
        if not beside or (best is not None and rank <= best[0]):
            continue
        crossing = sum(s.x0 < x < s.x1 for s in segments)
        if all(_is_column(side, surely=4 * crossing > len(segments)) for side in sides):
            best = rank, x - max(min(x - edge, 2 * size), 0.0) / 2
    return None if best is None else best[1]


def _bands(by_height: Sequence[Segment], x: float) -> Iterator[list[Segment]]:
    """What stands between segments that cross a vertical line."""
    band: list[Segment] = []
    for segment in by_height:
        if segment.x0 < x < segment.x1:
            if band:
                yield band
            band = []
        else:
            band.append(segment)
    if band:
        yield band


def _is_column(segments: Sequence[Segment], *, surely: bool) -> bool:
    """Whether segments are a column of prose: most are lines that fill it, or (``surely``: and) some in a row
    are."""
    prose = [s for s in segments if _is_prose(s)]
    if len(prose) < 3:
        return False
    widths = sorted(s.width for s in prose)
    usual = widths[int(0.8 * (len(widths) - 1))]
    full = [s for s in prose if s.width >= 0.75 * usual]
    words = sum(len(s.words) for s in segments) / len(segments)
    if len(full) >= 0.45 * len(segments) and words >= 3.2 and not surely:
        return True
    # Below each other, at the same left edge.
    run = 1
    by_edge = sorted(full, key=lambda s: s.y0)
    for one, other in pairwise(by_edge):
        close = abs(one.x0 - other.x0) < 2 * other.size and 0 < other.base - one.base < 1.9 * other.size
        run = run + 1 if close else 1
        if run >= 5:
            return True
    return False


def _rows_across(segments: Sequence[Segment], gutter: float) -> set[int]:
    """Segments, by identity, that do not cross a gutter and belong to rows of cells on both sides of it: wide
    tables between lines of prose."""
    found: set[int] = set()
    run: list[list[Segment]] = []
    above: list[Segment] = []
    left, right = min(s.x0 for s in segments), max(s.x1 for s in segments)

    def end(above: list[Segment], below: list[Segment]) -> None:
        # Lines that follow the prose above or below at its own distance are of a column.
        while run and any(_goes_below(one, other) for other in above for one in run[0]):
            above = run.pop(0)
        while run and any(_goes_below(one, other) for one in below for other in run[-1]):
            below = run.pop()
        both = [row for row in run if row[0].x1 <= gutter <= row[-1].x0]
        # Of a table that stands across, the cells are below each other; labels in a figure are not.
        if len(both) >= 3 and len(both) >= 0.6 * len(run) and max(len(row) for row in both) >= 3:
            low, high = both[0][0].y0, both[-1][-1].y1
            found.update(id(s) for row in run for s in row if low <= s.middle <= high)
        run.clear()

    for row in _rows(segments):
        row.sort(key=lambda s: s.x0)
        # A line of prose fills its column, however wide its words are set.
        sides = (
            ([s for s in row if s.x1 <= gutter], gutter - left),
            ([s for s in row if s.x0 >= gutter], right - gutter),
        )
        if any(
            sum(s.width for s in side) > 0.7 * width and sum(len(s.words) for s in side) >= 4
            for side, width in sides
        ):
            end(above, row)
            above = row
            continue
        if run and row[0].y0 - run[-1][0].y1 > 2.5 * row[0].size:
            end(above, [])
            above = []
        run.append(row)
    end(above, [])
    return found


def _rows(segments: Iterable[Segment]) -> list[list[Segment]]:
    """Segments of the same height on the page, from the top."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: s.middle):
        middle = segment.middle
        for row in reversed(rows[-3:]):
            if row[0].y0 <= middle <= row[0].y1 and all(
                segment.x0 >= other.x1 - 0.5 * other.size or segment.x1 <= other.x0 + 0.5 * other.size
                for other in row
            ):
                row.append(segment)
                break
        else:
            rows.append([segment])
    return rows


def _lines(segments: Sequence[Segment]) -> list[Line]:
    return [Line(sorted(row, key=lambda s: s.x0)) for row in _rows(segments)]


# Tables


def _tables(lines: Sequence[Line]) -> Iterator[tuple[int, int, list[list[str]]]]:
    """Where tables begin and end among lines, and their rows."""
    position = 0
    while position < len(lines):
        if len(lines[position].segments) < 2:
            position += 1
            continue
        end = _run(lines, position)
        made = False
        start = position
        # A line of another shape at its head or foot (a title set wide) must not hide a table.
        for first, last in ((start, end), (start + 1, end), (start, end - 1), (start + 1, end - 1)):
            rows = _table(lines, first, last) if last - first >= 2 else None
            if rows is not None:
                yield first, last, rows
                position = last
                made = True
                break
        if not made:
            position = end


def _run(lines: Sequence[Line], start: int) -> int:
    """One past the last of lines that may be one table: each of several segments, or one such a line stands
    around."""
    end = start + 1
    seen = end
    while seen < len(lines) and seen - end <= 2:
        line, before = lines[seen], lines[seen - 1]
        if line.y0 - before.y1 > 2.5 * line.size or _CAPTION.match(line.text):
            break
        seen += 1
        if len(line.segments) >= 2:
            end = seen
        elif line.segments[0].width > 0.6 * (max(s.x1 for s in lines[start].segments) - lines[start].x0):
            break
    return end


def _table(lines: Sequence[Line], start: int, end: int) -> list[list[str]] | None:
    """Lines as rows of a table; ``None`` where they are none."""
    several = [line for line in lines[start:end] if len(line.segments) >= 2]
    captioned = any(
        0 <= at < len(lines) and caption_of(lines[at].text) == "table" for at in (start - 1, start - 2, end)
    )
    if len(several) < (2 if captioned else 3):
        return None
    columns = _columns(several)
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    words: list[list[int]] = [[] for _ in columns]
    steps: list[float] = []
    for number in range(start, end):
        line = lines[number]
        cells = _cells(line, columns)
        if cells is None:
            return None
        for index, cell in enumerate(cells):
            if cell:
                words[index].append(len(cell.split()))
        step = line.base - lines[number - 1].base if rows else 0.0
        wrapped = rows and not cells[0] and rows[-1][0] and step < 1.35 * line.size
        # A cell that goes on below: its row has a larger distance from the next than its own lines have.
        if wrapped and number + 1 < end and lines[number + 1].base - line.base > 1.25 * step:
            rows[-1] = [" ".join(part for part in pair if part) for pair in zip(rows[-1], cells, strict=True)]
            continue
        steps.append(step)
        rows.append(cells)
    filled = sum(sum(map(bool, row)) >= 2 for row in rows)
    full = sum(sum(map(bool, row)) for row in rows) / (len(rows) * len(columns))
    if len(rows) < (2 if captioned else 3) or filled < 0.5 * len(rows) or full < (0.3 if captioned else 0.5):
        return None
    # Two columns of prose beside each other are no table.
    prose = even = 0
    for index, counts in enumerate(words):
        if len(counts) < 3:
            continue
        lengths = [len(row[index]) for row in rows if row[index]]
        mean, is_even = sum(counts) / len(counts), sum(lengths) > 0.75 * max(lengths) * len(lengths)
        prose += mean > (4 if is_even else 6.5)
        even += is_even and mean >= 2.5 and len(lengths) >= 5
    if prose >= 2 or (prose and even >= 2):
        return None
    if prose and len(columns) == 2 and not captioned and len(rows) > 3 and min(map(len, words)) < 3:
        return None
    return rows


def _columns(lines: Sequence[Line], depth: int = 0) -> list[tuple[float, float]]:
    """The columns that the segments of lines stand in: strips of the page that no segment, or next to none,
    reaches out of."""
    segments = [segment for line in lines for segment in line.segments]
    spread = sorted(segments, key=lambda s: s.x0)
    columns: list[tuple[float, float]] = []
    for segment in spread:
        if columns and segment.x0 < columns[-1][1] - 0.3 * segment.size:
            columns[-1] = columns[-1][0], max(columns[-1][1], segment.x1)
        else:
            columns.append((segment.x0, segment.x1))
    most = max(len(line.segments) for line in lines)
    if len(columns) >= most or len(lines) < 4 or depth == 3:
        return columns
    # Something spans columns: ask those that have the usual number of cells or more.
    usual = sorted(len(line.segments) for line in lines)[len(lines) // 2]
    likely = [line for line in lines if len(line.segments) >= max(usual, 2)]
    if len(likely) == len(lines):
        counts = Counter(len(line.segments) for line in lines)
        likely = [line for line in lines if len(line.segments) == max(counts, key=lambda n: (counts[n], n))]
    if len(likely) == len(lines) or len(likely) < 2:
        return columns
    narrow = _columns(likely, depth + 1)
    return narrow if len(narrow) > len(columns) else columns


def _cells(line: Line, columns: Sequence[tuple[float, float]]) -> list[str] | None:
    """The cells of a line in columns; ``None`` where one stands outside of them."""
    cells = [""] * len(columns)
    starts = [start for start, _ in columns]
    for segment in line.segments:
        for part in _parted(segment, columns, starts):
            x0, x1 = part[0].x0, max(word.x1 for word in part)
            low = max(bisect_right(starts, x0) - 1, 0)
            near = range(low, max(min(bisect_right(starts, x1), len(columns)), low + 1))
            overlaps = [min(x1, columns[number][1]) - max(x0, columns[number][0]) for number in near]
            best = max(overlaps)
            if best < -3 * segment.size:
                return None
            index = near[overlaps.index(best)]
            text = " ".join(word.text for word in part)
            cells[index] = f"{cells[index]} {text}" if cells[index] else text
    return cells


def _parted(segment: Segment, columns: Sequence[tuple[float, float]], starts: Sequence[float]) -> list[list[Word]]:
    """A segment over several columns, parted where a wider gap stands between two of them."""
    parts = [[segment.words[0]]]
    for before, word in pairwise(segment.words):
        if word.x0 - before.x1 > 0.55 * word.size:
            middle, near = (before.x1 + word.x0) / 2, 0.2 * word.size
            following = bisect_right(starts, middle - near)
            if 0 < following < len(columns) and columns[following - 1][1] <= middle + near:
                parts.append([])
        parts[-1].append(word)
    return parts


# Paragraphs


def _paragraphs(lines: Sequence[Line]) -> list[Group]:
    found: list[Group] = []
    if not lines:
        return found
    left = min(line.x0 for line in lines)
    right = max(line.x1 for line in lines)
    steps = [step for one, other in pairwise(lines) if 0 < (step := other.base - one.base) < 3 * other.size]
    type_size = median(line.size for line in lines)
    usual = min(median(steps), 2 * type_size) if steps else 0.0
    for line in lines:
        text = line.text
        is_item = bool(_BULLET.match(text)) and len(text) > 3
        before = found[-1].lines[-1] if found else None
        caption = _CAPTION.match(text)
        is_caption = False
        if before is None:
            is_caption = caption is not None and (caption["mark"] is not None or len(lines) <= 3)
        else:
            step = line.base - before.base
            last = before.text[-1:]
            alone = len(found[-1].lines) == 1
            # Larger type has larger distances of its own.
            limit = max(usual * 1.35, 1.3 * line.size if line.size > 1.15 * type_size else 0.0) + 0.1 * line.size
            same_type = (
                abs(line.size - before.size) < 0.12 * before.size
                and (line.bold == before.bold or not (alone and before.bold))
                and not (alone and CAPITALS.fullmatch(before.text) and not CAPITALS.fullmatch(text))
                and not (
                    alone
                    and line.font != before.font
                    and before.x1 < left + 0.6 * (right - left)
                    and last not in ",-\u00ad"
                )
            )
            ended = before.x1 < right - 0.12 * (right - left) and last in ".!?:;"
            indented = line.x0 - before.x0 > 0.7 * line.size and line.x0 - left < 4 * line.size
            hanging = found[-1].kind == "item" and line.x0 > found[-1].lines[0].x0 + 0.3 * line.size
            is_caption = caption is not None and (
                (caption["mark"] is not None and (last in ".!?:;" or step > usual * 1.2 or not same_type))
                or (not same_type or step > usual * 1.35 + 0.1 * line.size)
            )
            joined = (
                same_type
                and 0 < step < limit
                and not is_item
                and not is_caption
                and (hanging or not indented)
                and not (found[-1].kind == "item" and not hanging and ended)
                and not (
                    ended
                    and text[:1].isupper()
                    and before.x1 < left + 0.7 * (right - left)
                    and found[-1].kind != "caption"
                )
            )
            if joined:
                found[-1].lines.append(line)
                continue
        found.append(Group("caption" if is_caption else "item" if is_item else "paragraph", [line]))
    return found
