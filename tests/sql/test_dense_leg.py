"""sift._dense_leg over enough vectors for every path: rows, order, recall, plans, ties, permission."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg.conninfo import make_conninfo

from pgsift import _resources

N, DIMENSIONS, CLUSTERS = 20_000, 24, 100
EVERYONE = [1, 2, 3, 4, 5]
SHARES = [0.0005, 0.001, 0.01, 0.1, 1.0]  # of lists 1, 1 and 2, and so on

Hits = list[tuple[int, float, str]]


class Corpus:
    """What the database holds, in memory: vectors as they are stored, by chunk number minus one."""

    def __init__(self, dsn: str) -> None:
        random = np.random.default_rng(11)
        centres = random.standard_normal((CLUSTERS, DIMENSIONS))
        self.dsn = dsn
        self.cluster = random.integers(0, CLUSTERS, N)
        self.vectors = (centres[self.cluster] + 0.5 * random.standard_normal((N, DIMENSIONS))).astype(
            np.float32
        )
        self.lists = np.searchsorted(SHARES, random.random(N)) + 1
        self._wide = self.vectors.astype(np.float64)
        self._wide /= np.linalg.norm(self._wide, axis=1, keepdims=True)
        self.queries = (
            centres[random.integers(0, CLUSTERS, 20)] + 0.5 * random.standard_normal((20, DIMENSIONS))
        ).astype(np.float32)

    def distances(self, query: NDArray[np.float32]) -> NDArray[np.float64]:
        wanted = query.astype(np.float64)
        cosine: NDArray[np.float64] = 1 - self._wide @ (wanted / np.linalg.norm(wanted))
        return cosine

    def nearest(self, query: NDArray[np.float32], visible: NDArray[np.bool_], k: int) -> list[int]:
        distances = np.where(visible, self.distances(query), np.inf)
        return [int(i) + 1 for i in np.argsort(distances, kind="stable")[: min(k, int(visible.sum()))]]


def fill(
    connection: psycopg.Connection,
    tenant: int,
    first: int,
    lists: Any,
    vectors: Any,
    texts: list[int] | None = None,
) -> None:
    """Chunks *first*, *first* + 1, … with vectors under model 1, and their counts; a text is a number."""
    count = len(vectors)
    connection.execute(
        "INSERT INTO sift.tenants AS t (tenant_id, name, analyzer, analyzer_fingerprint) VALUES (%s,"
        " %s, 'standard', '-')"
        " ON CONFLICT DO NOTHING",
        (tenant, f"t{tenant}"),
    )
    connection.execute(
        "INSERT INTO sift.access_lists SELECT DISTINCT %s::integer, l, ARRAY['g' || l] FROM"
        " unnest(%s::bigint[]) AS l"
        " ON CONFLICT DO NOTHING",
        (tenant, [int(i) for i in lists]),
    )
    connection.execute(
        "INSERT INTO sift.documents (tenant_id, document_id, key, version, content_hash,"
        " observed_at, access_list_id, length, updated_at, metadata)"
        " OVERRIDING SYSTEM VALUE"
        " SELECT %(t)s, %(f)s + i - 1, 'd' || (%(f)s + i - 1), 1, '-', now(), l, 1, now(),"
        " jsonb_build_object('n', i %% 1000)"
        " FROM unnest(%(l)s::bigint[]) WITH ORDINALITY AS u (l, i)",
        {"t": tenant, "f": first, "l": [int(i) for i in lists]},
    )
    connection.execute(
        "INSERT INTO sift.chunks (tenant_id, chunk_id, document_id, access_list_id, ordinal,"
        " doc_length, char_start, char_end, kind,"
        " section_path, text_hash, body, tokens) OVERRIDING SYSTEM VALUE"
        " SELECT tenant_id, document_id, document_id, access_list_id, 0, 0, 0, 0, 'text', '{}', '-',"
        " 'body', '' FROM sift.documents"
        " WHERE tenant_id = %s AND document_id >= %s",
        (tenant, first),
    )
    hashes = [
        hashlib.sha256(struct.pack(">qq", tenant, texts[i] if texts else first + i)).digest()[:16]
        for i in range(count)
    ]
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY sift.chunk_embeddings (tenant_id, model_id, chunk_id, access_list_id, text_hash,"
            " embedding) FROM STDIN"
        ) as copy,
    ):
        for i in range(count):
            numbers = "[" + ",".join(repr(float(x)) for x in vectors[i]) + "]"
            copy.write_row((tenant, 1, first + i, int(lists[i]), hashes[i], numbers))
    connection.execute(
        "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors)"
        " SELECT tenant_id, model_id, access_list_id, count(*) FROM sift.chunk_embeddings"
        " WHERE tenant_id = %s AND chunk_id >= %s GROUP BY 1, 2, 3",
        (tenant, first),
    )


@pytest.fixture(scope="module")
def corpus(server_dsn: str, _template: str) -> Iterator[Corpus]:
    name = f"sift_dense_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {_template}")  # type: ignore[arg-type]
    try:
        made = Corpus(make_conninfo(server_dsn, dbname=name))
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("SELECT sift.register_model('m', %s)", (DIMENSIONS,))
            # Without statistics, until a test makes them: what is planned then has to hold as well.
            for table in ("chunk_embeddings_m1", "chunks", "documents"):
                connection.execute(f"ALTER TABLE sift.{table} SET (autovacuum_enabled = off)")  # type: ignore[arg-type]
            connection.execute("DROP INDEX sift.chunk_embeddings_m1_hnsw_idx")
            fill(connection, 1, 1, made.lists, made.vectors)
            connection.execute(
                "CREATE INDEX chunk_embeddings_m1_hnsw_idx ON sift.chunk_embeddings_m1"
                f" USING hnsw ((embedding::public.vector({DIMENSIONS})) public.vector_cosine_ops)"
            )
        yield made
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.fixture
def session(corpus: Corpus) -> Iterator[psycopg.Connection]:
    """A fresh session, in which nothing of pgvector is loaded yet, rolled back."""
    with psycopg.connect(corpus.dsn) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def altered(session: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A session for changing vectors in. What is rolled back stays in the index until it is vacuumed."""
    yield session
    session.rollback()
    session.autocommit = True
    session.execute("VACUUM (INDEX_CLEANUP on) sift.chunk_embeddings_m1")


