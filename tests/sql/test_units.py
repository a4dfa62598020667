"""Chunks that are not ranked, documents as a whole, weighted fields: by figures worked out by hand, and what goes wrong."""

from __future__ import annotations

import json
import math
from typing import Any

import psycopg
import pytest

WHO = ["public"]


def make(conn: psycopg.Connection, documents: list[dict[str, Any]], options: dict[str, Any] | None = None, **arguments: Any) -> int:
    row = conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')").fetchone()
    assert row is not None
    conn.execute("SELECT sift.set_tenant('t', %s)", (json.dumps(options or {}),))
    put(conn, documents, **arguments)
    return int(row[0])


def put(conn: psycopg.Connection, documents: list[dict[str, Any]], model: str | None = None) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s, model => %s)", (json.dumps(documents), model))


def hits(conn: psycopg.Connection, query: str, more: str = "", who: list[str] | None = None) -> list[tuple[str, str, float]]:
    found = conn.execute(
        f"SELECT key, body, score FROM sift.lexical_search('t', %s, 100, %s{more})".encode(), (query, WHO if who is None else who)
    )
    return found.fetchall()


PAPERS: list[dict[str, Any]] = [
    {"key": "a", "title": "Pump seals", "chunks": [
        {"kind": "title", "body": "Pump seals"},
        {"kind": "abstract", "body": "seals leak oil"},
        {"body": "leak oil valve", "overlap_tokens": 2},
        {"kind": "section_header", "body": "valve"},
        {"kind": "reference", "body": "oil oil oil"},
    ]},
    {"key": "b", "chunks": [{"body": "oil and rust"}, {"body": "rust"}]},
    {"key": "c", "chunks": [{"body": "snow falls on rust"}]},
]  # fmt: skip


def bm25(n: int, df: int, tf: float, length: int, average: float) -> float:
    return math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + 1.2 * (0.25 + 0.75 * length / average))


def test_documents_by_hand(conn: psycopg.Connection) -> None:
    """Tokens that count (standard drops "and", "on"):

    a: title chunk  pump seals            2
       abstract     [pump seals] seals leak oil   2 of the title, which stands in front of the first ranked chunk, and 3
       text         [leak oil] valve      1; two repeat the chunk before
       header       valve                 1
       reference    nothing
       together 9: oil 1, leak 1, valve 2, seals 3, pump 2
    b: oil rust, rust                     3: oil 1, rust 2
    c: snow falls rust                    3: rust 1
    N = 3, average 15 / 3 = 5; df: oil 2, valve 1, rust 2.
    """
    make(conn, PAPERS)
    found = hits(conn, "oil valve", ", unit => 'document'")
    assert [(key, body) for key, body, _ in found] == [("a", "leak oil valve"), ("b", "oil and rust")]
    assert found[0][2] == pytest.approx(bm25(3, 1, 2, 9, 5) + bm25(3, 2, 1, 9, 5), rel=1e-15)
    assert found[1][2] == pytest.approx(bm25(3, 2, 1, 3, 5), rel=1e-15)
    # A word of a header alone finds its document, and shows the header; in front of anything comes a ranked chunk that holds a word.
    put(conn, [{"key": "d", "chunks": [{"kind": "section_header", "body": "gear"}, {"body": "cold snow"}]}])
    assert [row[:2] for row in hits(conn, "gear", ", unit => 'document'")] == [("d", "gear")]
    assert [row[:2] for row in hits(conn, "gear snow", ", unit => 'document'")] == [("d", "cold snow"), ("c", "snow falls on rust")]
    assert hits(conn, "gear") == []


