"""Explanations and reasons on small corpora with values computed by hand, who is told what, and bad input."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg import sql

P = "principals => '{public}'"


@pytest.fixture
def cars(conn: psycopg.Connection) -> psycopg.Connection:
    """N = 3, lengths 2, 3 and 2, avgdl = 7/3; "red" in two chunks."""
    conn.execute("SELECT sift.create_tenant('cars', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('cars toy', 2)")
    documents = [
        {"key": "one", "chunks": [{"body": "red apple", "embedding": [1, 0]}]},
        {"key": "two", "chunks": [{"body": "red red car", "embedding": [0, 1]}]},
        {"key": "three", "chunks": [{"body": "blue car"}]},
    ]
    conn.execute("SELECT sift.put_documents('cars', %s::jsonb, model => 'cars toy')", [json.dumps(documents)])
    return conn


def rows(conn: psycopg.Connection, statement: str) -> list[Any]:
    return conn.execute(statement.encode()).fetchall()


def test_the_terms_of_a_score(cars: psycopg.Connection) -> None:
    """idf(red) = ln(1 + 1.5/2.5) = 0.470004; two: 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (7/3))); one: 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / (7/3)))."""
    found = rows(cars, f"SELECT name, tf, df, doc_length, round(idf::numeric, 6), round(value::numeric, 6) FROM sift.explain('cars', 'red', key => 'two', {P}) WHERE part = 'term'")
    assert [tuple(map(float, row[1:])) for row in found] == [(2, 2, 3, 0.470004, 0.271903)]
    found = rows(cars, f"SELECT name, round(value::numeric, 6) FROM sift.explain('cars', 'red', key => 'one', {P}) WHERE part = 'term'")
    assert [(name, float(value)) for name, value in found] == [("red", 0.226898)]
    # With "two" gone the same chunk scores more: N = 2, avgdl = 2, df = 1.
    cars.execute("SELECT sift.delete_documents('cars', '{two}')")
    found = rows(cars, f"SELECT df, round(value::numeric, 6) FROM sift.explain('cars', 'red', key => 'one', {P}) WHERE part = 'term'")
    assert [(df, float(value)) for df, value in found] == [(1, 0.315067)]


def test_the_arithmetic_of_fusion(cars: psycopg.Connection) -> None:
    """Ranks 1 and 1 at 60: 2/61. Rank 1 in one leg alone: 1/61."""
    call = "SELECT part, name, rank, weight, constant, value, detail FROM sift.explain('cars', '{}', key => '{}', principals => '{{public}}', query_embedding => '{}') WHERE part IN ('fusion', 'score')"
    both = rows(cars, call.format("red", "two", "{0,1}"))
    assert both == [
        ("fusion", "lexical", 1, 1, 60, 1 / 61, "1 / (60 + 1)"),
        ("fusion", "dense", 1, 1, 60, 1 / 61, "1 / (60 + 1)"),
        ("score", "score", None, None, None, 2 / 61, None),
    ]
    assert round(both[2][5], 7) == 0.0327869
    assert [row[5] for row in rows(cars, call.format("blue", "three", "{0,1}"))] == [1 / 61, 0, 1 / 61]
    assert rows(cars, call.format("blue", "three", "{0,1}"))[1][6] == "it has no vector of the model"
    # Integers are as good as floats.
    given = rows(cars, f"SELECT value FROM sift.explain('cars', 'red', key => 'two', rrf_k => 60, weights => '{{1,1}}', {P}, query_embedding => '{{0,1}}') WHERE part = 'score'")
    assert given == [(2 / 61,)]


def test_what_does_not_count_says_so(cars: psycopg.Connection) -> None:
    def details(options: str, key: str = "one", query: str = "red") -> list[Any]:
        return rows(cars, f"SELECT rank, value, detail FROM sift.explain('cars', '{query}', key => '{key}', {P}, {options}) WHERE part IN ('leg', 'score')")

    assert details("min_score => 0.25") == [
        (2, pytest.approx(0.226898, abs=1e-6), "below the floor: min_score is 0.25"), (None, None, "not in the result, however many are asked for"),
    ]  # fmt: skip
    assert details("depth => 1")[0] == (2, pytest.approx(0.226898, abs=1e-6), "beyond depth 1")
    assert details("filter => '{\"key\": \"two\"}'")[0][0::2] == (None, "the filter leaves it out")
    assert details("plain => false", query="red -apple")[0][2] == "a phrase, a + or a - of the query, or the strategy, leaves it out"
    assert details("mode => 'lexical'", "three")[0] == (None, None, "no term matches")
    assert details("query_embedding => '{1,0}', max_distance => 0.5", "two")[1][1:] == (1, "too far: max_distance is 0.5")
    weights = rows(cars, f"SELECT value, detail FROM sift.explain('cars', 'red', key => 'two', {P}, weights => '{{1,0}}', query_embedding => '{{0,1}}') WHERE part = 'fusion'")
    assert weights[1] == (0, "does not take part: its weight is 0")


def test_a_term_names_where_it_comes_from(cars: psycopg.Connection) -> None:
    cars.execute("""SELECT sift.set_acronyms('cars', '{"RC": "racing car"}')""")
    found = rows(cars, f"SELECT name, tf, value > 0, detail FROM sift.explain('cars', 'RC re* blue', key => 'two', {P}) WHERE part = 'term'")
    assert sorted(found) == [
        ("blue", 0, False, "not in the chunk"), ("car", 1, True, "added: RC"), ("racing", 0, False, "not in the chunk; added: RC"),
        ("rc", 0, False, "not in the chunk"), ("red", 2, True, "prefix: re*"),
    ]  # fmt: skip
    assert [row[2] for row in found] == sorted((row[2] for row in found), reverse=True)


def test_the_past_and_whole_documents(cars: psycopg.Connection) -> None:
    cars.execute("SELECT sift.create_tenant('ages', 'standard', default_principals => '{public}')")
    put = "SELECT sift.put_documents('ages', %s::jsonb)"
    cars.execute(put, [json.dumps([{"key": "a", "title": "red", "chunks": [{"body": "red car"}, {"body": "old apple pie"}]}, {"key": "b", "text": "pie"}])])
    whole = rows(cars, f"SELECT name, tf, df, doc_length FROM sift.explain('ages', 'red pie', key => 'a', {P}, unit => 'document', title_weight => 3) WHERE part = 'term'")
    assert sorted(whole) == [("pie", 1, 2, 6), ("red", 4, 1, 6)]
    (score,) = rows(cars, f"SELECT s.score, s.lexical_score FROM sift.search('ages', 'red pie', {P}, unit => 'document', title_weight => 3) AS s WHERE s.key = 'a'")
    assert rows(cars, f"SELECT value FROM sift.explain('ages', 'red pie', key => 'a', {P}, unit => 'document', title_weight => 3) WHERE name IN ('score') OR part = 'leg' ORDER BY place DESC") == [(score[0],), (score[1],)]
    # All happens in one transaction here: the past is made by hand.
    cars.execute("UPDATE sift.documents SET current_from = '2020-01-01'")
    cars.execute("UPDATE sift.document_versions SET current_from = '2020-01-01'")
    cars.execute(put, [json.dumps([{"key": "a", "text": "green"}])])
    for unit in ("chunk", "document"):
        options = f"{P}, unit => '{unit}', as_of => '2021-01-01'"
        (hit,) = rows(cars, f"SELECT s.chunk_id, s.score, s.lexical_score FROM sift.search('ages', 'red', {options}) AS s")
        told = dict(rows(cars, f"SELECT part || name, value FROM sift.explain('ages', 'red', {hit[0]}, {options}) WHERE part <> 'setting'"))
        assert (told["scorescore"], told["leglexical"], told["termred"]) == (hit[1], hit[2], hit[2])
        assert rows(cars, f"SELECT reason, rank FROM sift.why_not('ages', 'red', 'a', {options})") == [("found", 1)]
        assert rows(cars, f"SELECT reason FROM sift.why_not('ages', 'red', 'a', {P}, unit => '{unit}')") == [("no_match",)]
        assert rows(cars, f"SELECT * FROM sift.explain('ages', 'red', {hit[0]}, {P})") == []


REASONS = [
    ("found", "'red', 'two', "),
    ("absent", "'red', 'nowhere', "),
    ("absent", "'red', 'hidden', "),
    ("deleted", "'red', 'gone', "),
    ("filtered", "'red', 'two', filter => '{\"key\": \"one\"}', "),
    ("conditions", "'red -car', 'two', "),
    ("conditions", "'red +blue', 'two', "),
    ("strategy", "'red', 'two', strategy => 'claims', "),
    ("unranked", "'red', 'headings', "),
    ("no_match", "'red', 'three', "),
    ("no_match", "'blue', 'one', query_embedding => '{1,0}', max_distance => -1, mode => 'lexical', "),
    ("no_vector", "NULL, 'three', query_embedding => '{1,0}', mode => 'dense', "),
    ("below_floor", "'red', 'one', min_score => 9, "),
    ("below_floor", "NULL, 'two', query_embedding => '{1,0}', max_distance => 0.1, "),
    ("beyond_depth", "'red', 'one', k => 1, depth => 1, "),
    ("collapsed", "'red', 'twin', "),
    ("beyond_k", "'red', 'one', k => 1, "),
    ("earlier_page", "'red', 'two', k => 1, skip => 1, "),
    ("not_chosen", "'red', 'one', token_budget => 1, "),
]


@pytest.mark.parametrize(("reason", "arguments"), REASONS)
def test_every_reason(cars: psycopg.Connection, reason: str, arguments: str) -> None:
    documents = [
        {"key": "twin", "text": "red red car"}, {"key": "hidden", "text": "red", "acl": []}, {"key": "gone", "text": "red"},
        {"key": "headings", "chunks": [{"body": "red", "kind": "section_header"}]},
    ]  # fmt: skip
    cars.execute("SELECT sift.put_documents('cars', %s::jsonb)", [json.dumps(documents)])
    cars.execute("SELECT sift.delete_documents('cars', '{gone}')")
    (told,) = rows(cars, f"SELECT reason, sentence, document_key, rank, other_key FROM sift.why_not('cars', {arguments}{P})")
    assert told[0] == reason and told[1].endswith(".") and "%s" not in told[1]
    if reason == "collapsed":
        assert (told[3], told[4]) == (2, "two")
    if reason == "absent":
        assert told[2:] == (None, None, None)


def test_a_chunk_that_is_capped(cars: psycopg.Connection) -> None:
    chunks = [{"body": f"moon {'x ' * n}"} for n in range(1, 5)]
    cars.execute("SELECT sift.put_documents('cars', %s::jsonb)", [json.dumps([{"key": "long", "chunks": chunks}])])
    ids = [row[0] for row in rows(cars, f"SELECT s.chunk_id FROM sift.search('cars', 'moon', {P}, per_document => NULL) AS s")]
    (told,) = rows(cars, f"SELECT reason, rank, other_chunk_id, other_key FROM sift.why_not('cars', 'moon', chunk => {ids[2]}, {P}, per_document => 2)")
    assert told == ("capped", 3, ids[1], "long")
    assert rows(cars, f"SELECT reason, rank FROM sift.why_not('cars', 'moon', chunk => {ids[2]}, {P}, per_document => 3)") == [("found", 3)]
    assert rows(cars, f"SELECT reason, rank FROM sift.why_not('cars', 'moon', 'long', {P}, per_document => 2)") == [("found", 1)]


def test_a_claim_stands_for_its_chunk(cars: psycopg.Connection) -> None:
    documents = [{"key": "study", "chunks": [{"body": "moon moon rises"}, {"body": "moon rises", "kind": "claim", "supports": [0]}]}]
    cars.execute("SELECT sift.put_documents('cars', %s::jsonb)", [json.dumps(documents)])
    chunk, claim = (row[0] for row in rows(cars, "SELECT c.chunk_id FROM sift.chunks AS c WHERE c.body LIKE 'moon%' ORDER BY c.ordinal"))
    assert rows(cars, f"SELECT reason, other_chunk_id FROM sift.why_not('cars', 'moon', chunk => {chunk}, {P})") == [("covered", claim)]
    assert rows(cars, f"SELECT reason FROM sift.why_not('cars', 'moon', chunk => {claim}, {P}, claims_k => 0)") == [("surplus_claim",)]
    assert rows(cars, f"SELECT reason FROM sift.why_not('cars', 'moon', chunk => {chunk}, {P}, claims_k => 0)") == [("found",)]
    assert rows(cars, f"SELECT reason FROM sift.why_not('cars', 'moon', chunk => {claim}, {P}, strategy => 'chunks')") == [("strategy",)]


@pytest.mark.parametrize("statistics", ["tenant", "visible"])
def test_who_is_told_of_the_corpus(cars: psycopg.Connection, statistics: str) -> None:
    """Readers are told df, idf, N and the average length where these are of what they may see, and never of what they may not."""
    cars.execute("SELECT sift.put_documents('cars', %s::jsonb)", [json.dumps([{"key": "hidden", "text": "red secret", "acl": []}])])
    cars.execute("UPDATE sift.tenants AS t SET statistics = %s WHERE t.name = 'cars'", [statistics])
    cars.execute("CREATE ROLE explain_reader LOGIN IN ROLE sift_reader")
    cars.execute("SELECT sift.map_role('cars', 'explain_reader', '{public}')")
    call = "SELECT part, name, df, idf, value FROM sift.explain('cars', 'red secret', key => 'two', principals => {})"
    trusted = cars.execute(sql.SQL(call).format("{public}")).fetchall()
    cars.execute("SET LOCAL ROLE explain_reader")
    told = cars.execute(sql.SQL(call).format(None)).fetchall()
    assert [(part, name, value) for part, name, _, _, value in told if part != "setting"] == [
        (part, name, value) for part, name, _, _, value in trusted if part != "setting"
    ]
    terms = {name: df for part, name, df, _, _ in told if part == "term"}
    assert {name: df for part, name, df, _, _ in trusted if part == "term"} == {"red": 3 if statistics == "tenant" else 2, "secret": 1 if statistics == "tenant" else 0}
    if statistics == "tenant":
        assert terms == {"red": None, "secret": None}
        assert all(idf is None for _, _, _, idf, _ in told)
        assert not {"chunks", "average_length"} & {name for _, name, _, _, _ in told}
    else:
        assert told == trusted
        assert ("setting", "chunks", None, None, 3) in told


BAD = [
    ("PS002", "explain('cars', 'red')"),
    ("PS002", "explain('cars', 'red', 1, key => 'two')"),
    ("PS002", "explain('cars', 'red', 1, depth => 0)"),
    ("PS002", "explain('cars', 'red', 1, depth => 10001)"),
    ("PS002", "explain('cars', 'red', 1, mode => 'best')"),
    ("PS002", "explain('cars', 'red', 1, min_score => 'NaN')"),
    ("PS002", "explain('cars', 'red', 1, weights => '{1}')"),
    ("PS002", "explain('cars', 'red', 1, unit => 'page')"),
    ("PS002", "explain('cars', 'red', 1, k1 => -1)"),
    ("PS002", "explain('cars', 'red', 1, strategy => 'best')"),
    ("PS003", "explain('cars', '', 1)"),
    ("PS004", "explain('cars', 'red', 1, filter => '[]')"),
    ("PS005", "explain('cars', 'red', 1, query_embedding => '{1}')"),
    ("PS001", "explain('nobody', 'red', 1)"),
    ("PS002", "why_not('cars', 'red')"),
    ("PS002", "why_not('cars', 'red', 'two', chunk => 1)"),
    ("PS002", "why_not('cars', 'red', 'nowhere', k => -1)"),
    ("PS002", "why_not('cars', 'red', 'nowhere', k => 5, depth => 2)"),
    ("PS002", "why_not('cars', 'red', 'nowhere', per_document => 0)"),
    ("PS002", "why_not('cars', 'red', 'nowhere', mmr => 2)"),
    ("PS003", "why_not('cars', NULL, 'nowhere')"),
    ("PS006", "why_not('cars', 'red', 'nowhere', model => 'none')"),
    ("PS001", "why_not('nobody', 'red', 'nowhere')"),
]


@pytest.mark.parametrize(("code", "call"), BAD)
def test_what_a_search_refuses_is_refused(cars: psycopg.Connection, code: str, call: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        rows(cars, f"SELECT * FROM sift.{call[:-1]}, {P})")
    assert refused.value.sqlstate == code and refused.value.diag.message_hint
