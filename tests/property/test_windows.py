"""The chooser of windows: Python and SQL agree, and both keep what they promise."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain.analyzer import ANALYZERS, get_analyzer
from pgsift.domain.windows import MAX_TABLE, Window, _occurrences, _patterns, windows, windows_of_parts

WORDS = [
    "pump", "pumps", "pumping", "Failure", "failures", "die", "dying", "dies", "the", "of", "a", "1.18.6", "v1.18.6rc1", "get_user_by_email",
    "getUserByEmail", "C++", "foo#", "ability", "able", "ably", "happy", "happily", "naïve", "größe", "GRÖSSE", "ﬁlter", "ｐｕｍｐ", "café", "cafe\u0301",
    "船在印度洋", "印度洋", "哈哈哈", "docker船", "ที่นี่มีน้ำ", "น้ำ", "한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "ｶﾞｲﾄﾞ", "今日は", "x²", "½", "a\u0338b",
    "=\u0338", "pump\u0301", "İstanbul", "ſpaß", "—", "“pump”", "e\u20dd", "\u0e31", "a\u0e31ก", "ก็docker", "\u0378", "日\u0345", "㋀中", "…", "a/b", "--", "_pump_", "+pump+",
    "…ﬁlters…", "pump™", "Ⅷ", "㌔メートル", "℃", "⑴", "ﬀ", "pump…Straße", "ﬁ", "\u0378\u0379", "banana", "anan", "an", "skies", "sky", "ananas", "pump's",
]  # fmt: skip
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\u3000", "\xa0", "", "", ", ", ". ", "-", "\r\n"]
TABLES = [
    "\n| pump | 3 |\n|---|---|\n| fail | 印度 |\n",
    "\n|x|\n",
    "| a | b |\n" + "".join(f"| row {n} | pump {n % 7} failure |\n" for n in range(250)),
    "|" + "y" * 4100 + "|\n| pump |\n",
]

tokens = st.one_of(st.sampled_from(WORDS), st.text(max_size=6), st.sampled_from(["pump", "failure"]))

ascii_pieces = st.tuples(
    st.sampled_from([word for word in WORDS if word.isascii()]), st.sampled_from([space for space in SPACES if space.isascii()])
)
texts = st.one_of(
    st.lists(st.one_of(st.tuples(tokens, st.sampled_from(SPACES)).map("".join), st.sampled_from(TABLES)), max_size=40).map("".join),
    st.lists(st.one_of(ascii_pieces.map("".join), st.sampled_from(["|\n| pump |\n| a |\n", "x" * 30])), max_size=40).map("".join),
)  # fmt: skip
queries = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), min_size=1, max_size=5).map(" ".join)
widths = st.one_of(st.integers(1, 60), st.sampled_from([120, 300, 600, 4000]))


def clean(text: str) -> str:
    return "".join(c for c in text if c != "\0" and not "\ud800" <= c <= "\udfff")


def rows(found: list[Window]) -> list[tuple[Any, ...]]:
    return [
        (w.part + 1, w.start, w.end, w.anchor, w.text, [list(span) for span in w.highlights], list(w.terms))
        for w in found
    ]


def asked(conn: psycopg.Connection, *arguments: Any) -> list[tuple[Any, ...]]:
    return conn.execute("SELECT * FROM sift._windows(%s, %s::text[], %s::text[], %s, %s)", arguments).fetchall()


COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@settings(COMMON, max_examples=120)
@given(st.lists(texts, min_size=1, max_size=3), queries, st.sampled_from(ANALYZERS), st.integers(1, 4), widths)
def test_sql_and_python_agree(
    conn: psycopg.Connection, parts: list[str], query: str, name: str, count: int, width: int
) -> None:
    parts = [clean(part) for part in parts]
    analyzer = get_analyzer(name)
    terms = analyzer.query_terms(clean(query))
    expected = windows_of_parts(parts, terms, analyzer, count=count, width=width)
    assert asked(conn, name, parts, terms, count, width) == rows(expected)


@settings(COMMON, max_examples=100)
@given(texts, queries, st.sampled_from(ANALYZERS), st.integers(1, 4), widths)
def test_promises(text: str, query: str, name: str, count: int, width: int) -> None:
    analyzer = get_analyzer(name)
    terms = analyzer.query_terms(query)
    found = windows(text, terms, analyzer, count=count, width=width)
    everywhere = list(_occurrences(0, text, terms, analyzer))
    assert len(found) <= count and len({w.text for w in found}) == len(found)
    assert bool(found) == (_patterns().spaces.fullmatch(text) is None)
    # The row that holds the word may be one of those that were dropped from a long table.
    assert any(w.terms for w in found) == bool(everywhere) or any("|" in w.text for w in found)
    for before, after in itertools.pairwise(found):
        assert before.end <= after.start
    for window in found:
        assert text[window.start : window.end] == window.text
        assert len(window.text) <= max(width, MAX_TABLE)
        assert all(0 <= a < b <= len(window.text) for a, b in window.highlights)
        assert all(a[1] < b[0] for a, b in itertools.pairwise(window.highlights))
        assert len(window.text) <= width or "|" in window.text
        assert bool(window.highlights) == bool(window.terms)
        # Whole words, by the analyzer: what is highlighted makes the terms, unless the window cut a word that is longer than itself.
        tokens = {t for a, b in window.highlights for t in analyzer.tokenize(window.text[a:b])}
        if all(b - a < width for a, b in window.highlights) and len(window.text) < MAX_TABLE:
            assert set(window.terms) <= tokens
