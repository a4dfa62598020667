"""The compiled SQL predicate and the Python evaluator agree on random documents and random filters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
from filter_rows import as_json, evaluate_in_database
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgsift.domain import filters
from pgsift.domain.errors import InvalidFilter

# Few distinct values, so that filters hit; the odd ones among them, so that they hit where it hurts.
WORDS = st.sampled_from(
    ["", "a", "A", "b", "ab", "a b", "ä", "Z", "z", "1", "01", "1.0", "true", "null", "𝕏", "\uffff", "\u0001",
     "it's", '"', "\\", "%", "_", "$1", "{}", "[1]", ",", "\n", "é", "e\u0301", "ẞ", "\u200b"]
)  # fmt: skip
TEXT = st.one_of(
    WORDS,
    st.text(st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]), max_size=4),
)
INTEGERS = st.one_of(st.integers(-2, 5), st.sampled_from([-(2**31), 2**31 - 1]))
NUMBERS: st.SearchStrategy[int | float] = st.one_of(
    st.integers(-2, 5),
    st.sampled_from(
        [
            0.0,
            -0.0,
            1.0,
            2.5,
            0.1,
            1e-300,
            1e300,
            5e-324,
            2**31,
            -(2**31) - 1,
            2**53,
            2**53 + 1,
            float(2**53),
            10**40,
        ]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
MOMENTS = st.sampled_from(
    [datetime(2024, 2, 29, 23, 59, 59, 999_999, UTC), datetime(2024, 3, 1, tzinfo=UTC),
     datetime(1, 1, 2, tzinfo=UTC),
     datetime(1969, 12, 31, 23, 59, 59, 1, UTC), datetime(9999, 12, 30, tzinfo=UTC),
     datetime(2024, 3, 1, 0, 0, 1, tzinfo=UTC)]
)  # fmt: skip
SCALARS = st.one_of(TEXT, NUMBERS, st.booleans())
NAMES = st.sampled_from(["a", "b", "0", "x.y", 'q"', "ä", " ", "$eq", "a'; --"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


LANGUAGES = st.one_of(TEXT, st.sampled_from(["a-", "a-b", "a-b-1", "ab-a", "-a", "A-b", "%-a"]))


DOCUMENTS = st.fixed_dictionaries(
    {
        "document": st.fixed_dictionaries(
            {
                "key": TEXT,
                "title": optional(TEXT),
                "source_uri": optional(TEXT),
                "source_version": optional(TEXT),
                "parser": optional(TEXT),
                "chunker": optional(TEXT),
                "language": optional(LANGUAGES),
                "license": optional(TEXT),
                "classification": optional(TEXT),
                "observed_at": MOMENTS,
                "valid_from": optional(MOMENTS),
                "valid_to": optional(MOMENTS),
                "retain_until": optional(MOMENTS),
                "version": INTEGERS,
                "length": INTEGERS,
                "updated_at": MOMENTS,
                "metadata": st.dictionaries(NAMES, VALUES, max_size=4),
            }
        ),
        "chunk": st.fixed_dictionaries(
            {
                "kind": TEXT,
                "page": optional(INTEGERS),
                "ordinal": INTEGERS,
                "section": st.lists(TEXT, max_size=3),
                "doc_length": INTEGERS,
                "entity": st.lists(TEXT, max_size=3),
            }
        ),
    }
)


@st.composite
def literal_times(draw: st.DrawFn) -> str:
    moment = draw(MOMENTS)
    offset = draw(st.integers(-15 * 60 - 59, 15 * 60 + 59))
    form = draw(st.sampled_from(["date", "minute", "utc", "z", "offset", "hours"]))
    if form == "date":
        return moment.strftime("%Y-%m-%d").rjust(10, "0")
    if form == "minute":
        return moment.isoformat(sep=" ", timespec="minutes")[:16]
    if form == "utc":
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds")
    if form == "z":
        return moment.replace(tzinfo=None).isoformat() + "Z"
    try:
        shifted = moment.astimezone(timezone(timedelta(minutes=offset)))
    except OverflowError:
        return moment.isoformat()
    if form == "hours":
        return f"{shifted.replace(tzinfo=None).isoformat()}{'-' if offset < 0 else '+'}{abs(offset) // 60:02}"
    return shifted.isoformat(sep=" ")


def literals(kind: filters.FieldType, operator: str) -> st.SearchStrategy[Any]:
    if kind in ("text", "texts"):
        return TEXT
    if kind == "integer":
        return NUMBERS
    if kind == "timestamp":
        return literal_times()
    return SCALARS if operator in ("$eq", "$ne", "$in", "$nin") else st.one_of(TEXT, NUMBERS)


@st.composite
def conditions(draw: st.DrawFn, pool: Sequence[tuple[str, Any]] = ()) -> dict[str, Any]:
    """A condition; every other time on a field of the pool, and half of these with a value found there."""
    found: Any = None
    if pool and draw(st.booleans()):
        name, found = draw(st.sampled_from(pool))
    elif draw(st.booleans()):
        name = filters.join_path(draw(st.lists(NAMES, min_size=1, max_size=3)))
    else:
        name = draw(st.sampled_from(sorted(filters.FIELDS)))
    kind: filters.FieldType = filters.FIELDS.get(name, "json")

    def literal(operator: str) -> st.SearchStrategy[Any]:
        usual = literals(kind, operator)
        if found is None or (isinstance(found, bool) and operator in ("$gt", "$gte", "$lt", "$lte")):
            return usual
        return st.one_of(st.just(found), usual)

    def operand(operator: str) -> st.SearchStrategy[Any]:
        if operator == "$exists":
            return st.booleans()
        if operator in ("$in", "$nin"):
            return st.lists(literal(operator), max_size=12)
        if operator == "$not":
            inner = draw(st.sampled_from([["$gt"], ["$in", "$ne"], ["$not"]]))
            return st.fixed_dictionaries({one: operand(one) for one in inner})
        return literal(operator)

    if draw(st.integers(0, 4)) == 0:
        return {name: draw(literal("$eq"))}
    operators = draw(
        st.lists(st.sampled_from(filters.CONDITION_OPERATORS), min_size=1, max_size=2, unique=True)
    )
    return {name: {operator: draw(operand(operator)) for operator in operators}}


def whole_filters(pool: Sequence[tuple[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.recursive(
        conditions(pool),
        lambda inner: st.one_of(
            st.builds(
                lambda operator, parts: {operator: parts},
                st.sampled_from(["$and", "$or", "$nor"]),
                st.lists(inner, min_size=1, max_size=3),
            ),
            st.builds(lambda part: {"$not": part}, inner),
            st.builds(lambda left, right: left | right, inner, inner),
            st.just({"$not": {}}),
        ),
        max_leaves=4,
    )


def values_of(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names of fields of a document and its chunk, each with a literal that may be compared with it."""

    def walk(value: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict) and len(path) < filters.MAX_STEPS:
            for name, inner in value.items():
                yield from walk(inner, [*path, name])
        elif path:
            for element in value if isinstance(value, list) else [value]:
                scalar = None if isinstance(element, list | dict) else element
                yield filters.join_path(path), scalar

    for fields in (item["document"], item["chunk"]):
        for name, value in fields.items():
            if name in filters.FIELDS:
                for one in value if isinstance(value, list) else [value]:
                    yield name, as_json(one)
                    if name == "language" and one:
                        yield name, one.rpartition("-")[0]
    # Metadata weighs as much as all columns together.
    metadata = list(walk(item["document"]["metadata"], []))
    yield from metadata * (1 + 20 // (1 + len(metadata)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    documents = draw(st.lists(DOCUMENTS, min_size=1, max_size=4))
    pool = [pair for item in documents for pair in values_of(item)]
    return draw(whole_filters(pool)), documents


def chunk_of(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"document": {"metadata": metadata}, "chunk": {"section": []}}]


