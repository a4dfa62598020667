from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.errors import InvalidDocument
from pgsift.ingest.parsers import Format, decode, parse, parser_name

needs_trafilatura = pytest.mark.skipif(
    importlib.util.find_spec("trafilatura") is None, reason="the extra html is not installed"
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"caf\xc3\xa9", "café"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        ("café".encode("utf-16"), "café"),
        (b"\xfe\xff" + "café".encode("utf-16-be"), "café"),
        (b"", ""),
    ],
)
def test_encodings(content: bytes, expected: str) -> None:
    assert parse(content).text == expected


def test_a_byte_order_mark_that_lies_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="not utf-8, though its byte order mark says so"):
        parse(b"\xef\xbb\xbf\xff")


def test_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="unknown format 'doc'"):
        parse("x", "doc")  # type: ignore[arg-type]


def test_nul_and_surrogates_are_counted() -> None:
    parsed = parse("a\0b \ud800")
    assert (parsed.text, parsed.cleaned) == ("a b \ufffd", 2)


@pytest.mark.parametrize(
    ("text", "title", "kinds"),
    [
        ("# Guide\n\nText", "Guide", ["title", "paragraph"]),
        ("\n\n# Guide\n\nText", "Guide", ["title", "paragraph"]),
        ("Guide\n=====\n\nText", "Guide", ["title", "paragraph"]),
        ("Badge.\n\n# Guide\n\nText", "Guide", ["paragraph", "heading", "paragraph"]),
        ("## Only second\n\nText", None, ["heading", "paragraph"]),
        ("#hash\n\nText", None, ["paragraph", "paragraph"]),
        ("---\ntitle: Given\n---\n# Guide\n", "Given", ["skip", "heading"]),
        ("---\ntitle: guide\n---\n# Guide\n", "guide", ["skip", "title"]),
        ('+++\r\ntitle = "Toml"\r\n+++\r\nText', "Toml", ["skip", "paragraph"]),
        ("#\n\n# Second", "Second", ["heading", "heading"]),
    ],
)
def test_markdown_titles(text: str, title: str | None, kinds: list[str]) -> None:
    parsed = parse(text, "markdown")
    assert parsed.title == title
    assert [block.kind for block in parsed.blocks] == kinds


def test_front_matter() -> None:
    text = (
        "---\ntitle: A title\ntags: [x, y]\ndate: 2024-02-29\nlang: de\nlicense: CC0-1.0\n"
        "acl: [public]\n---\n"
        "Text\n"
    )
    parsed = parse(text, "markdown")
    assert parsed.title == "A title"
    assert (parsed.language, parsed.license) == ("de", "CC0-1.0")
    assert set(parsed.metadata) == {"tags", "date", "acl"}
    assert text[parsed.blocks[0].end :] == "Text\n"


def test_front_matter_loses_nothing() -> None:
    text = "---\ntitle: {a: 1}\ntags: [MIT, CC0]\nlanguage:\nlang: de\nn: .inf\n---\n# Heading\n"
    parsed = parse(text, "markdown")
    assert (parsed.title, parsed.language, parsed.license) == ("Heading", "de", None)
    assert parsed.metadata == {"title": {"a": 1}, "tags": ["MIT", "CC0"], "n": float("inf")}
    assert parse("---\ntitle: 2024-02-29\n---\nx", "markdown").title == "2024-02-29"
    assert parse("---\ntitle:\nlicense: ''\n---\nx", "markdown").metadata == {}


