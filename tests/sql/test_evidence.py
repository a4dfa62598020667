"""Passages of a document in the database: tables, parts, pages, permissions, the past."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

PUBLIC = ["public"]


@pytest.fixture
def tenant(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('ev', 'english', default_principals => '{public}', keep_history => true)")
    return conn


def put(conn: psycopg.Connection, *documents: dict[str, Any]) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('ev', %s::jsonb)", (json.dumps(documents),))


def evidence(conn: psycopg.Connection, key: str, query: str | None, *, principals: list[str] = PUBLIC, **options: Any) -> list[dict[str, Any]]:
    named = "".join(f", {name} => %({name})s" for name in options)
    cursor = conn.execute(
        f"SELECT * FROM sift.evidence('ev', %(key)s, %(query)s, principals => %(principals)s{named})",
        {"key": key, "query": query, "principals": principals, **options},
    )
    assert cursor.description is not None
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def texts(*arguments: Any, **options: Any) -> list[str]:
    return [row["text"] for row in evidence(*arguments, **options)]


def marked(row: dict[str, Any]) -> list[str]:
    return [row["text"][a:b] for a, b in row["highlights"]]


def test_the_passages_with_most_terms_in_the_order_of_the_text(tenant: psycopg.Connection) -> None:
    filler = "Nothing of note happened on the pier for a while. " * 4
    text = f"The pump stands. {filler}A seal of the pump leaks. {filler}One seal. {filler}Pumps leak at seals."
    put(tenant, {"key": "k", "text": text})
    found = evidence(tenant, "k", "leaking pump seals", width=40)
    assert [marked(row) for row in found] == [["seal", "pump", "leaks"], ["Pumps", "leak", "seals"]]
    assert [row["terms"] for row in found] == [["leak", "pump", "seal"]] * 2
    for row in found:
        assert text[row["char_start"] : row["char_end"]] == row["text"]
        assert len(row["text"]) <= 40 and row["text"] == row["text"].strip()
    # Of equals the first: one term each.
    assert texts(tenant, "k", "stands", width=20) == ["pump stands."]
    (first,) = evidence(tenant, "k", "seal", windows=1, width=20)
    assert first["char_start"] == text.index("A seal")


def test_no_occurrence_is_the_beginning(tenant: psycopg.Connection) -> None:
    put(tenant, {"key": "k", "title": "Pumps", "text": "  The first words of it, and more of them."})
    for query in ("zebra", "", "the of", None):
        (row,) = evidence(tenant, "k", query, width=20)
        assert (row["text"], row["highlights"], row["terms"]) == ("The first words of", [], [])


TABLE = "| part | state |\n|------|-------|\n" + "".join(f"| part {n:03} | {'broken' if n == 90 else 'sound'} |\n" for n in range(120))


def test_a_table_is_given_whole_and_once(tenant: psycopg.Connection) -> None:
    small = "| part | state |\n|------|-------|\n| pump | broken |\n| seal | sound |"
    put(tenant, {"key": "small", "text": f"Before it.\n\n{small}\n\nThen the pump again, far from it. {'And so on. ' * 30}"})
    found = texts(tenant, "small", "broken", width=30, windows=1)
    assert found == [small]
    put(tenant, {"key": "long", "text": f"A table of parts.\n\n{TABLE}\nIt ends here. {'And so on. ' * 400}A sound part."})
    assert len(TABLE) < 4000
    found = texts(tenant, "long", "sound part", width=40, windows=5)
    assert found == ["A table of parts.", TABLE.strip(), "on. And so on. And so on. A sound part."]


def test_rows_are_dropped_from_the_end_of_a_table_that_is_too_long(tenant: psycopg.Connection) -> None:
    rows = [f"| row {n:03} | {'x' * 40} |" for n in range(200)]
    table = "\n".join(["| number | text |", "|---|---|", *rows])
    put(tenant, {"key": "k", "text": f"Intro.\n\n{table}\n\nThe end of it."})
    (row,) = evidence(tenant, "k", "150", width=60)
    lines = row["text"].split("\n")
    assert lines == table.split("\n")[: len(lines)] and len(row["text"]) <= 4000 < len(row["text"]) + len(rows[0]) + 1
    # Words beside such a table: the window ends where it begins.
    assert texts(tenant, "k", "intro", width=200) == ["Intro."]
    assert texts(tenant, "k", "end", width=200) == ["The end of it."]


def test_one_line_is_no_table(tenant: psycopg.Connection) -> None:
    put(tenant, {"key": "k", "text": "| a pump | stands |\nalone " + "word " * 50})
    assert texts(tenant, "k", "pump", width=20) == ["| a pump | stands |"]


def test_identical_texts_are_given_once(tenant: psycopg.Connection) -> None:
    line = "The pump is broken."
    put(tenant, {"key": "k", "text": "\n\n".join([line, "x" * 100, line, "y" * 100, "A pump stands."])})
    assert texts(tenant, "k", "pump", width=40, windows=9) == [line, "A pump stands."]


def test_chunks_are_joined_and_place_page_and_section_told(tenant: psycopg.Connection) -> None:
    chunks = [
        {"body": "The pump stands.", "start": 0, "end": 16, "page": 1, "section": ["A"]},
        {"body": "It leaks at the seal.", "start": 17, "end": 38, "page": 2, "section": ["A", "B"]},
        {"body": "the seal. An overlap.", "start": 29, "end": 50, "page": 2, "section": ["B"]},
        {"body": "Far away a pump.", "start": 500, "end": 516, "page": 9},
        {"body": "[1] Pump, A.", "start": 517, "end": 529, "kind": "reference", "page": 10},
    ]
    put(tenant, {"key": "k", "chunks": chunks})
    found = evidence(tenant, "k", "pump leaks overlap", width=60, windows=5)
    assert [(row["text"], row["char_start"], row["char_end"], row["page"], row["section"]) for row in found] == [
        ("The pump stands.\nIt leaks at the seal. An overlap.", 0, 50, 1, "A"),
        ("Far away a pump.", 500, 516, 9, ""),
    ]
    (row,) = evidence(tenant, "k", "overlap", width=20, windows=1)
    assert (row["text"], row["page"], row["section"]) == ("seal. An overlap.", 2, "B")
    body = tenant.execute("SELECT c.body FROM sift.chunks AS c WHERE c.chunk_id = %s", (row["chunk_id"],)).fetchone()
    assert body == ("the seal. An overlap.",)


def test_chunks_without_offsets_are_parts_of_their_own(tenant: psycopg.Connection) -> None:
    put(tenant, {"key": "k", "chunks": [{"body": "One pump stands here."}, {"body": "Two pumps are there."}, {"body": "Nothing."}]})
    assert sorted(texts(tenant, "k", "pump", windows=5)) == ["One pump stands here.", "Two pumps are there."]


def test_who_may_not_see_it_gets_what_is_not_there(tenant: psycopg.Connection) -> None:
    put(tenant, {"key": "open", "text": "A pump."}, {"key": "closed", "text": "A pump.", "acl": ["group:hr"]})
    assert evidence(tenant, "open", "pump") != []
    assert evidence(tenant, "closed", "pump") == evidence(tenant, "absent", "pump") == []
    assert evidence(tenant, "closed", "pump", principals=["group:hr"]) != []
    assert evidence(tenant, "open", "pump", principals=[]) == []


def test_as_it_was(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('ev', 'english', default_principals => '{public}', keep_history => true)")
        put(conn, {"key": "k", "text": "A pump stands."})
        (then,) = conn.execute("SELECT clock_timestamp()").fetchone() or ()
        put(conn, {"key": "k", "text": "A pump lies."})
        assert texts(conn, "k", "pump") == ["A pump lies."]
        found = evidence(conn, "k", "pump", as_of=then)
        assert [(row["text"], row["document_version"]) for row in found] == [("A pump stands.", 1)]
        conn.execute("SELECT count(*) FROM sift.delete_documents('ev', '{k}')")
        assert evidence(conn, "k", "pump") == []
        assert texts(conn, "k", "pump", as_of=then) == ["A pump stands."]
        snippets = conn.execute(
            "SELECT s.snippet, s.highlights FROM sift.search('ev', 'pump', principals => '{public}', as_of => %s, snippet_width => 50) AS s", (then,)
        ).fetchall()
        assert snippets == [("A pump stands.", [[2, 6]])]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"windows": 0}, "windows"), ({"windows": 51}, "windows"), ({"windows": None}, "windows"), ({"width": 19}, "width"), ({"width": 4001}, "width")],
)
def test_bad_input(tenant: psycopg.Connection, options: dict[str, Any], words: str) -> None:
    for key in ("k", "absent"):
        with pytest.raises(psycopg.Error, match=words) as caught, tenant.transaction():
            evidence(tenant, key, "pump", **options)
        assert caught.value.sqlstate == "PS002"
        assert caught.value.diag.message_hint


def test_snippets_of_a_search(tenant: psycopg.Connection) -> None:
    filler = "Nothing of note happened on the pier for a while. " * 6
    put(tenant, {"key": "a", "text": f"{filler}The seal of a pump leaks."}, {"key": "b", "text": "Pumps."})
    ask = "SELECT s.key, s.body, s.snippet, s.snippet_start, s.highlights FROM sift.{}('ev', 'leaking pump', principals => '{{public}}'{}) AS s"
    for function in ("search", "lexical_search"):
        plain = tenant.execute(ask.format(function, "")).fetchall()
        assert [row[2:] for row in plain] == [(None, None, None)] * 2
        found = tenant.execute(ask.format(function, ", snippet_width => 40")).fetchall()
        assert [row[:2] for row in found] == [row[:2] for row in plain]
        by_key = {row[0]: row for row in found}
        _, body, snippet, start, spans = by_key["a"]
        assert body[start : start + len(snippet)] == snippet and len(snippet) <= 40
        assert [snippet[a:b] for a, b in spans] == ["pump", "leaks"]
        assert by_key["b"][2:] == ("Pumps.", 0, [[0, 5]])
        with pytest.raises(psycopg.Error, match="snippet_width") as caught, tenant.transaction():
            tenant.execute(ask.format(function, ", snippet_width => 5"))
        assert caught.value.sqlstate == "PS002"


def test_a_hit_that_vectors_found_shows_its_beginning(tenant: psycopg.Connection) -> None:
    tenant.execute("SELECT sift.register_model('ev3', 3)")
    tenant.execute(
        "SELECT count(*) FROM sift.put_documents('ev', %s::jsonb, model => 'ev3')",
        (json.dumps([{"key": "k", "chunks": [{"body": "  First words of many more words.", "embedding": [1, 0, 0]}]}]),),
    )
    found = tenant.execute(
        "SELECT s.snippet, s.snippet_start, s.highlights"
        " FROM sift.dense_search('ev', '{1,0,0}', principals => '{public}', snippet_width => 20) AS s"
    ).fetchall()
    assert found == [("First words of", 2, [])]


def test_what_stems_to_a_term_begins_as_the_search_for_it_expects(conn: psycopg.Connection) -> None:
    """sift._find_terms looks for words by the beginning of a stem: that must be one of every word that has it."""
    from pgsift.domain.analyzer import get_analyzer

    endings = ["", "s", "es", "ed", "ing", "ly", "y", "ies", "ied", "ying", "ity", "ility", "able", "ably", "ible", "ibly", "ibility", "ation", "ational",
               "ative", "ator", "izer", "ization", "ence", "ency", "ent", "ently", "ance", "ancy", "al", "ality", "ful", "fulness", "ous", "ously",
               "ic", "ical", "icate", "icity", "ize", "er", "e", "logist", "logy", "less", "lessly", "eed", "eedly"]  # fmt: skip
    bases = ["d", "l", "t", "v", "sk", "sens", "oper", "capab", "possib", "relat", "condit", "happ", "cr", "agr", "hop", "bl", "hab", "vis", "gener",
             "commun", "arsen", "past", "inter", "organ", "univers", "fl", "gentl", "idl", "ear", "singl", "onl", "ugl", "b", "app", "tr"]  # fmt: skip
    words = sorted({base + ending for base in bases for ending in endings} | {"skies", "sky", "dying", "lying", "news", "idly", "early"})
    english = get_analyzer("english")
    stems = {word: english.tokenize(word) for word in words}
    for word, stem in stems.items():
        if not stem:
            continue
        found = conn.execute("SELECT f.starts, f.ends FROM sift._find_terms('english', ARRAY[%s], ARRAY[%s]) AS f", (f"to {word}.", stem[0])).fetchone()
        assert found == ([3], [3 + len(word)]), (word, stem)