def language(tag: str | None) -> dict[str, Any]:
    return {"document": {"language": tag, "metadata": {}}, "chunk": {"section": []}}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
@example(case=({"metadata.a": {"$gt": 9007199254740992}}, chunk_of({"a": 9007199254740993})))
@example(case=({"metadata.a": 1}, chunk_of({"a": [[1]]})))
@example(case=({"metadata.a.0": 1}, chunk_of({"a": [1]})))
@example(case=({"metadata.a": {"$in": [1, "1", True, 2, 3, 4, 5, 6, 7]}}, chunk_of({"a": [[1], None, {}]})))
@example(case=({"entity": {"$nin": ["a"]}}, [{"document": {"metadata": {}}, "chunk": {"section": [], "entity": ["b", "a"]}}]))
@example(case=({"$not": {"title": {"$gt": "a"}}}, chunk_of({})))
@example(case=({"language": {"$in": ["de", "zh-Hans"]}}, [language(one) for one in ("de-AT", "den", "zh-Hans-CN", "zh", None)]))
def test_sql_equals_python(
    conn: psycopg.Connection, case: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    filter, documents = case
    found = evaluate_in_database(conn, filter, documents)
    expected = [str(filters.matches(filter, item["document"], item["chunk"])).lower() for item in documents]
    assert found == expected


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_not_is_the_exact_complement(
    conn: psycopg.Connection, case: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    filter, documents = case
    plain, negated = (evaluate_in_database(conn, one, documents[:1]) for one in (filter, {"$not": filter}))
    assert {*plain, *negated} == {"true", "false"}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@example(filter={"": {"$not": None}})
@given(
    filter=st.one_of(
        st.recursive(
            st.one_of(st.none(), SCALARS, conditions()),
            lambda inner: st.dictionaries(
                st.one_of(
                    st.sampled_from(
                        [*filters.FIELDS, *filters.LOGICAL_OPERATORS, *filters.CONDITION_OPERATORS,
                         "metadata.a", "metadata", "metadata.", "metadata.a..b",
                         'metadata."a', "titel", "$gtr", "and", "$"]
                    ),
                    TEXT,
                ),
                st.one_of(inner, st.lists(inner, max_size=2)),
                max_size=1,
            ),
            max_leaves=4,
        ),
    )
)  # fmt: skip
def test_both_refuse_the_same_with_the_same_words(conn: psycopg.Connection, filter: Any) -> None:
    try:
        filters.parse(filter)
        expected = None
    except InvalidFilter as error:
        expected = (error.message, error.hint)
    try:
        with conn.transaction():
            conn.execute("SELECT sift._compile_filter(%s::text::jsonb)", [json.dumps(filter)])
        found = None
    except psycopg.Error as error:
        assert error.sqlstate == "PS004"
        found = (error.diag.message_primary, error.diag.message_hint)
    # JSON null and no filter at all are one value in Python.
    assert found == expected or filter is None
