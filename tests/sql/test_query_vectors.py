"""Vectors of queries that the database makes of those of their terms."""

from __future__ import annotations

import json
import math
from typing import Any

import psycopg
import pytest

PUBLIC = "principals => '{public}'"
TERMS = {"red": [1.0, 0.0, 0.0], "fox": [0.0, 1.0, 0.0], "owl": [0.0, 0.0, 1.0], "zorgon": [0.6, 0.8, 0.0], "hound": [0.5, 0.5, 0.5]}


def put(conn: psycopg.Connection, *documents: tuple[str, str, list[str]], tenant: str = "t") -> None:
    batch = [
        {"key": key, "acl": acl, "chunks": [{"body": body, "embedding": [1.0, len(body) % 3, 0.5]}]} for key, body, acl in documents
    ]
    conn.execute("SELECT sift.put_documents(%s, %s::jsonb, model => 'm')", (tenant, json.dumps(batch)))


def fit(conn: psycopg.Connection, terms: dict[str, list[float]] | None = None, forms: str = "frequent", tenant: str = "t") -> None:
    terms = TERMS if terms is None else terms
    conn.execute(
        "SELECT sift.put_term_embeddings(%s, 'm', %s, %s, (SELECT max(c.chunk_id) FROM sift.chunks AS c), %s)",
        (tenant, list(terms), [json.dumps(vector) for vector in terms.values()], forms),
    )


def vector(conn: psycopg.Connection, query: str, more: str = PUBLIC) -> Any:
    return conn.execute(f"SELECT sift.embed_query('t', %s, {more})".encode(), (query,)).fetchone()[0]  # type: ignore[index]


def raised(conn: psycopg.Connection, code: str, statement: str) -> str:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement.encode())
    assert caught.value.sqlstate == code and caught.value.diag.message_hint
    return str(caught.value.diag.message_hint)


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard'), sift.register_model('m', 3)")
    put(conn, ("a", "red fox", ["public"]), ("b", "red owl hound", ["public"]), ("c", "a secret zorgon, a fox", ["group:hr"]))
    return conn


def test_it_is_the_sum_by_idf_of_the_vectors_of_terms(store: psycopg.Connection) -> None:
    fit(store)
    idf = {term: math.log(1 + (3 - df + 0.5) / (df + 0.5)) for term, df in {"red": 2, "fox": 2, "owl": 1}.items()}
    total = [sum(idf[t] * TERMS[t][i] for t in ("red", "owl", "fox")) for i in range(3)]
    length = math.sqrt(sum(x * x for x in total))
    # Repeats, stopwords and operators count for nothing.
    found = vector(store, '+red "owl" the red fox*')
    assert found == pytest.approx([x / length for x in total], abs=1e-6)
    rows = store.execute(f"SELECT * FROM sift.query_vector_terms('t', 'red nothing owl', {PUBLIC})".encode()).fetchall()
    assert [row[:2] for row in rows] == [("red", True), ("nothing", False), ("owl", True)]
    assert [row[2] for row in rows] == [pytest.approx(idf["red"]), None, pytest.approx(idf["owl"])]


def test_without_vectors_it_is_null_and_without_a_fit_an_error(store: psycopg.Connection) -> None:
    assert "pgsift models fit-terms m --tenant t" in raised(store, "PS013", f"SELECT sift.embed_query('t', 'red', {PUBLIC})")
    fit(store)
    assert vector(store, "nothing of this") is None
    assert vector(store, "the of") is None
    assert vector(store, "") is None
    assert store.execute(f"SELECT sift.embed_query('t', NULL, {PUBLIC})".encode()).fetchone() == (None,)
    raised(store, "PS006", f"SELECT sift.embed_query('t', 'red', 'other', {PUBLIC})")
    raised(store, "PS001", f"SELECT sift.embed_query('nobody', 'red', {PUBLIC})")
    store.execute("SELECT sift.drop_term_embeddings('t', 'm')")
    raised(store, "PS013", f"SELECT sift.embed_query('t', 'red', {PUBLIC})")
    # Nothing is told to those who see nothing, not even that there are none.
    assert vector(store, "red", "principals => '{nobody}'") is None


