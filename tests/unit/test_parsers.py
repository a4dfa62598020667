from __future__ import annotations

import importlib.util

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


@pytest.mark.parametrize("content", [b"caf\xe9", b"\xff\xfea", b"\xef\xbb\xbf\xff"])
def test_other_encodings_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"UTF-8|utf-16|utf-8"):
        parse(content)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="unknown format 'pdf'"):
        parse("x", "pdf")  # type: ignore[arg-type]


def test_nul_and_surrogates_are_counted() -> None:
    parsed = parse("a\0b \ud800")
    assert (parsed.text, parsed.cleaned) == ("ab \ufffd", 2)


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
        ("<p>a\0b &#0; &#xD800; c</p>", "ab \ufffd \ufffd c", None),
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


def test_formats_are_all_parsed() -> None:
    kinds: list[Format] = ["text", "markdown"]
    for kind in kinds:
        assert parse("x", kind).text == "x"
