"""The dense leg against a few lines of Python: random corpora, writes, filters, permissions, and counts.

Components are small integers, so that products and sums are exact in single and half precision and
distances are equal to the last bit, ties included.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DIMENSIONS = 3
Vector = tuple[int, ...]
METRICS = ("cosine", "ip", "l2")
PRECISIONS = ("vector", "halfvec")
GROUPS = ("a", "b", "c")

vectors = st.tuples(*[st.integers(-3, 3)] * DIMENSIONS).filter(any)
principals = st.frozensets(st.sampled_from(GROUPS), max_size=2).map(sorted)
keys = st.integers(0, 7).map("k{}".format)
chunks = st.lists(st.one_of(st.none(), vectors), min_size=1, max_size=4)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, chunks, principals),
        st.tuples(st.just("delete"), keys),
        st.tuples(st.just("access"), keys, principals),
        st.tuples(st.just("embed"), keys, vectors),
    ),
    min_size=1,
    max_size=12,
)


def distance(metric: str, one: Vector, other: Vector) -> float:
    product = sum(x * y for x, y in zip(one, other, strict=True))
    if metric == "ip":
        return float(-product)
    if metric == "l2":
        return math.sqrt(sum((x - y) ** 2 for x, y in zip(one, other, strict=True)))
    square = sum(x * x for x in one) * sum(y * y for y in other)
    return 1.0 - max(-1.0, min(1.0, product / math.sqrt(square)))


def value(connection: psycopg.Connection, statement: str, *parameters: Any) -> Any:
    row = connection.execute(statement, parameters).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return row[0]


def literal(vector: Vector) -> str:
    return "[" + ",".join(map(str, vector)) + "]"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=operations,
    query=vectors,
    reader=st.lists(st.sampled_from(GROUPS), max_size=3),
    k=st.integers(0, 30),
    even=st.one_of(st.none(), st.booleans()),
    rumour=st.sampled_from([0, 0, 20_000, 1_000_000, -50]),
)
def test_the_leg_equals_the_oracle(
    conn: psycopg.Connection,
    metric: str,
    precision: str,
    history: list[tuple[Any, ...]],
    query: Vector,
    reader: list[str],
    k: int,
    even: bool | None,
    rumour: int,
) -> None:
    with conn.transaction(force_rollback=True):
        tenant = value(conn, "SELECT sift.create_tenant('t', 'standard')")
        value(conn, "SELECT sift.create_tenant('other', 'standard', default_principals => '{a,b,c}')")
        model = value(
            conn,
            "SELECT sift.register_model('m', %s, metric => %s, vector_type => %s)",
            DIMENSIONS,
            metric,
            precision,
        )
        value(
            conn,
            "SELECT count(*) FROM sift.put_documents('other', %s::jsonb, model => 'm')",
            json.dumps([{"key": "x", "chunks": [{"body": "x", "embedding": list(query)}] * 5}]),
        )
        stored: dict[str, tuple[list[Vector | None], list[str]]] = {}
        for step, operation in enumerate(history):
            match operation:
                case "put", key, bodies, acl:
                    value(
                        conn,
                        "SELECT count(*) FROM sift.put_documents('t', %s::jsonb, model => 'm')",
                        json.dumps(
                            [
                                {
                                    "key": key,
                                    "title": f"version {step}",
                                    "acl": acl,
                                    "metadata": {"step": step},
                                    "chunks": [
                                        {"body": f"{key} {i}", "embedding": None if v is None else list(v)}
                                        for i, v in enumerate(bodies)
                                    ],
                                }
                            ]
                        ),
                    )
                    stored[key] = (list(bodies), acl)
                case "delete", key:
                    value(conn, "SELECT count(*) FROM sift.delete_documents('t', %s)", [key])
                    stored.pop(key, None)
                case "access", key, acl:
                    value(conn, "SELECT count(*) FROM sift.set_access('t', %s, %s)", [key], acl)
                    if key in stored:
                        stored[key] = (stored[key][0], acl)
                case "embed", key, vector:
                    ids = value(
                        conn,
                        "SELECT coalesce(array_agg(c.chunk_id ORDER BY c.ordinal), '{}') FROM"
                        " sift.chunks AS c JOIN sift.documents AS d"
                        " USING (tenant_id, document_id) WHERE d.tenant_id = %s AND d.key = %s",
                        tenant,
                        key,
                    )
                    value(
                        conn,
                        "SELECT sift.put_embeddings('t', 'm', %s::bigint[], %s)",
                        ids[:1],
                        [literal(vector)] * len(ids[:1]),
                    )
                    if key in stored:
                        stored[key][0][0] = vector

        counts = dict(
            conn.execute(
                "SELECT array_to_string(a.principals, ','), sum(s.vectors)::integer FROM"
                " sift.embedding_stats AS s"
                " JOIN sift.access_lists AS a USING (tenant_id, access_list_id) WHERE s.tenant_id ="
                " %s AND s.model_id = %s"
                " GROUP BY 1 HAVING sum(s.vectors) <> 0",
                (tenant, model),
            ).fetchall()
        )
        expected_counts: Counter[str] = Counter()
        for bodies, acl in stored.values():
            expected_counts[",".join(acl)] += sum(v is not None for v in bodies)
        assert counts == {names: n for names, n in expected_counts.items() if n}

        # Counts that are wrong lead to the index where it does not pay, and must change nothing.
        if rumour:
            conn.execute(
                "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors)"
                " SELECT %s, %s, a.access_list_id, %s FROM sift.access_lists AS a WHERE a.tenant_id = %s",
                (tenant, model, rumour, tenant),
            )
        lists = value(conn, "SELECT sift._visible_lists(%s, %s, current_user::regrole)", tenant, reader)
        predicate = None if even is None else "(d.metadata ->> 'step')::integer % 2 = ($1 ->> 0)::integer"
        found = conn.execute(
            "SELECT d.key, c.ordinal, l.distance, l.chunk_id FROM sift._dense_leg(%s::integer,"
            " %s::integer, %s::real[], %s::bigint[], %s, %s, %s::integer) AS l"
            " JOIN sift.chunks AS c ON c.tenant_id = %s AND c.chunk_id = l.chunk_id"
            " JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id ="
            " c.document_id ORDER BY l.distance, l.chunk_id",
            (
                tenant,
                model,
                [float(x) for x in query],
                lists,
                predicate,
                json.dumps([0 if even else 1]),
                k,
                tenant,
            ),
        ).fetchall()

        numbers = {
            (key, ordinal): (number, step)
            for key, ordinal, number, step in conn.execute(
                "SELECT d.key, c.ordinal, c.chunk_id, (d.metadata ->> 'step')::integer FROM"
                " sift.chunks AS c JOIN sift.documents AS d"
                " USING (tenant_id, document_id) WHERE c.tenant_id = %s",
                (tenant,),
            ).fetchall()
        }
        visible = [
            (distance(metric, vector, query), numbers[key, i][0])
            for key, (bodies, acl) in stored.items()
            if set(acl) & set(reader)
            for i, vector in enumerate(bodies)
            if vector is not None and (even is None or numbers[key, i][1] % 2 == (0 if even else 1))
        ]
        assert [(d, chunk) for _, _, d, chunk in found] == sorted(visible)[:k]
