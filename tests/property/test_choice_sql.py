"""How a page is chosen: the database against plain functions over the whole ranking, written for obviousness."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain.choice import choose, tokens_of

WORDS = ["red", "blue", "green", "apple", "car", "pie", "one", "two", "three", "four"]
TENANTS = 3


@pytest.fixture(scope="module")
def corpora(schema_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """Tenants of about 40 chunks in 10 documents, some without a vector, some without token vectors."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("SELECT sift.register_model('choice toy', 3), sift.register_token_model('late toy', 2)")
        for seed in range(TENANTS):
            chance = random.Random(seed)
            name = f"c{seed}"
            connection.execute("SELECT sift.create_tenant(%s, 'standard', default_principals => '{public}')", [name])
            documents = [
                {"key": f"d{number}", "acl": ["group:hr"] if number == 7 else ["public"], "chunks": [
                    {"body": " ".join(chance.choices(WORDS, k=chance.randint(1, 9))) + " é" * chance.randint(0, 9),
                     "embedding": chance.choice([None, *([chance.choice([-1, 0.5, 1, 2]) for _ in range(3)] for _ in range(4))])}
                    for _ in range(chance.randint(1, 7))
                ]}
                for number in range(10)
            ]  # fmt: skip
            connection.execute("SELECT sift.put_documents(%s, %s::jsonb, model => 'choice toy')", [name, json.dumps(documents)])
            rows = connection.execute(
                "SELECT c.chunk_id FROM sift.chunks AS c JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s ORDER BY 1", [name]
            ).fetchall()
            for (chunk_id,) in rows:
                if chance.random() < 0.7:
                    tokens = [[chance.uniform(-1, 1), chance.uniform(-1, 1)] for _ in range(chance.randint(1, 6))]
                    connection.execute(
                        "SELECT sift.put_token_embeddings(%s, 'late toy', ARRAY[%s]::bigint[], ARRAY[%s])", [name, chunk_id, json.dumps(tokens)]
                    )
        yield connection
        connection.rollback()


