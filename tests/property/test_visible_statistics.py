"""Where the statistics of a tenant are those of what is visible, a search answers as if the rest were not there."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PRINCIPALS = ["public", "group:a", "user:1"]
WORDS = ["fox", "hound", "owl", "wren", "crow"]
documents = st.lists(
    st.tuples(
        st.lists(st.sampled_from(PRINCIPALS), unique=True, max_size=2),
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=3),
    ),
    min_size=1, max_size=10,
)  # fmt: skip
QUERY = "fox owl crow"
K1, B = 1.2, 0.75


def model(chunks: list[tuple[str, list[str]]], matching: set[str]) -> list[tuple[str, float]]:
    """BM25 over *chunks* alone, key and words of each; those of the keys in *matching* come back."""
    n = len(chunks)
    average = sum(len(words) for _, words in chunks) / n if n else 1.0
    df = Counter(word for _, words in chunks for word in set(words))
    found = []
    for key, words in chunks:
        score = 0.0
        for term in sorted((t for t in set(QUERY.split()) if df[t]), key=lambda t: (df[t], t)):
            tf = words.count(term)
            if tf:
                idf = math.log(1 + (n - df[term] + 0.5) / (df[term] + 0.5))
                score += idf * tf / (tf + K1 * (1 - B + B * len(words) / average))
        if score and key in matching:
            found.append((key, score))
    return sorted(found, key=lambda hit: -hit[1])


def put(conn: psycopg.Connection, tenant: str, batch: list[dict[str, Any]]) -> None:
    conn.execute("SELECT sift.put_documents(%s, %s::jsonb)", (tenant, json.dumps(batch)))


def answer(conn: psycopg.Connection, tenant: str, who: list[str], options: str = "") -> list[tuple[str, str, float]]:
    return conn.execute(
        f"SELECT key, body, score FROM sift.lexical_search(%s, %s, 100, %s, collapse => false{options})".encode(), (tenant, QUERY, who)
    ).fetchall()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corpus=documents, who=st.lists(st.sampled_from(PRINCIPALS), unique=True, max_size=3), packed=st.booleans(), replaced=st.booleans(),
    kept=st.booleans(),
)  # fmt: skip
def test_the_rest_might_as_well_not_be_there(
    conn: psycopg.Connection, corpus: list[tuple[list[str], list[list[str]]]], who: list[str], packed: bool, replaced: bool, kept: bool
) -> None:
    with conn.transaction(force_rollback=True):
        batch: list[dict[str, Any]] = [
            {"key": f"k{i}", "acl": acl, "metadata": {"even": i % 2 == 0},
             "chunks": [{"body": " ".join(words)} for words in chunks]}
            for i, (acl, chunks) in enumerate(corpus)
        ]  # fmt: skip
        visible = [document for document, (acl, _) in zip(batch, corpus, strict=True) if set(acl) & set(who)]
        for tenant in ("all", "alone"):
            conn.execute("SELECT sift.create_tenant(%s, 'standard')", (tenant,))
        conn.execute("SELECT sift.set_tenant('all', '{\"statistics\": \"visible\"}')")
        if replaced:  # what was, and is no more, counts no more
            old = [dict(d, chunks=[{"body": "fox fox owl wren"}]) for d in batch]
            put(conn, "all", old)
            conn.execute("SELECT sift.pack_postings('all', purge => true)")
        put(conn, "all", batch)
        put(conn, "alone", visible)
        if packed:
            conn.execute("SELECT sift.pack_postings('all', purge => true), sift.fold_statistics('all')")

        for options, matching in (("", {d["key"] for d in visible}), (
            ", filter => '{\"metadata.even\": true}'", {d["key"] for d in visible if d["metadata"]["even"]})):
            found = answer(conn, "all", who, options)
            twin = answer(conn, "alone", who, options)
            # The same scores to the bit; ties are in the order of chunk ids, which differ.
            assert sorted(found) == sorted(twin)
            assert [score for *_, score in found] == [score for *_, score in twin]
            chunks = [(d["key"], c["body"].split()) for d in visible for c in d["chunks"]]
            expected = model(chunks, matching)
            assert [score for *_, score in found] == pytest.approx([score for _, score in expected], rel=1e-12)
        assert [row[2] for row in answer(conn, "all", who)[:2]] == [
            row[0] for row in conn.execute(
                "SELECT score FROM sift.lexical_search('all', %s, 2, %s, collapse => false)", (QUERY, who)).fetchall()
        ]
        if kept:  # the past: the transaction's own time, at which all of this was written
            past = answer(conn, "all", who, ", as_of => clock_timestamp()")
            assert past == answer(conn, "all", who)


def test_hidden_documents_change_no_score_of_a_reader(conn: psycopg.Connection) -> None:
    """With the statistics of the tenant they do, which docs/security.md says; with those of what is visible they do not."""
    conn.execute("SELECT sift.create_tenant('t', 'standard')")
    put(conn, "t", [{"key": "seen", "text": "fox and owl", "acl": ["public"]}, {"key": "other", "text": "wren", "acl": ["public"]}])
    for statistics, changed in (("tenant", True), ("visible", False)):
        conn.execute("SELECT sift.set_tenant('t', %s::jsonb)", (json.dumps({"statistics": statistics}),))
        before = answer(conn, "t", ["public"])
        put(conn, "t", [{"key": f"hidden{i}", "text": "fox fox crow", "acl": ["group:hr"]} for i in range(5)])
        assert (answer(conn, "t", ["public"]) != before) is changed
        conn.execute("SELECT sift.delete_documents('t', %s)", ([f"hidden{i}" for i in range(5)],))
        assert answer(conn, "t", ["public"]) == before


def test_what_it_may_be(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.create_tenant('t')")
    assert conn.execute("SELECT statistics FROM sift.list_tenants() WHERE tenant = 't'").fetchone() == ("tenant",)
    for bad in ('"everything"', "null", "true", "[]"):
        with pytest.raises(psycopg.Error) as caught, conn.transaction():
            conn.execute(f"SELECT sift.set_tenant('t', '{{\"statistics\": {bad}}}')".encode())
        assert caught.value.sqlstate == "PS002"
