"""Pages that begin inside of a chunk: what is stored, what is refused, and what tells of them."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

BODY = "The pump failed at dawn. Its valve held until noon. A brake was found worn in the evening."
BREAKS = [[25, 8], [51, 11]]


def put(conn: psycopg.Connection, **members: Any) -> None:
    chunk = {"body": BODY, "page": 7, **members}
    conn.execute(
        "SELECT * FROM sift.put_documents('t', %s::jsonb)",
        (json.dumps([{"key": "d", "title": "Log", "chunks": [chunk]}]),),
    )


@pytest.fixture
def tenant(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
    return conn


@pytest.mark.parametrize(("word", "page"), [("pump", 7), ("valve", 8), ("brake", 11), ("evening", 11)])
def test_every_way_tells_the_page_of_the_word(tenant: psycopg.Connection, word: str, page: int) -> None:
    put(tenant, page_breaks=BREAKS)
    for function in ("search", "lexical_search"):
        row = tenant.execute(
            f"SELECT s.page, s.snippet_page, s.snippet FROM sift.{function}('t', %s, 1, '{{public}}', snippet_width => 20) AS s".encode(),
            (word,),
        ).fetchone()
        assert row is not None and row[:2] == (7, page) and word in row[2]
    assert tenant.execute(
        "SELECT e.page, e.page_end FROM sift.evidence('t', 'd', %s, 1, 20, '{public}') AS e", (word,)
    ).fetchall() == [(page, page)]
    assert tenant.execute(
        "SELECT c.key, c.page FROM sift.cite('t', '{d}', '{public}', %s) AS c", (word,)
    ).fetchall() == [("d", page)]


def test_a_passage_over_several_pages_tells_the_last(tenant: psycopg.Connection) -> None:
    put(tenant, page_breaks=BREAKS)
    row = tenant.execute(
        "SELECT e.page, e.page_end FROM sift.evidence('t', 'd', 'pump brake', 1, 600, '{public}') AS e"
    ).fetchall()
    assert row == [(7, 11)]


def test_without_snippets_words_or_pages_there_is_no_page(tenant: psycopg.Connection) -> None:
    put(tenant, page_breaks=BREAKS)
    assert tenant.execute(
        "SELECT s.snippet_page FROM sift.search('t', 'brake', 1, '{public}') AS s"
    ).fetchall() == [(None,)]
    assert tenant.execute("SELECT c.page FROM sift.cite('t', '{d}', '{public}') AS c").fetchall() == [(None,)]
    assert tenant.execute("SELECT c.page FROM sift.cite('t', '{d}', '{public}', 'zebra') AS c").fetchall() == [
        (None,)
    ]
    put(tenant, page=None)
    found = tenant.execute(
        "SELECT s.page, s.snippet_page FROM sift.search('t', 'brake', 1, '{public}', snippet_width => 40) AS s"
    ).fetchall()
    assert found == [(None, None)]


@pytest.mark.parametrize("breaks", [None, []])
def test_none_are_stored_as_null(tenant: psycopg.Connection, breaks: Any) -> None:
    put(tenant, page_breaks=breaks)
    assert tenant.execute(
        "SELECT c.page_breaks FROM sift.chunks AS c JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = 't'"
    ).fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"page_breaks": 3}, "must be an array"),
        ({"page_breaks": [3]}, "pairs of whole numbers"),
        ({"page_breaks": [[3, 4, 5]]}, "pairs of whole numbers"),
        ({"page_breaks": [[3, "4"]]}, "pairs of whole numbers"),
        ({"page_breaks": [[3, 1.5]]}, "pairs of whole numbers"),
        ({"page_breaks": [[0, 8]]}, "pairs of whole numbers"),
        ({"page_breaks": [[3, 0]]}, "pairs of whole numbers"),
        ({"page_breaks": [[3, 1234567890]]}, "pairs of whole numbers"),
        ({"page_breaks": [[9, 8], [9, 9]]}, "9 does not come after 9"),
        ({"page_breaks": [[9, 8], [3, 9]]}, "3 does not come after 9"),
        ({"page_breaks": [[len(BODY), 8]]}, f"begins at character {len(BODY)}"),
        ({"page_breaks": [[9, 8]], "page": None}, 'needs "page"'),
    ],
)
def test_what_makes_no_sense_is_refused(tenant: psycopg.Connection, members: dict[str, Any], problem: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        put(tenant, **members)
    assert refused.value.sqlstate == "PS012"
    message = refused.value.diag.message_primary or ""
    assert '"d"' in message and "page_breaks" in message and problem in message
    assert refused.value.diag.message_hint