def leg(
    connection: psycopg.Connection,
    query: Any,
    lists: list[int],
    k: int,
    *,
    tenant: int = 1,
    model: int = 1,
    predicate: str | None = None,
    bound: str | None = None,
) -> Hits:
    numbers = None if query is None else [float(x) for x in query]
    return connection.execute(
        "SELECT d.chunk_id, d.distance, d.path FROM sift._dense_leg(%s::integer, %s::integer,"
        " %s::real[], %s::bigint[], %s, %s, %s::integer) AS d",
        (tenant, model, numbers, lists, predicate, bound, k),
    ).fetchall()


def checked(
    corpus: Corpus, hits: Hits, query: NDArray[np.float32], visible: NDArray[np.bool_], k: int
) -> float:
    """Recall of *hits*, after everything that must hold of any result."""
    ids = [chunk for chunk, _, _ in hits]
    assert len(ids) == min(k, int(visible.sum()))
    assert all(visible[i - 1] for i in ids)
    assert [(d, i) for i, d, _ in hits] == sorted((d, i) for i, d, _ in hits)
    assert len({path for _, _, path in hits}) <= 1
    np.testing.assert_allclose(
        [d for _, d, _ in hits], corpus.distances(query)[np.array(ids, dtype=int) - 1], atol=2e-6
    )
    exact = corpus.nearest(query, visible, k)
    return len(set(exact) & set(ids)) / len(exact) if exact else 1.0


