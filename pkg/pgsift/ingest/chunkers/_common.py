"""What the chunkers beside ``structure`` share: parameters, the parts of a text that are cut, and its headings."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

from pgsift.ingest.chunker import _UNIT, _UNSPACED, Block, Span, _bibliography, _complete, _trim

_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
#: No chunk, and no context, is larger than this many units.
LARGEST = 100_000


@dataclass(frozen=True, slots=True)
class Sized:
    """A chunker whose parameters are whole numbers: its fields."""

    kind: ClassVar[str]
    version: ClassVar[str]
    #: The smallest value of a parameter, where it is not 1.
    least: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        for name, value in self._values():
            low = self.least.get(name, 1)
            if not low <= value <= LARGEST:
                raise ValueError(f"{name} must be a whole number from {low} to {LARGEST:,}, not {value}")

    def _values(self) -> list[tuple[str, int]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    @property
    def name(self) -> str:
        """Name, version and parameters; stored with every document and part of its content hash."""
        return " ".join(
            [f"{self.kind}/{self.version}", *(f"{name}={value}" for name, value in self._values())]
        )

    @property
    def spec(self) -> str:
        """How it is asked for."""
        return f"{self.kind}:" + ",".join(f"{name}={value}" for name, value in self._values())


class Region(NamedTuple):
    """Characters ``start`` to ``end``, which begin and end with something to read, and hold no title and nothing
    that is skipped."""

    start: int
    end: int
    reference: bool


def regions(text: str, blocks: Sequence[Block]) -> Iterator[Region]:
    """The parts of a text in which a chunk may reach from one block into the next. A bibliography is one of its
    own."""
    found = _bibliography(text, blocks)
    references = len(text) + 1 if found is None else found
    start = end = -1
    for block in _complete(text, blocks):
        cut = block.kind in ("title", "skip")
        if start >= 0 and (cut or (start < references <= block.start)):
            yield Region(start, end, start >= references)
            start = -1
        if cut:
            continue
        low, high = _trim(text, block.start, block.end)
        if low < high:
            start, end = (low if start < 0 else start), high
    if start >= 0:
        yield Region(start, end, start >= references)


class Headings:
    """Under which headings a character stands."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        path: list[tuple[int, str]] = []
        for block in blocks:
            if block.kind == "heading":
                while path and path[-1][0] >= block.level:
                    path.pop()
                path.append((block.level, block.heading))
                self._starts.append(block.start)
                self._paths.append(tuple(name for _, name in path if name))

    def at(self, position: int) -> tuple[str, ...]:
        """The headings at a character, the outermost first; a heading stands under itself."""
        found = bisect_right(self._starts, position)
        return self._paths[found - 1] if found else ()


def units(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The units of a part of a text. Characters that Unicode's compatibility composition joins, and marks with
    what they are on, stay together: parted, they would be other words than they are."""
    found: list[tuple[int, int]] = []
    for match in _UNIT.finditer(text, start, end):
        low, high = match.span()
        if found and found[-1][1] == low and not _may_part(text[found[-1][0] : low], text[low:high]):
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script written without spaces."""
    return bool(_UNSPACED_CHARACTER.match(character))


def _may_part(before: str, after: str) -> bool:
    if after.isascii():
        return True
    if unicodedata.category(after[0]).startswith("M"):
        return False
    last, first = before[-8:], after[:8]
    whole = unicodedata.normalize("NFKC", last + first)
    return whole == unicodedata.normalize("NFKC", last) + unicodedata.normalize("NFKC", first)


def sections(text: str, spans: Sequence[Span]) -> list[list[int]]:
    """Numbers of the spans that follow each other within one section, with nothing but white space between; those
    of a bibliography are left out."""
    groups: list[list[int]] = []
    for number, span in enumerate(spans):
        if span.kind == "reference":
            continue
        before = spans[number - 1] if number else None
        if (
            before is not None
            and before.section == span.section
            and before.kind != "reference"
            and not text[before.end : span.start].strip()
        ):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups
