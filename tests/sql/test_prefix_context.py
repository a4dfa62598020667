"""What stands with a chunk beside its text: a prefix that is found and not shown, a context that is shown."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

WHO = "{public}"
#             0         1         2         3         4
#             0123456789012345678901234567890123456789012345678
TEXT = "One day.  Two days.\n\nThree days. Four more. Five"
SPANS = [(0, 8), (10, 19), (21, 32), (33, 43), (44, 48)]


def chunks(*contexts: tuple[int, int] | None, **more: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    reached = 0
    for (start, end), context in zip(SPANS, contexts, strict=False):
        chunk = {"body": TEXT[start:end], "start": start, "end": end} | more
        if context is not None:
            chunk |= {"context_start": context[0], "context_end": context[1], "lead": TEXT[reached:start]}
        made.append(chunk)
        reached = end
    return made


def make(conn: psycopg.Connection, *documents: dict[str, Any]) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    put(conn, *documents)


def put(conn: psycopg.Connection, *documents: dict[str, Any]) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))


def shown(conn: psycopg.Connection, query: str, more: str = "", who: str = WHO) -> list[tuple[Any, ...]]:
    return conn.execute(
        f"SELECT rank, body, context, context_start, context_page, context_of FROM sift.search('t', %s, principals => %s{more})".encode(),
        (query, who),
    ).fetchall()


def test_a_context_is_the_text_character_for_character(conn: psycopg.Connection) -> None:
    contexts = [(0, 19), (0, 32), (10, 43), (21, 48), (33, 48)]
    made = chunks(*contexts)
    made[0]["page"], made[1]["page"], made[1]["page_breaks"], made[2]["page"] = 1, 1, [[4, 2]], 2
    make(conn, {"key": "a", "chunks": made})
    for (start, end), context in zip(SPANS, contexts, strict=True):
        row = shown(conn, f'"{TEXT[start:end]}"')[0]
        page = {0: 1, 10: 1, 21: 2}.get(context[0])
        assert row == (1, TEXT[start:end], TEXT[slice(*context)], context[0], page, None)


def test_what_a_better_hit_shows_is_not_shown_again(conn: psycopg.Connection) -> None:
    whole = (0, 32)
    make(
        conn,
        {"key": "a", "chunks": chunks(whole, whole, whole, None, None)},
        {"key": "b", "chunks": chunks(whole, whole, whole), "content_hash": "0" * 64},
    )
    found = shown(conn, "days", ", collapse => false")
    assert [(rank, of) for rank, *_, of in found] == [(1, None), (2, 1), (3, None), (4, 3)]
    assert [context for _, _, context, *_ in found] == [TEXT[:32], None, TEXT[:32], None]
    # On a later page nothing points to an earlier one.
    assert [(rank, of) for rank, *_, of in shown(conn, "days", ", k => 2, skip => 1, collapse => false")] == [(2, None), (3, None)]
    assert shown(conn, "four")[0][2:] == (None, None, None, None)


def test_nobody_is_shown_the_context_of_what_he_may_not_see(conn: psycopg.Connection) -> None:
    make(conn, {"key": "a", "acl": ["group:hr"], "chunks": chunks((0, 19), (0, 19))})
    assert len(shown(conn, "day", who="{group:hr}")) == 1
    assert shown(conn, "day") == []


def test_a_context_of_the_past_is_that_of_the_past(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        make(conn, {"key": "a", "chunks": chunks((0, 19), (0, 32), (0, 32))})
        row = conn.execute("SELECT clock_timestamp()").fetchone()
        put(conn, {"key": "a", "chunks": [{"body": "Nothing of that."}]})
        assert shown(conn, "two") == []
        assert row is not None
        then = f", as_of => '{row[0].isoformat()}'"
        assert shown(conn, "two", then) == [(1, "Two days.", TEXT[:32], 0, None, None)]


def test_a_prefix_is_found_and_neither_shown_nor_counted_for_the_document(conn: psycopg.Connection) -> None:
    with_it = [
        {"body": "oil the drum", "prefix": "Care"},
        {"body": "check the brake", "start": 13, "prefix": "Red winch > Care"},
        {"kind": "section_header", "body": "Care", "start": 30, "prefix": "Red winch"},
    ]
    bare = [{name: value for name, value in chunk.items() if name != "prefix"} for chunk in with_it]
    make(conn, {"key": "with", "title": "Red winch", "chunks": with_it}, {"key": "bare", "title": "Red winch", "chunks": bare})
    found = conn.execute(
        "SELECT key, body, snippet, highlights FROM sift.search('t', 'winch', principals => %s, snippet_width => 50, collapse => false)", (WHO,)
    ).fetchall()
    assert sorted((key, body) for key, body, *_ in found) == [
        ("bare", "oil the drum"), ("with", "check the brake"), ("with", "oil the drum")]  # fmt: skip
    assert {(snippet, json.dumps(marks)) for _, body, snippet, marks in found if body == "check the brake"} == {("check the brake", "[]")}
    assert [row[0] for row in conn.execute(
        "SELECT text FROM sift.evidence('t', 'with', 'winch care', principals => %s)", (WHO,)).fetchall()] == ["oil the drum\ncheck the brake\n\nCare"]  # fmt: skip
    # The document is as long with prefixes as it is without, and has no word oftener.
    for word in ("winch", "care", "red", "brake"):
        scores = conn.execute(
            "SELECT score FROM sift.lexical_search('t', %s, principals => %s, unit => 'document')", (word, WHO)
        ).fetchall()
        assert len(scores) == 2 and scores[0] == scores[1]
    assert conn.execute("SELECT array_agg(DISTINCT doc_length) FROM sift.document_lengths").fetchone() == ([7],)
    # A chunk is as long as what is indexed of it.
    assert conn.execute(
        "SELECT tokens, unranked_tokens, doc_length, title_tokens, prefix_tokens, overlap_tokens FROM sift.chunks AS c"
        " JOIN sift.documents AS d USING (tenant_id, document_id) WHERE d.key = 'with' ORDER BY c.ordinal").fetchall() == [
        ("red winch care oil drum", None, 5, 2, 1, 1),
        ("red winch care check brake", None, 5, 0, 3, 3),
        ("", "red winch care", 0, 0, 2, 2)]  # fmt: skip
    assert conn.execute("SELECT check_name, object FROM sift.doctor('t') WHERE severity = 'error'").fetchall() == []
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_no_phrase_reaches_out_of_a_prefix(conn: psycopg.Connection) -> None:
    make(conn, {"key": "a", "title": "Red winch", "chunks": [
        {"body": "oil the drum", "prefix": "Care daily"}, {"body": "check the brake", "start": 13, "prefix": "Red winch > Care"}]})  # fmt: skip
    for phrase, bodies in (
        ("care daily", ["oil the drum"]), ("winch care", ["check the brake"]), ("red winch", ["check the brake", "oil the drum"]),
        ("winch care daily", []), ("daily oil", []), ("care check", []), ("oil drum", ["oil the drum"]),
    ):  # fmt: skip
        assert sorted(row[1] for row in shown(conn, f'"{phrase}"')) == bodies, phrase


def test_texts_are_the_same_whatever_their_prefixes(conn: psycopg.Connection) -> None:
    body = "the quick brown fox jumps over a lazy dog and runs away from it at last"
    make(conn, {"key": "a", "chunks": [{"body": body, "prefix": "Alpha"}]}, {"key": "b", "chunks": [{"body": body, "prefix": "Beta"}]})
    assert len(conn.execute("SELECT FROM sift.search('t', 'fox', principals => %s)", (WHO,)).fetchall()) == 1
    assert conn.execute(
        "SELECT array_agg(DISTINCT array_to_string(sift._document_tokens(d.tenant_id, d.document_id), ' ')) FROM sift.documents AS d"
    ).fetchone() == (["quick brown fox jumps over lazy dog runs away from last"],)


def test_what_is_embedded_has_the_prefix(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.register_model('toy', 2)")
    make(conn, {"key": "a", "title": "T", "chunks": [{"body": "x", "prefix": "T > A"}, {"body": "y"}]})
    assert conn.execute("SELECT title, body, prefix FROM sift.chunks_without_embedding('t', 'toy')").fetchall() == [
        ("T", "x", "T > A"), ("T", "y", None)]  # fmt: skip


@pytest.mark.parametrize(("chunk", "message"), [
    ({"prefix": 1}, '"prefix" must be a string'),
    ({"prefix": "a", "tokens": "a x"}, "prefix_tokens\" does not say"),
    ({"prefix_tokens": 1}, "one of these is missing"),
    ({"prefix": "a", "prefix_tokens": 3, "tokens": "a x"}, "it has 2 tokens"),
    ({"prefix": "a", "prefix_tokens": -1, "tokens": "a x"}, "whole number"),
    ({"context_start": 0}, "go together"),
    ({"context_start": 0, "context_end": 3}, "does not hold it"),
    ({"context_start": 5, "context_end": 30}, "does not hold it"),
    ({"context_start": "0", "context_end": 30}, '"context_start" must be a number'),
    ({"lead": "     "}, '"lead" has 5 characters'),
])  # fmt: skip
def test_what_cannot_be_is_refused(conn: psycopg.Connection, chunk: dict[str, Any], message: str) -> None:
    make(conn)
    batch = [{"key": "d", "chunks": [{"body": "x y", "start": 4} | chunk]}]
    with pytest.raises(psycopg.Error, match=message) as caught, conn.transaction():
        conn.execute("SELECT sift.put_documents('t', %s, (SELECT sift.analyzer_fingerprint('standard')))", (json.dumps(batch),))
    assert caught.value.sqlstate == "PS012" and caught.value.diag.message_hint