@pytest.mark.parametrize("k", [10, 100])
@pytest.mark.parametrize("most", EVERYONE)
def test_every_share_is_filled_ordered_and_near(
    corpus: Corpus, session: psycopg.Connection, most: int, k: int
) -> None:
    visible = corpus.lists <= most
    recalls, paths = [], set()
    for query in corpus.queries:
        hits = leg(session, query, EVERYONE[:most], k)
        recalls.append(checked(corpus, hits, query, visible, k))
        paths.add(hits[0][2])
    assert paths == ({"hnsw"} if most == 5 else {"exact"})
    assert np.mean(recalls) >= (0.95 if most == 5 else 1.0)


def test_both_ways_give_the_same_distances(corpus: Corpus, session: psycopg.Connection) -> None:
    """The same bits, so that an order never depends on the path."""
    query = corpus.queries[0]
    walked = {chunk: distance for chunk, distance, _ in leg(session, query, EVERYONE, 100)}
    compared = {chunk: (distance, path) for chunk, distance, path in leg(session, query, EVERYONE, 600)}
    assert {path for _, path in compared.values()} == {"exact"}
    common = walked.keys() & compared.keys()
    assert len(common) >= 95
    assert all(walked[chunk] == compared[chunk][0] for chunk in common)


@pytest.mark.parametrize(("below", "path"), [(500, "hnsw"), (2, "hnsw+exact"), (0, "hnsw+exact")])
def test_a_predicate_is_applied_before_ranking(
    corpus: Corpus, session: psycopg.Connection, below: int, path: str
) -> None:
    visible = (np.arange(1, N + 1) % 1000) < below
    recalls = []
    for query in corpus.queries[:8]:
        hits = leg(
            session,
            query,
            EVERYONE,
            10,
            predicate="(d.metadata ->> 'n')::integer < ($1 ->> 0)::integer AND c.kind = 'text'",
            bound=f"[{below}]",
        )
        recalls.append(checked(corpus, hits, query, visible, 10))
        assert {p for _, _, p in hits} <= {path}
    assert np.mean(recalls) >= (0.95 if path == "hnsw" else 1.0)


def test_a_predicate_over_a_small_visible_set(corpus: Corpus, session: psycopg.Connection) -> None:
    visible = (corpus.lists <= 4) & (np.arange(1, N + 1) % 1000 < 300)
    for query in corpus.queries[:5]:
        hits = leg(session, query, [1, 2, 3, 4], 25, predicate="(d.metadata ->> 'n')::integer < 300")
        assert checked(corpus, hits, query, visible, 25) == 1.0


def test_what_is_near_and_hidden_does_not_spoil_what_is_shown(
    corpus: Corpus, altered: psycopg.Connection
) -> None:
    """The query's own cluster is on a list the reader is not on: a walk would end among far vectors."""
    query = corpus.queries[3]
    near = corpus.cluster[corpus.nearest(query, np.ones(N, dtype=bool), 1)[0] - 1]
    hidden = np.isin(
        corpus.cluster,
        np.unique(corpus.cluster[[i - 1 for i in corpus.nearest(query, np.ones(N, dtype=bool), 1500)]]),
    )
    assert hidden[corpus.cluster == near].all()
    assert hidden.mean() < 0.4
    altered.execute("INSERT INTO sift.access_lists VALUES (1, 99, '{x}')")
    altered.execute(
        "UPDATE sift.chunk_embeddings SET access_list_id = 99 WHERE tenant_id = 1 AND chunk_id = ANY"
        " (%s::bigint[])",
        ([int(i) + 1 for i in np.flatnonzero(hidden)],),
    )
    altered.execute(
        "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors)"
        " SELECT 1, 1, l, -n FROM unnest(%s::bigint[], %s::bigint[]) AS u (l, n)",
        (EVERYONE, [int((corpus.lists[hidden] == i).sum()) for i in EVERYONE]),
    )
    hits = leg(altered, query, EVERYONE, 10)
    assert hits[0][2] == "hnsw+exact"
    assert checked(corpus, hits, query, ~hidden, 10) == 1.0


