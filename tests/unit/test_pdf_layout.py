"""What a reader sees on a page, and what comes out of it: order, tables, captions, notes."""

from __future__ import annotations

import random
import re
import textwrap

import pytest
from documents import page_of, prose, raw_pdf, text_at
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pypdfium2")

from pgsift.ingest.formats import Limits
from pgsift.ingest.formats.layout import Word, caption_of, page_lines
from pgsift.ingest.formats.pdf import read
from pgsift.ingest.parsers import Parsed


def parsed(*pages: bytes, **options: object) -> Parsed:
    return read(raw_pdf(pages, **options), Limits())  # type: ignore[arg-type]


def shape(document: Parsed) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def column(text: str, x: float, top: float, *, width: float = 230, size: float = 9, step: float = 11) -> bytes:
    """A paragraph whose lines are about as wide as said, in points."""
    return page_of(textwrap.wrap(text, int(width / (0.48 * size))), x=x, top=top, size=size, step=step)


def table(rows: list[list[str]], x: list[float], top: float, *, size: float = 9, step: float = 12) -> bytes:
    return b"".join(
        text_at(at, top - step * number, cell, size)
        for number, row in enumerate(rows)
        for at, cell in zip(x, row, strict=True)
        if cell
    )


LEFT, RIGHT = prose(182, 1), prose(182, 2)


def order(document: Parsed, *parts: str) -> bool:
    """Whether the parts stand in the text, whole and in this order."""
    text = " ".join(document.text.split())
    places = [text.find(" ".join(part.split())) for part in parts]
    return -1 not in places and places == sorted(places)


def test_three_columns_of_different_width() -> None:
    aside = prose(48, 3)
    content = text_at(60, 740, "A title that goes across all of the page in larger type", 18)
    content += column(aside, 40, 700, width=75, size=7, step=9)
    content += column(LEFT, 140, 700, width=190, size=8, step=10) + column(
        RIGHT, 360, 700, width=190, size=8, step=10
    )
    document = parsed(content)
    assert order(document, "A title that goes across all of the page in larger type", aside, LEFT, RIGHT)


def test_a_table_within_a_column_hides_no_column() -> None:
    rows = [["pump", "bar", "state"], *([f"P{number}", f"{number}.5", "open"] for number in range(12))]
    content = column(LEFT, 50, 700) + text_at(330, 700, "Table 1: what was measured", 9)
    content += table(rows, [330, 420, 500], 686) + column(prose(70, 4), 330, 500)
    document = parsed(content)
    assert order(document, LEFT, "Table 1: what was measured", prose(70, 4))
    (found,) = [text for kind, text in shape(document) if kind == "table"]
    assert found.splitlines()[0] == "| pump | bar | state |" and len(found.splitlines()) == 14


def test_a_table_across_both_columns_is_one() -> None:
    rows = [["pump", "bar", "rpm", "state"], *([f"P{n}", f"{n}.5", f"{n}00", "open"] for n in range(1, 5))]
    content = column(prose(70, 1), 50, 720) + column(prose(70, 2), 330, 720)
    content += text_at(
        60, 590, "Table 2: pumps, their pressures and their speeds in all of the halls of the works", 9
    )
    content += (
        table(rows, [60, 200, 380, 500], 576) + column(prose(70, 3), 50, 500) + column(prose(70, 4), 330, 500)
    )
    document = parsed(content)
    (found,) = [text for kind, text in shape(document) if kind == "table"]
    assert found == "\n".join(
        [
            "| pump | bar | rpm | state |",
            "| --- | --- | --- | --- |",
            *("| " + " | ".join(row) + " |" for row in rows[1:]),
        ]
    )
    assert order(document, prose(70, 1), prose(70, 2), "Table 2: pumps", found, prose(70, 3), prose(70, 4))