def test_chunks_by_hand(conn: psycopg.Connection) -> None:
    """Ranked: abstract 5 tokens, text 3, b's 2 and 1, c's 3: N = 5, average 14 / 5. oil is in three, pump in one."""
    make(conn, PAPERS)
    assert conn.execute("SELECT indexed_chunks, unranked_chunks, reference_chunks, total_length FROM sift.corpus_statistics('t')").fetchall() == [
        (5, 2, 1, 14)
    ]
    assert dict((body, score) for _, body, score in hits(conn, "oil")) == {
        "oil and rust": pytest.approx(bm25(5, 3, 1, 2, 2.8), rel=1e-15),
        "leak oil valve": pytest.approx(bm25(5, 3, 1, 3, 2.8), rel=1e-15),
        "seals leak oil": pytest.approx(bm25(5, 3, 1, 5, 2.8), rel=1e-15),
    }
    ((key, body, score),) = hits(conn, "pump")
    assert (key, body) == ("a", "seals leak oil")
    assert score == pytest.approx(bm25(5, 1, 1, 5, 2.8), rel=1e-15)


def test_weights_by_hand(conn: psycopg.Connection) -> None:
    """seals: in the abstract's chunk once in the title and once by itself; in document a, a third time in the title chunk."""
    make(conn, PAPERS)

    def score(more: str) -> float:
        ((_, _, found),) = hits(conn, "seals", more)
        return found

    assert score("") == pytest.approx(bm25(5, 1, 2, 5, 2.8), rel=1e-15)
    assert score(", title_weight => 3") == pytest.approx(bm25(5, 1, 4, 5, 2.8), rel=1e-15)
    assert score(", abstract_weight => 0.5") == pytest.approx(bm25(5, 1, 1.5, 5, 2.8), rel=1e-15)
    assert score(", title_weight => 3, abstract_weight => 0") == pytest.approx(bm25(5, 1, 3, 5, 2.8), rel=1e-15)
    assert score(", unit => 'document', title_weight => 3") == pytest.approx(bm25(3, 1, 5, 9, 5), rel=1e-15)
    assert score(", unit => 'document', abstract_weight => 2") == pytest.approx(bm25(3, 1, 4, 9, 5), rel=1e-15)
    # At 1 it is what it is without, to the bit; nothing is left where all that matches weighs nothing.
    assert score(", title_weight => 1, abstract_weight => 1") == score("")
    assert hits(conn, "seals", ", title_weight => 0, abstract_weight => 0") == []
    assert hits(conn, "pump", ", title_weight => 0") == []
    # The tenant's, where a search names none.
    conn.execute("SELECT sift.set_tenant('t', '{\"title_weight\": 3, \"abstract_weight\": 0, \"k1\": 0.5, \"b\": 0}')")
    assert score("") == pytest.approx(math.log(1 + 4.5 / 1.5) * 3 / 3.5, rel=1e-15)
    assert score(", k1 => 1.2, b => 0.75, title_weight => 1, abstract_weight => 1") == pytest.approx(bm25(5, 1, 2, 5, 2.8), rel=1e-15)


def test_k1_and_b_of_a_call_are_those_of_a_tenant(conn: psycopg.Connection) -> None:
    make(conn, PAPERS)
    asked = hits(conn, "oil rust", ", k1 => 0.7, b => 0.3")
    assert asked != hits(conn, "oil rust")
    conn.execute("SELECT sift.set_tenant('t', '{\"k1\": 0.7, \"b\": 0.3}')")
    assert hits(conn, "oil rust") == asked


@pytest.mark.parametrize("name", ["k1", "b", "title_weight", "abstract_weight"])
def test_what_is_no_parameter(conn: psycopg.Connection, name: str) -> None:
    make(conn, PAPERS)
    bad = ["-1", "'NaN'", "'Infinity'", "'-Infinity'", "1e-200"] + (["1.5"] if name == "b" else ["1e200"])
    for value in bad:
        with pytest.raises(psycopg.Error, match=name) as caught, conn.transaction():
            hits(conn, "oil", f", {name} => {value}")
        assert caught.value.sqlstate == "PS002" and caught.value.diag.message_hint
    for value in ["-1", '"1"', "null", "1e500", "1e-500", "[]"]:
        with pytest.raises(psycopg.Error, match=name) as caught, conn.transaction():
            conn.execute("SELECT sift.set_tenant('t', %s::jsonb)", (f'{{"{name}": {value}}}',))
        assert caught.value.sqlstate == "PS002"
    for unit in ("NULL", "'documents'", "''"):
        with pytest.raises(psycopg.Error, match="unit") as caught, conn.transaction():
            hits(conn, "oil", f", unit => {unit}")
        assert caught.value.sqlstate == "PS002"


