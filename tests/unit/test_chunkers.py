"""Chunkers by their names: what holds of all of them on any text, and what is each one's own."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgsift.domain.analyzer import get_analyzer
from pgsift.errors import InvalidArgument
from pgsift.ingest.chunker import Block, Span, size
from pgsift.ingest.chunkers import (
    TextChunker,
    WindowChunker,
    chosen_chunker,
    chunker_names,
    load_chunker,
    register_chunker,
)
from pgsift.ingest.chunkers._common import units
from pgsift.ingest.cutting import headings_above, placed, prefix_text, repeated_tokens
from pgsift.ingest.parsers import parse

SPECS = (
    "structure:target=6",
    "window:words=7,overlap=3",
    "window:words=2,overlap=1",
    "window:words=5,overlap=0",
    "sentence_window:around=1,longest=8",
    "parent:target=4,longest=15",
    "page:longest=9",
    *("structure", "window", "sentence_window", "parent", "page"),
)
WORDS = (
    *("Red", "fox.", "a", "of-it", "get_user", "2.5", "ate", "?"),
    *("漢字かな交じり文。", "ไทย", "한국어다", "é", "e\u0301t", "ｶﾞﾊﾟ", "λόγος"),
)
BREAKS = (" ", " ", " ", "  ", "\n", "\n\n", "\n\n## Part one\n\n", "\n\n### Deeper\n\n", "\n\n- ", "\u3000", "")
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(BREAKS)), max_size=60).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


def cut(spec: str, source: str, kind: str = "markdown") -> tuple[str, list[Block], list[Span]]:
    parsed = parse(source, kind)  # type: ignore[arg-type]
    return parsed.text, parsed.blocks, load_chunker(spec).chunk(parsed.text, parsed.blocks)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SPECS), TEXTS, st.sampled_from(["text", "markdown"]))
@example("window:words=2,overlap=1", "漢字\u3000漢", "text")
def test_everything_that_is_read_lies_in_a_chunk(spec: str, source: str, kind: str) -> None:
    text, blocks, spans = cut(spec, source, kind)
    covered = bytearray(len(text))
    for before, span in itertools.pairwise([Span(0, 0), *spans]):
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip()
        assert span.end > before.end and span.start >= before.start
        if not spec.startswith("window"):
            assert span.start >= before.end
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    for block in blocks:
        if block.kind in ("title", "skip"):
            assert not any(covered[block.start : block.end])
            covered[block.start : block.end] = b"\1" * (block.end - block.start)
    assert all(there or character.isspace() for there, character in zip(covered, text, strict=True))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([spec for spec in SPECS if spec[0] in "sp" and spec != "structure"]), TEXTS)
def test_a_context_is_made_of_chunks_and_what_lies_between_them(spec: str, source: str) -> None:
    text, _, spans = cut(spec, source)
    leads = [members.get("lead", "") for members, _ in placed(text, spans)]
    for number, span in enumerate(spans):
        if span.context is None:
            continue
        start, end = span.context
        assert start <= span.start < span.end <= end and (start, end) != (span.start, span.end)
        inside = [place for place, other in enumerate(spans) if start <= other.start < end]
        assert number in inside and {spans[place].section for place in inside} == {span.section}
        put_together = "".join(
            (leads[place] if place > inside[0] else "") + text[spans[place].start : spans[place].end]
            for place in inside
        )
        assert put_together == text[start:end]


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(2, 9), st.integers(1, 8), st.sampled_from(["standard", "english", "identifiers"]))
@example("漢字かな交じり文。漢字かな交じり文。", 3, 1, "standard")
@example("한국어다 ｶﾞﾊﾟ한국어다", 2, 1, "english")
def test_what_windows_repeat_is_counted_once(source: str, words: int, overlap: int, name: str) -> None:
    """Less what is marked as repeated, the windows of a text have the terms of the text, each as often."""
    analyze = get_analyzer(name).analyze
    text = parse(source, "text").text
    overlap = min(overlap, words - 1)
    spans = WindowChunker(words, overlap).chunk(text, [])
    counted: Counter[str] = Counter()
    for span, (_, repeated) in zip(spans, placed(text, spans), strict=True):
        body = text[span.start : span.end]
        tokens = analyze(body).tokens
        count = repeated_tokens(lambda head: analyze(head).tokens, tokens, body[:repeated])
        counted.update(tokens[count:])
    assert counted == Counter(analyze(text).tokens)
    found = units(text, 0, len(text))
    for before, span in itertools.pairwise(spans):
        assert sum(span.start <= start < before.end for start, _ in found) == overlap


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 300), max_size=6), st.sampled_from([1, 4, 600]))
def test_no_chunk_of_pages_lies_on_two(source: str, places: Sequence[int], longest: int) -> None:
    text = parse(source, "text").text
    pages = sorted(min(place, len(text)) for place in [0, *places])
    for span in load_chunker(f"page:longest={longest}").chunk(text, [], pages):
        assert not any(span.start < page < span.end for page in pages)
        assert size(text[span.start : span.end]) <= max(longest, 2) or longest == 1


DOCUMENT = """# Winches

## Care

Oil the drum. Check the brake, then the cable. Write it down.

## Faults

The drum slips. The cable frays.

## References