def test_counts_that_are_wrong_cost_time_and_nothing_else(
    corpus: Corpus, session: psycopg.Connection
) -> None:
    visible = corpus.lists <= 3
    query = corpus.queries[0]
    for wrong in (30_000, -60_000):
        session.execute(
            "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors) VALUES"
            " (1, 1, 3, %s)",
            (wrong,),
        )
        assert checked(corpus, leg(session, query, [1, 2, 3], 10), query, visible, 10) == 1.0
        assert checked(corpus, leg(session, query, EVERYONE, 10), query, np.ones(N, dtype=bool), 10) >= 0.9


# --- plans


def plans_of(connection: psycopg.Connection, run: Callable[[], object]) -> list[str]:
    """The plans of the statements over vectors that sift._dense_leg runs meanwhile."""
    seen: list[str] = []

    def notice(diagnostic: psycopg.errors.Diagnostic) -> None:
        seen.append(diagnostic.message_primary or "")

    connection.add_notice_handler(notice)
    try:
        run()
    finally:
        connection.remove_notice_handler(notice)
    return [plan for plan in seen if "chunk_embeddings_m" in plan and "_dense" not in plan]


@pytest.fixture
def explained(session: psycopg.Connection) -> psycopg.Connection:
    try:
        session.execute("LOAD 'auto_explain'")
    except psycopg.errors.UndefinedFile:
        pytest.skip("the server has no auto_explain")
    for setting in (
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_nested_statements = on",
        "auto_explain.log_level = notice",
        "client_min_messages = notice",
    ):
        session.execute(f"SET {setting}")  # type: ignore[arg-type]
    return session


@pytest.mark.parametrize("cache", ["auto", "force_generic_plan"])
@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("predicate", [None, "d.metadata ->> 'n' <> '7'"])
def test_the_index_is_used_the_first_time_and_the_seventh(
    corpus: Corpus, explained: psycopg.Connection, cache: str, analyzed: bool, predicate: str | None
) -> None:
    if analyzed:
        explained.execute("ANALYZE sift.chunk_embeddings_m1, sift.chunks, sift.documents")
    explained.execute(f"SET plan_cache_mode = {cache}")  # type: ignore[arg-type]
    for turn in range(7):
        plans = plans_of(
            explained, lambda: leg(explained, corpus.queries[1], EVERYONE, 10, predicate=predicate)
        )
        if turn in (0, 6):
            assert "Index Scan using chunk_embeddings_m1_hnsw_idx" in plans[0], plans[0]
            assert not any("Seq Scan" in plan for plan in plans), plans


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("predicate", [None, "d.metadata ->> 'n' <> '7'"])
def test_a_small_visible_set_never_costs_a_scan_of_all(
    corpus: Corpus, explained: psycopg.Connection, analyzed: bool, predicate: str | None
) -> None:
    if analyzed:
        explained.execute("ANALYZE sift.chunk_embeddings_m1, sift.chunks, sift.documents")
    plans = plans_of(explained, lambda: leg(explained, corpus.queries[1], [1, 2, 3], 10, predicate=predicate))
    assert len(plans) == 1
    assert "Seq Scan" not in plans[0], plans[0]
    assert "hnsw" not in plans[0], plans[0]