def test_short_chunks(conn: psycopg.Connection) -> None:
    """Under the limit a chunk is not ranked, save a table, a figure or a claim; the title's tokens do not help it over."""
    make(conn, [
        {"key": "a", "title": "long title of five words", "chunks": [
            {"body": "one two"}, {"body": "one two three"}, {"body": "one", "kind": "table"}, {"body": "one", "kind": "claim"},
            {"body": "one", "kind": "abstract"}]},
        {"key": "note", "title": "a note", "text": "one"},
    ], {"min_chunk_tokens": 3})  # fmt: skip
    assert sorted(body for _, body, _ in hits(conn, "one", ", per_document => 9")) == ["one", "one", "one two three"]
    assert [body for _, body, _ in hits(conn, "title")] == ["one two three"]
    assert {key for key, *_ in hits(conn, "note", ", unit => 'document'")} == {"note"}
    assert conn.execute("SELECT key, chunks, kinds FROM sift.unranked_documents('t', '{public}')").fetchall() == [("note", 1, ["text"])]
    assert conn.execute("SELECT unranked_documents FROM sift.corpus_statistics('t')").fetchone() == (1,)
    for limit in (4, 2, 1):
        with pytest.raises(psycopg.Error, match="chunks are stored") as caught, conn.transaction():
            conn.execute("SELECT sift.set_tenant('t', %s)", (json.dumps({"min_chunk_tokens": limit}),))
        assert caught.value.sqlstate == "PS011"
    conn.execute("SELECT sift.set_tenant('t', '{\"min_chunk_tokens\": 3}')")
    for bad in ("0", "-1", "1.5", '"3"', "null", "10001", "1e300"):
        with pytest.raises(psycopg.Error, match="min_chunk_tokens") as caught, conn.transaction():
            conn.execute("SELECT sift.set_tenant('t', %s::jsonb)", (f'{{"min_chunk_tokens": {bad}}}',))
        assert caught.value.sqlstate == "PS002"


def test_a_title_finds_its_document(conn: psycopg.Connection) -> None:
    """In front of the first chunk that is ranked, whoever made the tokens; where none is, in the document unit."""
    row = conn.execute("SELECT sift.analyzer_fingerprint('standard')").fetchone()
    make(conn, [
        {"key": "made", "title": "red fox", "chunks": [{"kind": "reference", "body": "x"}, {"kind": "section_header", "body": "owl"}, {"body": "crow"}]},
        {"key": "heads", "title": "red fox", "chunks": [{"kind": "section_header", "body": "owl"}]},
        {"key": "sources", "title": "red fox", "chunks": [{"kind": "reference", "body": "owl"}]},
    ])  # fmt: skip
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s, %s)", (json.dumps([
        {"key": "told", "title": "red fox", "chunks": [
            {"kind": "title", "body": "Red fox", "tokens": "red fox red fox", "title_tokens": 2}, {"body": "Crow", "tokens": "crow"}]},
        {"key": "untold", "title": "red fox", "chunks": [{"kind": "title", "body": "", "tokens": "red fox"}, {"body": "Crow", "tokens": "crow"}]},
        {"key": "other", "title": "red fox", "chunks": [{"kind": "title", "body": "hen", "tokens": "hen"}, {"body": "Crow", "tokens": "crow"}]},
    ]), row[0] if row else None))  # fmt: skip
    assert sorted((key, body) for key, body, _ in hits(conn, "fox")) == [("made", "crow"), ("told", "Crow"), ("untold", "Crow")]
    assert {key for key, *_ in hits(conn, "fox", ", unit => 'document'")} == {"made", "heads", "told", "untold"}
    assert conn.execute("SELECT key FROM sift.unranked_documents('t', '{public}')").fetchall() == [("heads",), ("sources",)]
    assert conn.execute(
        "SELECT d.key, c.tokens, c.unranked_tokens, c.title_tokens FROM sift.chunks AS c JOIN sift.documents AS d USING (tenant_id, document_id)"
        " WHERE d.key IN ('made', 'told') ORDER BY c.chunk_id").fetchall() == [
        ("made", "", "", 0), ("made", "", "owl", 0), ("made", "red fox crow", None, 2), ("told", "", "red fox", 0), ("told", "red fox crow", None, 2)
    ]  # fmt: skip


