"""Windows: the passages of a text that answer a query, and where its words stand in them.

Pure; the twin in SQL (``sift._find_terms``, ``sift._choose_windows``) gives the same, character for
character. Offsets count characters (code points) from 0, ends are one past the last.

**Occurrences.** A text is split, as it is written, into words of scripts written with spaces and runs of
scripts written without. A word is an occurrence of a term when the analyzer makes the term of it (``pumps``
of ``pump`` under ``english``); under ``identifiers`` a word is a whole compound (``get_user_by_email``). In a
run, an occurrence is the character or pair of characters the term consists of; where normalizing the run
joins characters otherwise than within their clusters, the run is one occurrence.

**Candidates.** One per occurrence: it and those after it, as far as ``width`` goes. The candidate with the
most distinct terms is chosen, of equals the first; then again, from what lies before and after the windows
chosen, until there are enough. White space is left out at the ends; the context on both sides is as long as
``width`` allows, half before and half after, and begins and ends between words. (A single word longer than
``width`` is cut.)

**Tables.** A table is two or more consecutive lines that begin with ``|``. A window that touches one is
widened to all of it, if that makes at most :data:`MAX_TABLE` characters; else, if its occurrences touch the
table, it is the table alone, cut after the last row that fits; else it ends where the table begins (or begins
where it ends). What was cut off a table makes no further window.

Windows with the same text are given once. They come in the order of the text. Without an occurrence there is
one window: the beginning of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pgsift.domain import _window_tables as tables
from pgsift.domain import analyzer as _analyzer
from pgsift.domain.analyzer import Analyzer

__all__ = ["MAX_TABLE", "MAX_WIDTH", "Window", "windows", "windows_of_parts"]

#: Longest window that a table may make, in characters.
MAX_TABLE = 4000
#: Longest width one may ask for, in characters.
MAX_WIDTH = 4000

_SPACE = " \t-\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_JOINERS = r"_./@:&+#>\\-"


@dataclass(frozen=True, slots=True)
class Window:
    """A passage: characters ``start`` to ``end`` of part ``part`` of the text. ``highlights`` are spans
    relative to ``start``, in order, apart from each other; ``terms`` are the terms that occur in it, in the
    order of the query; ``anchor`` is where in the part the first of the words that made the choice stands.
    """

    text: str
    start: int
    end: int
    highlights: tuple[tuple[int, int], ...]
    terms: tuple[str, ...]
    part: int = 0
    anchor: int = 0


class _Occurrence(NamedTuple):
    part: int
    start: int
    end: int
    term: int


@cache
def _set(name: str) -> str:
    table: str = getattr(tables, name)
    ranges = (word.partition("-") for word in table.split())
    return "".join(chr(int(first, 16)) + (f"-{chr(int(last, 16))}" if last else "") for first, _, last in ranges)


def sql_tables() -> dict[str, str]:
    """The constants the SQL twin is generated from, by the name it knows them by."""
    return {
        "word": _set("WORD"),
        "unspaced": _set("UNSPACED"),
        "joined": _set("JOINED"),
        "starts": _set("STARTS"),
        "joiners": _JOINERS.replace("-", "") + _set("JOINERS") + "-",
        "space": _SPACE,
        "uneven": _set("MIXED") + _set("JOINED"),
        "longer": _set("LONGER"),
    }


class _Patterns:
    """Everything compiled from the tables; made once."""

    def __init__(self) -> None:
        word, unspaced, joined, starts = (_set(name) for name in ("WORD", "UNSPACED", "JOINED", "STARTS"))
        run = f"([{unspaced}][{unspaced}{joined}]*)"
        self.units = re.compile(f"{run}|[{word}]+")
        self.compounds = re.compile(f"{run}|[{word}{_set('JOINERS')}{_JOINERS}]+")
        joiner = f"[{_set('JOINERS')}{_JOINERS}]"  # the hyphen last: no range
        self.leading = re.compile(f"{joiner}+")
        self.trailing = re.compile(f"{joiner}+\\Z")
        self.clusters = re.compile(f".[{joined}]*", re.DOTALL)
        self.in_runs = re.compile(f"[{_analyzer._set('UNSPACED')}{_analyzer._set('MARKS')}]*")
        self.to_start = re.compile(f"[^{_SPACE}{starts}]*")
        self.from_end = re.compile(f"[{starts}]?[^{_SPACE}{starts}]*\\Z")
        self.start = re.compile(f"[{starts}]")
        self.space = re.compile(f"[{_SPACE}]")
        self.spaces = re.compile(f"[{_SPACE}]*")
        self.last_spaces = re.compile(f"[{_SPACE}]*\\Z")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


def windows(
    text: str, terms: Sequence[str], analyzer: Analyzer, *, count: int = 2, width: int = 600
) -> list[Window]:
    """At most ``count`` windows of about ``width`` characters of a text for the terms of a query, which are
    the analyzer's (:meth:`Analyzer.query_terms`)."""
    return windows_of_parts([text], terms, analyzer, count=count, width=width)


