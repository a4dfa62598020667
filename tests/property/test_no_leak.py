"""No function that an application or a reader may call returns anything of a document it may not see."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PRINCIPALS = ["public", "group:a", "group:b", "user:1"]
principal_sets = st.lists(st.sampled_from(PRINCIPALS), unique=True, max_size=4)
documents = st.lists(
    st.tuples(principal_sets, st.lists(st.sampled_from(["fox", "hound", "owl"]), min_size=1, max_size=5), st.integers(0, 2)),
    min_size=1,
    max_size=8,
)

# How each function is called that a reader or an application may execute. A new one must be added here, or
# test_every_reachable_function_is_called fails. Those in SILENT take no principals and touch no document.
CALLS = {
    "search": "SELECT * FROM sift.search('t', 'fox hound', 100, %(p)s, query_embedding => '{1,0,0}', collapse => %(c)s, snippet_width => 20)",
    "lexical_search": "SELECT * FROM sift.lexical_search('t', 'fox owl', 100, %(p)s, collapse => %(c)s)",
    "dense_search": "SELECT * FROM sift.dense_search('t', '{0,1,0}'::real[], 100, %(p)s, collapse => %(c)s)",
    "choose_chunks": "SELECT c.body FROM sift.choose_chunks('t', ARRAY(SELECT chunk_id FROM sift.chunks), ARRAY(SELECT 1 FROM sift.chunks), 100,"
    " %(p)s, per_document => NULL, mmr => 0.5) JOIN sift.chunks AS c USING (chunk_id)",
    "list_documents": "SELECT * FROM sift.list_documents('t', %(p)s)",
    "unranked_documents": "SELECT * FROM sift.unranked_documents('t', %(p)s)",
    "lexical_candidates": "SELECT * FROM sift.lexical_candidates('t', '{fox,owl}', 100, %(p)s)",
    "chunks_by_entity": "SELECT * FROM sift.chunks_by_entity('t', 'animal', %(p)s)",
    "list_claims": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.list_claims("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, %(p)s) AS r",
    "check_access": "SELECT c.granted_by FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.check_access("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, %(p)s) AS c WHERE c.visible",
    "query_terms": "SELECT q.* FROM sift.query_terms('t', 'fo* marker* secretkey* secrettitle*', principals => %(p)s) AS q"
    " WHERE q.term NOT IN ('fo', 'marker', 'secretkey', 'secrettitle')",
    # A vector for a word that only a hidden document holds would tell of it.
    "embed_query": "SELECT 'marker' || n || 'z' FROM generate_series(-1, 9) AS n WHERE sift.embed_query("
    "'t', CASE n WHEN -1 THEN 'fox' ELSE 'marker' || n || 'z' END, principals => %(p)s) IS NOT NULL",
    "query_vector_terms": "SELECT q.term FROM sift.query_vector_terms('t', 'fox marker0z marker1z marker2z marker3z marker4z marker5z marker6z marker7z',"
    " principals => %(p)s) AS q WHERE q.fitted",
    "document_at": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.document_at("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, principals => %(p)s) AS r",
    "evidence": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.evidence("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, 'fox hound owl marker*', 9, 20, %(p)s) AS r",
    "document_history": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.document_history("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, principals => %(p)s) AS r",
    "list_topics": "SELECT * FROM sift.list_topics('t', %(p)s, 1000, 1000, NULL)",
    "document_topics": "SELECT * FROM sift.document_topics('t', principals => %(p)s)",
    "distinct_sources": "SELECT r.* FROM sift.distinct_sources('t', ARRAY(SELECT CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z'"
    " END FROM generate_series(-1, 9) AS n), %(p)s) AS r",
    "document_source": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.document_source("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, principals => %(p)s) AS r",
    "related": "SELECT r.* FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.related("
    "'t', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, principals => %(p)s) AS r UNION ALL"
    " SELECT s.* FROM sift.related('t', 'twin', principals => %(p)s) AS s",
    "explain": "SELECT e.* FROM (SELECT c.chunk_id FROM sift.chunks AS c) AS c CROSS JOIN LATERAL sift.explain("
    "'t', 'fox hound secretkey* secrettitle* marker*', c.chunk_id, %(p)s, query_embedding => '{1,0,0}', plain => true) AS e",
    "why_not": "SELECT r.reason, r.document_key, r.other_key, r.other_chunk_id FROM generate_series(-1, 9) AS n CROSS JOIN LATERAL sift.why_not("
    "'t', 'fox hound', CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END, principals => %(p)s, collapse => %(c)s) AS r WHERE r.reason <> 'absent'",
    "facets": "SELECT * FROM sift.facets('t', 'key', principals => %(p)s)",
    "list_judgments": "SELECT * FROM sift.list_judgments('t', %(p)s) AS j",
    "cite": "SELECT r.* FROM sift.cite('t', ARRAY(SELECT CASE n WHEN -1 THEN 'k' ELSE 'secretkey' || n || 'z' END"
    " FROM generate_series(-1, 9) AS n), %(p)s) AS r",
}
SILENT = {
    # The vocabulary is what somebody wrote into it, and for applications alone.
    "list_acronyms",
    "tokenize", "analyzer_fingerprint", "schema_version", "list_tenants", "list_models", "list_token_models",
    "cache_query_embedding", "corpus_statistics",
    # Writes down what it is given and returns its number; what is written, writers alone read.
    "log_query",
    # They write, and return a number or whether they did: tests/sql/test_judgments.py.
    "judge", "remove_judgment",
    # Anyone may fold and pack: both return counts of rows of statistics, none of documents.
    "fold_statistics", "pack_postings",
    # Statistics, for applications alone: numbers of the tenant's corpus, no document.
    "term_statistics",
    # Answers only where near-duplicates were looked for: tests/sql/test_duplicates.py has its property.
    "near_duplicates",
    # Numbers alone: tests/property/test_counts.py has their property.
    "count_matches",
}


def fit_terms(conn: psycopg.Connection) -> None:
    """Vectors of all words of all documents."""
    conn.execute(
        "SELECT sift.put_term_embeddings('t', 'leak', array_agg(w.term), array_agg('[1,2,3]'::text), max(w.last))"
        " FROM (SELECT s.term, max(c.chunk_id) AS last FROM sift.chunks AS c"
        "       CROSS JOIN LATERAL string_to_table(c.tokens, ' ') AS s (term) GROUP BY s.term) AS w"
    )


def place(conn: psycopg.Connection) -> None:
    """Every document in one of two topics."""
    conn.execute(
        "SELECT sift.put_topics('t', array_agg(d.document_id), array_agg(d.version), array_agg((d.document_id % 2)::integer), array_agg(1::float8),"
        " array_agg(0.5::float8), array_agg(0::float8), array_agg(0::float8), 'leak')"
        " FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = 't'"
    )


def body(index: int, words: list[str]) -> str:
    return f"{' '.join(words)} marker{index}z"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(corpus=documents, principals=principal_sets, collapse=st.booleans(), twins=st.booleans())
def test_only_visible_documents_come_back(
    conn: psycopg.Connection,
    corpus: list[tuple[list[str], list[str], int]],
    principals: list[str],
    collapse: bool,
    twins: bool,
) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.register_model('leak', 3)")
        batch: list[dict[str, Any]] = []
        for index, (acl, words, axis) in enumerate(corpus):
            vector = [1.0 if axis == i else 0.25 for i in range(3)]
            text = " ".join(words) if twins else body(index, words)
            batch.append({
                "key": f"secretkey{index}z", "title": f"secrettitle{index}z", "acl": acl,
                "metadata": {"hidden": f"secretmeta{index}z"}, "chunks": [{"body": text, "embedding": vector, "entities": ["animal"]}, {"body": f"{text} fox claim", "kind": "claim", "supports": [0]}],
            })
        conn.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'leak')", (json.dumps(batch),))
        conn.execute(
            "SELECT sift.put_sources('t', array_agg('secretkey' || n || 'z'), array_agg('text/plain'::text),"
            " array_agg(convert_to('marker' || n || 'z', 'UTF8')), array_agg(9), 'none')"
            " FROM generate_series(0, %s) AS n", (len(corpus) - 1,)
        )
        conn.execute(
            "SELECT sift.judge('t', 'fox marker' || n || 'z', 'secretkey' || n || 'z', 1, principals => '{sift:writer}', note => 'secretmeta' || n || 'z')"
            " FROM generate_series(0, %s) AS n", (len(corpus) - 1,)
        )
        fit_terms(conn)
        place(conn)
        visible = {i for i, (acl, _, _) in enumerate(corpus) if set(acl) & set(principals)}
        for name, call in CALLS.items():
            rows = conn.execute(call, {"p": principals, "c": collapse}).fetchall()  # type: ignore[call-overload]
            text = repr(rows)
            for index in range(len(corpus)):
                if index not in visible:
                    for word in ("marker", "secretkey", "secrettitle", "secretmeta"):
                        assert f"{word}{index}z" not in text, f"{name} shows {word} of an invisible document"
            if name == "list_topics":
                assert sum(row[1] for row in rows) == len(visible)
            if name in ("document_topics", "dense_search", "list_documents", "chunks_by_entity", "list_claims") and not collapse:
                assert len(rows) == len(visible)
            if name == "choose_chunks" and not collapse:
                assert len(rows) == 2 * len(visible)
            if name == "dense_search":
                # Copies a person may not see are not counted either.
                assert sum(1 + row[18] for row in rows) == len(visible)


def test_every_reachable_function_is_called(conn: psycopg.Connection) -> None:
    # Internal ones that are granted are the bodies of public ones and ask for the proof of who calls (test_rules).
    reachable = {
        name
        for (name,) in conn.execute(
            "SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace AND"
            " (has_function_privilege('sift_reader', p.oid, 'EXECUTE') OR has_function_privilege('sift_app', p.oid, 'EXECUTE'))"
        ).fetchall()
        if not name.startswith("_")
    }
    assert reachable - SILENT == set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_no_principals_see_nothing(conn: psycopg.Connection, name: str) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('leak', 3)")
    conn.execute(
        """SELECT sift.put_documents('t', '[{"key": "k", "chunks": [{"body": "fox owl", "embedding": [1,0,0], "entities": ["animal"]}, {"body": "fox", "kind": "claim", "supports": [0]}]}, {"key": "twin", "chunks": [{"body": "fox owl", "embedding": [1,0,0]}]}, {"key": "bare", "chunks": [{"body": "fox", "kind": "section_header"}]}]', model => 'leak')"""
    )
    conn.execute("SELECT sift.put_sources('t', '{k}', '{text/plain}', ARRAY['x'::bytea], '{1}', 'none')")
    place(conn)
    conn.execute("SELECT sift.judge('t', 'fox', 'k', 3, principals => '{public}')")
    fit_terms(conn)
    assert conn.execute(CALLS[name], {"p": ["public"], "c": True}).fetchall() != []  # type: ignore[call-overload]
    for principals in ([], None, ["group:unknown"], ["PUBLIC"], ["public "], ["%"], [""]):
        assert conn.execute(CALLS[name], {"p": principals, "c": True}).fetchall() == []  # type: ignore[call-overload]
