"""Pages: taken by ``skip`` they are those of one long page, and asking for more never changes the first rows,
however often the search has to go deeper because of the cap or of identical texts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain import fusion

WORDS = ["red", "blue", "green", "apple", "car", "pie"]
DEPTH = 4
REACHES = [DEPTH << n for n in range(12) if DEPTH << n < 10000] + [10000]
COLUMNS = (
    "s.rank, s.chunk_id, s.score, s.lexical_rank, s.dense_rank, s.lexical_score, s.distance, s.duplicates"
)


@pytest.fixture(scope="module")
def corpus(schema_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """Few documents of many chunks, few distinct texts, a depth of 4: every search goes deeper. Never committed."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("SELECT sift.register_model('pages toy', 3)")
        chance = random.Random(7)
        connection.execute("SELECT sift.create_tenant('pages', 'standard', default_principals => '{public}')")
        connection.execute("UPDATE sift.tenants AS t SET depth = %s WHERE t.name = 'pages'", [DEPTH])
        documents = [
            {
                "key": f"d{number}",
                "acl": chance.choice([["public"], ["public"], ["group:hr"]]),
                "chunks": [
                    {
                        "body": " ".join(chance.choices(WORDS, k=chance.randint(1, 5))),
                        "embedding": [chance.choice([-1, 0.5, 1, 2, 3]) for _ in range(3)],
                    }
                    for _ in range(chance.randint(5, 25))
                ],
            }
            for number in range(9)
        ]
        connection.execute(
            "SELECT sift.put_documents('pages', %s::jsonb, model => 'pages toy')", [json.dumps(documents)]
        )
        yield connection
        connection.rollback()


ASKED = st.fixed_dictionaries(
    {
        "query": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join),
        "vector": st.one_of(
            st.none(), st.lists(st.sampled_from([-1.0, 0.25, 1.0, 2.0]), min_size=3, max_size=3)
        ),
        "principals": st.sampled_from([["public"], ["public", "group:hr"]]),
        "per_document": st.one_of(st.none(), st.integers(1, 3)),
        "collapse": st.booleans(),
        "k": st.integers(1, 12),
    }
)


def _page(corpus: psycopg.Connection[Any], asked: dict[str, Any], k: int, skip: int) -> list[Any]:
    return corpus.execute(
        f"SELECT {COLUMNS} FROM sift.search('pages', %(query)s::text, k => %(page)s, skip => %(skip)s,"
        " principals => %(principals)s::text[], query_embedding => %(vector)s::real[],"
        " per_document => %(per_document)s::integer, collapse => %(collapse)s) AS s ORDER BY s.rank".encode(),
        {**asked, "page": k, "skip": skip},
    ).fetchall()


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=ASKED)
def test_pages_are_those_of_one_long_page(corpus: psycopg.Connection[Any], asked: dict[str, Any]) -> None:
    k = asked["k"]
    long = _page(corpus, asked, 3 * k, 0)
    assert _page(corpus, asked, k, 0) + _page(corpus, asked, k, k) + _page(corpus, asked, k, 2 * k) == long
    assert [row[0] for row in long] == list(range(1, len(long) + 1))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=ASKED, skip=st.integers(0, 30))
def test_a_page_is_what_the_pure_functions_make_of_the_whole_legs(
    corpus: psycopg.Connection[Any], asked: dict[str, Any], skip: int
) -> None:
    legs, documents, texts = [], {}, {}
    for call in (
        "lexical_search('pages', %(query)s::text,",
        *(("dense_search('pages', %(vector)s::real[],",) if asked["vector"] else ()),
    ):
        rows = corpus.execute(
            f"SELECT s.chunk_id, s.document_id, s.body FROM sift.{call} k => 1000,"
            " principals => %(principals)s::text[], collapse => false) AS s ORDER BY s.rank".encode(),
            asked,
        ).fetchall()
        legs.append([row[0] for row in rows])
        documents.update({row[0]: row[1] for row in rows})
        texts.update({row[0]: row[2] for row in rows})
    expected = fusion.page(
        legs,
        asked["k"],
        skip=skip,
        # Depth changes nothing in the order of one leg alone.
        reaches=REACHES if asked["vector"] else [10000],
        texts=texts if asked["collapse"] else None,
        documents=documents,
        per_document=asked["per_document"],
    )
    found = _page(corpus, asked, asked["k"], skip)
    assert [(row[0], row[1], row[2], row[3]) for row in found] == [
        (rank, one.chunk_id, one.score, one.ranks[0]) for rank, one in enumerate(expected, start=skip + 1)
    ]
    if asked["vector"]:
        assert [row[7] for row in found] == [one.duplicates for one in expected]


def test_the_search_goes_deeper_than_its_depth(corpus: psycopg.Connection[Any]) -> None:
    """Else the tests above show little: rows come that neither leg had within the tenant's depth, and some of a
    greater depth have a score above one of a smaller."""
    rises = 0
    for query in ("red car", "blue", "green apple pie"):
        for vector in ([1.0, 2.0, 0.25], [-1.0, 1.0, 2.0]):
            asked = {
                "query": query, "vector": vector, "principals": ["public"], "per_document": 3, "collapse": True
            }  # fmt: skip
            rows = _page(corpus, asked, 24, 0)
            assert any(min(rank for rank in row[3:5] if rank) > 2 * DEPTH for row in rows)
            scores = [row[2] for row in rows]
            rises += scores != sorted(scores, reverse=True)
    assert rises


@pytest.mark.parametrize(("k", "skip"), [(10, -1), (9991, 10), (0, 10001)])
def test_a_page_beyond_the_limit_is_refused(corpus: psycopg.Connection[Any], k: int, skip: int) -> None:
    with pytest.raises(psycopg.Error) as raised, corpus.transaction():
        corpus.execute("SELECT * FROM sift.search('pages', 'red', k => %s, skip => %s)", [k, skip])
    assert raised.value.sqlstate == "PS002"


def test_past_the_end_there_is_nothing(corpus: psycopg.Connection[Any]) -> None:
    asked = {
        "query": "red",
        "vector": None,
        "principals": ["public"],
        "per_document": None,
        "collapse": False,
    }
    assert _page(corpus, asked, 10, 5000) == []


def test_one_leg_keeps_its_order_whatever_it_weighs(corpus: psycopg.Connection[Any]) -> None:
    for mode, weights in (("lexical", [0.0, 1.0]), ("dense", [1.0, 0.0])):
        found = {
            str(given): corpus.execute(
                "SELECT s.chunk_id, s.score > 0 FROM sift.search('pages', 'red', k => 20, principals => '{public}', mode => %s,"
                " query_embedding => '{1,2,0.25}', weights => %s::float8[], per_document => NULL) AS s ORDER BY s.rank",
                [mode, given],
            ).fetchall()
            for given in (weights, [1.0, 1.0])
        }
        assert found[str(weights)] == found["[1.0, 1.0]"] and len(found[str(weights)]) == 20