def test_3072_dimensions_are_stored_and_searched_as_halfvec(explained: psycopg.Connection) -> None:
    """With few rows, and counts that say they are many: the statement is the one that many rows get."""
    explained.execute("SELECT sift.register_model('large', 3072)")
    row = explained.execute("SELECT model_id FROM sift.embedding_models WHERE name = 'large'").fetchone()
    assert row is not None
    model = row[0]
    vectors = np.random.default_rng(2).standard_normal((40, 3072)).astype(np.float16)
    explained.execute(
        "SELECT sift.put_embeddings('t1', 'large', %s::bigint[], %s)",
        (list(range(1, 41)), ["[" + ",".join(map(str, vector)) + "]" for vector in vectors]),
    )
    explained.execute(
        "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors) VALUES (1,"
        " %s, 5, 50000)",
        (model,),
    )
    hits: Hits = []
    plans = plans_of(explained, lambda: hits.extend(leg(explained, vectors[7], EVERYONE, 10, model=model)))
    assert f"Index Scan using chunk_embeddings_m{model}_hnsw_idx" in plans[0]
    assert "half_embedding" in plans[0]
    assert [len(hits), hits[0][0], hits[0][2]] == [10, 8, "hnsw+exact"]
    wide = vectors.astype(np.float64)
    cosine = 1 - wide @ wide[7] / (np.linalg.norm(wide, axis=1) * np.linalg.norm(wide[7]))
    assert [chunk for chunk, _, _ in hits] == [int(i) + 1 for i in np.argsort(cosine)[:10]]


# --- tenants, ties


def test_a_tenant_beside_a_large_one(corpus: Corpus, altered: psycopg.Connection) -> None:
    """Another tenant's vectors are nearer by the thousand; they share the index."""
    query = corpus.queries[0]
    random = np.random.default_rng(5)
    mine = random.standard_normal((50, DIMENSIONS)).astype(np.float32)
    fill(altered, 2, 100_001, [1] * 46 + [2] * 3 + [3], mine)
    cosine = 1 - mine @ query / (np.linalg.norm(mine, axis=1) * np.linalg.norm(query))
    order = [100_001 + int(i) for i in np.argsort(cosine)]
    assert [c for c, _, _ in leg(altered, query, [1, 2, 3], 10, tenant=2)] == order[:10]
    assert [c for c, _, _ in leg(altered, query, [2], 10, tenant=2)] == [
        c for c in order if 100_047 <= c < 100_050
    ]
    assert [c for c, _, _ in leg(altered, query, [3], 10, tenant=2)] == [100_050]
    assert leg(altered, query, [4], 10, tenant=2) == []
    # Counts that lead to the index, in which 20,000 foreign vectors stand before any of these.
    altered.execute(
        "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors) VALUES (2,"
        " 1, 1, 20000)"
    )
    hits = leg(altered, query, [1, 2, 3], 10, tenant=2)
    assert [c for c, _, _ in hits] == order[:10]
    assert hits[0][2] == "hnsw+exact"


def test_thirty_twins_come_in_one_order(corpus: Corpus, altered: psycopg.Connection) -> None:
    """Identical text and vector, beside 20,000 others: the index knows some of them, the order has all."""
    query = corpus.queries[0]
    far = np.tile(-query, (200, 1))
    fill(
        altered, 1, 200_001, [5] * 230, np.vstack([far, np.tile(query, (30, 1))]), texts=[0] * 200 + [1] * 30
    )
    for rebuilt in range(2):
        if rebuilt:
            altered.execute("REINDEX INDEX sift.chunk_embeddings_m1_hnsw_idx")
        for k in (10, 30):
            for _ in range(100 if k == 10 and not rebuilt else 5):
                hits = leg(altered, query, EVERYONE, k)
                assert [(c, p) for c, _, p in hits] == [(200_201 + i, "hnsw") for i in range(k)]
    # The same among few, where all are compared.
    assert [c for c, _, _ in leg(altered, query, EVERYONE, 600)][:30] == [200_201 + i for i in range(30)]


# Text 7 is also that of chunk 7, whose vector is another one: not every embedder gives the same twice.
@pytest.mark.parametrize(("texts", "path"), [([7] * 600, "hnsw"), (list(range(600)), "hnsw+exact")])
def test_more_ties_than_the_index_gives(
    corpus: Corpus, altered: psycopg.Connection, texts: list[int], path: str
) -> None:
    query = corpus.queries[0]
    fill(altered, 1, 300_001, [5] * 600, np.tile(query, (600, 1)), texts=texts)
    hits = leg(altered, query, EVERYONE, 10)
    assert [(c, p) for c, _, p in hits] == [(300_001 + i, path) for i in range(10)]


