"""The chunkers ``sentence_window`` and ``parent``: what is searched is small, what is shown is larger.

Both mark with each chunk the characters of its context (:attr:`Span.context`), which lies within its section and
holds the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pgsift.ingest.chunker import (
    Block,
    BlockKind,
    Chunker,
    Span,
    _bare_lines,
    _bibliography,
    _Builder,
    _pack,
    _pieces,
    _sentences,
    size,
)
from pgsift.ingest.chunkers._common import Sized, sections


@dataclass(frozen=True, slots=True)
class SentenceWindowChunker(Sized):
    """A chunk is a sentence, with the headings right above it; its context is that and up to ``around``
    chunks on either side within the section. A table, a list item and a block of code are one chunk, and what
    is over ``longest`` units is split, and the bibliography cut, as by ``structure``. Chunks do not overlap."""

    around: int = 2
    longest: int = 150
    kind: ClassVar[str] = "sentence_window"
    version: ClassVar[str] = "1"

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the sentences; ``pages`` do not matter here."""
        del pages
        spans = _Sentences(text, self.longest, _bibliography(text, blocks)).build(blocks)
        for group in sections(text, spans):
            of_group = [spans[number] for number in group]
            for place, number in enumerate(group):
                first = of_group[max(place - self.around, 0)]
                last = of_group[min(place + self.around, len(group) - 1)]
                spans[number] = _shown(of_group[place], first.start, last.end)
        return spans


@dataclass(frozen=True, slots=True)
class ParentChunker(Sized):
    """A chunk is one of ``structure`` of up to ``target`` units; its context is its section, and of a section of
    more than ``longest`` units the part that the chunk is in, parts being of about equal size. A
    document without headings is one section."""

    target: int = 60
    longest: int = 600
    kind: ClassVar[str] = "parent"
    version: ClassVar[str] = "1"

    def __post_init__(self) -> None:
        Sized.__post_init__(self)
        if self.longest < self.target:
            raise ValueError(f"longest must be at least target ({self.target}), not {self.longest}")

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the chunks; ``pages`` do not matter here."""
        del pages
        spans = Chunker(self.target).chunk(text, blocks)
        for group in sections(text, spans):
            pieces = [
                (span.start, span.end, size(text[span.start : span.end]))
                for span in (spans[number] for number in group)
            ]
            numbers = iter(group)
            for start, end in _pack(pieces, self.longest, self.longest):
                for number in numbers:
                    spans[number] = _shown(spans[number], start, end)
                    if spans[number].end == end:
                        break
        return spans


def _shown(span: Span, start: int, end: int) -> Span:
    return span if (start, end) == (span.start, span.end) else replace(span, context=(start, end))


class _Sentences(_Builder):
    """A chunk for each sentence; headings wait for the first sentence under them."""

    def add(self, kind: BlockKind, start: int, end: int) -> None:
        if self.in_references:
            super().add(kind, start, end)
            return
        if kind != "paragraph":
            super().add(kind, start, end)
            self.flush()
            return
        for low, high in _sentences(self.text, start, end):
            for piece in _pieces(self.text, low, high, (_bare_lines,), self.target):
                self.extend(*piece)
                self.flush()