@pytest.mark.parametrize(("chunk", "second", "message"), [
    ({"title_tokens": -1, "tokens": "a"}, {}, "title_tokens"),
    ({"title_tokens": 1.5, "tokens": "a"}, {}, "title_tokens"),
    ({"title_tokens": 2, "tokens": "a"}, {}, "it has 1 tokens"),
    ({"title_tokens": 1, "tokens": ""}, {}, "it has 0 tokens"),
    ({"title_tokens": 1}, {}, "there are none"),
    ({}, {"title_tokens": 1, "tokens": "a"}, "belongs to the first chunk"),
    ({"overlap_tokens": -2}, {}, "overlap_tokens"),
    ({"overlap_tokens": "2"}, {}, "overlap_tokens"),
    ({"overlap": 1}, {}, "overlap"),
])  # fmt: skip
def test_bad_members(conn: psycopg.Connection, chunk: dict[str, Any], second: dict[str, Any], message: str) -> None:
    make(conn, [])
    batch = [{"key": "d", "chunks": [{"body": "x"} | chunk, {"body": "y"} | second]}]
    with pytest.raises(psycopg.Error, match=message) as caught, conn.transaction():
        conn.execute("SELECT sift.put_documents('t', %s, (SELECT sift.analyzer_fingerprint('standard')))", (json.dumps(batch),))
    assert caught.value.sqlstate == "PS012"
    assert "d" in str(caught.value.diag.message_primary)


