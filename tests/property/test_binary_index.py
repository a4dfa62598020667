"""An index of signs finds candidates; the rows are those of the vectors: all min(k, visible), in the order of an exact comparison
wherever every vector is a candidate, and nearly so elsewhere."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

N, DIMENSIONS = 10_600, 32
NAMES = {"vector": 1, "halfvec": 2}


@pytest.fixture(scope="module")
def filled(server_dsn: str, _template: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Two models with the same vectors, as ``vector`` and as ``halfvec``, both indexed by signs; every tenth on list 2."""
    name = f"sift_binary_{uuid.uuid4().hex[:12]}"
    random = np.random.default_rng(5)
    centres = random.standard_normal((60, DIMENSIONS))
    vectors = (centres[random.integers(0, 60, N)] + 0.7 * random.standard_normal((N, DIMENSIONS))).astype(
        np.float32
    )
    lists = np.where(np.arange(N) % 10 == 0, 2, 1)
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {_template}")
    dsn = make_conninfo(server_dsn, dbname=name)
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO sift.tenants (tenant_id, name, analyzer, analyzer_fingerprint) VALUES (1, 't', 'standard', '-')"
            )
            connection.execute(
                "INSERT INTO sift.access_lists SELECT 1, l, ARRAY['g' || l] FROM generate_series(1, 2) AS l"
            )
            connection.execute(
                "INSERT INTO sift.documents (tenant_id, document_id, key, version, content_hash, observed_at, access_list_id, length,"
                " updated_at, metadata) OVERRIDING SYSTEM VALUE"
                " SELECT 1, i, 'd' || i, 1, '-', now(), CASE WHEN (i - 1) % 10 = 0 THEN 2 ELSE 1 END, 1, now(), '{}'"
                f" FROM generate_series(1, {N}) AS i"
            )
            connection.execute(
                "INSERT INTO sift.chunks (tenant_id, chunk_id, document_id, access_list_id, ordinal, doc_length, char_start, char_end,"
                " kind, section_path, text_hash, body, tokens) OVERRIDING SYSTEM VALUE"
                " SELECT 1, document_id, document_id, access_list_id, 0, 0, 0, 0, 'text', '{}', '-', 'b', '' FROM sift.documents"
            )
            for precision, number in NAMES.items():
                connection.execute(
                    "SELECT sift.register_model(%s, %s, vector_type => %s, quantization => 'binary')",
                    (precision, DIMENSIONS, precision),
                )
                column = "embedding" if precision == "vector" else "half_embedding"
                (definition,) = connection.execute(
                    f"SELECT pg_get_indexdef('sift.chunk_embeddings_m{number}_hnsw_idx'::regclass)"
                ).fetchone()  # type: ignore[misc]
                connection.execute(f"DROP INDEX sift.chunk_embeddings_m{number}_hnsw_idx")
                with (
                    connection.cursor() as cursor,
                    cursor.copy(
                        "COPY sift.chunk_embeddings (tenant_id, model_id, chunk_id, access_list_id, text_hash,"
                        f" {column}) FROM STDIN"
                    ) as copy,
                ):
                    for i in range(N):
                        text = "[" + ",".join(map(repr, vectors[i].tolist())) + "]"
                        copy.write_row(
                            (1, number, i + 1, int(lists[i]), hashlib.sha256(b"%d" % i).digest()[:16], text)
                        )
                connection.execute(definition)  # as it was made for the empty table
                connection.execute(
                    "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors)"
                    " SELECT tenant_id, model_id, access_list_id, count(*) FROM sift.chunk_embeddings WHERE model_id = %s"
                    " GROUP BY 1, 2, 3",
                    (number,),
                )
        yield dsn, vectors, lists
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def session(filled: tuple[str, np.ndarray, np.ndarray]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(filled[0], autocommit=True) as connection:
        yield connection


def leg(
    connection: psycopg.Connection,
    model: str,
    query: np.ndarray,
    lists: list[int],
    k: int,
    predicate: str | None = None,
) -> list[tuple[int, float, str]]:
    return connection.execute(
        "SELECT l.chunk_id, l.distance, l.path FROM sift._dense_leg(1, %s, %s::real[], %s::bigint[], %s, '[]', %s) AS l",
        (NAMES[model], query.tolist(), lists, predicate, k),
    ).fetchall()


def exact(
    connection: psycopg.Connection, model: str, query: np.ndarray, lists: list[int], k: int
) -> list[tuple[int, float]]:
    """The oracle: every visible vector, by the database's own distance."""
    column = "embedding" if model == "vector" else "half_embedding"
    return connection.execute(
        f"SELECT e.chunk_id, public.cosine_distance(e.{column}, %s::real[]::public.{model}({DIMENSIONS})) AS distance"
        f" FROM sift.chunk_embeddings_m{NAMES[model]} AS e WHERE e.access_list_id = ANY (%s::bigint[])"
        " ORDER BY distance, e.chunk_id LIMIT %s",
        (query.tolist(), lists, k),
    ).fetchall()


vector = st.lists(st.floats(-2, 2, width=32), min_size=DIMENSIONS, max_size=DIMENSIONS).filter(
    lambda numbers: sum(number * number for number in numbers) > 1e-3
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=vector,
    model=st.sampled_from(sorted(NAMES)),
    lists=st.sampled_from([[1], [2], [1, 2], [7]]),
    k=st.sampled_from([1, 10, 100, 300, 1500]),
)
def test_rows_are_all_that_are_asked_for_in_their_true_order(
    session: psycopg.Connection, query: list[float], model: str, lists: list[int], k: int
) -> None:
    """Any query, also one that is like nothing stored: min(k, visible) rows, each with its exact distance, in order. Where all vectors
    are compared they are the nearest."""
    found = leg(session, model, np.array(query, dtype=np.float32), lists, k)
    wanted = exact(session, model, np.array(query, dtype=np.float32), lists, N)
    assert len(found) == min(k, len(wanted))
    distances = dict(wanted)
    assert [distance for _, distance, _ in found] == [distances[chunk] for chunk, _, _ in found]
    assert found == sorted(found, key=lambda row: (row[1], row[0]))
    if found and found[0][2] != "hnsw":
        assert [(chunk, distance) for chunk, distance, _ in found] == wanted[:k]


@pytest.mark.parametrize("model", sorted(NAMES))
def test_ranking_candidates_again_is_exact_where_all_are_candidates(
    session: psycopg.Connection, model: str
) -> None:
    """The statement of the walk, with every vector let through: what comes, ranked by the vectors, is the exact answer."""
    column = "embedding" if model == "vector" else "half_embedding"
    random = np.random.default_rng(2)
    # A walk over the index lets through as many as hnsw.ef_search says.
    session.execute("SET enable_indexscan = off")
    for _ in range(5):
        query = random.standard_normal(DIMENSIONS).astype(np.float32)
        found = session.execute(
            "SELECT c.chunk_id, c.distance FROM ("
            f" SELECT e.chunk_id, public.cosine_distance(e.{column}, q.v) AS distance"
            f" FROM sift.chunk_embeddings_m{NAMES[model]} AS e,"
            f" LATERAL (SELECT %s::real[]::public.{model}({DIMENSIONS}) AS v) AS q"
            f" ORDER BY public.binary_quantize(e.{column})::bit({DIMENSIONS}) OPERATOR(public.<~>)"
            f" public.binary_quantize(q.v)::bit({DIMENSIONS}) LIMIT {N}) AS c ORDER BY c.distance, c.chunk_id LIMIT 50",
            (query.tolist(),),
        ).fetchall()
        assert found == exact(session, model, query, [1, 2], 50)
    session.execute("RESET enable_indexscan")


@pytest.mark.parametrize("model", sorted(NAMES))
@pytest.mark.parametrize("analyzed", [False, True])
def test_the_index_is_walked_and_finds_nearly_all(
    filled: tuple[str, np.ndarray, np.ndarray], session: psycopg.Connection, model: str, analyzed: bool
) -> None:
    """By plans made for fresh statistics and without any, generic ones too."""
    if analyzed:
        session.execute(f"ANALYZE sift.chunk_embeddings_m{NAMES[model]}")
    _, vectors, _ = filled
    random = np.random.default_rng(8)
    recalls, paths = [], set()
    session.execute("SET plan_cache_mode = force_generic_plan")
    try:
        for _ in range(20):
            query = (vectors[random.integers(N)] + 0.3 * random.standard_normal(DIMENSIONS)).astype(np.float32)
            found = leg(session, model, query, [1, 2], 10)
            wanted = {chunk for chunk, _ in exact(session, model, query, [1, 2], 10)}
            recalls.append(len(wanted & {chunk for chunk, _, _ in found}) / 10)
            paths |= {path for _, _, path in found}
    finally:
        session.execute("RESET plan_cache_mode")
    assert paths == {"hnsw"}
    assert np.mean(recalls) >= 0.8  # 32 signs of 32 dimensions; docs/models.md has what real vectors give


def test_what_is_invisible_is_left_out_before_ranking(session: psycopg.Connection) -> None:
    query = np.ones(DIMENSIONS, dtype=np.float32)
    for lists in ([1], [2]):
        found = leg(session, "vector", query, lists, 10)
        assert len(found) == 10
        assert all(((chunk - 1) % 10 == 0) is (lists == [2]) for chunk, _, _ in found)
    filtered = leg(session, "halfvec", query, [1, 2], 10, "d.document_id % 97 = 5")
    assert len(filtered) == 10 and all(chunk % 97 == 5 for chunk, _, _ in filtered)