Smith, A. 1999. On winches.
"""


def bodies(spec: str, source: str = DOCUMENT) -> list[str]:
    text, _, spans = cut(spec, source)
    return [text[span.start : span.end] for span in spans]


def shown(spec: str) -> list[str | None]:
    text, _, spans = cut(spec, DOCUMENT)
    return [None if span.context is None else text[slice(*span.context)] for span in spans]


def test_windows_overlap_across_sections_and_stop_at_the_bibliography() -> None:
    text, _, spans = cut("window:words=9,overlap=3", DOCUMENT)
    assert bodies("window:words=9,overlap=3") == [
        "## Care\n\nOil the drum. Check the brake, then",
        "the brake, then the cable. Write it down.\n\n##",
        "it down.\n\n## Faults\n\nThe drum slips. The cable",
        "slips. The cable frays.",
        "## References\n\nSmith, A. 1999. On winches.",
    ]
    assert [span.kind for span in spans] == ["text"] * 4 + ["reference"]
    assert [span.section for span in spans] == [("Care",), ("Care",), ("Faults",), ("Faults",), ("References",)]
    assert [members for members, _ in placed(text, spans)] == [{}] * 5


def test_a_sentence_is_found_and_its_neighbours_are_shown() -> None:
    assert bodies("sentence_window:around=1") == [
        "## Care\n\nOil the drum.",
        "Check the brake, then the cable.",
        "Write it down.",
        "## Faults\n\nThe drum slips.",
        "The cable frays.",
        "## References\n\nSmith, A. 1999. On winches.",
    ]
    assert shown("sentence_window:around=1") == [
        "## Care\n\nOil the drum. Check the brake, then the cable.",
        "## Care\n\nOil the drum. Check the brake, then the cable. Write it down.",
        "Check the brake, then the cable. Write it down.",
        "## Faults\n\nThe drum slips. The cable frays.",
        "## Faults\n\nThe drum slips. The cable frays.",
        None,
    ]


def test_a_small_chunk_is_found_and_its_section_is_shown() -> None:
    care = "## Care\n\nOil the drum. Check the brake, then the cable. Write it down."
    assert bodies("parent:target=8")[:2] == ["## Care\n\nOil the drum.", "Check the brake, then the cable."]
    assert shown("parent:target=8")[:2] == [care, care]
    # A section that is too long is shown in parts.
    assert shown("parent:target=5,longest=10")[0] != care


def test_pages_without_pages_are_as_long_as_they_may_be() -> None:
    assert len(bodies("page")) == 2
    assert max(size(body) for body in bodies("page:longest=8")) <= 8


def test_the_prefix_says_what_the_chunk_does_not() -> None:
    source = "# T\n\n## A\n\n### B\n\none two three. four five six. seven eight nine."
    _, blocks, spans = cut("structure:target=7", source)
    above = headings_above(blocks, spans)
    assert above[0] == () and above[1:] == [("A", "B")] * (len(spans) - 1) and len(spans) > 1
    assert prefix_text("T", above[1]) == "T > A > B"
    assert (prefix_text("", ("A",)), prefix_text("A", ("A", "B")), prefix_text("", ())) == ("A", "A > B", "")


def test_chunkers_are_known_by_names() -> None:
    assert chunker_names()[:5] == ("structure", "window", "sentence_window", "parent", "page")
    assert load_chunker("structure").name == "structure/3 target=150"
    assert load_chunker("window").name == "window/1 words=200 overlap=40"
    assert load_chunker("window:words=150,overlap=30").spec == "window:words=150,overlap=30"
    for name in chunker_names()[:5]:
        chunker = load_chunker(name)
        assert isinstance(chunker, TextChunker)
        assert load_chunker(chunker.spec) == chunker
    assert chosen_chunker(None).name == "structure/3 target=150"
    assert chosen_chunker(None, 60).spec == "structure:target=60"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "does not name a chunker"),
        ("Window", "does not name a chunker"),
        ("window:words", "does not name a chunker"),
        ("windows", "unknown chunker 'windows'"),
        ("window:size=3", "does not take these parameters: size"),
        ("window:words=9,words=8", "words twice"),
        ("window:words=0,overlap=0", "words must be a whole number from 1"),
        ("window:words=40", "overlap must be less than words (40), not 40"),
        ("parent:longest=3", "longest must be at least target (60), not 3"),
        ("structure:target=0", "between 1 and 100,000 units"),
        ("page:longest=100001", "to 100,000"),
    ],
)
def test_what_is_no_chunker_is_refused(spec: str, said: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        load_chunker(spec)
    assert said in str(refused.value)


def test_a_chunker_of_ones_own() -> None:
    class Whole:
        name, spec = "whole/1", "whole"

        def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
            del blocks, pages
            return [Span(0, len(text))] if text.strip() else []

    with pytest.raises(InvalidArgument, match="there is a chunker 'page'"):
        register_chunker("page", Whole)
    with pytest.raises(InvalidArgument, match="is no name"):
        register_chunker("Whole!", Whole)
    register_chunker("whole_for_a_test", Whole)
    assert load_chunker("whole_for_a_test").chunk("a b", []) == [Span(0, 3)]
    with pytest.raises(InvalidArgument, match="is the target of the chunker structure"):
        chosen_chunker("window", 60)
