from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgsift.ingest.chunker import Block, BlockKind, Chunker, Span, size
from pgsift.ingest.cutting import table_headers
from pgsift.ingest.parsers import Format, parse


def bodies(text: str, kind: Format = "markdown", target: int = 20) -> list[str]:
    parsed = parse(text, kind)
    return [parsed.text[span.start : span.end] for span in Chunker(target).chunk(parsed.text, parsed.blocks)]


def spans(text: str, kind: Format = "markdown", target: int = 20) -> list[Span]:
    parsed = parse(text, kind)
    return Chunker(target).chunk(parsed.text, parsed.blocks)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", 0),
        ("one two  three\n", 3),
        ("日本語", 3),
        ("docker 船に", 3),
        ("สวัสดี", 6),
        ("naïve café", 2),
        ("a\u3000b", 2),
    ],
)
def test_size(text: str, units: int) -> None:
    assert size(text) == units


def test_paragraphs_join_up_to_the_target() -> None:
    text = "\n\n".join(f"{word} " + "x " * 7 + "end." for word in ("one", "two", "three", "four", "five"))
    assert [size(body) for body in bodies(text, "text")] == [18, 18, 9]


def test_headings_begin_chunks_and_make_the_path() -> None:
    text = "# Guide\n\nIntro.\n\n## Setup\n\n### Linux\n\nApt.\n\n### Mac\n\nBrew.\n\n## Use\n\nRun.\n"
    assert [(text[s.start : s.end], s.section) for s in spans(text, target=200)] == [
        ("Intro.", ()),
        ("## Setup\n\n### Linux\n\nApt.", ("Setup", "Linux")),
        ("### Mac\n\nBrew.", ("Setup", "Mac")),
        ("## Use\n\nRun.", ("Use",)),
    ]


def test_setext_headings_and_markup_in_headings() -> None:
    text = "Title *here*\n====\n\nBody.\n\nPart `one` of [two](http://x)\n---\n\nText."
    found = spans(text)
    assert [s.section for s in found] == [(), ("Part one of two",)]
    assert text[found[1].start : found[1].end] == "Part `one` of [two](http://x)\n---\n\nText."


def test_empty_sections_are_kept() -> None:
    text = "Text.\n\n## Empty\n\n## Full\n\nBody.\n\n## Last"
    assert [(text[s.start : s.end], s.kind) for s in spans(text)] == [
        ("Text.", "text"),
        ("## Empty", "section_header"),
        ("## Full\n\nBody.", "text"),
        ("## Last", "section_header"),
    ]


def test_tables_stand_alone_and_split_between_rows() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    found = spans(f"Before.\n\n{table}\n\nAfter.")
    assert [s.kind for s in found] == ["text", "table", "text"]
    rows = "\n".join(f"| {n} | value {n} |" for n in range(30))
    pieces = bodies(f"| n | v |\n|---|---|\n{rows}")
    assert len(pieces) > 3
    assert all(line.startswith("|") and line.endswith("|") for piece in pieces for line in piece.splitlines())


def test_code_is_kept_whole_when_it_fits() -> None:
    code = "```python\n# not a heading\n\ndef f():\n    return 1\n```"
    text = "word " * 15 + f"\n\n{code}\n\n" + "word " * 15
    assert code in bodies(text)


def test_a_long_paragraph_is_cut_between_sentences_into_equal_parts() -> None:
    sentence = "Dr. Smith saw e.g. six ships at 3.5 knots."
    pieces = bodies(" ".join([sentence] * 5), "text")
    assert all(piece.endswith("knots.") and piece.startswith("Dr.") for piece in pieces)
    assert [piece.count("Dr.") for piece in pieces] == [2, 2, 1]
    even = bodies("word " * 21, "text")
    assert [size(piece) for piece in even] == [10, 11]


def test_scripts_without_spaces() -> None:
    text = "红海早过了，船在印度洋面上开驶着。" * 4
    pieces = bodies(text, "text")
    assert "".join(pieces) == text
    assert all(piece.endswith("。") for piece in pieces)
    unbroken = "海" * 95
    assert [len(piece) for piece in bodies(unbroken, "text")] == [19] * 5
    # A vowel sign stays with its consonant.
    assert all(not piece.startswith("\u0e35") for piece in bodies("ที" * 50, "text", target=7))


def test_one_long_word_is_one_chunk() -> None:
    assert bodies("x" * 300_000, "text") == ["x" * 300_000]


def test_text_between_blocks_is_not_lost() -> None:
    text = "Para.\n\n[ref]: http://example.org 'words'\n\nMore."
    assert "[ref]: http://example.org 'words'" in "".join(bodies(text))
    assert Chunker().chunk("abc def", []) == [Span(0, 7)]
    assert Chunker().chunk("abc def", [Block(4, 7, "skip")]) == [Span(0, 3)]