def windows_of_parts(
    parts: Sequence[str], terms: Sequence[str], analyzer: Analyzer, *, count: int = 2, width: int = 600
) -> list[Window]:
    """The same of a text in parts; no window crosses from one part to the next."""
    if count < 0 or not 1 <= width <= MAX_WIDTH:
        raise ValueError(f"count must not be negative and width lie between 1 and {MAX_WIDTH}")
    found = [
        occurrence for part, text in enumerate(parts) for occurrence in _occurrences(part, text, terms, analyzer)
    ]
    chooser = _Chooser(parts, terms, found, width)
    if count and not found:
        return chooser.beginning()
    return chooser.choose(count)


def _occurrences(part: int, text: str, terms: Sequence[str], analyzer: Analyzer) -> Iterator[_Occurrence]:
    patterns = _patterns()
    numbers = {term: number for number, term in enumerate(terms)}
    known: dict[str, list[int]] = {}
    compounds = analyzer.name == "identifiers"
    found: set[_Occurrence] = set()
    for match in (patterns.compounds if compounds else patterns.units).finditer(text):
        unit, start, end = match.group(), match.start(), match.end()
        if match.group(1) is not None:
            found.update(
                _Occurrence(part, start + first, start + last, number)
                for first, last, number in _in_run(unit, numbers, analyzer)
            )
            continue
        if unit not in known:
            known[unit] = sorted({numbers[token] for token in analyzer.tokenize(unit) if token in numbers})
        if not known[unit]:
            continue
        if compounds:
            start, end = start + _leading(unit), end - _trailing(unit)
        found.update(_Occurrence(part, start, end, number) for number in known[unit])
    yield from sorted(found)


def _leading(unit: str) -> int:
    match = _patterns().leading.match(unit)
    return match.end() if match else 0


def _trailing(unit: str) -> int:
    """Joiners at the end that belong to no word: all but ``++`` and ``#``."""
    match = _patterns().trailing.search(unit)
    if match is None:
        return 0
    tail = match.group()
    return len(tail) - (2 if tail.startswith("++") else 1 if tail.startswith("#") else 0)


def _in_run(run: str, numbers: dict[str, int], analyzer: Analyzer) -> Iterator[tuple[int, int, int]]:
    """Occurrences in a run of a script written without spaces."""
    clusters = _patterns().clusters.findall(run)
    normal = [_analyzer._fold(_analyzer._normalize(cluster)) for cluster in clusters]
    joined = "".join(normal)
    if joined != _analyzer._fold(_analyzer._normalize(run)) or not _patterns().in_runs.fullmatch(joined):
        for number in {numbers[token] for token in analyzer.tokenize(run) if token in numbers}:
            yield 0, len(run), number
        return
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for cluster, text in zip(clusters, normal, strict=True):
        starts += [position] * len(text)
        position += len(cluster)
        ends += [position] * len(text)
    for index, char in enumerate(joined):
        if char in numbers:
            yield starts[index], ends[index], numbers[char]
        pair = joined[index : index + 2]
        if len(pair) == 2 and pair in numbers:
            yield starts[index], ends[index + 1], numbers[pair]


