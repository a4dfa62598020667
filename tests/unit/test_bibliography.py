"""The bibliography of a document: kept in the text, of kind ``reference``."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.ingest.chunker import Chunker, Span
from pgsift.ingest.parsers import Format, parse


def chunked(text: str, kind: Format = "markdown", target: int = 30) -> tuple[str, list[Span]]:
    parsed = parse(text, kind)
    return parsed.text, Chunker(target).chunk(parsed.text, parsed.blocks)


PAPER = "# Pumps\n\nThey fail.\n\n## {heading}\n\n[1] A. Smith. Pumps. 1999.\n\n## Appendix\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


@pytest.mark.parametrize(
    "heading",
    [
        "References", "REFERENCES", "references", "Bibliography", "Works Cited", "Literature cited", "7 References", "7. References",
        "7.1 References", "VII. References", "A. Bibliography", "References:", "References.", "7) Works  Cited :", "**References**",
        "[8] References", "§ 4 References", "7 – References", "References ##", "References {#refs .unnumbered}",
        "References {-}", "References¶", "References[edit]",
    ],
)  # fmt: skip
def test_headings_that_are_one(heading: str) -> None:
    text, spans = chunked(PAPER.format(heading=heading))
    assert [span.kind for span in spans[:1]] == ["text"]
    start = text.index("## " + heading)
    assert [span.kind for span in spans if span.start >= start] == ["reference"] * 2
    assert text[spans[1].start : spans[1].end].endswith("1999.")


@pytest.mark.parametrize(
    "heading",
    [
        "References to prior work", "Reference architecture", "Reference", "Cross-references", "Preferences", "Bibliography of the author",
        "Literature", "Works", "Cited works", "The References", "References and Notes", "Annotated bibliography", "in References",
    ],
)  # fmt: skip
def test_headings_that_are_not(heading: str) -> None:
    _, spans = chunked(PAPER.format(heading=heading))
    assert {span.kind for span in spans} == {"text", "section_header", "table"} - {"section_header"}


def test_the_last_one_counts() -> None:
    text, spans = chunked("# A\n\n## References\n\nWhat they are.\n\n## Method\n\nWe cite.\n\n# Works cited\n\n[1] B.\n")
    assert [(span.kind, text[span.start : span.end].split("\n")[0]) for span in spans] == [
        ("text", "## References"),
        ("text", "## Method"),
        ("reference", "# Works cited"),
    ]


def test_a_heading_that_waits_for_text_does_not_join_it() -> None:
    text, spans = chunked("# A\n\nText.\n\n## Back matter\n\n### References\n\n[1] B.\n")
    assert [(span.kind, text[span.start : span.end]) for span in spans] == [
        ("text", "Text."),
        ("section_header", "## Back matter"),
        ("reference", "### References\n\n[1] B."),
    ]


def test_html() -> None:
    page = (
        "<html><head><title>Pumps</title></head><body><article><h1>Pumps</h1><p>They fail when the seal is worn out.</p>"
        "<h2>References</h2><ol><li>A. Smith. Pumps and their seals, a survey. 1999.</li></ol></article></body></html>"
    )
    text, spans = chunked(page, "html")
    assert [(span.kind, "They fail" in text[span.start : span.end]) for span in spans] == [
        ("text", True),
        ("reference", False),
    ]


def test_plain_text() -> None:
    text = "They fail.\n\nMuch is said in references\nelsewhere.\n\n7. REFERENCES\n[1] A. Smith.\n\n[2] B.\n"
    _, spans = chunked(text, "text", target=6)
    assert [(span.kind, text[span.start : span.end]) for span in spans] == [
        ("text", "They fail."),
        ("text", "Much is said in references\nelsewhere."),
        ("reference", "7. REFERENCES\n[1] A. Smith."),
        ("reference", "[2] B."),
    ]
    # A text that begins with the word is about it.
    assert [span.kind for span in chunked("References\n\nare good.", "text")[1]] == ["text"]


pieces = st.sampled_from(
    ["# References\n", "## Method\n", "References\n", "text here. And more\n", "\n", "- item\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "```\ncode\n```\n",
     "## References to it\n", "* * *\n", "Bibliography\n===\n", "7 Works cited\n---\n", "word " * 40 + "\n", "日本語。" * 20 + "\n"]
)  # fmt: skip


@given(st.lists(pieces, max_size=12).map("".join), st.sampled_from(["markdown", "text"]), st.integers(1, 40))
def test_the_text_stays_as_it_is(source: str, kind: Format, target: int) -> None:
    text, spans = chunked(source, kind, target)
    kinds = [span.kind == "reference" for span in spans]
    assert kinds == sorted(kinds)  # from somewhere to the end
    position = 0
    for span in spans:
        assert position <= span.start < span.end
        position = span.end
    # What is not white space is in exactly one span: as many characters as without bibliographies, the headings that are titles left out.
    covered = "".join(text[span.start : span.end] for span in spans)
    titles = [block for block in parse(source, kind).blocks if block.kind in ("title", "skip")]
    left_out = "".join(text[block.start : block.end] for block in titles)
    assert sorted("".join(covered.split()) + "".join(left_out.split())) == sorted("".join(text.split()))
