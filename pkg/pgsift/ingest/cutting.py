"""What stands with a chunk beside its text: what it repeats, the wider passage shown for it, and its prefix."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pgsift.ingest.chunker import Block, Span

#: Name and version of the prefix of title and section, part of a chunker's name where it is used.
PREFIX_VERSION = "prefix/1"
#: Between title and headings, as in the section of a hit.
_SEPARATOR = " > "


def placed(text: str, spans: Sequence[Span]) -> Iterator[tuple[dict[str, Any], int]]:
    """Of each span the members of a chunk that tell of its context, and how many characters at its head stand in
    a span before it.

    ``lead`` is the white space before a chunk that a context reaches over: with it the text of every context
    can be put together from chunks.
    """
    reached = 0
    for span in spans:
        members: dict[str, Any] = {}
        if span.context is not None:
            members["context_start"], members["context_end"] = span.context
            if span.context[0] <= reached < span.start:
                members["lead"] = text[reached : span.start]
        yield members, max(min(reached, span.end) - span.start, 0)
        reached = max(reached, span.end)


def repeated_tokens(analyze: Callable[[str], Sequence[str]], tokens: Sequence[str], head: str) -> int:
    """How many of the first tokens of a chunk lie in its ``head``, which the chunk before holds too. A token that
    reaches out of the head is one that the chunk before does not have."""
    count = 0
    for ours, theirs in zip(tokens, analyze(head), strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def headings_above(blocks: Sequence[Block], spans: Sequence[Span]) -> list[tuple[str, ...]]:
    """The headings that a chunk stands under and does not hold itself, the outermost first."""
    headings = [block for block in blocks if block.kind == "heading"]
    starts = [block.start for block in headings]
    above = []
    for span in spans:
        within = headings[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        inside = {block.heading for block in within}
        above.append(tuple(name for name in span.section if name not in inside))
    return above


def table_headers(text: str, blocks: Sequence[Block], spans: Sequence[Span]) -> list[str]:
    """Of spans that go on with a pipe table, its first line; else nothing. Indexed in front of them, it lets the
    rows be found, and be embedded, with what their columns are, while ``text[start:end]`` stays what they say."""
    tables = [block for block in blocks if block.kind == "table"]
    starts = [block.start for block in tables]
    headers = []
    for span in spans:
        number = bisect_left(starts, span.start) - 1
        header = ""
        if number >= 0 and span.start < tables[number].end:
            first, _, following = text[tables[number].start : tables[number].end].lstrip().partition("\n")
            second, _, _ = following.partition("\n")
            if first.startswith("|") and second.strip(" |:-\r") == "" and "-" in second:
                header = first.strip()
        headers.append(header)
    return headers


def prefix_text(title: str, above: Sequence[str]) -> str:
    """The prefix of a chunk; empty where there is nothing to say."""
    names = [name for name in (title, *above) if name.strip()]
    if len(names) > 1 and names[0] == names[1]:
        del names[0]
    return _SEPARATOR.join(names)
