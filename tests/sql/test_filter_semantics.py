"""What each operator means for each kind of value: every operator with every literal on every value."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from filter_rows import evaluate_in_database

from pgsift.domain import filters

TEXTS = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "ä",
    "a\u0308",
    "Z",
    "z",
    "1",
    "01",
    "it's",
    '"',
    "\\",
    "%",
    "{}",
    ",",
    "\x01",
    "\uffff",
    "𝕏",
]
NUMBERS = [0, 1, -1, 2, 2.0, 2.5, 1e300, 5e-324, 2**31, -(2**31), 2**53, 2**53 + 1, 10**40]
MISSING = object()
JSON_VALUES: list[Any] = [
    MISSING, None, True, False, {}, {"b": 1}, [], [None], [[]], [[1]], [{"b": 1}], [True], [1, "1"], ["a", "b"], ["", 2.5],
    *TEXTS, *NUMBERS,
]  # fmt: skip
TIMES = [
    "2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29T01:00:00+01:00", "2024-02-28 23:59:59.999999", "0001-01-01",
    "9999-12-31T23:59:59.999999-15:59", "1969-12-31T23:59:59.000001", "1970-01-01T00:00",
]  # fmt: skip


def document(**fields: Any) -> dict[str, Any]:
    return {"document": {"metadata": {}, **fields}, "chunk": {"section": []}}


def chunk(**fields: Any) -> dict[str, Any]:
    return {"document": {"metadata": {}}, "chunk": {"section": [], **fields}}


FIELDS: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {
    "title": ([document(title=value) for value in (None, *TEXTS)], TEXTS),
    "page": ([chunk(page=value) for value in (None, 0, 1, 2, -(2**31), 2**31 - 1)], NUMBERS),
    "section": ([chunk(section=value) for value in ([], ["a"], ["a", "b"], ["", "ä", "z"])], TEXTS),
    "valid_from": ([document(valid_from=value) for value in (None, *TIMES[:-3], *TIMES[-2:])], TIMES),
    "metadata.a": (
        [document(metadata={} if value is MISSING else {"a": value}) for value in JSON_VALUES],
        [*TEXTS, *NUMBERS, True, False],
    ),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("operator", [one for one in filters.CONDITION_OPERATORS if one != "$not"])
def test_every_literal_on_every_value(conn: psycopg.Connection, field: str, operator: str) -> None:
    documents, literals = FIELDS[field]
    operands: list[Any] = [
        literal for literal in literals if not (operator[1:3] in ("gt", "lt") and literal is True)
    ]
    operands = [literal for literal in operands if not (operator[1:3] in ("gt", "lt") and literal is False)]
    if operator == "$exists":
        operands = [True, False]
    elif operator in ("$in", "$nin"):
        operands = [
            [],
            literals,
            literals[::2],
            literals[1::2],
            *([one] for one in literals),
            *([one, one] for one in literals),
        ]
    seen = set()
    for operand in operands:
        filter = {field: {operator: operand}}
        found = evaluate_in_database(conn, filter, documents)
        expected = [str(filters.matches(filter, one["document"], one["chunk"])).lower() for one in documents]
        assert found == expected, filter
        seen.update(found)
    assert seen == {"true", "false"}


# What a document with these fields answers; written out, so that the two implementations are not only held against each other.
PAPER = document(
    key="smith2020", title="Ärger im Verzug", observed_at="2024-05-31T16:30:00+02:00", version=3,
    metadata={"year": 2020, "tags": ["bm25", "rank"], "venue": {"name": "SIGIR", "x.y": 1}, "open": True, "note": None, "n": "7"},
)  # fmt: skip
PAPER["chunk"] = {
    "kind": "table",
    "page": None,
    "ordinal": 4,
    "section": ["Results", "Latency"],
    "doc_length": 55,
}


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"kind": "table"}, True),
        ({"metadata.year": {"$gte": 2020, "$lt": 2021}}, True),
        ({"metadata.year": "2020"}, False),
        ({"metadata.n": 7}, False),
        ({"metadata.year": 2020.0}, True),
        ({"metadata.tags": "rank"}, True),
        ({"metadata.tags": {"$ne": "rank"}}, False),
        ({"metadata.tags": {"$gt": "c"}}, True),
        ({"metadata.tags": {"$in": ["x", "bm25"]}}, True),
        ({"metadata.venue.name": "SIGIR"}, True),
        ({'metadata.venue."x.y"': 1}, True),
        ({"metadata.venue": {"$exists": True}}, True),
        ({"metadata.note": {"$exists": True}}, False),
        ({"metadata.nothing": {"$exists": False}}, True),
        ({"metadata.nothing": {"$ne": 1}}, True),
        ({"metadata.nothing": {"$nin": [1]}}, True),
        ({"metadata.nothing": {"$lt": 1}}, False),
        ({"$not": {"metadata.nothing": {"$lt": 1}}}, True),
        ({"metadata.open": True}, True),
        ({"page": {"$gt": 0}}, False),
        ({"page": {"$not": {"$gt": 0}}}, True),
        ({"page": {"$exists": False}}, True),
        ({"section": "Latency"}, True),
        ({"section": {"$ne": "Latency"}}, False),
        ({"title": {"$gt": "Z"}}, True),
        ({"observed_at": "2024-05-31T14:30:00Z"}, True),
        ({"observed_at": {"$lt": "2024-06-01"}}, True),
        ({"version": {"$in": [1, 3.0]}}, True),
        ({"version": 3.5}, False),
        ({"$or": [{"kind": "text"}, {"ordinal": 4}]}, True),
        ({"$nor": [{"kind": "text"}, {"ordinal": 4}]}, False),
        ({"$and": [{"kind": "table"}, {"$not": {"license": "x"}}]}, True),
        ({"$not": {}}, False),
    ],
)
def test_written_out(conn: psycopg.Connection, filter: dict[str, Any], expected: bool) -> None:
    assert evaluate_in_database(conn, filter, [PAPER]) == [str(expected).lower()]
    assert filters.matches(filter, PAPER["document"], PAPER["chunk"]) is expected


@pytest.mark.parametrize("filter", [None, "{}"])
def test_no_filter_is_no_predicate(conn: psycopg.Connection, filter: str | None) -> None:
    assert conn.execute("SELECT * FROM sift._compile_filter(%s::jsonb)", [filter]).fetchone() == (None, None)


@pytest.mark.parametrize(
    ("filter", "message", "hint"),
    [
        ("[]", "a filter is an object, not an array", "Write for example"),
        ("null", "a filter is an object, not null", "Write for example"),
        ('"x"', "a filter is an object, not a string", "Write for example"),
        ('{"titel": "x"}', 'unknown filter field "titel"', 'Did you mean "title"?'),
        ('{"metadata": {"a": 1}}', 'unknown filter field "metadata"', "metadata.NAME"),
        ('{"year": 2020}', 'unknown filter field "year"', "your own fields are written metadata.NAME"),
        ('{"acl": "public"}', 'unknown filter field "acl"', "Fields: key, title"),
        ('{"tenant_id": 1}', 'unknown filter field "tenant_id"', "Fields: key, title"),
        ('{"title": {"$like": "x"}}', 'unknown filter operator "$like"', "Operators: $eq"),
        ('{"title": {"$eqq": "x"}}', 'unknown filter operator "$eqq"', 'Did you mean "$eq"?'),
        ('{"title": {"eq": "x"}}', 'unknown filter operator "eq"', 'Did you mean "$eq"?'),
        ('{"$xor": []}', 'unknown filter operator "$xor"', 'Did you mean "$or"?'),
        ('{"$gt": 1}', 'filter operator "$gt" needs a field', "FIELD"),
        ('{"title": {"$or": []}}', 'filter operator "$or" cannot stand under the field "title"', "Write"),
        ('{"title": {}}', 'filter field "title" has no operator', "Write"),
        ('{"title": 1}', 'filter field "title" with "$eq" takes a string, not a number', "docs/filters.md"),
        ('{"title": null}', 'filter field "title" with "$eq" takes a string, not null', '{"title": {"$exists": false}}'),
        ('{"title": {"$ne": null}}', 'filter field "title" with "$ne" takes a string, not null', '{"title": {"$exists": true}}'),
        ('{"title": ["a"]}', 'filter field "title" with "$eq" takes a string, not an array', '{"title": {"$in": […]}}'),
        ('{"page": {"$gte": "3"}}', 'filter field "page" with "$gte" takes a number, not a string', None),
        ('{"page": {"$in": 3}}', 'filter field "page" with "$in" takes an array, not a number', None),
        ('{"page": {"$in": [1, "2"]}}', 'filter field "page" with "$in" takes a number, not a string', None),
        ('{"page": {"$exists": 1}}', 'filter field "page" with "$exists" takes true or false, not a number', None),
        ('{"metadata.a": {"$gt": true}}', 'filter field "metadata.a" with "$gt" takes a string or a number, not a boolean', None),
        ('{"metadata.a": {"$in": [{}]}}', 'filter field "metadata.a" with "$in" takes a string or a number or a boolean, not an object', None),
        ('{"observed_at": "yesterday"}', 'filter field "observed_at" with "$eq" takes a timestamp, not "yesterday"', '"2024-05-31"'),
        ('{"observed_at": {"$in": ["2024-01-01", "now"]}}', 'filter field "observed_at" with "$in" takes a timestamp, not "now"', None),
        ('{"$or": []}', 'filter operator "$or" takes an array of one or more filters, not an empty array', "Write"),
        ('{"$or": {"a": 1}}', 'filter operator "$or" takes an array of one or more filters, not an object', "Write"),
        ('{"$and": ["x"]}', 'filter operator "$and" takes an array of filters, not of string values', "Write"),
        ('{"$not": []}', 'filter operator "$not" takes an object, not an array', "Write"),
        ('{"metadata.": 1}', 'filter field "metadata." is not a path', "single dots"),
        ('{"metadata.a..b": 1}', 'filter field "metadata.a..b" is not a path', "single dots"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(
    conn: psycopg.Connection, filter: str, message: str, hint: str | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT sift._compile_filter(%s::jsonb)", [filter])
    assert caught.value.sqlstate == "PS004"
    assert caught.value.diag.message_primary == message
    assert hint is None or hint in (caught.value.diag.message_hint or "")
    if filter != "null":
        with pytest.raises(filters.InvalidFilter) as same:
            filters.parse(json.loads(filter))
        assert (same.value.message, same.value.hint) == (message, caught.value.diag.message_hint)


@pytest.mark.parametrize(
    "literal",
    [
        "", "2024", "2024-1-1", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "0000-01-01", "2024-01-01T",
        "2024-01-01T24:00", "2024-01-01T00:60", "2024-01-01T00:00:60", "2024-01-01T00:00:00.1234567", "2024-01-01T00:00+16",
        "2024-01-01T00:00+01:60", "2024-01-01Z", "2024-01-01\n", " 2024-01-01", "now", "infinity", "epoch", "2024-01-01 00:00 BC",
        "٢٠٢٤-01-01", "12024-01-01", "2024-01-01T00:00:00+1", "2024-01-01T00:00:00 Europe/Paris",
    ],
)  # fmt: skip
def test_not_a_timestamp(conn: psycopg.Connection, literal: str) -> None:
    assert filters.timestamp_microseconds(literal) is None
    assert conn.execute("SELECT sift._filter_timestamp(%s)", [literal]).fetchone() == (None,)


def test_a_timestamp_means_the_same_in_every_session(conn: psycopg.Connection) -> None:
    rows = [document(valid_from="2024-05-31T23:30:00Z")]
    for zone in ("UTC", "Pacific/Auckland", "America/Lima"):
        conn.execute(
            "SELECT set_config('timezone', %s, true), set_config('datestyle', 'german, dmy', true)", [zone]
        )
        assert evaluate_in_database(conn, {"valid_from": {"$lt": "2024-06-01"}}, rows) == ["true"]
        assert evaluate_in_database(conn, {"valid_from": {"$gte": "2024-05-31T23:30"}}, rows) == ["true"]


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"$not": {"$not": {}}}, None),
        ({"$and": [{"page": 1}] * 256}, None),
        ({"$and": [{"page": 1}] * 257}, "the filter has more than 256 conditions"),
        ({"$or": [{"$and": [{"page": 1}] * 200}] * 200}, "the filter has more than 256 conditions"),
        ({"page": {"$in": list(range(10_000))}}, None),
        ({"page": {"$in": list(range(10_001))}}, 'filter field "page" with "$in" has 10001 values; the limit is 10000'),
        ({"metadata." + ".".join("a" * 16): 1}, None),
        ({"metadata." + ".".join("a" * 17): 1}, f'filter field "metadata.{".".join("a" * 17)}" has 17 steps; the limit is 16'),
    ],
)  # fmt: skip
def test_limits(conn: psycopg.Connection, filter: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert evaluate_in_database(conn, filter, [PAPER])[0] in ("true", "false")
        return
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT sift._compile_filter(%s::jsonb)", [json.dumps(filter)])
    assert (caught.value.sqlstate, caught.value.diag.message_primary) == ("PS004", message)
    with pytest.raises(filters.InvalidFilter) as same:
        filters.to_json(filter)
    assert (same.value.message, same.value.hint) == (message, caught.value.diag.message_hint)


@pytest.mark.parametrize("wrap", ['{{"$not": {}}}', '{{"$and": [{}]}}', '{{"page": 1, "$or": [{}]}}'])
def test_depth(conn: psycopg.Connection, wrap: str) -> None:
    def nested(depth: int) -> str:
        text = "{}"
        for _ in range(depth - 1):
            text = wrap.format(text)
        return text

    assert evaluate_in_database(conn, json.loads(nested(32)), [PAPER])[0] in ("true", "false")
    for depth in (33, 250):
        with pytest.raises(psycopg.Error) as caught, conn.transaction():
            conn.execute("SELECT sift._compile_filter(%s::jsonb)", [nested(depth)])
        assert caught.value.diag.message_primary == "the filter is nested more than 32 deep"
        with pytest.raises(filters.InvalidFilter, match="nested more than 32 deep"):
            filters.parse(json.loads(nested(depth)))


def test_size(conn: psycopg.Connection) -> None:
    filter = {"title": {"$in": [str(number) * 100 for number in range(3000)]}}
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT sift._compile_filter(%s::jsonb)", [json.dumps(filter)])
    assert caught.value.sqlstate == "PS004"
    assert "the limit is 1048576" in (caught.value.diag.message_primary or "")
    with pytest.raises(filters.InvalidFilter, match="the limit is 1048576"):
        filters.to_json(filter)


HOSTILE = [
    "'; DROP TABLE sift.chunks; --",
    "%s %I %L %1$s",
    "$1",
    "($1 ->> 0)",
    '"',
    "\\",
    "$$",
    "a' OR true --",
    "{}",
    "\u202e",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_callers_text_is_in_the_predicate(conn: psycopg.Connection, text: str) -> None:
    marked = "needle" + text + "needle"
    path = filters.join_path([marked, marked])
    for operator in filters.CONDITION_OPERATORS[:-2]:
        operand: Any = [marked, *map(str, range(9))] if operator in ("$in", "$nin") else marked
        filter = {name: {operator: operand} for name in ("title", "section", "kind", path)}
        row = conn.execute(
            "SELECT predicate FROM sift._compile_filter(%s::jsonb)", [json.dumps(filter)]
        ).fetchone()
        assert row is not None and "needle" not in row[0]
    rows = [document(title=marked, metadata={marked: {marked: marked}})]
    assert evaluate_in_database(conn, {"title": marked, path: {"$in": [marked, "x"]}}, rows) == ["true"]


def test_the_indexes_are_used(conn: psycopg.Connection) -> None:
    """Through EXECUTE … USING, as the legs run it: bound values are constants to the planner."""
    conn.execute(
        """
        CREATE FUNCTION pg_temp.plan(filter jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
        DECLARE
            v_filter record := sift._compile_filter(filter);
        BEGIN
            RETURN QUERY EXECUTE format(
                'EXPLAIN SELECT d.document_id FROM sift.documents AS d'
                ' WHERE d.tenant_id = 1000001 AND (%s)', v_filter.predicate) USING v_filter.bound;
        END $$
        """
    )
    conn.execute(
        """
        INSERT INTO sift.tenants (tenant_id, name, analyzer, analyzer_fingerprint) VALUES (1000001, 'plans', 'standard', '');
        INSERT INTO sift.access_lists (tenant_id, access_list_id, principals) VALUES (1000001, 0, '{}');
        INSERT INTO sift.documents (tenant_id, key, version, metadata, content_hash, observed_at, access_list_id, length, current_from, updated_at)
        SELECT 1000001, n::text, 1, jsonb_build_object('doi', '10.1/' || n, 'a', jsonb_build_object('b', n)), '', now(), 0, 0,
               now() - n * interval '1 second', now()
        FROM generate_series(1, 5000) AS n;
        ANALYZE sift.documents;
        SELECT gin_clean_pending_list('sift.documents_metadata_idx');
        SET LOCAL enable_seqscan = off;
        """
    )
    for filter, index in (
        ({"metadata.doi": "10.1/x"}, "documents_metadata_idx"),
        ({"metadata.a.b": {"$in": [1, "x"]}}, "documents_metadata_idx"),
        ({"key": {"$in": ["a", "b"]}}, "documents_key_key"),
        ({"key": "a"}, "documents_key_key"),
    ):
        # A tenant counts as a small part of the table (decision 0007), so that a few thousand rows may as well be read.
        conn.execute(f"SET LOCAL enable_indexscan = {'off' if index == 'documents_metadata_idx' else 'on'}".encode())
        plan = "\n".join(
            row[0] for row in conn.execute("SELECT pg_temp.plan(%s::jsonb)", [json.dumps(filter)])
        )
        assert index in plan, plan
        assert "$1" not in plan
        assert "->>" not in plan, "a bound value was not folded to a constant"
    # Timestamps, too, are constants: reading them anew for each row would cost more than the comparison.
    plan = "\n".join(
        row[0]
        for row in conn.execute("SELECT pg_temp.plan(%s::jsonb)", ['{"observed_at": {"$gt": "2024-01-01"}}'])
    )
    assert "observed_at > '2024-01-01" in plan


def test_internals_are_not_for_everybody(conn: psycopg.Connection) -> None:
    rows = conn.execute(
        "SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
        " AND p.proname ~ '^_(filter_|compile_filter|nearest_name)'"
        " AND (has_function_privilege('sift_reader', p.oid, 'EXECUTE') OR p.provolatile <> 'i')"
    ).fetchall()
    assert rows == []