def test_deleted_vectors_are_not_found(corpus: Corpus, altered: psycopg.Connection) -> None:
    query = corpus.queries[2]
    gone = corpus.nearest(query, np.ones(N, dtype=bool), 150)
    altered.execute("SELECT sift._remove_embeddings(1, %s::bigint[])", (gone,))
    visible = ~np.isin(np.arange(1, N + 1), gone)
    assert checked(corpus, leg(altered, query, EVERYONE, 10), query, visible, 10) >= 0.9


# --- edges


def test_no_rows_where_there_is_nothing_to_rank(corpus: Corpus, session: psycopg.Connection) -> None:
    query = corpus.queries[0]
    assert leg(session, None, EVERYONE, 10) == []
    assert leg(session, query, [], 10) == []
    assert leg(session, query, [12345], 10) == []
    assert leg(session, query, EVERYONE, 0) == []
    assert leg(session, query, EVERYONE, -1) == []
    session.execute("SELECT sift.register_model('empty', 3)")
    row = session.execute("SELECT model_id FROM sift.embedding_models WHERE name = 'empty'").fetchone()
    assert row is not None
    assert leg(session, [1, 2, 3], EVERYONE, 10, model=row[0]) == []
    with pytest.raises(psycopg.Error) as caught:
        leg(session, query, EVERYONE, 10, model=4711)
    assert caught.value.sqlstate == "PS006"


