"""Filters in SQL syntax: what is understood, what is refused, and where it says it stands."""

# ruff: noqa: E501 (tables of cases, one a line)

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsift.domain import filters
from pgsift.errors import InvalidFilter
from pgsift.filters import parse_filter


@pytest.mark.parametrize(
    ("expression", "filter"),
    [
        (
            "metadata.year >= 2020 and kind in ('text','table') and title is not null and not (license = 'x')",
            {
                "metadata.year": {"$gte": 2020},
                "kind": {"$in": ["text", "table"]},
                "title": {"$exists": True},
                "$not": {"license": "x"},
            },
        ),
        ("kind = 'table'", {"kind": "table"}),
        ("KIND = 'Table' AND metadata.Year = 1", {"kind": "Table", "metadata.Year": 1}),
        ("kind <> 'table'", {"kind": {"$ne": "table"}}),
        ("kind != 'table'", {"kind": {"$ne": "table"}}),
        ("3 < page", {"page": {"$gt": 3}}),
        ("3 >= page", {"page": {"$lte": 3}}),
        ("page = -1", {"page": -1}),
        ("page = 1.5e3", {"page": 1500.0}),
        ("page between 1 and 3", {"page": {"$gte": 1, "$lte": 3}}),
        ("page not between 1 and 3", {"$not": {"page": {"$gte": 1, "$lte": 3}}}),
        ("page not in (1, 2)", {"page": {"$nin": [1, 2]}}),
        ("not page in (1, 2)", {"page": {"$nin": [1, 2]}}),
        ("title is null", {"title": {"$exists": False}}),
        ("not title is null", {"title": {"$exists": True}}),
        ("title is distinct from 'x'", {"title": {"$ne": "x"}}),
        ("title is not distinct from 'x'", {"title": "x"}),
        ("metadata.open is true", {"metadata.open": True}),
        ("metadata.open is not true", {"metadata.open": {"$ne": True}}),
        ("metadata.open = false", {"metadata.open": False}),
        ("metadata.a.b.c.d.e.f = 'x'", {"metadata.a.b.c.d.e.f": "x"}),
        ('metadata."a.b"."c""d" = \'x\'', {'metadata."a.b"."c""d"': "x"}),
        ("metadata.order = 1 and metadata.date = 'x'", {"metadata.order": 1, "metadata.date": "x"}),
        ("observed_at >= '2024-05-31'", {"observed_at": {"$gte": "2024-05-31"}}),
        ("observed_at >= date '2024-05-31'", {"observed_at": {"$gte": "2024-05-31"}}),
        ("observed_at < timestamptz '2024-05-31T12:00Z'", {"observed_at": {"$lt": "2024-05-31T12:00Z"}}),
        ("observed_at < '2024-05-31'::timestamptz", {"observed_at": {"$lt": "2024-05-31"}}),
        ("page = 1 and page = 2", {"$and": [{"page": 1}, {"page": 2}]}),
        ("kind = 'a' or kind = 'b' and page = 2", {"$or": [{"kind": "a"}, {"kind": "b", "page": 2}]}),
        ("(kind = 'a' or kind = 'b') and page = 2", {"$or": [{"kind": "a"}, {"kind": "b"}], "page": 2}),
        ("title = 'it''s 100% :x $1 \\ \"q\"'", {"title": 'it\'s 100% :x $1 \\ "q"'}),
        ("title = '' -- nothing", {"title": ""}),
        ("title = '; DROP TABLE sift.chunks'", {"title": "; DROP TABLE sift.chunks"}),
        ("section = 'Résumé 红海 🙂'", {"section": "Résumé 红海 🙂"}),
        ('{"page": {"$gt": 3}}', {"page": {"$gt": 3}}),
        ("metadata.x = 0.1234567890123456789", {"metadata.x": Decimal("0.1234567890123456789")}),
        ("metadata.x = 12345678901234567890123", {"metadata.x": 12345678901234567890123}),
    ],
)
def test_understood(expression: str, filter: dict[str, Any]) -> None:
    assert parse_filter(expression) == filter


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("", "the filter is empty", "Write for example"),
        ("   ", "the filter is empty", "Write for example"),
        (
            "page = 1; DROP TABLE sift.chunks",
            'the filter is not understood at line 1, column 11, near "DROP"',
            "Write for example",
        ),
        (
            "page = 1 OR 1 = 1",
            "the filter is not understood at line 1, column 13: 1",
            "compares a field with a value",
        ),
        ("page = 1 UNION SELECT 2", 'at line 1, column 10, near "UNION"', "Write for example"),
        ("page = 1 LIMIT 1", 'at line 1, column 10, near "LIMIT"', "Write for example"),
        ("SELECT 1", 'near "SELECT"', "Write for example"),
        ("kind = 'x' AND\n  title LIKE 'x%'", "at line 2, column 3: title LIKE 'x%'", "no patterns"),
        ("title ~ 'x'", "not understood", "no patterns"),
        ("metadata->>'year' = '3'", "not understood", "metadata.a.b"),
        ("metadata.tags[1] = 3", "not understood", "any of its elements"),
        ("page IN (SELECT 1)", "not understood", "subqueries"),
        ("EXISTS (SELECT 1)", "not understood", "subqueries"),
        ("page = :page", "not understood", "placeholders"),
        ("page = %s", "not understood", "placeholders"),
        ("page = $1", "not understood", None),
        ("title = E'a\\nb'", "not understood", "plain single quotes"),
        ('title = "x"', 'at line 1, column 9: "x"', "single quotes"),
        ("title = key", "at line 1, column 9: key", None),
        ("title = NULL", "not understood", "title IS NULL"),
        ("title IN ('a', NULL)", "not understood", "title IS NULL"),
        ("metadata.open", "at line 1, column 1: metadata.open", "metadata.open = true"),
        ("NOT metadata.open", "at line 1, column 5: metadata.open", "metadata.open = true"),
        ("metadata.year::integer = 3", "not understood", "in the type it has"),
        ("title = '3'::text", "not understood", "in the type it has"),
        ("metadata.d > date '2024-01-01'", "not understood", "in the type it has"),
        ("lower(title) = 'x'", "at line 1, column 1: LOWER(title)", "Write for example"),
        ("page + 1 = 2", "at line 1, column 1: page + 1", "Write for example"),
        ("title = 'a' || 'b'", "not understood", None),
        ("title = 'a' 'b'", "not understood", None),
        ("key = 'x' COLLATE \"C\"", "not understood", None),
        ("page BETWEEN SYMMETRIC 3 AND 1", "not understood", None),
        ("page = 1 IS TRUE", "not understood", None),
        ("page = ANY(ARRAY[1])", "not understood", None),
        ("CASE WHEN page = 1 THEN true END", "not understood", None),
        ("TRUE", "not understood", None),
        ("page = 0x1f", "not understood", None),
        ("metadata.1 = 2", "not understood", 'metadata."1"'),
        ("d.title = 'x'", "at line 1, column 1: d.title", "Only metadata"),
        ("title = 'unbalanced", "not understood", "closed"),
        ("(page = 1", "not understood", None),
        ("page IN (1", "not understood", None),
        ("title = '\x00'", "NUL", None),
        ("titel = 'x'", 'unknown filter field "titel"', 'Did you mean "title"?'),
        ("page = 'x'", 'filter field "page" with "$eq" takes a number, not a string', None),
        ("metadata = 'x'", 'unknown filter field "metadata"', None),
        ("observed_at > 'yesterday'", "takes a timestamp", None),
        ("{page: 1}", "the filter is not JSON", None),
        ("{" * 5000, "the filter is not JSON", None),
        ('{"titel": 1}', 'unknown filter field "titel"', 'Did you mean "title"?'),
        ('{"page": NaN}', "takes a finite number", None),
        ("(" * 10_000, "the filter is nested too deep", "Flatten"),
        ("NOT " * 10_000 + "page = 1", "the filter is nested too deep", "Flatten"),
        ("page = " + "- " * 10_000 + "1", "the filter is nested too deep", "Flatten"),
        ("CASE " * 1000, "not understood", None),
        (" AND ".join(["page = 1"] * 5000), "more than 256 conditions", None),
        ("page = " + "9" * 5000, "not understood", "4000 digits"),
        ("title = '" + "x" * 1_100_000 + "'", "the limit is 1048576", None),
    ],
)
def test_refused(expression: str, message: str, hint: str | None) -> None:
    with pytest.raises(InvalidFilter) as caught:
        parse_filter(expression)
    if expression.startswith("CASE CASE"):
        return  # by the parser or by its recursion: either is a refusal
    assert message in caught.value.message
    assert len(caught.value.message) < 400
    assert hint is None or hint in (caught.value.hint or "")
    assert caught.value.sqlstate == "PS004"


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                ["page", "title", "metadata.a", "=", "<", "<>", "1", "-2", "'x'", "(", ")", "and", "or", "not", "in", ",", "is", "null", "true",
                 "between", "like", ";", "--", "/*", "select", "*", "::", "int", '"', "'", "$1", "[", "]", "case", "when", "end", "e''", "."]
            ),
            max_size=12,
        ).map(" ".join),
    )
)  # fmt: skip
def test_any_text_is_understood_or_refused(expression: str) -> None:
    try:
        filter = parse_filter(expression)
    except InvalidFilter:
        return
    filters.matches(filter, {"metadata": {"a": 1}, "title": "x"}, {"page": 1, "section": []})
    filters.to_json(filter)


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    number=st.integers(-(10**30), 10**30),
)
def test_literals_keep_their_value(text: str, number: int) -> None:
    quoted = text.replace("'", "''")
    assert parse_filter(f"title = '{quoted}' and metadata.n = {number}") == {
        "title": text,
        "metadata.n": number,
    }
    name = text.replace('"', '""')
    if text:
        assert parse_filter(f'metadata."{name}" = 1') == {filters.join_path([text]): 1}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_paths_round_trip(steps: list[str]) -> None:
    assert filters.split_path(filters.join_path(steps)) == tuple(steps)