def test_target_is_checked() -> None:
    for target in (0, -1, 10**9):
        with pytest.raises(ValueError, match="target size"):
            Chunker(target)


MARKDOWN = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=60),
        st.sampled_from(
            [
                "# H1",
                "## H2 *x*",
                "Setext\n===",
                "- item\n- item two\n\n  more",
                "| a | b |\n|---|---|\n| 1 | 2 |",
                "```\ncode\n\n# no\n```",
                "> quote\n> # h",
                "    indented",
                "<div>\nhtml",
                "[r]: http://x",
                "---",
                "***",
                "word. " * 40,
                "海。" * 30,
                "\r\n",
                "\r",
                "\t",
                "\0",
                "\u2028",
                "\x1c",
                "\x85",
                "a.b.c!?…)))",
                "1. one\n2. two",
            ]
        ),
    ),
    max_size=12,
).map("\n\n".join)


@given(MARKDOWN, st.sampled_from(["text", "markdown"]), st.integers(1, 30))
@example("# a\n\n# b", "markdown", 1)
@example("\ufeff---\na: b\n---\n", "markdown", 5)
@example("x\x1cy\x85z\u2028w", "text", 1)
def test_every_character_is_in_one_span(text: str, kind: Format, target: int) -> None:
    parsed = parse(text, kind)
    found = Chunker(target).chunk(parsed.text, parsed.blocks)
    covered = [False] * len(parsed.text)
    position = 0
    for span in found:
        assert position <= span.start < span.end <= len(parsed.text)
        body = parsed.text[span.start : span.end]
        assert body.strip() and body == body.rstrip()
        assert body == body.lstrip() or kind == "markdown"  # where code or a list was split
        covered[span.start : span.end] = [True] * (span.end - span.start)
        position = span.end
    for block in parsed.blocks:
        if block.kind in ("skip", "title"):
            covered[block.start : block.end] = [True] * (block.end - block.start)
    lost = [c for c, inside in zip(parsed.text, covered, strict=True) if not inside and not c.isspace()]
    assert lost == []


@given(st.text(max_size=400), st.integers(1, 20))
def test_plain_text_stays_within_the_target(text: str, target: int) -> None:
    # A vowel sign may come along with its letter.
    for body in bodies(text, "text", target):
        assert size(body) <= target + sum(1 for _ in filter(lambda c: not c.isalnum(), body))


def test_hostile_lengths_take_no_time() -> None:
    for text in (
        "." * 200_000,
        ".)" * 100_000,
        "\n " * 100_000,
        "a. " * 60_000,
        "((" * 100_000,
        "!" + ")" * 200_000,
    ):
        for kind in ("text", "markdown"):
            bodies(text, kind, 200)  # type: ignore[arg-type]


def test_a_table_stays_whole_up_to_three_times_the_target_and_has_its_caption() -> None:
    table = "| a | b |\n| --- | --- |\n" + "\n".join(f"| {n} | x |" for n in range(4))
    text = f"Words here.\n\nTable 1: numbers.\n\n{table}\n\nFigure 2: a pump.\n\nMore words."
    where = [text.index(part) for part in ("Words", "Table", "| a", "Figure", "More")]
    kinds: list[BlockKind] = ["paragraph", "caption", "table", "caption", "paragraph"]
    blocks = [
        Block(start, text.find("\n\n", start) if text.find("\n\n", start) > 0 else len(text), kind)
        for start, kind in zip(where, kinds, strict=True)
    ]
    assert [(s.kind, text[s.start : s.end]) for s in Chunker(12).chunk(text, blocks)] == [
        ("text", "Words here."),
        ("table", f"Table 1: numbers.\n\n{table}"),
        ("figure", "Figure 2: a pump."),
        ("text", "More words."),
    ]
    small = Chunker(8).chunk(text, blocks)
    pieces = [s for s in small if s.kind == "table"]
    assert len(pieces) > 1 and "\n".join(text[s.start : s.end] for s in pieces) == table
    assert [s.kind for s in small if s.kind != "table"] == ["text", "figure", "figure", "text"]
    headers = dict(zip(small, table_headers(text, blocks, small), strict=True))
    assert [headers[s] for s in pieces] == ["", *["| a | b |"] * (len(pieces) - 1)]
    assert {headers[s] for s in small if s.kind != "table"} == {""}


def test_a_caption_below_a_heading_goes_with_it() -> None:
    text = "Results\n\nFigure 1: a pump.\n\nIt ran."
    blocks = [Block(0, 7, "heading", 1, "Results"), Block(9, 26, "caption"), Block(28, 35, "paragraph")]
    assert [(s.kind, text[s.start : s.end]) for s in Chunker().chunk(text, blocks)] == [("text", text)]