def test_a_table_whose_first_cells_are_empty() -> None:
    rows = [["", "2019", "2020"], ["pumps", "11", "12"], ["", "13", ""], ["valves", "", "15"]]
    (found,) = [text for kind, text in shape(parsed(table(rows, [72, 200, 300], 700))) if kind == "table"]
    assert (
        found == "|  | 2019 | 2020 |\n| --- | --- | --- |\n| pumps | 11 | 12 |\n|  | 13 |  |\n| valves |  | 15 |"
    )


@pytest.mark.parametrize(("caption", "tables"), [("Table 3. Two pumps", 1), ("Of two pumps this is known", 0)])
def test_two_rows_are_a_table_where_a_caption_says_so(caption: str, tables: int) -> None:
    content = text_at(72, 720, caption, 10) + table([["pump", "bar"], ["P1", "3.5"]], [72, 200], 704)
    kinds = [kind for kind, _ in shape(parsed(content))]
    assert kinds.count("table") == tables
    assert kinds.count("caption") == tables


def test_a_cell_that_goes_on_below_is_one_cell() -> None:
    lines = [["pump", "what it does", "bar"], ["P1", "lifts the water of", "3.5"], ["", "the upper hall", ""]]
    more = [["P2", "cools the turbine", "4.0"], ["P3", "is kept for", "5.0"], ["", "the night", ""]]
    content = table(lines, [72, 160, 320], 700, step=10) + table(more[:1], [72, 160, 320], 664, step=10)
    content += table(more[1:], [72, 160, 320], 644, step=10) + table([["P4", "idle", "0"]], [72, 160, 320], 616)
    (found,) = [text for kind, text in shape(parsed(content)) if kind == "table"]
    assert "| P1 | lifts the water of the upper hall | 3.5 |" in found
    assert "| P3 | is kept for the night | 5.0 |" in found


def test_a_caption_below_its_table_comes_before_it() -> None:
    rows = [["pump", "bar"], ["P1", "3.5"], ["P2", "4.0"]]
    content = table(rows, [72, 200], 700) + text_at(72, 655, "Table 4: pressures", 9)
    assert [kind for kind, _ in shape(parsed(content))] == ["caption", "table"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Figure 1: A pump", "figure"),
        ("Fig. 12. The valve", "figure"),
        ("FIGURE 3 | Speeds", "figure"),
        ("Table IV. Results", "table"),
        ("Tabelle 2: Drücke", "table"),
        ("Tables are turned", None),
        ("Figures of speech", None),
        ("The figure 1", None),
    ],
)
def test_captions(text: str, kind: str | None) -> None:
    assert caption_of(text) == kind


def test_a_sentence_that_begins_with_a_figure_is_no_caption() -> None:
    lines = [
        "The pressure was measured in every hall, as it is shown in",
        "Figure 3 shows the speeds, and then some more of them here",
    ]
    assert [kind for kind, _ in shape(parsed(page_of(lines)))] == ["paragraph"]


def note_pages() -> tuple[bytes, ...]:
    one = column(prose(150, 5), 50, 700) + column("7 A note on the gauges, in small type.", 50, 390, size=7)
    one += column(prose(140, 6) + " It goes on and", 330, 700)
    two = text_at(50, 740, "Table 1: a table at the head", 8)
    two += table([["a", "b"], ["1", "2"], ["3", "4"]], [50, 150], 728, size=8)
    two += column("on until the second page of the report is reached.", 50, 660) + column(prose(140, 7), 50, 600)
    return one, two + column(prose(140, 8), 330, 700)


def test_what_stands_between_the_parts_of_a_paragraph_comes_after_it_with_its_own_page() -> None:
    document = parsed(*note_pages())
    broken = "It goes on and on until the second page of the report is reached."
    assert order(document, broken, "Table 1: a table at the head", "| a | b |")
    place = document.text.index(broken)
    pages = [
        document.page(place),
        document.page(place + len("It goes on and ")),
        document.page(document.text.index("7 A note")),
    ]
    assert pages == [1, 2, 1]
    breaks = document.page_breaks(place, place + len(broken))
    assert breaks == [(len("It goes on and "), 2)]