def test_what_front_matter_says_of_its_document() -> None:
    parsed = parse(
        "---\nClassification: secret\nretain-until: 2031-01-02\nvalid_from: 2024-02-29T10:00:00+02:00\n"
        "valid to: '2025-01-01'\n---\nx",
        "markdown",
    )
    assert (parsed.classification, parsed.retain_until) == ("secret", "2031-01-02")
    assert (parsed.valid_from, parsed.valid_to) == ("2024-02-29T10:00:00+02:00", "2025-01-01")
    assert (parsed.observed_at, parsed.metadata) == (None, {})
    toml = parse('+++\nclassification = "secret"\nobserved_at = 2024-02-29\nlicense = "MIT"\n+++\nx', "markdown")
    assert (toml.classification, toml.observed_at, toml.license) == ("secret", "2024-02-29", "MIT")
    assert parse("---\nclassification:\nretain_until: ''\n---\nx", "markdown").metadata == {}
    both = parse("---\nlanguage: English\nlang: en\n---\nx", "markdown")
    assert (both.language, both.metadata) == ("English", {"lang": "en"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nclassification: [secret]\n---\nx", "classification in the front matter is ['secret'], not a text"),
        ("---\nclassification: 3\n---\nx", "classification in the front matter is 3, not a text"),
        ("---\nclassification: no\n---\nx", "classification in the front matter is False, not a text"),
        ("---\nclassification: ' '\n---\nx", "classification in the front matter is empty"),
        ("---\nclassification: ''\n---\nx", "classification in the front matter is empty"),
        ("---\nclassification: open\nClassification: secret\n---\nx", "says classification twice"),
        ("---\nlicense: {name: MIT}\n---\nx", "license in the front matter is {'name': 'MIT'}, not a text"),
        ("---\nlanguage: no\n---\nx", "language in the front matter is False, not a text"),
        ("---\nretain_until: 2031\n---\nx", "retain_until in the front matter is 2031, not a date or time"),
        ("---\nretain_until: soon\n---\nx", "retain_until in the front matter is 'soon', not a date or time"),
        ("---\nvalid_from: [2024-01-01]\n---\nx", "valid_from in the front matter is"),
        ("+++\nvalid_to = 10:00:00\n+++\nx", "valid_to in the front matter is"),
        ("---\nclassification: secret\nb: [unclosed\n---\nx", "cannot be read, and names classification"),
        ("---\na: &x secret\nRetain-Until: *x\n---\nx", "cannot be read, and names retain-until"),
        ("---\rclassification: secret\r# never closed", "cannot be read, and names classification"),
        ("---\nclassification: secret\na: " + "x" * 70000 + "\n---\nx", "cannot be read, and names class"),
    ],
)
def test_what_decides_where_a_text_may_go_is_heeded_or_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidDocument, match=re.escape(why)):
        parse(text, "markdown")


def test_a_rule_and_a_later_word_are_no_front_matter() -> None:
    text = "---\n\nA rule above.\n\nclassification: what this section is about\n"
    assert parse(text, "markdown").classification is None


@pytest.mark.parametrize(
    "text",
    [
        "---\njust a rule above\n---\ntext",
        "---\na: [unclosed\n---\ntext",
        "---\na: &x [1]\nb: [*x, *x]\n---\ntext",
        "---\nnever closed: 1\n",
        "+++\nnot = toml = at all\n+++\ntext",
        "---\n" + "[" * 5000 + "\n---\ntext",
        "---\na: !!python/object:os.system x\n---\ntext",
    ],
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    parsed = parse(text, "markdown")
    assert parsed.metadata == {}
    assert all(block.kind != "skip" for block in parsed.blocks)


@given(st.text(alphabet="-+:\n\r \t#ab[]{}'\"&*!|>%@`=~<0.", max_size=80))
def test_markdown_never_fails(text: str) -> None:
    for source in (text, f"---\n{text}\n---\n", f"+++\n{text}\n+++\n"):
        parsed = parse(source, "markdown")
        assert all(0 <= block.start <= block.end <= len(parsed.text) for block in parsed.blocks)


def test_parser_names_tell_the_version() -> None:
    assert parser_name("text") == "text/1"
    assert "markdown-it-py=" in parser_name("markdown")
    assert "trafilatura=" in parser_name("html")


# HTML


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<p>café</p>".encode(), "<p>café</p>"),
        (b"<meta charset=latin-1><p>caf\xe9</p>", "<meta charset=latin-1><p>café</p>"),
        (b"<p>\x93caf\xe9\x94</p>", "<p>“café”</p>"),
        (
            '<meta charset="shift_jis"><p>日本</p>'.encode("shift_jis"),
            '<meta charset="shift_jis"><p>日本</p>',
        ),
        (b"<meta charset=nonsense><p>caf\xe9</p>", "<meta charset=nonsense><p>café</p>"),
        ("<p>UTF-16</p>".encode("utf-16"), "<p>UTF-16</p>"),
    ],
)
def test_html_encodings(content: bytes, expected: str) -> None:
    assert decode(content, "html") == (expected, 0)