def test_searches_by_text_say_where_their_vector_came_from(store: psycopg.Connection) -> None:
    def found(more: str = "", query: str = "'red fox'") -> list[tuple[Any, ...]]:
        return store.execute(
            f"SELECT s.key, s.legs, s.query_vector, s.score FROM sift.search('t', {query}, {PUBLIC}{more}) AS s".encode()
        ).fetchall()

    before = found()
    assert {row[1:3] for row in before} == {("lexical", None)}
    fit(store)
    approximated = found()
    assert {row[1:3] for row in approximated} == {("lexical+dense", "approximated")}
    assert found(", mode => 'lexical'") == before
    assert {row[2] for row in found(", mode => 'dense'")} == {"approximated"}
    # A quarter of the weight of the dense leg, unless weights are asked for.
    assert approximated == found(", weights => '{1,0.25}'") != found(", weights => '{1,1}'")
    assert {row[2] for row in found(", query_embedding => '{1,0,0}'")} == {"given"}
    assert {row[1:3] for row in found(", query_embedding => '{1,0,0}', mode => 'lexical'")} == {("lexical", None)}
    details = store.execute(
        "SELECT e.detail FROM sift.explain('t', 'red fox', (SELECT min(c.chunk_id) FROM sift.chunks AS c JOIN sift.tenants AS t USING (tenant_id)"
        f" WHERE t.name = 't'), {PUBLIC}) AS e WHERE e.part = 'leg' AND e.name = 'dense'".encode()
    ).fetchall()
    assert details == [("the query vector is approximated by its words",)]
    scores = store.execute(
        "SELECT e.value FROM sift.explain('t', 'red fox', key => 'a', principals => '{public}') AS e WHERE e.part = 'score'"
    ).fetchall()
    assert scores == [(next(row[3] for row in approximated if row[0] == "a"),)]
    store.execute("SELECT sift.cache_query_embedding('t', 'red fox', '{0,1,0}')")
    assert {row[2] for row in found()} == {"cached"}
    # The vector of less than half of a query would be that of another one.
    assert {row[1:3] for row in found(query="'red one two'")} == {("lexical", None)}
    assert {row[2] for row in found(query="'red one'")} == {"approximated"}


def test_a_word_of_hidden_documents_has_no_vector(store: psycopg.Connection) -> None:
    fit(store)
    assert vector(store, "zorgon") is None and vector(store, "zorgon", "principals => '{group:hr}'") is not None
    assert vector(store, "red zorgon") == vector(store, "red qorgon") == vector(store, "red")
    # Nor when a document that is seen holds it since: it would tell that another held it before.
    put(store, ("d", "what a zorgon is, a wombat", ["public"]))
    assert vector(store, "zorgon") is None
    rows = "SELECT q.fitted FROM sift.query_vector_terms('t', 'zorgon wombat', principals => '{public}') AS q"
    assert store.execute(rows.encode()).fetchall() == [(False,), (False,)]
    fit(store, {"wombat": [1, 1, 1]})
    assert vector(store, "zorgon") == pytest.approx(TERMS["zorgon"], abs=1e-3)
    # And it is gone with the documents that show it.
    store.execute("SELECT sift.set_access('t', '{d}', '{group:hr}')")
    assert vector(store, "zorgon") is None


def test_packed_postings_are_looked_at_too(store: psycopg.Connection) -> None:
    fit(store)
    before = [vector(store, query) for query in ("red owl fox", "zorgon", "hound zorgon")]
    store.execute("SELECT sift.pack_postings('t', purge => true), sift.fold_statistics('t')")
    assert [vector(store, query) for query in ("red owl fox", "zorgon", "hound zorgon")] == before
    put(store, ("d", "zorgon", ["public"]))
    store.execute("SELECT sift.pack_postings('t', purge => true)")
    assert vector(store, "zorgon") is None


