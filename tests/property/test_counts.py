"""Counts and facets of what a query matches are those of a look at every visible chunk."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WORDS = ("red", "blue", "green", "apple", "car")
DOCUMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "acl": st.sampled_from([["public"], ["group:hr"], ["public", "group:hr"], []]),
            "tags": st.lists(st.sampled_from(["x", "y", "z"]), max_size=3),
            "chunks": st.lists(
                st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=4
            ),
        }
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    documents=DOCUMENTS,
    query=st.one_of(st.none(), st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=3)),
    excluded=st.one_of(st.none(), st.sampled_from(WORDS)),
    principals=st.sampled_from([["public"], ["group:hr"], ["public", "group:hr"], [], ["nobody"]]),
    tag=st.one_of(st.none(), st.sampled_from(["x", "y"])),
    packed=st.booleans(),
    statistics=st.sampled_from(["tenant", "visible"]),
)
def test_counts_are_those_of_a_look_at_everything(
    conn: psycopg.Connection[Any],
    documents: list[dict[str, Any]],
    query: list[str] | None,
    excluded: str | None,
    principals: list[str],
    tag: str | None,
    packed: bool,
    statistics: str,
) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.set_tenant('t', %s::jsonb)", [json.dumps({"statistics": statistics})])
        batch = [
            {
                "key": f"d{number}",
                "acl": document["acl"],
                "metadata": {"tags": document["tags"]},
                "chunks": [{"body": " ".join(words)} for words in document["chunks"]],
            }
            for number, document in enumerate(documents)
        ]
        conn.execute("SELECT sift.put_documents('t', %s::jsonb)", [json.dumps(batch)])
        if packed:
            conn.execute("SELECT sift.pack_postings('t', purge => true)")
        matching = [
            (number, document)
            for number, document in enumerate(documents)
            if set(document["acl"]) & set(principals) and (tag is None or tag in document["tags"])
            for words in document["chunks"]
            if query is None or (set(words) & set(query) and excluded not in words)
        ]
        text = None if query is None else " ".join(query) + (f" -{excluded}" if excluded else "")
        condition = None if tag is None else json.dumps({"metadata.tags": tag})
        counted = conn.execute(
            "SELECT * FROM sift.count_matches('t', %s, %s, %s::jsonb)", [text, principals, condition]
        ).fetchall()
        assert counted == [(len(matching), len({number for number, _ in matching}))]

        chunks: Counter[str | None] = Counter()
        of: dict[str | None, set[int]] = {}
        for number, document in matching:
            # As a filter sees an array: every element, equal ones once; an empty one is no value.
            for value in set(document["tags"]) or {None}:
                chunks[value] += 1
                of.setdefault(value, set()).add(number)
        facets = conn.execute(
            "SELECT * FROM sift.facets('t', 'metadata.tags', %s, NULL, %s, %s::jsonb)",
            [text, principals, condition],
        ).fetchall()
        assert {value: (chunks_, documents_) for value, chunks_, documents_ in facets} == {
            value: (chunks[value], len(of[value])) for value in chunks
        }
        assert [(-d, -c) for _, c, d in facets] == sorted((-d, -c) for _, c, d in facets)
        keys = conn.execute(
            "SELECT f.value FROM sift.facets('t', 'key', %s, NULL, %s, %s::jsonb) AS f",
            [text, principals, condition],
        ).fetchall()
        assert {key for (key,) in keys} == {f"d{number}" for number, _ in matching}
        if query is not None and matching:
            ranked = conn.execute(
                "SELECT count(*) FROM sift.lexical_search('t', %s, 1000, %s, %s::jsonb)",
                [text, principals, condition],
            ).fetchone()
            assert ranked == (len(matching),)


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("sift.facets('t', NULL)", "PS002"),
        ("sift.facets('t', 'kynd')", "PS004"),
        ("sift.facets('t', 'kind', k => -1)", "PS002"),
        ("sift.facets('t', 'kind', bucket => 'month')", "PS002"),
        ("sift.facets('t', 'observed_at', bucket => 'decade')", "PS002"),
        ("sift.facets('t', 'kind', 'the of')", "PS003"),
        ("sift.count_matches('t', '')", "PS003"),
        ("sift.count_matches('none')", "PS001"),
        ("sift.count_matches('t', filter => '[]')", "PS004"),
        ("sift.related('t')", "PS002"),
        ("sift.related('t', 'a', 1)", "PS002"),
        ("sift.related('t', 'a', k => -1)", "PS002"),
        ("sift.related('t', 'a', mode => 'both')", "PS002"),
        ("sift.related('t', 'a', per_document => 0)", "PS002"),
        ("sift.related('t', 'a', terms => 0)", "PS002"),
        ("sift.related('t', 'a', model => 'none')", "PS006"),
        ("sift.cite('none', '{a}')", "PS001"),
    ],
)
def test_bad_input_has_its_error(conn: psycopg.Connection[Any], call: str, state: str) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'standard')")
    with pytest.raises(psycopg.Error) as raised:
        conn.execute(f"SELECT * FROM {call}".encode())
    assert raised.value.sqlstate == state
    assert raised.value.diag.message_hint


def test_pieces_of_time(conn: psycopg.Connection[Any]) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    times = [
        "2024-02-29T23:30:00Z",
        "2024-03-01T00:30:00+02:00",
        "2024-03-31T12:00:00Z",
        "2025-01-01T00:00:00Z",
    ]
    conn.execute(
        "SELECT sift.put_documents('t', %s::jsonb)",
        [json.dumps([{"key": str(n), "text": "pump", "observed_at": time} for n, time in enumerate(times)])],
    )
    for bucket, expected in {
        "month": {"2024-02-01": 2, "2024-03-01": 1, "2025-01-01": 1},
        "quarter": {"2024-01-01": 3, "2025-01-01": 1},
        "year": {"2024-01-01": 3, "2025-01-01": 1},
        "day": {"2024-02-29": 2, "2024-03-31": 1, "2025-01-01": 1},
    }.items():
        found = conn.execute(
            "SELECT f.value, f.documents FROM sift.facets('t', 'observed_at', 'pump', principals => '{public}',"
            " bucket => %s) AS f",
            [bucket],
        ).fetchall()
        assert dict(found) == expected