PAGE = """<!doctype html><html lang="de"><head><title>My page</title><meta name="author" content="A. B.">
</head><body>
<nav><a href="/">Home</a></nav>
<h1>Hello</h1><p>First   paragraph with <b>bold</b> and <a href="u">a link</a>.<br>Second line.</p>
<h2>Part</h2><ul><li>one</li><li>two<ul><li>nested</li></ul></li></ul>
<table><tr><th>Name</th><th>Value</th></tr><tr><td>alpha</td><td>1</td></tr></table>
<pre><code>def f():
    return 1</code></pre><pre>plain\n  pre</pre>
<blockquote>A quotation.</blockquote><p hidden>secret</p>
<script>alert("no")</script><footer>Imprint</footer></body></html>"""


@needs_trafilatura
def test_html_structure() -> None:
    parsed = parse(PAGE.encode(), "html")
    assert (parsed.title, parsed.language, parsed.metadata) == ("My page", "de", {"author": "A. B."})
    found = [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]
    assert ("paragraph", "First paragraph with bold and a link.\nSecond line.") in found
    assert ("heading", "Part") in found
    assert [text for kind, text in found if kind == "item"] == ["- one", "- two", "- nested"]
    assert ("table", "Name | Value\nalpha | 1") in found
    assert ("code", "def f():\n    return 1") in found
    assert ("code", "plain\n  pre") in found
    for absent in ("Home", "alert", "Imprint"):
        assert absent not in parsed.text


@needs_trafilatura
@pytest.mark.parametrize(
    ("page", "text", "title"),
    [
        ("<p>hi</p>", "hi", None),
        ("", "", None),
        ("just words", "just words", None),
        ("<html><head><title>T</title></head><body></body></html>", "", "T"),
        ("<h1>Only heading</h1>", "Only heading", "Only heading"),
        ("<p>a\0b &#0; &#xD800; c</p>", "a b \ufffd \ufffd c", None),
        ("<?xml version='1.0' encoding='latin-1'?><html><body><p>x</p></body></html>", "x", None),
        ("<div>" * 1500 + "deep", "deep", None),
    ],
)
def test_html_of_few_words(page: str, text: str, title: str | None) -> None:
    parsed = parse(page, "html")
    assert (parsed.text, parsed.title) == (text, title)


@needs_trafilatura
def test_a_table_of_links_in_a_named_main_part_is_kept() -> None:
    rows = "".join(f"<tr><td>group{n}</td><td><a href='#{n}'>lint-{n}</a></td></tr>" for n in range(30))
    page = f"<body><nav><a href='/'>Home</a></nav><main><p>All groups:</p><table>{rows}</table></main></body>"
    parsed = parse(page, "html")
    assert [block.kind for block in parsed.blocks] == ["paragraph", "table"]
    assert "group29 | lint-29" in parsed.text
    assert "Home" not in parsed.text


@needs_trafilatura
def test_html_nested_beyond_reading_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="cannot be read to its end"):
        parse("<div>" * 5000 + "deep", "html")