def test_json_keeps_every_digit() -> None:
    text = filters.to_json(
        {"metadata.a": Decimal("0.12345678901234567890"), "metadata.b": {"$in": [10**30, 0.1, True, "ä"]}}
    )
    assert (
        text
        == '{"metadata.a": 0.12345678901234567890, "metadata.b": {"$in": [1000000000000000000000000000000, 0.1, true, "ä"]}}'
    )
    assert filters.to_json({}) is None
    assert filters.to_json(None) is None


@pytest.mark.parametrize(
    "filter",
    [
        {"metadata.a": float("nan")},
        {"metadata.a": float("inf")},
        {"title": "\x00"},
        {"title": "\ud800"},
        {"metadata.\x00": 1},
        {"title": b"x"},
        {1: 2},
        {"title": {1: 2}},
    ],
)
def test_what_json_cannot_hold(filter: dict[Any, Any]) -> None:
    with pytest.raises(InvalidFilter):
        filters.to_json(filter)


def test_json_of_the_module_docstring() -> None:
    for example in ('{"kind": "table", "metadata.year": {"$gte": 2020, "$lt": 2025}}',
                    '{"$or": [{"license": {"$exists": false}}, {"license": {"$in": ["CC0-1.0", "CC-BY-4.0"]}}]}'):  # fmt: skip
        assert example in (filters.__doc__ or "")
        assert filters.parse(json.loads(example)) is not None
