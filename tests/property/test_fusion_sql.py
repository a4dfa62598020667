"""``sift.search`` gives what the pure functions make of the two legs' own results."""

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

WORDS = ["red", "blue", "green", "apple", "car", "pie", "one", "two", "three", "four"]
DEPTH = 12


@pytest.fixture(scope="module")
def corpora(schema_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """Four tenants of about 40 chunks, few distinct texts and vectors among them; never committed."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("SELECT sift.register_model('fusion toy', 3)")
        for seed in range(4):
            chance = random.Random(seed)
            connection.execute(
                "SELECT sift.create_tenant(%s, 'standard', default_principals => '{public}')", [f"f{seed}"]
            )
            documents = [
                {
                    "key": f"d{number}",
                    "acl": chance.choice([["public"], ["public"], ["group:hr"]]),
                    "metadata": {"n": chance.randint(0, 3)},
                    "chunks": [
                        {
                            "body": " ".join(
                                chance.choices(WORDS, k=chance.randint(1, 3 if chance.random() < 0.5 else 8))
                            ),
                            "embedding": chance.choice(
                                [
                                    None,
                                    *([chance.choice([-1, 0.5, 1, 2]) for _ in range(3)] for _ in range(5)),
                                ]
                            ),
                        }
                        for _ in range(chance.randint(1, 6))
                    ],
                }
                for number in range(12)
            ]
            connection.execute(
                "SELECT sift.put_documents(%s, %s::jsonb, model => 'fusion toy')",
                [f"f{seed}", json.dumps(documents)],
            )
        yield connection
        connection.rollback()


SEARCHES = st.fixed_dictionaries(
    {
        "tenant": st.integers(0, 3).map(lambda seed: f"f{seed}"),
        "query": st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map(" ".join),
        "vector": st.lists(st.sampled_from([-1.0, 0.25, 1.0, 2.0]), min_size=3, max_size=3),
        "principals": st.sampled_from([["public"], ["group:hr"], ["public", "group:hr"]]),
        "filter": st.sampled_from([None, {"metadata.n": {"$gt": 0}}]),
        "k": st.integers(0, DEPTH),
        "depth": st.integers(1, DEPTH),
        "rrf_k": st.one_of(st.sampled_from([0.0, 1.0, 60.0]), st.floats(0, 1000)),
        "weights": st.one_of(
            st.sampled_from([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),
            st.tuples(st.floats(0.001, 100), st.one_of(st.just(0.0), st.floats(1e-100, 100))).map(list),
        ),
        "per_document": st.one_of(st.none(), st.integers(1, 3)),
        "collapse": st.booleans(),
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=SEARCHES)
def test_search_is_the_fusion_of_its_legs(corpora: psycopg.Connection[Any], asked: dict[str, Any]) -> None:
    with corpora.transaction():
        _compare(corpora, asked)


def _compare(corpora: psycopg.Connection[Any], asked: dict[str, Any]) -> None:
    asked["depth"] = max(asked["depth"], asked["k"])
    asked["filter"] = None if asked["filter"] is None else json.dumps(asked["filter"])
    legs = []
    raw: list[dict[int, float]] = []
    texts, documents = {}, {}
    for call, column in (
        ("lexical_search(%(tenant)s, %(query)s::text,", "lexical_score"),
        ("dense_search(%(tenant)s, %(vector)s::real[],", "distance"),
    ):
        rows = corpora.execute(
            f"SELECT s.chunk_id, s.document_id, s.body, s.{column} FROM sift.{call} k => %(depth)s,"
            " principals => %(principals)s::text[], filter => %(filter)s::jsonb, collapse => false) AS s ORDER BY s.rank".encode(),
            asked,
        ).fetchall()
        legs.append([row[0] for row in rows])
        raw.append({row[0]: row[3] for row in rows})
        documents.update({row[0]: row[1] for row in rows})
        texts.update({row[0]: row[2] for row in rows})
    found = corpora.execute(
        """
        SELECT s.rank, s.chunk_id, s.score, s.lexical_rank, s.dense_rank, s.lexical_score, s.distance, s.duplicates
        FROM sift.search(
            tenant => %(tenant)s, query => %(query)s::text, k => %(k)s, principals => %(principals)s::text[], filter => %(filter)s::jsonb,
            query_embedding => %(vector)s::real[], depth => %(depth)s, rrf_k => %(rrf_k)s::float8, weights => %(weights)s::float8[],
            per_document => %(per_document)s::integer, collapse => %(collapse)s) AS s
        ORDER BY s.rank
        """,
        asked,
    ).fetchall()
    expected = fusion.page(
        legs,
        asked["k"],
        weights=asked["weights"],
        rrf_k=asked["rrf_k"],
        depth=asked["depth"],
        texts=texts if asked["collapse"] else None,
        documents=documents,
        per_document=asked["per_document"],
    )
    # Scores too are equal to the last bit: the arithmetic is additions and divisions in one order.
    assert found == [
        (
            rank, one.chunk_id, one.score, one.ranks[0], one.ranks[1],
            raw[0][one.chunk_id] if one.ranks[0] else None, raw[1][one.chunk_id] if one.ranks[1] else None, one.duplicates,
        )
        for rank, one in enumerate(expected, start=1)
    ]  # fmt: skip


def test_the_corpora_are_worth_searching(corpora: psycopg.Connection[Any]) -> None:
    """Both legs return, they disagree, and there are texts to collapse: else the test above shows little."""
    for seed in range(4):
        rows = corpora.execute(
            "SELECT s.lexical_rank, s.dense_rank, s.duplicates FROM sift.search(%s, 'red blue apple car', k => 40, depth => 60,"
            " principals => '{public}', query_embedding => '{1,1,0.25}') AS s",
            [f"f{seed}"],
        ).fetchall()
        assert len(rows) > 8
        assert {bool(row[0]) for row in rows} == {True, False}
        assert sum(row[1] is not None and row[0] not in (None, row[1]) for row in rows) > 3
    (copies,) = corpora.execute(
        "SELECT max(s.duplicates) FROM unnest('{f0,f1,f2,f3}'::text[]) AS t (tenant) CROSS JOIN LATERAL sift.search("
        "t.tenant, 'red', k => 40, depth => 60, principals => '{public}', query_embedding => '{1,1,0.25}') AS s"
    ).fetchone() or (0,)
    assert copies > 0