@needs_trafilatura
@given(
    st.lists(
        st.sampled_from(
            [
                "<table>",
                "</table>",
                "<tr>",
                "<td>",
                "</tr>",
                "<li>",
                "<ul>",
                "</ul>",
                "<pre>",
                "</pre>",
                "<h1>",
                "</h1>",
                "<p>",
                "</p>",
                "<code>",
                "</code>",
                "<br>",
                "word",
                " ",
                "\n",
                "<title>",
                "</title>",
                "<script>",
                "</body>",
                "<!--",
                "-->",
                "<main>",
                "&amp;",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_html_blocks_tile_the_text(page: str) -> None:
    parsed = parse(page, "html")
    position = 0
    for block in parsed.blocks:
        assert parsed.text[position : block.start].strip() == ""
        assert parsed.text[block.start : block.end].strip()
        position = block.end
    assert position == len(parsed.text)


# Words of one run of inline elements are one word; every block, item and cell is a run of its own. List items
# stand in lists: of one that stands in another, which no writer of HTML means, libxml2 skips the second end.
INLINE = ("span", "b", "i", "em", "code", "small", "mark", "sub", "abbr", "time", "label", "font", "q", "x-y")
BLOCKS = (
    *("div", "p", "section", "blockquote", "ul", "ol", "dl", "table", "h2", "h3", "figure", "details"),
    *("address", "pre", "header", "center", "fieldset", "hgroup", "menu", "dialog"),
)
_inline = st.recursive(
    st.just(None), lambda inner: st.tuples(st.sampled_from(INLINE), st.lists(inner, max_size=3)), max_leaves=4
)
_nested = st.recursive(
    _inline,
    lambda inner: st.tuples(st.sampled_from(BLOCKS), st.lists(inner, max_size=4)),
    max_leaves=15,
)
_WITHIN = {
    "ul": ("<li>", "</li>"),
    "ol": ("<li>", "</li>"),
    "menu": ("<li>", "</li>"),
    "dl": ("<dt>", "</dt>"),
    "table": ("<tr><td>", "</td></tr>"),
}


def written(nodes: list[Any], words: list[str]) -> str:
    """HTML of the nodes; each leaf becomes a word of its own, noted in ``words`` with a blank at each
    boundary of a block."""
    page = ""
    for node in nodes:
        if node is None:
            word = f"w{sum(len(word) > 1 for word in words)}w"
            words.append(word)
            page += word
            continue
        tag, inside = node
        block = tag in BLOCKS
        opening, closing = _WITHIN.get(tag, ("", ""))
        words.append(" " if block else "")
        page += f"<{tag}>{opening}{written(inside, words)}{closing}</{tag}>"
        words.append(" " if block else "")
    return page


@needs_trafilatura
@given(st.lists(_nested, min_size=1, max_size=4), st.sampled_from(["%s", "<main>%s</main>", "<article>%s"]))
def test_blocks_of_html_part_words_and_inline_elements_do_not(nodes: list[Any], frame: str) -> None:
    words: list[str] = []
    page = written(nodes, words)
    # Lists of Markdown and cells are told apart by marks of their own.
    found = [word for word in parse(frame % page, "html").text.split() if word not in ("-", "|")]
    assert found == "".join(words).split()


@needs_trafilatura
@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<article><h1>Head</h1><div>pump<div>valve</div>gear</div></article>",
            "Head\n\npump\n\nvalve\n\ngear",
        ),
        ("<div>aaa<div>bbb</div>ccc<span>ddd</span></div>", "aaa\n\nbbb\n\ncccddd"),
        ("<p>w<b><i><table><tr><td>cellword<td>cellb", "w\n\ncellword | cellb"),
        ("<p>a<select><option>x<option>y</select>b</p>", "a\n\nb"),
        ("<p>one<br>two<wbr>three</p>", "one\ntwothree"),
        ("<p>a<script>x</script>b</p>", "ab"),
        ("<main><form><p>asked</p></form><p>told at greater length</p></main>", "told at greater length"),
        ("<form><p>asked</p></form>", "asked"),
        ("<p>x<sup>2</sup> and <math alttext='a^2'><mi>a</mi></math>!</p>", "x2 and \\(a^2\\)!"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字", "漢字"),
        ("<p><div></div>a</p>b", "a\n\nb"),
        ("<h2><p></p>a</h2>b", "a\n\nb"),
        ("<xmp><p>a</p></xmp>", "<p>a</p>"),
        ("<pre>a<div>b</div>c</pre>", "a\nb\nc"),
        ("<p>⟦1⟧ ⟦99999⟧ kept</p><p>⟦x</p>", "⟦1⟧ ⟦99999⟧ kept\n\n⟦x"),
    ],
)
def test_html_nesting(page: str, text: str) -> None:
    assert parse(page, "html").text == text


@needs_trafilatura
def test_html_around_the_main_text_is_left_out() -> None:
    links = "".join(f"<li><a href='/{n}'>Elsewhere {n}</a></li>" for n in range(20))
    prose = "".join(
        f"<p>Paragraph {n} says, with <a href='x'>a link</a>, how the pump moves water.</p>" for n in range(5)
    )
    page = (
        f"<body><div class='sidebar'><ul>{links}</ul></div><div><h2><a href='#a'>Pumps</a></h2>{prose}"
        f"<details><summary>More</summary>Also <div>this</div></details></div>"
        f"<div class='related-posts'><ul>{links}</ul></div><footer>Imprint</footer></body>"
    )
    parsed = parse(page, "html")
    assert "Elsewhere" not in parsed.text
    assert "Imprint" not in parsed.text
    found = [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]
    assert found[0] == ("heading", "Pumps")
    assert [text for _, text in found[-3:]] == ["More", "Also", "this"]
    assert len(found) == 1 + 5 + 3


def test_formats_are_all_parsed() -> None:
    kinds: list[Format] = ["text", "markdown"]
    for kind in kinds:
        assert parse("x", kind).text == "x"
