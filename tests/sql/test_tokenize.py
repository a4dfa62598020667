"""The analyzer as SQL users meet it: refusals, roles, the report on a query, and search by identifiers."""

from __future__ import annotations

import json
from collections.abc import Callable

import psycopg
import pytest

from pgsift.domain.analyzer import get_analyzer

HINT = "standard, english, identifiers"


def one(conn: psycopg.Connection, statement: str, *parameters: object) -> object:
    row = conn.execute(statement, parameters).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return row[0]


@pytest.mark.parametrize("call", ["sift.tokenize('x', %s)", "sift.analyzer_fingerprint(%s)"])
@pytest.mark.parametrize("name", ["klingon", "", "Standard", None])
def test_an_unknown_analyzer_is_refused_with_the_names_of_the_others(
    conn: psycopg.Connection, call: str, name: str | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(f"SELECT {call}", (name,))  # type: ignore[arg-type]
    assert caught.value.sqlstate == "PS010"
    assert HINT in str(caught.value.diag.message_hint)
    assert "no analyzer" in str(caught.value.diag.message_primary)


def test_an_unknown_analyzer_is_refused_for_null_text_too(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT sift.tokenize(NULL, 'klingon')")
    assert caught.value.sqlstate == "PS010"


def test_null_and_empty_text_have_no_tokens(conn: psycopg.Connection) -> None:
    for name in ("standard", "english", "identifiers"):
        assert one(conn, "SELECT sift.tokenize(NULL, %s)", name) == []
        assert one(conn, "SELECT sift.tokenize('', %s)", name) == []
        assert one(conn, "SELECT sift.tokenize('the a !', %s)", name) == []


def test_standard_is_the_default(conn: psycopg.Connection) -> None:
    assert one(conn, "SELECT sift.tokenize('Running to the Shops')") == ["running", "shops"]
    assert one(conn, "SELECT sift.tokenize(text => 'Running to the Shops', analyzer => 'english')") == [
        "run",
        "shop",
    ]


def test_readers_tokenize_and_reach_no_internal_function(role_dsn: Callable[[str], str]) -> None:
    with psycopg.connect(role_dsn("sift_reader")) as reader:
        assert one(reader, "SELECT sift.tokenize('Größe船', 'identifiers')") == ["grösse", "船"]
        assert one(reader, "SELECT length(sift.analyzer_fingerprint('english'))") == 16
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute("SELECT sift._tokens('english', 'x', false)")


def test_terms_do_not_follow_the_callers_settings(conn: psycopg.Connection) -> None:
    conn.execute("CREATE SCHEMA rogue")
    conn.execute("CREATE FUNCTION rogue.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'rogue'::text $$")
    conn.execute("CREATE FUNCTION rogue.length(text) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$")
    conn.execute("SET LOCAL search_path = rogue, pg_catalog")
    conn.execute("SET LOCAL standard_conforming_strings = off")
    assert one(conn, "SELECT sift.tokenize('Red ÄPFEL v1.2', 'identifiers')") == [
        "red",
        "äpfel",
        "v1.2",
        "1.2",
        "v1",
    ]


def tenant(conn: psycopg.Connection, analyzer: str) -> None:
    conn.execute("SELECT sift.create_tenant('t', %s, default_principals => '{public}')", (analyzer,))


def report(conn: psycopg.Connection, query: str | None) -> list[tuple[str, bool, str | None]]:
    return conn.execute(
        "SELECT q.term, q.kept, q.reason FROM sift.query_terms('t', %s) AS q", (query,)
    ).fetchall()


def test_the_report_on_a_query_names_what_was_left_out(conn: psycopg.Connection) -> None:
    tenant(conn, "english")
    assert report(conn, "The cats, a cat & x: 印度洋 " + "b" * 300) == [
        ("the", False, "stopword"),
        ("cat", True, None),
        ("a", False, "stopword"),
        ("cat", False, "repeated"),
        ("x", False, "too short"),
        ("印度", True, None),
        ("度洋", True, None),
        ("b" * 256, True, "cut at 256 bytes"),
    ]
    assert report(conn, "") == report(conn, None) == report(conn, " ;-) ") == []


def test_the_report_on_identifiers_names_the_parts_of_numbers(conn: psycopg.Connection) -> None:
    tenant(conn, "identifiers")
    assert report(conn, "C++ v1.18.6") == [
        ("c++", True, None),
        ("c", False, "too short"),
        ("v1.18.6", True, None),
        ("1.18.6", True, None),
        ("v1", False, "part of a number"),
        ("18", False, "part of a number"),
        ("6", False, "part of a number"),
    ]


@pytest.mark.parametrize("analyzer", ["standard", "english", "identifiers"])
def test_what_the_report_keeps_is_what_is_searched_for(conn: psycopg.Connection, analyzer: str) -> None:
    tenant(conn, analyzer)
    for query in (
        "What are the failure modes of co-simulations? Failures, failing!",
        "getUserByEmail() v1.18.6 10.0.0.1 C++ x", "船 docker 船の船の ß É é É", "a & b | !c", "foo:*", "')",
        '"unbalanced', "C:\\x", "%s", ":name", "$1", "🙂", "(" * 10_000, "é" * 200 + " " + "é" * 150,
    ):  # fmt: skip
        kept = [term for term, is_kept, _ in report(conn, query) if is_kept]
        assert kept == one(
            conn,
            "SELECT r.terms FROM sift.tenants AS t CROSS JOIN LATERAL sift._read_query("
            "t.tenant_id, %s, %s, false, t.strip_questions, t.expand, '{}', NULL, NULL, NULL) AS r WHERE t.name = 't'",
            analyzer, query,
        )


def test_the_report_needs_a_tenant(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("SELECT * FROM sift.query_terms('nobody', 'x')")
    assert caught.value.sqlstate == "PS001"


def found(conn: psycopg.Connection, query: str) -> set[str]:
    rows = conn.execute(
        "SELECT h.key FROM sift.lexical_search('t', %s, k => 100, principals => '{public}') AS h", (query,)
    )
    return {row[0] for row in rows.fetchall()}


IDENTIFIERS = {
    "camel": ("call getUserByEmail() first", ["getUserByEmail", "get", "user", "email"]),
    "snake": ("table liquidity_pool_day.", ["liquidity_pool_day", "liquidity", "pool", "day"]),
    "shout": ("got ERR_CONN_RESET again", ["ERR_CONN_RESET", "err", "conn", "reset"]),
    "version": ("upgrade to v1.18.6 now", ["v1.18.6", "1.18.6", "18"]),
    "cve": ("see CVE-2026-1234, urgent", ["CVE-2026-1234", "cve", "2026", "1234"]),
    "address": ("ping 10.0.0.1", ["10.0.0.1", "10"]),
    "mail": ("write to foo@bar.com!", ["foo@bar.com", "foo", "bar", "com"]),
    "slash": ("a thyroid/metabolic panel", ["thyroid/metabolic", "thyroid", "metabolic"]),
    "language": ("we use C++ here", ["C++"]),
}


def test_identifiers_are_found_whole_and_by_their_parts(conn: psycopg.Connection) -> None:
    tenant(conn, "identifiers")
    documents = [{"key": key, "text": text} for key, (text, _) in IDENTIFIERS.items()]
    documents += [
        {"key": "other version", "text": "release 1.18.60"},
        {"key": "letter", "text": "vitamin C, or c"},
    ]
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps(documents),))
    for key, (_, queries) in IDENTIFIERS.items():
        for query in queries:
            assert key in found(conn, query), query
    assert found(conn, "1.18.6") == {"version"}
    assert found(conn, "1.18.60") == {"other version"}
    assert found(conn, "18") == {"version", "other version"}
    assert found(conn, "C++") == {"language"}
    assert found(conn, "10.0.0.1") == {"address"}


UNSPACED = {
    "zh": "红海早过了，船在印度洋面上开驶着",
    "ja": "今日は成語しりとりをした",
    "one": "船",
    "tool": "docker compose",
}


@pytest.mark.parametrize("by", ["database", "python"])
@pytest.mark.parametrize("name", ["standard", "english", "identifiers"])
def test_scripts_without_spaces_are_found(conn: psycopg.Connection, name: str, by: str) -> None:
    tenant(conn, name)
    analyzer = get_analyzer(name)
    documents: list[dict[str, object]] = [
        {"key": key, "text": text}
        if by == "database"
        else {"key": key, "chunks": [{"body": text, "tokens": " ".join(analyzer.tokenize(text))}]}
        for key, text in UNSPACED.items()
    ]
    conn.execute(
        "SELECT sift.put_documents('t', %s::jsonb, fingerprint => %s)",
        (json.dumps(documents), analyzer.fingerprint if by == "python" else None),
    )
    assert found(conn, "印度洋") == {"zh"}
    assert found(conn, "船 docker") == {"zh", "one", "tool"}
    assert found(conn, "しりとり") == {"ja"}
    # one character at the beginning, within and at the end of a run
    assert found(conn, "红") == found(conn, "印") == found(conn, "着") == {"zh"}
    assert found(conn, "火星人") == set()
    assert found(conn, "上海") == set()  # both characters are there, the word is not
    assert (
        found(conn, "dog,cat docker")
        == found(conn, "dog, cat docker")
        == found(conn, "dog cat docker")
        == {"tool"}
    )
