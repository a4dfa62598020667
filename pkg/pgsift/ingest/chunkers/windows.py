"""The chunker ``window``: so many words, of which the last stand at the head of the next chunk again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pgsift.ingest.chunker import Block, Span
from pgsift.ingest.chunkers._common import Headings, Sized, is_unspaced, regions, units


@dataclass(frozen=True, slots=True)
class WindowChunker(Sized):
    """Windows of ``words`` units that overlap by ``overlap``, whatever they cut through: sentences, tables,
    headings. The last of a text may be shorter. A window belongs to the section in which what is new in it
    begins. A window neither reaches into the bibliography nor out of it.

    Where the first character of a run without spaces would be the last of a window, the next is taken in too:
    pairs of such characters are the terms, and one alone would be a term that the text does not have."""

    words: int = 200
    overlap: int = 40
    kind: ClassVar[str] = "window"
    version: ClassVar[str] = "1"
    least: ClassVar[dict[str, int]] = {"overlap": 0}

    def __post_init__(self) -> None:
        # super() does not work in a dataclass with slots.
        Sized.__post_init__(self)
        if self.overlap >= self.words:
            raise ValueError(f"overlap must be less than words ({self.words}), not {self.overlap}")

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the windows; ``pages`` do not matter here."""
        del pages
        headings = Headings(blocks)
        spans: list[Span] = []
        for region in regions(text, blocks):
            found = units(text, region.start, region.end)
            low = 0
            while True:
                high = _whole(text, found, min(low + self.words, len(found)))
                new = found[low + self.overlap if low else 0][0]
                spans.append(
                    Span(
                        found[low][0],
                        found[high - 1][1],
                        "reference" if region.reference else "text",
                        headings.at(new),
                    )
                )
                if high == len(found):
                    break
                low = high - self.overlap
        return spans


def _whole(text: str, found: Sequence[tuple[int, int]], high: int) -> int:
    if 0 < high < len(found):
        start, end = found[high - 1]
        begins = high == 1 or found[high - 2][1] < start or not is_unspaced(text[start - 1])
        if begins and found[high][0] == end and is_unspaced(text[start]) and is_unspaced(text[end]):
            return high + 1
    return high