class _Chooser:
    def __init__(
        self, parts: Sequence[str], terms: Sequence[str], found: Sequence[_Occurrence], width: int
    ) -> None:
        self.parts = parts
        self.terms = terms
        self.found = found
        self.width = width
        self.taken: list[tuple[int, int, int]] = []  # part, start, end of what makes no further window
        self.tables: dict[int, list[tuple[int, int]]] = {}

    def beginning(self) -> list[Window]:
        for part, text in enumerate(self.parts):
            start = _spaces(text, 0, len(text))
            if start < len(text):
                return [self.window(part, start, start)[0]]
        return []

    def choose(self, count: int) -> list[Window]:
        chosen: list[Window] = []
        while len(chosen) < count:
            best = self.best()
            if best is None:
                break
            window, taken = self.window(*best)
            self.taken.append(taken)
            if all(window.text != other.text for other in chosen):
                chosen.append(window)
        return sorted(chosen, key=lambda window: (window.part, window.start))

    def best(self) -> tuple[int, int, int] | None:
        """Part, start and end of the candidate with the most distinct terms, of equals the first."""
        best: tuple[int, int, int] | None = None
        most = 0
        counts = [0] * len(self.terms)
        distinct = 0
        last = -1  # of the occurrences in the candidate
        for first, (part, start, end, term) in enumerate(self.found):
            if last < first:
                if self.is_taken(part, start, end):
                    last = first
                    continue
                counts[term] += 1
                distinct += counts[term] == 1
                last = first
            while last + 1 < len(self.found):
                following = self.found[last + 1]
                if following.part != part or following.end - start > self.width:
                    break
                if self.is_taken(*following[:3]) or self.is_parted(part, start, following.start):
                    break
                last += 1
                counts[following.term] += 1
                distinct += counts[following.term] == 1
            if distinct > most:
                most = distinct
                best = part, start, self.found[last].end
            counts[term] -= 1
            distinct -= counts[term] == 0
        return best

    def is_taken(self, part: int, start: int, end: int) -> bool:
        return any(p == part and s < end and start < e for p, s, e in self.taken)

    def is_parted(self, part: int, start: int, end: int) -> bool:
        return any(p == part and start < e <= end for p, s, e in self.taken)

    def window(self, part: int, start: int, end: int) -> tuple[Window, tuple[int, int, int]]:
        """The window around the characters ``start`` to ``end``, and what it takes."""
        text = self.parts[part]
        lowest = max((e for p, s, e in self.taken if p == part and e <= start), default=0)
        highest = min((s for p, s, e in self.taken if p == part and s >= end), default=len(text))
        left, right = self.context(text, start, end, lowest, highest)
        left, right, low, high = self.widen(part, left, right, start, end)
        found = [
            occurrence
            for occurrence in self.found
            if occurrence.part == part and occurrence.start < right and occurrence.end > left
        ]
        spans: list[tuple[int, int]] = []
        for occurrence in found:
            first, last = max(occurrence.start, left) - left, min(occurrence.end, right) - left
            if spans and first <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(last, spans[-1][1])
            else:
                spans.append((first, last))
        numbers = sorted({occurrence.term for occurrence in found})
        window = Window(
            text[left:right], left, right, tuple(spans), tuple(self.terms[n] for n in numbers), part, start
        )
        return window, (part, low, high)

    def context(self, text: str, start: int, end: int, lowest: int, highest: int) -> tuple[int, int]:
        patterns = _patterns()
        width = self.width
        if end - start >= width:
            return start, start + width
        left = max(lowest, start - (width - (end - start)) // 2)
        right = min(highest, left + width)
        left = max(lowest, right - width)
        if left > lowest and not patterns.space.match(text, left - 1):
            left = _match_end(patterns.to_start, text, left, start)
        left = _spaces(text, left, start)
        if right < highest and not (patterns.space.match(text, right) or patterns.start.match(text, right)):
            match = patterns.from_end.search(text, end, right)
            right = match.start() if match else right
        match = patterns.last_spaces.search(text, end, right)
        return left, match.start() if match else right

    def widen(self, part: int, left: int, right: int, start: int, end: int) -> tuple[int, int, int, int]:
        """The window with the tables it touches; and from where to where no further window begins."""
        text = self.parts[part]
        low, high = left, right
        for first, last in self.tables_of(part):
            if first >= right or last <= left:
                continue
            if max(right, last) - min(left, first) <= MAX_TABLE:
                left, right = min(left, first), max(right, last)
            elif first < end and last > start:
                left, right = first, _rows_end(text, first, last)
                return left, right, min(low, first), max(high, last)
            elif first >= end:
                right = max(end, first)
                right = _patterns().last_spaces.search(text, end, right).start()  # type: ignore[union-attr]
                return left, right, min(low, left), right
            else:
                left = _spaces(text, last, start)
                low = left
            low, high = min(low, left), max(high, right)
        return left, right, low, high

    def tables_of(self, part: int) -> list[tuple[int, int]]:
        if part not in self.tables:
            self.tables[part] = list(_tables(self.parts[part]))
        return self.tables[part]


def _match_end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = pattern.match(text, start, end)
    return match.end() if match else start


def _spaces(text: str, start: int, end: int) -> int:
    return _match_end(_patterns().spaces, text, start, end)


def _tables(text: str) -> Iterable[tuple[int, int]]:
    """Spans of the tables of a text, without the line feed at the end."""
    if "\n|" not in text:
        return
    position = 0
    rows = 0
    first = last = 0
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            first = first if rows else position
            last = position + len(line)
            rows += 1
        else:
            if rows > 1:
                yield first, last
            rows = 0
        position += len(line) + 1


def _rows_end(text: str, first: int, last: int) -> int:
    """Where the last row of a table ends that fits; a first row that does not is cut."""
    if last - first <= MAX_TABLE:
        return last
    end = text.rfind("\n", first, first + MAX_TABLE + 1)
    return end if end >= 0 else first + MAX_TABLE