def test_a_note_below_a_column_does_not_part_its_sentence() -> None:
    text = prose(100, 9).split()
    content = column(" ".join(text[:63]), 50, 700) + column(
        "3 Measured twice, by two people of the works.", 50, 590, size=7
    )
    content += column(" ".join(text[63:]), 330, 700) + column(prose(80, 10), 330, 600)
    document = parsed(content)
    assert order(document, " ".join(text))
    assert document.text.index("3 Measured twice") > document.text.index(text[-1])


def test_heads_of_left_and_right_pages_and_numbers_are_left_out() -> None:
    def page(number: int) -> bytes:
        head = (
            text_at(72, 770, f"{number} The pumps of Rome", 8)
            if number % 2
            else text_at(400, 770, f"Chapter two {number}", 8)
        )
        return head + column(prose(80, number), 72, 700, width=440) + text_at(300, 30 + number % 2, str(number), 9)

    document = parsed(*(page(number) for number in range(1, 7)))
    assert "Rome" not in document.text and "Chapter" not in document.text
    assert not re.search(r"\d", document.text)


@pytest.mark.parametrize("x", [40, 560])
def test_numbers_of_lines_are_left_out_and_numbers_of_rows_are_not(x: float) -> None:
    content = column(prose(140, 1), 72, 700, width=440)
    lines = content.count(b"Tj")
    content += b"".join(text_at(x, 700 - 11 * number, str(number + 1), 8) for number in range(lines))
    assert parsed(content).text == prose(140, 1)
    rows = [["", "pump", "bar"], *([str(number), f"P{number}", f"{number}.5"] for number in range(1, 9))]
    assert "| 8 | P8 | 8.5 |" in parsed(table(rows, [40, 80, 200], 700)).text


def test_names_below_a_title_are_no_headings() -> None:
    content = text_at(72, 740, "Pumps of the ancient world", 20) + text_at(
        72, 715, "Ada Lovelace and Charles Babbage", 13
    )
    content += text_at(72, 690, "Abstract", 13) + column(prose(120, 1), 72, 670, width=440)
    document = parsed(content)
    assert [text for kind, text in shape(document) if kind in ("heading", "title")] == [
        "Pumps of the ancient world",
        "Abstract",
    ]


def test_a_numbered_heading_in_capitals() -> None:
    content = column(prose(70, 1), 72, 740, width=440) + text_at(200, 640, "II. RELATED WORK", 9)
    content += column(prose(70, 2), 72, 628, width=440)
    assert ("heading", "II. RELATED WORK") in shape(parsed(content))


def test_a_page_that_cannot_be_read_costs_itself_alone() -> None:
    whole = raw_pdf([page_of(["The first page."]), page_of(["The second page."]), page_of(["The third page."])])
    marks = [match.start() for match in re.finditer(rb"<< /Type /Page /Parent", whole)]
    end = whole.index(b"\nendobj", marks[1])
    document = read(whole[: marks[1]] + b"null".ljust(end - marks[1]) + whole[end:], Limits())
    assert document.text == "The first page.\n\nThe third page."
    assert document.metadata["pages_unread"] == [2]
    assert document.page(document.text.index("third")) == 3


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(0, 10_000), st.booleans())
def test_no_word_is_lost_or_said_twice(count: int, seed: int, grid: bool) -> None:
    chance = random.Random(seed)
    words = []
    for number in range(count):
        x, y = (
            (chance.randrange(12) * 45.0, chance.randrange(50) * 14.0)
            if grid
            else (chance.uniform(0, 560), chance.uniform(0, 760))
        )
        size = chance.choice([6.0, 9.0, 9.0, 14.0])
        words.append(Word(f"w{number}", x, y, x + chance.uniform(4, 60), y + size, size, base=y + 0.8 * size))
    found = [
        word.text
        for region in page_lines(words)
        for line in region
        for part in line.segments
        for word in part.words
    ]
    assert sorted(found) == sorted(word.text for word in words)