def search(connection: psycopg.Connection[Any], tenant: str, **options: Any) -> list[dict[str, Any]]:
    casts = {
        "principals": "text[]", "query_embedding": "real[]", "query_token_embeddings": "real[]", "per_document": "integer",
        "mmr": "double precision", "token_budget": "integer", "query": "text", "mode": "text",
    }
    options = {"principals": ["public"], **options}
    listed = ", ".join(f"{name} => %({name})s{'::' + casts[name] if name in casts else ''}" for name in options)
    cursor = connection.execute(f"SELECT * FROM sift.search(%(tenant)s, {listed})".encode(), {"tenant": tenant, **options})
    names = [column.name for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


# --- what the database knows of each chunk, read from the tables -----------------------------------


def half(number: float) -> float:
    """Rounded to half precision, ties to even, as the database stores token vectors."""
    return float(struct.unpack("<e", struct.pack("<e", struct.unpack("<f", struct.pack("<f", number))[0]))[0])


def stored(connection: psycopg.Connection[Any]) -> dict[int, tuple[list[float] | None, set[str], list[list[float]] | None]]:
    rows = connection.execute(
        "SELECT c.chunk_id, e.embedding::real[], c.tokens, (SELECT array_agg(v::text) FROM unnest(k.embeddings) AS v)"
        " FROM sift.chunks AS c LEFT JOIN sift.chunk_embeddings AS e USING (tenant_id, chunk_id)"
        " LEFT JOIN sift.chunk_token_embeddings AS k USING (tenant_id, chunk_id)"
    ).fetchall()
    return {
        chunk: (vector, set(tokens.split(" ")) - {""}, None if late is None else [json.loads(one) for one in late])
        for chunk, vector, tokens, late in rows
    }


def alike(a: tuple[list[float] | None, set[str], Any], b: tuple[list[float] | None, set[str], Any]) -> float:
    if a[0] is not None and b[0] is not None:
        product = sum(x * y for x, y in zip(a[0], b[0], strict=True))
        return max(0.0, product / math.sqrt(sum(x * x for x in a[0]) * sum(y * y for y in b[0])))
    return len(a[1] & b[1]) / len(a[1] | b[1]) if a[1] | b[1] else 0.0


def diversified(
    ranking: Sequence[dict[str, Any]], scores: Sequence[float | None], known: dict[int, Any], share: float, k: int,
    cap: int | None, budget: int | None,
) -> list[tuple[int, list[int]]]:
    """Maximal marginal relevance, as in the paper: at each step the chunk taken, and those within rounding of it."""
    numbers = [score for score in scores if score is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    scaled = [0.0 if s is None else 1.0 if high == low else (s - low) / (high - low) for s in scores]
    left, taken, result = budget, list[int](), list[tuple[int, list[int]]]()
    while len(taken) < k:
        open_to = [
            place for place, row in enumerate(ranking)
            if place not in taken
            and (left is None or tokens_of(row["body"]) <= left)
            and (cap is None or sum(ranking[t]["document_id"] == row["document_id"] for t in taken) < cap)
        ]
        if not open_to:
            break
        value = {
            place: share * scaled[place]
            - (1 - share) * max((alike(known[ranking[place]["chunk_id"]], known[ranking[t]["chunk_id"]]) for t in taken), default=0.0)
            for place in open_to
        }
        best = max(open_to, key=lambda place: (value[place], -place))
        near = [place for place in open_to if value[best] - value[place] < 1e-9]
        result.append((best, near))
        taken.append(best)
        if left is not None:
            left -= tokens_of(ranking[best]["body"])
    return result


QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
EMBEDDINGS = st.none() | st.lists(st.sampled_from([-1.0, 0.5, 1.0]), min_size=3, max_size=3)
CAPS = st.none() | st.integers(1, 4)
BUDGETS = st.none() | st.integers(1, 40)
FIXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FIXED
@given(tenant=st.integers(0, TENANTS - 1), query=QUERIES, vector=EMBEDDINGS, k=st.integers(1, 15), cap=CAPS, budget=BUDGETS)
def test_cap_and_budget_are_one_walk(
    corpora: psycopg.Connection[Any], tenant: int, query: str, vector: Any, k: int, cap: int | None, budget: int | None
) -> None:
    options: dict[str, Any] = {"query": query, "query_embedding": vector}
    ranking = search(corpora, f"c{tenant}", k=100, per_document=None, **options)
    page = search(corpora, f"c{tenant}", k=k, per_document=cap, token_budget=budget, **options)
    places, _ = choose(
        [row["document_id"] for row in ranking], k=k, per_document=cap, bodies=[row["body"] for row in ranking], token_budget=budget
    )
    assert [row["chunk_id"] for row in page] == [ranking[place]["chunk_id"] for place in places]
    assert [row["rank"] for row in page] == list(range(1, len(page) + 1))
    if budget is not None:
        assert sum(tokens_of(row["body"]) for row in page) <= budget
        assert [row["former_rank"] for row in page] == [place + 1 for place in places]


@FIXED
@given(
    tenant=st.integers(0, TENANTS - 1), query=QUERIES, vector=EMBEDDINGS, k=st.integers(1, 12), cap=CAPS, budget=BUDGETS,
    share=st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.95, 1.0]),
)  # fmt: skip
def test_maximal_marginal_relevance(
    corpora: psycopg.Connection[Any], tenant: int, query: str, vector: Any, k: int, cap: int | None, budget: int | None, share: float
) -> None:
    options: dict[str, Any] = {"query": query, "query_embedding": vector}
    ranking = search(corpora, f"c{tenant}", k=100, per_document=None, **options)
    page = search(corpora, f"c{tenant}", k=k, per_document=cap, token_budget=budget, mmr=share, **options)
    expected = diversified(ranking, [row["score"] for row in ranking], stored(corpora), share, k, cap, budget)
    by_chunk = {row["chunk_id"]: place for place, row in enumerate(ranking)}
    places = [by_chunk[row["chunk_id"]] for row in page]
    for place, (best, near) in zip(places, expected, strict=True):
        # Where two are equal but for rounding, either may be first, and what follows differs.
        assert place in near
        if place != best:
            return
    if share == 1.0:
        assert places == choose(
            [row["document_id"] for row in ranking], k=k, per_document=cap, bodies=[row["body"] for row in ranking], token_budget=budget
        )[0]