def test_more_rows_than_there_are(corpus: Corpus, session: psycopg.Connection) -> None:
    visible = corpus.lists <= 2
    assert (
        checked(
            corpus,
            leg(session, corpus.queries[0], [1, 2], 2_000_000_000),
            corpus.queries[0],
            visible,
            2_000_000_000,
        )
        == 1.0
    )


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([1.0] * 3, ["3 dimensions", f"has {DIMENSIONS}"]),
        ([0.0] * DIMENSIONS, ["zero norm"]),
        ([float("nan")] * DIMENSIONS, ["NaN"]),
        ([float("inf")] * DIMENSIONS, ["infinite"]),
        (None, ["missing"]),
    ],
)
def test_query_vectors_are_checked(
    session: psycopg.Connection, vector: list[float] | None, words: list[str]
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        session.execute("SELECT sift._check_vector(1, %s::real[])", (vector,))
    assert caught.value.sqlstate == "PS005"
    said = str(caught.value.diag.message_primary)
    assert [word for word in ["the query vector", *words] if word not in said] == []


def test_it_only_reads_and_leaves_no_setting_behind(corpus: Corpus, session: psycopg.Connection) -> None:
    session.execute("SET default_transaction_read_only = on")
    session.commit()
    settings = (
        "SELECT name, setting FROM pg_settings WHERE name LIKE 'hnsw.%' OR name LIKE 'enable_%' ORDER BY name"
    )
    hits = leg(session, corpus.queries[0], EVERYONE, 10)  # loads pgvector, in this session for the first time
    assert hits[0][2] == "hnsw"
    assert session.execute("SHOW transaction_read_only").fetchone() == ("on",)
    during = session.execute(settings).fetchall()
    session.commit()
    assert during == session.execute(settings).fetchall()
    assert ("hnsw.ef_search", "40") in during
    assert ("enable_sort", "on") in during
    session.execute("RESET default_transaction_read_only")
    session.commit()


def test_settings_of_the_session_do_not_reach_it(corpus: Corpus, session: psycopg.Connection) -> None:
    expected = leg(session, corpus.queries[4], EVERYONE, 10)
    for setting in ("hnsw.ef_search = 1", "hnsw.iterative_scan = strict_order", "hnsw.max_scan_tuples = 1"):
        session.execute(f"SET {setting}")  # type: ignore[arg-type]
    assert leg(session, corpus.queries[4], EVERYONE, 10) == expected


def test_a_login_that_owns_nothing_searches_in_a_fresh_session(
    corpus: Corpus, make_login: Callable[..., str]
) -> None:
    with psycopg.connect(corpus.dsn) as owner:
        owner.execute("UPDATE sift.tenants SET model_id = 1 WHERE name = 't1'")
    with psycopg.connect(make_login(corpus.dsn, "sift_app")) as connection:
        for query in corpus.queries[:3]:
            hits = connection.execute(
                "SELECT s.chunk_id, s.distance, s.dense_path FROM sift.dense_search('t1', k => 10,"
                " principals => %s, query_embedding => %s::real[]) AS s",
                ([f"g{i}" for i in EVERYONE], [float(x) for x in query]),
            ).fetchall()
            assert checked(corpus, hits, query, np.ones(N, dtype=bool), 10) >= 0.9
            assert {path for _, _, path in hits} == {"hnsw"}


@pytest.mark.parametrize("precision", ["vector", "halfvec"])
def test_pgvector_elsewhere_and_a_rogue_operator_in_the_search_path(empty_dsn: str, precision: str) -> None:
    """Every statement of the leg runs, and none calls the operator that answers the same to everything."""
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Ext s"; CREATE EXTENSION vector SCHEMA "Ext s"')
        directory = _resources.sql_directory()
        with connection.transaction():
            for name in _resources.install_order(directory / "install.sql"):
                connection.execute((directory / name).read_bytes())
        connection.execute("SET search_path = public")
        connection.execute(
            f'CREATE FUNCTION public.same("Ext s".{precision}, "Ext s".{precision}) RETURNS float8'  # type: ignore[arg-type]
            " IMMUTABLE LANGUAGE sql AS 'SELECT 0.5::float8'"
        )
        for operator in ("<=>", "<->", "<#>"):
            connection.execute(
                f"CREATE OPERATOR public.{operator} (FUNCTION = public.same,"  # type: ignore[arg-type]
                f' LEFTARG = "Ext s".{precision}, RIGHTARG = "Ext s".{precision})'
            )
        connection.execute('SET search_path = public, "Ext s", pg_catalog')
        vectors = np.random.default_rng(4).integers(-9, 10, (300, 3)) + 0.5
        connection.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        for metric in ("cosine", "l2", "ip"):
            connection.execute(
                'SELECT sift.register_model(%s, 3, metric => %s, vector_type => %s)',
                (metric, metric, precision),
            )
            document = {
                "key": metric,
                "chunks": [{"body": f"{metric} {i}", "embedding": list(v)} for i, v in enumerate(vectors)],
            }
            connection.execute(
                "SELECT sift.put_documents('t', %s::jsonb, model => %s)", (json.dumps([document]), metric)
            )
            first, model = connection.execute(
                "SELECT min(e.chunk_id), e.model_id FROM sift.chunk_embeddings AS e"
                " JOIN sift.embedding_models AS m USING (model_id) WHERE m.name = %s GROUP BY 2",
                (metric,),
            ).fetchone() or (0, 0)
            query = vectors[0]
            distances = {
                "cosine": 1 - vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)),
                "l2": np.linalg.norm(vectors - query, axis=1),
                "ip": -(vectors @ query),
            }[metric]
            for rumour, paths in ((0, {"exact"}), (50_000, {"hnsw", "hnsw+exact"})):
                connection.execute(
                    "INSERT INTO sift.embedding_stats (tenant_id, model_id, access_list_id, vectors)"
                    " SELECT tenant_id, %s, access_list_id, %s FROM sift.access_lists",
                    (model, rumour),
                )
                for predicate in (None, "c.kind = 'text'"):
                    hits = leg(connection, query, [1], 9, model=model, predicate=predicate)
                    assert {path for _, _, path in hits} <= paths
                    assert len(hits) == 9
                    found = [distances[chunk - first] for chunk, _, _ in hits]
                    np.testing.assert_allclose(found, np.sort(distances)[:9], atol=1e-6)
                    np.testing.assert_allclose(found, [distance for _, distance, _ in hits], atol=1e-6)