def test_no_vector_of_what_is_not_ranked(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.register_model('toy', 2)")
    make(conn, [{"key": "a", "chunks": [
        {"body": "head", "kind": "section_header", "embedding": [1, 0]}, {"body": "far", "embedding": [0, 1]}, {"body": "none"},
        {"body": "source", "kind": "reference", "embedding": [1, 0]}]}], model="toy")  # fmt: skip
    assert conn.execute("SELECT body FROM sift.dense_search('t', '{1,0}', principals => '{public}')").fetchall() == [("far",)]
    assert conn.execute("SELECT missing_vectors, chunks FROM sift.document_states('t', '{a}', 'toy')").fetchone() == (1, 4)
    lacking = conn.execute("SELECT chunk_id, body FROM sift.chunks_without_embedding('t')").fetchall()
    assert [body for _, body in lacking] == ["none"]
    row = conn.execute("SELECT array_agg(c.chunk_id ORDER BY c.chunk_id), array_agg('[1,1]'::text) FROM sift.chunks AS c").fetchone()
    assert row is not None
    assert conn.execute("SELECT sift.put_embeddings('t', 'toy', %s, %s)", row).fetchone() == (2,)
    assert conn.execute("SELECT missing_vectors FROM sift.document_states('t', '{a}', 'toy')").fetchone() == (0,)
    assert conn.execute("SELECT check_name FROM sift.doctor('t') WHERE check_name = 'missing_vectors'").fetchall() == []


def test_both_legs_rank_documents(conn: psycopg.Connection) -> None:
    """b is nearest by its second chunk; a by words. A document of both legs is one row, with the chunk of the words."""
    conn.execute("SELECT sift.register_model('toy', 2)")
    make(conn, [
        {"key": "a", "chunks": [{"body": "rust and oil", "embedding": [0, 1]}, {"body": "rust rust", "embedding": [3, 4]}]},
        {"key": "b", "chunks": [{"body": "oil", "embedding": [-1, 0]}, {"body": "snow", "embedding": [1, 0]}, {"body": "ice", "embedding": [1, 0.1]}]},
        {"key": "c", "chunks": [{"body": "wind", "embedding": [0.1, 1]}]},
    ], model="toy")  # fmt: skip
    found = conn.execute(
        "SELECT key, body, lexical_rank, dense_rank, score FROM sift.search('t', 'oil', 10, '{public}', query_embedding => '{1,0}', unit => 'document')"
    ).fetchall()
    # b is shorter than a; the distances are 0 (snow), 0.4 (3-4-5) and 0.9.
    assert found == [
        ("b", "oil", 1, 1, pytest.approx(2 / 61)), ("a", "rust and oil", 2, 2, pytest.approx(2 / 62)), ("c", "wind", None, 3, pytest.approx(1 / 63))
    ]  # fmt: skip
    dense = conn.execute(
        "SELECT key, body, distance FROM sift.search('t', k => 2, principals => '{public}', query_embedding => '{1,0}', mode => 'dense', unit => 'document')"
    ).fetchall()
    assert [row[:2] for row in dense] == [("b", "snow"), ("a", "rust rust")]
    # Pages are those of one long page.
    pages = [
        conn.execute("SELECT key FROM sift.search('t', 'oil', 1, '{public}', query_embedding => '{1,0}', unit => 'document', skip => %s)", (n,)).fetchone()
        for n in range(3)
    ]
    assert pages == [("b",), ("a",), ("c",)]


def test_what_cannot_be_seen_is_not_found_as_a_whole(conn: psycopg.Connection) -> None:
    make(conn, [{"key": "open", "text": "oil"}, {"key": "closed", "acl": ["group:hr"], "chunks": [
        {"body": "secret", "kind": "section_header"}, {"body": "oil"}]}])  # fmt: skip
    for more in (", unit => 'document'", ", title_weight => 2", ", unit => 'document', as_of => now()"):
        assert [key for key, *_ in hits(conn, "oil secret", more)] == ["open"]
        assert hits(conn, "secret", more) == []
        assert hits(conn, "oil", more, []) == []
    assert {key for key, *_ in hits(conn, "oil secret", ", unit => 'document'", ["group:hr"])} == {"closed"}
    assert conn.execute("SELECT * FROM sift.unranked_documents('t', '{public}')").fetchall() == []
    # With the statistics of what is visible, the score is what it would be alone.
    conn.execute("SELECT sift.set_tenant('t', '{\"statistics\": \"visible\"}')")
    ((_, _, score),) = hits(conn, "oil", ", unit => 'document'")
    assert score == pytest.approx(bm25(1, 1, 1, 1, 1), rel=1e-15)


def test_a_filter_is_passed_by_a_chunk(conn: psycopg.Connection) -> None:
    make(conn, [
        {"key": "a", "chunks": [{"body": "oil"}, {"body": "rust", "kind": "table"}]},
        {"key": "b", "chunks": [{"body": "oil"}]},
        {"key": "c", "chunks": [{"body": "oil"}, {"body": "cited", "kind": "reference"}]},
    ])  # fmt: skip
    every = dict((key, score) for key, _, score in hits(conn, "oil", ", unit => 'document'"))
    # It shows the chunk that passes, and changes no score.
    assert hits(conn, "oil", """, unit => 'document', filter => '{"kind": "table"}'""") == [("a", "rust", every["a"])]
    assert hits(conn, "oil", """, unit => 'document', filter => '{"kind": "reference"}'""") == [("c", "oil", every["c"])]


def test_the_past_and_what_is_gone(conn: psycopg.Connection) -> None:
    tenant_id = make(conn, [])
    conn.rollback()
    tenant_id = make(conn, PAPERS)
    before = hits(conn, "oil valve seals", ", unit => 'document', title_weight => 2")
    weighted = hits(conn, "oil valve seals", ", title_weight => 2")
    row = conn.execute("SELECT max(updated_at) FROM sift.documents").fetchone()
    assert row is not None
    # A version ends when the transaction that replaces it began: here all is one transaction, so the clock is put back.
    conn.execute("UPDATE sift.documents SET current_from = current_from - interval '1 day', updated_at = updated_at - interval '1 day'")
    conn.execute("UPDATE sift.document_versions SET current_from = current_from - interval '1 day'")
    put(conn, [{"key": "a", "text": "nothing of it"}])
    conn.execute("SELECT sift.delete_documents('t', '{b}')")
    assert [key for key, *_ in hits(conn, "oil valve seals", ", unit => 'document'")] == []
    then = ", as_of => now() - interval '1 hour'"
    assert hits(conn, "oil valve seals", ", unit => 'document', title_weight => 2" + then) == before
    assert hits(conn, "oil valve seals", ", title_weight => 2" + then) == weighted
    conn.execute("SELECT sift.purge_documents('t', '{a,b}')")
    assert hits(conn, "oil valve seals", ", unit => 'document'" + then) == []
    for table, left in (("unranked_terms", 0), ("document_lengths", 1), ("chunk_history", 0)):
        assert conn.execute(f"SELECT count(*) FROM sift.{table} WHERE tenant_id = %s".encode(), (tenant_id,)).fetchone() == (left,)
    found = conn.execute("SELECT place, found FROM sift.audit_deletion('t', 'a') WHERE found > 0 AND kind <> 'record'").fetchall()
    assert found == []
    assert conn.execute("SELECT sift.drop_tenant('t')").fetchone() == (True,)
    assert conn.execute("SELECT count(*) FROM sift.document_lengths").fetchone() == (0,)


@pytest.mark.parametrize("fault", [
    "DELETE FROM sift.unranked_terms WHERE term = 'valve'",
    "UPDATE sift.unranked_terms SET tf = tf - 1 WHERE tf < 0",
    "INSERT INTO sift.unranked_terms SELECT tenant_id, 'zebra', chunk_id, 1 FROM sift.chunks LIMIT 1",
    "INSERT INTO sift.unranked_terms SELECT tenant_id, 'zebra', 4000000, 1 FROM sift.tenants",
    "DELETE FROM sift.document_lengths",
    "UPDATE sift.document_lengths SET doc_length = doc_length + 1",
    "INSERT INTO sift.document_lengths SELECT tenant_id, 4000000, 5 FROM sift.tenants",
])  # fmt: skip
def test_the_doctor_finds_and_repair_mends(conn: psycopg.Connection, fault: str) -> None:
    make(conn, PAPERS)
    before = hits(conn, "oil valve zebra", ", unit => 'document'")
    assert conn.execute("SELECT * FROM sift.doctor('t', NULL) WHERE severity = 'error' AND check_name = 'postings'").fetchall() == []
    conn.execute(fault.encode())
    assert conn.execute("SELECT * FROM sift.doctor('t', NULL) WHERE check_name = 'postings' AND severity = 'error'").fetchall()
    assert conn.execute("SELECT * FROM sift.repair('t')").fetchall()
    assert conn.execute("SELECT * FROM sift.doctor('t', NULL) WHERE check_name = 'postings'").fetchall() == []
    assert hits(conn, "oil valve zebra", ", unit => 'document'") == before
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
