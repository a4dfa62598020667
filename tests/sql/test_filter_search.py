"""Filters where they act: inside both legs, on ranks and never on scores."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

LEGS = {
    "lexical_search": "SELECT s.key, s.score, s.rank FROM sift.lexical_search('t', %(q)s, k => %(k)s, filter => %(f)s::jsonb,"
    " principals => '{public}') AS s ORDER BY s.rank",
    "dense_search": "SELECT s.key, s.distance, s.rank FROM sift.dense_search('t', '{1,0.25}'::real[], k => %(k)s,"
    " filter => %(f)s::jsonb, principals => '{public}') AS s ORDER BY s.rank",
    "search": "SELECT s.key, s.score, s.rank FROM sift.search('t', %(q)s, k => %(k)s, filter => %(f)s::jsonb,"
    " query_embedding => '{1,0.25}', principals => '{public}') AS s ORDER BY s.rank",
}


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    """40 documents, `kubernetes` in one, `deploy` in twenty, each with a vector of its own."""
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('filter toy', 2)")
    documents = [
        {
            "key": f"d{number:02}",
            "metadata": {
                "n": number,
                "team": "infra" if number % 10 == 0 else "app",
                "tags": ["even", number][: 1 + number % 2],
            },
            "chunks": [
                {
                    "body": " ".join(
                        ["deploy"] * (number % 2 == 0)
                        + ["kubernetes"] * (number == 10)
                        + ["filler"] * (1 + number % 5)
                    ),
                    "embedding": [1, number / 10],
                    "kind": "table" if number % 3 == 0 else "text",
                    "section": ["Guide", f"Part {number % 4}"],
                }
            ],
        }
        for number in range(40)
    ]
    conn.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'filter toy')", [json.dumps(documents)])
    return conn


def run(
    store: psycopg.Connection, leg: str, filter: Any, q: str = "kubernetes deploy", k: int = 100
) -> list[tuple[Any, ...]]:
    text = None if filter is None else json.dumps(filter)
    return store.execute(LEGS[leg].encode(), {"q": q, "k": k, "f": text}).fetchall()


def test_field_case_4_a_filter_changes_no_score_by_one_bit(store: psycopg.Connection) -> None:
    everything = {row[0]: row[1] for row in run(store, "lexical_search", None)}
    few = run(store, "lexical_search", {"metadata.team": "infra"})
    assert len(few) == 4 and few[0][0] == "d10"
    assert all(score == everything[key] for key, score, _ in few)


@pytest.mark.parametrize("leg", ["lexical_search", "dense_search"])
@pytest.mark.parametrize(
    "filter",
    [
        {"metadata.team": "infra"}, {"metadata.n": {"$gte": 30}}, {"metadata.n": {"$in": [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]}},
        {"metadata.tags": "even"}, {"kind": "table", "metadata.n": {"$lt": 20}}, {"$not": {"section": "Part 2"}},
        {"key": {"$in": ["d10", "d12"]}}, {"version": {"$gt": 1}}, {"$or": [{"key": "d02"}, {"metadata.n": 10}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("k", [3, 100])
def test_filtering_inside_equals_filtering_afterwards(
    store: psycopg.Connection, leg: str, filter: Any, k: int
) -> None:
    keys = {row[0] for row in store.execute(
        "SELECT m.key FROM sift.lexical_candidates('t', '{filler}', filter => %s::jsonb, principals => '{public}') AS m",
        [json.dumps(filter)],
    )}  # fmt: skip
    unfiltered = run(store, leg, None)
    expected = [row[:2] for row in unfiltered if row[0] in keys][:k]
    assert [row[:2] for row in run(store, leg, filter, k=k)] == expected


def test_field_case_14_a_filter_acts_on_both_legs(store: psycopg.Connection) -> None:
    rows = store.execute(
        "SELECT s.key, s.lexical_rank, s.dense_rank FROM sift.search('t', 'deploy', k => 100, query_embedding => '{1,0.25}',"
        " filter => '{\"metadata.team\": \"infra\"}', principals => '{public}', collapse => false) AS s"
    ).fetchall()
    assert {row[0] for row in rows} == {"d00", "d10", "d20", "d30"}
    assert {row[1] for row in rows} == {row[2] for row in rows} == {1, 2, 3, 4}
    for leg in LEGS:
        assert run(store, leg, {"version": 2}) == []


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("filter", [{"titel": 1}, {"page": "1"}, [], {"metadata.n": {"$like": "x"}}])
def test_every_search_refuses_a_bad_filter(store: psycopg.Connection, leg: str, filter: Any) -> None:
    for k in (10, 0):
        with pytest.raises(psycopg.Error) as caught, store.transaction():
            run(store, leg, filter, k=k)
        assert caught.value.sqlstate == "PS004"


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE sift.chunks; --", "%s", "%", "$1", '"', "\\", "{}", "' OR 'a'='a", "🙂", ""]
)
def test_hostile_literals_find_what_they_equal(store: psycopg.Connection, text: str) -> None:
    document = {
        "key": "hostile",
        "title": text,
        "metadata": {"x": text},
        "chunks": [{"body": "deploy", "embedding": [1, 1]}],
    }
    store.execute(
        "SELECT sift.put_documents('t', %s::jsonb, model => 'filter toy')", [json.dumps([document])]
    )
    for leg in LEGS:
        for filter in (
            {"metadata.x": text},
            {"title": {"$in": [text, text + "x"]}},
            {"metadata.x": {"$gte": text}},
        ):
            assert [row[0] for row in run(store, leg, filter)] == ["hostile"]
        assert "hostile" not in [row[0] for row in run(store, leg, {"metadata.x": {"$ne": text}})]


HOSTILE_SETTINGS = {
    "standard_conforming_strings": "off",
    "escape_string_warning": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "extra_float_digits": "-15",
    "DateStyle": "German, DMY",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Pacific/Kiritimati",
    "bytea_output": "escape",
    "quote_all_identifiers": "on",
    "plan_cache_mode": "force_generic_plan",
    "enable_indexscan": "off",
    "enable_hashjoin": "off",
    "jit": "off",
    "work_mem": "64kB",
}


@pytest.mark.parametrize("leg", LEGS)
def test_no_setting_of_the_session_changes_an_answer(store: psycopg.Connection, leg: str) -> None:
    filters: list[Any] = [
        None,
        {"metadata.n": {"$gte": 3, "$lt": 30.5}, "metadata.tags": {"$in": ["even", 7]}},
        {"section": "Part 2", "kind": {"$ne": "table"}},
        {"observed_at": {"$gt": "2020-01-02T03:04:05.678901+01:00"}},
        {'metadata."n"': {"$exists": True}},
    ]
    want = [run(store, leg, each) for each in filters]
    assert all(want), "every filter must leave something to compare"
    for name, value in HOSTILE_SETTINGS.items():
        store.execute("SELECT set_config(%s, %s, true)", (name, value))
    # Numbers come in text form from this connection: what the setting does to their output is not the answer.
    store.execute("SET LOCAL extra_float_digits = 1")
    assert [run(store, leg, each) for each in filters] == want
    with pytest.raises(psycopg.Error, match="is not a path"), store.transaction():
        run(store, leg, {"metadata.a..b": 1})