def test_statistics_of_what_is_visible_take_neutral_forms_and_their_own_weights(store: psycopg.Connection) -> None:
    fit(store)
    store.execute("""SELECT sift.set_tenant('t', '{"statistics": "visible"}')""")
    assert "--anew" in raised(store, "PS013", f"SELECT sift.embed_query('t', 'red', {PUBLIC})")
    found = store.execute(f"SELECT s.legs FROM sift.search('t', 'red', {PUBLIC}) AS s".encode()).fetchall()
    assert {row[0] for row in found} == {"lexical"}
    with pytest.raises(psycopg.Error, match="frequent forms, not of neutral"), store.transaction():
        fit(store, forms="neutral")
    store.execute("SELECT sift.drop_term_embeddings('t', 'm')")
    fit(store, forms="neutral")
    seen = vector(store, "red fox hound")
    # As if the hidden ones were not there.
    store.execute("SELECT sift.delete_documents('t', '{c}')")
    assert vector(store, "red fox hound") == seen
    put(store, ("e", "red fox hound, hidden", ["group:hr"]))
    assert vector(store, "red fox hound") == seen
    assert vector(store, "hidden zorgon") is None


def test_same_bits_in_every_plan_and_nothing_is_written(store: psycopg.Connection) -> None:
    fit(store)
    query = "red fox owl hound zorgon"
    first = vector(store, query)
    for setting in ("plan_cache_mode = force_generic_plan", "enable_indexscan = off", "enable_hashjoin = off", "enable_sort = off", "transaction_read_only = on"):
        with store.transaction(force_rollback=True):
            store.execute(f"SET LOCAL {setting}".encode())
            assert vector(store, query) == first
            assert store.execute(f"SELECT count(*) FROM sift.search('t', 'red', {PUBLIC})".encode()).fetchone() == (2,)
    store.execute("ANALYZE")
    assert vector(store, query) == first


def test_what_cannot_be_stored_is_refused(store: psycopg.Connection) -> None:
    def put_terms(terms: str, vectors: str, more: str = "") -> str:
        return f"SELECT sift.put_term_embeddings('t', 'm', {terms}, {vectors}{more})"

    for vectors in ("'{\"[1,0]\"}'", "'{\"[1,0,NaN]\"}'", "'{\"[0,0,0]\"}'", "'{rubbish}'", "'{NULL}'"):
        raised(store, "PS005", put_terms("'{red}'", vectors))
    raised(store, "PS002", put_terms("'{red,fox}'", "'{\"[1,0,0]\"}'"))
    raised(store, "PS002", put_terms("ARRAY['']", "'{\"[1,0,0]\"}'"))
    raised(store, "PS002", put_terms("ARRAY[repeat('x', 257)]", "'{\"[1,0,0]\"}'"))
    raised(store, "PS002", put_terms("'{red}'", "'{\"[1,0,0]\"}'", ", forms => 'other'"))
    raised(store, "PS006", "SELECT sift.put_term_embeddings('t', 'other', '{red}', '{\"[1,0,0]\"}')")
    raised(store, "PS002", "SELECT * FROM sift.chunks_to_fit('t', -1)")


@pytest.mark.parametrize("packed", [False, True])
def test_a_word_that_was_purged_while_vectors_were_made_gets_none(store: psycopg.Connection, packed: bool) -> None:
    if packed:
        store.execute("SELECT sift.pack_postings('t', purge => true)")
    read = ["fox", "red", "secret", "zorgon"]
    store.execute("SELECT sift.purge_documents('t', '{c}')")
    stored = store.execute("SELECT sift.put_term_embeddings('t', 'm', %s, array_fill('[1,0,0]'::text, '{4}'))", (read,)).fetchone()
    assert stored == (2,)
    kept = store.execute("SELECT array_agg(e.term ORDER BY e.term) FROM sift.term_embeddings AS e JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = 't'")
    assert kept.fetchone() == (["fox", "red"],)
    # A term that has a vector gets the new one.
    assert store.execute("SELECT sift.put_term_embeddings('t', 'm', '{red}', '{\"[0,1,0]\"}', 2147483647)").fetchone() == (1,)
    assert vector(store, "red") == [0, 1, 0]