@FIXED
@given(
    tenant=st.integers(0, TENANTS - 1), query=QUERIES, vector=EMBEDDINGS, k=st.integers(1, 12), cap=CAPS, skip=st.integers(0, 4),
    tokens=st.lists(st.lists(st.floats(-2, 2, width=16), min_size=2, max_size=2), min_size=1, max_size=4),
)  # fmt: skip
def test_late_interaction(
    corpora: psycopg.Connection[Any], tenant: int, query: str, vector: Any, k: int, cap: int | None, skip: int, tokens: list[list[float]]
) -> None:
    options: dict[str, Any] = {"query": query, "query_embedding": vector}
    ranking = search(corpora, f"c{tenant}", k=100, per_document=None, **options)
    known = stored(corpora)

    def score(row: dict[str, Any]) -> float | None:
        late = known[row["chunk_id"]][2]
        if late is None:
            return None
        return sum(max(sum(half(a) * b for a, b in zip(q, t, strict=True)) for t in late) for q in tokens)

    whole = search(corpora, f"c{tenant}", k=100, per_document=None, query_token_embeddings=tokens, **options)
    scores = [score(row) for row in whole]
    assert [row["rerank_score"] is None for row in whole] == [number is None for number in scores]
    for row, number in zip(whole, scores, strict=True):
        assert number is None or row["rerank_score"] == pytest.approx(number, abs=1e-5)
    # By the score, ties in the former order, and those without one after all others, in their order.
    assert [row["chunk_id"] for row in whole] == [
        row["chunk_id"]
        for row in sorted(whole, key=lambda r: (r["rerank_score"] is None, -(r["rerank_score"] or 0.0), r["former_rank"]))
    ]
    assert {row["former_rank"]: row["chunk_id"] for row in whole} == {row["rank"]: row["chunk_id"] for row in ranking}
    # Cap and page come after the reranking.
    page = search(corpora, f"c{tenant}", k=k, skip=skip, per_document=cap, query_token_embeddings=tokens, **options)
    places, _ = choose([row["document_id"] for row in whole], k=k + skip, per_document=cap)
    assert [(row["rank"], row["chunk_id"]) for row in page] == [
        (rank, whole[place]["chunk_id"]) for rank, place in enumerate(places, start=1)
    ][skip:]


@FIXED
@given(
    tenant=st.integers(0, TENANTS - 1), k=st.integers(0, 12), cap=CAPS, budget=BUDGETS, share=st.none() | st.sampled_from([0.0, 0.4, 1.0]),
    seed=st.integers(0, 10_000),
)  # fmt: skip
def test_scores_of_ones_own(
    corpora: psycopg.Connection[Any], tenant: int, k: int, cap: int | None, budget: int | None, share: float | None, seed: int
) -> None:
    chance = random.Random(seed)
    rows = [
        dict(zip(("chunk_id", "document_id", "body", "visible"), row, strict=True))
        for row in corpora.execute(
            "SELECT c.chunk_id, c.document_id, c.body, d.key <> 'd7' FROM sift.chunks AS c JOIN sift.documents AS d USING (tenant_id, document_id)"
            " JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s", [f"c{tenant}"]
        ).fetchall()
    ]  # fmt: skip
    given_rows = chance.sample(rows, min(len(rows), 20))
    scores = [chance.choice([None, 1.0, -2.0, 0.25, chance.random()]) for _ in given_rows]
    found = corpora.execute(
        "SELECT r.rank, r.chunk_id, r.score FROM sift.choose_chunks(%s, %s::bigint[], %s::double precision[], %s, '{public}', %s::integer,"
        " %s::double precision, %s::integer) AS r",
        [f"c{tenant}", [row["chunk_id"] for row in given_rows], scores, k, cap, share, budget],
    ).fetchall()
    pairs = sorted(
        ((row, score) for row, score in zip(given_rows, scores, strict=True) if row["visible"]),
        key=lambda pair: (pair[1] is None, -(pair[1] or 0.0)),
    )
    ranking = [row for row, _ in pairs]
    assert [rank for rank, _, _ in found] == list(range(1, len(found) + 1))
    by_chunk = {row["chunk_id"]: place for place, row in enumerate(ranking)}
    assert [score for _, _, score in found] == [pairs[by_chunk[chunk]][1] for _, chunk, _ in found]
    if share is None:
        places, _ = choose(
            [row["document_id"] for row in ranking], k=k, per_document=cap, bodies=[row["body"] for row in ranking], token_budget=budget
        )
        assert [chunk for _, chunk, _ in found] == [ranking[place]["chunk_id"] for place in places]
        return
    expected = diversified(ranking, [score for _, score in pairs], stored(corpora), share, k, cap, budget)
    for (_, chunk, _), (best, near) in zip(found, expected, strict=True):
        assert by_chunk[chunk] in near
        if by_chunk[chunk] != best:
            return
