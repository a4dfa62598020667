"""The chunker ``page``: a page is a chunk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pgsift.ingest.chunker import Block, ChunkKind, Span, _split, _trim, size
from pgsift.ingest.chunkers._common import Headings, Sized, regions


@dataclass(frozen=True, slots=True)
class PageChunker(Sized):
    """A chunk is a page (a slide, a sheet); one of more than ``longest`` units is split between sentences into
    parts of about equal size. No chunk reaches over the end of a page, be it in the middle of a sentence. A
    text without pages is one page. A chunk belongs to the section in which it begins."""

    longest: int = 600
    kind: ClassVar[str] = "page"
    version: ClassVar[str] = "1"

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the pages."""
        headings = Headings(blocks)
        spans: list[Span] = []
        for region in regions(text, blocks):
            position = region.start
            while position < region.end:
                following = bisect_right(pages, position)
                stop = min(pages[following], region.end) if following < len(pages) else region.end
                start, end = _trim(text, position, stop)
                position = stop
                if start == end:
                    continue
                parts = [(start, end)]
                if size(text[start:end]) > self.longest:
                    parts = _split(text, start, end, "paragraph", self.longest, self.longest)
                kind: ChunkKind = "reference" if region.reference else "text"
                spans += [Span(low, high, kind, headings.at(low)) for low, high in parts]
        return spans