def test_how_far_terms_are_fitted_is_kept(store: psycopg.Connection) -> None:
    assert store.execute("SELECT count(*) FROM sift.show_term_fits('t')").fetchone() == (0,)
    assert store.execute("SELECT f.forms, f.terms, f.fitted_to, f.chunks, f.later_chunks FROM sift.show_term_fits('t', 'm') AS f").fetchall() == [(None, 0, 0, 3, 3)]
    chunks = [row[0] for row in store.execute("SELECT c.chunk_id FROM sift.chunks_to_fit('t') AS c").fetchall()]
    store.execute("SELECT sift.put_term_embeddings('t', 'm', '{red}', '{\"[1,0,0]\"}')")
    assert vector(store, "red") is None  # more are to come
    store.execute("SELECT sift.put_term_embeddings('t', 'm', '{}', '{}', %s)", (chunks[1],))
    store.execute("SELECT sift.put_term_embeddings('t', 'm', '{}', '{}', %s)", (chunks[0],))
    assert store.execute("SELECT f.terms, f.fitted_to, f.later_chunks FROM sift.show_term_fits('t') AS f").fetchall() == [(1, chunks[1], 1)]
    assert store.execute("SELECT array_agg(c.body) FROM sift.chunks_to_fit('t', after => %s) AS c", (chunks[1],)).fetchone() == (["a secret zorgon, a fox"],)
    assert store.execute("SELECT array_agg(w.term) FROM sift.terms_without_embedding('t', 'm', '{red,fox,fox}') AS w").fetchone() == (["fox"],)


def test_vectors_of_terms_go_with_what_they_belong_to(store: psycopg.Connection) -> None:
    def left(of: str = "t") -> tuple[Any, ...]:
        return store.execute(  # type: ignore[return-value]
            "SELECT (SELECT count(*) FROM sift.term_embeddings AS e WHERE e.tenant_id = t.tenant_id),"
            " (SELECT count(*) FROM sift.term_fits AS f WHERE f.tenant_id = t.tenant_id) FROM sift.tenants AS t WHERE t.name = %s", (of,)
        ).fetchone()

    store.execute("SELECT sift.create_tenant('u', 'standard'), sift.register_model('n', 3)")
    put(store, ("x", "red zorgon", ["public"]), tenant="u")
    fit(store)
    fit(store, tenant="u")
    store.execute("SELECT sift.put_term_embeddings('t', 'n', '{red}', '{\"[1,0,0]\"}', 1)")
    assert left() == (6, 2) and left("u") == (2, 1)
    # Purged: the words that nobody else has.
    store.execute("SELECT sift.purge_documents('t', '{c}')")
    assert store.execute("SELECT array_agg(e.term ORDER BY e.term) FROM sift.term_embeddings AS e JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = 't' AND e.term IN ('zorgon', 'fox')").fetchone() == (["fox"],)
    assert left("u") == (2, 1)
    store.execute("SELECT sift.drop_model('n')")
    assert left() == (4, 1)
    ids = store.execute("SELECT t.tenant_id FROM sift.tenants AS t WHERE t.name = 't'").fetchone()
    store.execute("SELECT sift.drop_tenant('t')")
    assert store.execute("SELECT (SELECT count(*) FROM sift.term_embeddings AS e WHERE e.tenant_id = %(t)s) + (SELECT count(*) FROM sift.term_fits AS e WHERE e.tenant_id = %(t)s)", {"t": ids[0]}).fetchone() == (0,)  # type: ignore[index]
    assert left("u") == (2, 1)
