"""The text of a query: both readers agree, conditions are exact, keyword queries stay as they are."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain import query as reading
from pgsift.domain.analyzer import get_analyzer

PIECES = (
    '"', "+", "-", "*", " ", "  ", "\t", "\u3000", "a", "co", "simul", "What", "is", "how", "can", "I", "?", "؟", "？", "印度", "-5",
    "C++", "--amend", "co-sim", "é", "\u0301", ".", "_", "(", ")", "“", "n't", "’s", "WHO", "😀", "٣", "do", "Don't", '"a b"',
    '+"c d"', "pre*", "+x", "-y", "\\", "%s", "$1", "\u200f", "ﬁ", "İ",
)  # fmt: skip
pieced = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
spaced = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)
anything = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
texts = st.lists(st.one_of(pieced, spaced, anything), min_size=1, max_size=40)

HOSTILE = [
    '"' * 10_000, "*" * 10_000, "+" * 10_000, "-" * 10_000, '+"' * 5_000, '-"' * 5_000, " +a" * 3_400, ' "a"' * 2_500, '"a ' * 3_400,
    "ab* " * 2_500, '"' * 5_000 + "x" + '"' * 5_000, '+"' + "x " * 5_000 + '"', "-" + "x" * 10_000, "+" + "y" * 10_000 + "*",
    "what " * 2_000 + "?", "( [ { \\ ' ; -- /* $$ ) ] }", "\N{PILE OF POO}* +\N{PILE OF POO} \"\N{PILE OF POO}\"", '"\u202eabc\u202c" +\ufeffx',
]  # fmt: skip


def read_in_sql(conn: psycopg.Connection, queries: list[str], plain: bool) -> list[tuple[Any, ...]]:
    return conn.execute(
        "SELECT p.plain_text, p.kinds, p.texts, p.opens, sift._is_question(t.x), s.kept, s.stripped"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t (x, n) CROSS JOIN LATERAL sift._parse_query(t.x, %s) AS p"
        " CROSS JOIN LATERAL sift._strip_question(t.x) AS s ORDER BY t.n",
        (queries, plain),
    ).fetchall()


def read_in_python(query: str, plain: bool) -> tuple[Any, ...]:
    parsed = reading.parse_query(query, plain=plain)
    return (
        parsed.plain, [part.kind for part in parsed.parts], [part.text for part in parsed.parts],
        [part.prefix for part in parsed.parts], reading.is_question(query), *reading.strip_question(query),
    )  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries=texts, plain=st.booleans())
def test_both_readers_agree(conn: psycopg.Connection, queries: list[str], plain: bool) -> None:
    assert read_in_sql(conn, queries, plain) == [read_in_python(query, plain) for query in queries]


def test_both_readers_agree_on_hostile_text(conn: psycopg.Connection) -> None:
    assert read_in_sql(conn, HOSTILE, False) == [read_in_python(query, False) for query in HOSTILE]


def test_the_lists_are_the_same(conn: psycopg.Connection) -> None:
    for name, words in (
        ("interrogatives", reading.QUESTION_WORDS), ("auxiliaries", reading.AUXILIARIES),
        ("after_interrogative", reading._AFTER_INTERROGATIVE), ("subjects", reading._SUBJECTS),
    ):  # fmt: skip
        assert conn.execute("SELECT sift._question_table(%s)", (name,)).fetchone() == (list(words),)


@pytest.mark.parametrize(
    ("query", "parts", "plain"),
    [
        ('"co simulation"', [("phrase", "co simulation", False)], "co simulation"),
        ("pre*", [("word", "pre", True)], "pre"),
        ("+must have", [("required", "must", False), ("word", "have", False)], "must have"),
        ("keep -not", [("word", "keep", False), ("excluded", "not", False)], "keep"),
        ('a -"b c" d', [("word", "a", False), ("excluded", "b c", False), ("word", "d", False)], "a d"),
        ("+pre* -un*", [("required", "pre", True), ("excluded", "un", True)], "pre"),
        ('x "y"z, w', [("word", "x", False), ("phrase", "y", False), ("word", "z, w", False)], "x y z, w"),
        ("+co-simulation", [("required", "co-simulation", False)], "co-simulation"),
        ("+get_user*", [("required", "get_user", True)], "get_user"),
        ('is it "quoted"?', None, None),
        ('is it +"quoted"?', [("word", "is it", False), ("required", "quoted", False), ("word", "?", False)], "is it quoted ?"),
        *((text, None, None) for text in (
            "", " ", "-5 °C", "+49 30", "--amend", "C++", "a - b", "a + b", "co-simulation", "+", "-", "*", '"', '"unbalanced', '""', '" x "',
            '"…"', "x*y", "*x", "(+x)", "x -", "a* b", "2**3*", "“typed” words", '5" pipe 3" bolt', "a & b | !c", "foo:*", "\\x*",
        )),
    ],
)  # fmt: skip
def test_what_is_an_operator(query: str, parts: list[tuple[str, str, bool]] | None, plain: str | None) -> None:
    parsed = reading.parse_query(query)
    expected = [("word", query, False)] if parts is None else parts
    assert [(part.kind, part.text, part.prefix) for part in parsed.parts] == expected
    assert parsed.plain == (query if plain is None else plain)
    assert reading.parse_query(query, plain=True).plain == query


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("What are the failure modes?", "the failure modes?"),
        ("how to stop the winch", "to stop the winch"),
        ("How many balls did Josh intercept?", "many balls Josh intercept?"),
        ("Why doesn't the winch stop?", "the winch stop?"),
        ("what's new?", "new?"),
        ("can I swim", "I swim"),
        ("What happened in May 1968?", "happened in May 1968?"),
        ("What did the WHO say?", "the WHO say?"),
        ("WHAT IS THE BEST PUMP", "THE BEST PUMP"),
        ("who guidelines", None),
        ("where clause sql", None),
        ("WHO is who", None),
        ("can bus protocol", None),
        ("what-if analysis", None),
        ("the rest is what it is", None),
        ("will power", None),
        ("how", None),
        ("", None),
    ],
)
def test_questions(query: str, kept: str | None) -> None:
    assert reading.is_question(query) == (kept is not None)
    if kept is not None:
        assert reading.strip_question(query)[0] == kept


WORDS = st.sampled_from(["winch", "what", "how", "is", "cable", "do", "WHO", "can", "may", "x", "where", "the", "clause", "C++", "stop?stop"])


@settings(max_examples=200, deadline=None)
@given(words=st.lists(WORDS, max_size=7), analyzer=st.sampled_from(["standard", "english", "identifiers"]))
def test_keyword_queries_keep_every_word(words: list[str], analyzer: str) -> None:
    query = " ".join(words)
    terms = get_analyzer(analyzer).query_terms(query)
    found = reading.search_terms(get_analyzer(analyzer), query)
    if not reading.is_question(query):
        assert found == terms
    assert set(found) <= set(terms)
    assert bool(found) == bool(terms)  # never everything


# Exactness

VOCABULARY = ("red", "car", "cars", "the", "co-simulation", "co", "simulation", "印度洋", "印", "get_user", "user", "1.18.6", "v1.18.6", "carbon")
word = st.sampled_from(VOCABULARY)
bodies = st.lists(st.lists(word, min_size=1, max_size=7).map(" ".join), min_size=1, max_size=8)
asked = st.lists(
    st.tuples(st.sampled_from(["", "+", "-", "word"]), st.lists(word, min_size=1, max_size=3)), min_size=1, max_size=3
)


def stands(analyzer: Any, phrase: str, tokens: list[str]) -> bool:
    """What docs/queries.md says, written for obviousness."""
    wanted = analyzer.tokenize(phrase)
    if not wanted:
        return True
    if analyzer.name == "identifiers" and analyzer.query_terms(phrase)[:1] == [phrase]:
        return phrase in tokens
    return any(tokens[at : at + len(wanted)] == wanted for at in range(len(tokens)))


@pytest.mark.parametrize("name", ["standard", "english", "identifiers"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=bodies, parts=asked, titles=st.booleans(), dense=st.booleans())
def test_conditions_are_exact(
    conn: psycopg.Connection, name: str, bodies: list[str], parts: list[tuple[str, list[str]]], titles: bool, dense: bool
) -> None:
    """Hits are those of the words alone that meet the conditions, in the same order, with the same scores."""
    analyzer = get_analyzer(name)
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', %s, default_principals => '{public}')", (name,))
        conn.execute("SELECT sift.register_model('m', 2)")
        conn.execute(
            "SELECT sift.put_documents('t', %s::jsonb, model => 'm')",
            (json.dumps([
                {"key": str(n), "title": "red co" if titles else None, "chunks": [{"body": text, "embedding": [1, n]}]}
                for n, text in enumerate(bodies)
            ]),),
        )  # fmt: skip
        query = " ".join(
            " ".join(words) if sign == "word" else f'{sign}"{" ".join(words)}"' for sign, words in parts
        )
        scored = " ".join(" ".join(words) for sign, words in parts if sign != "-")

        def passes(key: str) -> bool:
            fields = [analyzer.tokenize("red co")] if titles else []
            fields.append(analyzer.tokenize(bodies[int(key)]))
            return all(
                sign == "word"
                or not analyzer.tokenize(" ".join(words))
                or any(stands(analyzer, " ".join(words), field) for field in fields) == (sign != "-")
                for sign, words in parts
            )

        search = (
            "SELECT s.key, s.lexical_score, s.distance FROM sift.search('t', %s, 100, '{{public}}', collapse => false,"
            " query_embedding => %s::real[], mode => %s, plain => %s) AS s ORDER BY s.{} NULLS LAST, s.key"
        )
        if dense:
            order = search.format("dense_rank")
            vector, mode = [1.0, 0.5], "dense"
        else:
            order = search.format("lexical_rank")
            vector, mode = None, "lexical"
            if not analyzer.query_terms(scored):
                return
        plain = conn.execute(order.encode(), (scored, vector, mode, True)).fetchall()
        found = conn.execute(order.encode(), (query, vector, mode, False)).fetchall()
        assert found == [row for row in plain if passes(row[0])]


@pytest.mark.parametrize("name", ["standard", "english", "identifiers"])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=bodies, prefix=st.sampled_from(["car", "cars", "co", "simul", "simulation", "get_u", "1.18", "us", "印"]))
def test_prefixes_are_the_terms_written_out(conn: psycopg.Connection, name: str, bodies: list[str], prefix: str) -> None:
    analyzer = get_analyzer(name)
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', %s, default_principals => '{public}')", (name,))
        conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps([{"key": str(n), "text": text} for n, text in enumerate(bodies)]),))
        report = conn.execute(
            "SELECT q.term, q.kept, q.reason, q.origin FROM sift.query_terms('t', %s, principals => '{public}') AS q", (prefix + "*",)
        ).fetchall()
        vocabulary = {token for text in bodies for token in analyzer.tokenize(text)}
        if prefix == "印" or (name != "identifiers" and not prefix.isalpha()):  # several words, or none that goes on
            assert prefix != "印" or {reason for _, _, reason, _ in report} == {None}
            return
        stem = analyzer.query_terms(prefix)[0]
        expected = sorted(term for term in vocabulary if term.startswith(prefix) or term == stem) or [prefix]
        assert report == [(term, True, "prefix", prefix + "*") for term in expected]
        found = conn.execute("SELECT s.key, s.score FROM sift.lexical_search('t', %s, 100, '{public}') AS s", (prefix + "*",)).fetchall()
        terms = conn.execute(
            "SELECT r.terms FROM sift.tenants AS t CROSS JOIN LATERAL sift._read_query(t.tenant_id, %s, %s, false, true, true,"
            " sift._visible_lists(t.tenant_id, '{public}', session_user::regrole::oid), NULL, NULL, NULL) AS r WHERE t.name = 't'",
            (name, prefix + "*"),
        ).fetchone()
        assert terms == (expected,)
        assert {key for key, _ in found} == {str(n) for n, text in enumerate(bodies) if set(analyzer.tokenize(text)) & set(expected)}
        if prefix[0].isdigit():  # + is no operator before a number
            return
        required = conn.execute("SELECT s.key FROM sift.lexical_search('t', %s, 100, '{public}') AS s", ("+" + prefix + "*",)).fetchall()
        assert {key for (key,) in required} == {key for key, _ in found}


def test_hostile_queries_are_searched(conn: psycopg.Connection) -> None:
    """No error of syntax, no statement too deep, and the words are found."""
    conn.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
    conn.execute("SELECT sift.put_documents('t', '[{\"key\": \"k\", \"text\": \"a winch, ab abc x y\"}]')")
    for query in HOSTILE:
        conn.execute("SELECT * FROM sift.lexical_search('t', %s, principals => '{public}')", ("winch " + query,))
        conn.execute("SELECT * FROM sift.query_terms('t', %s, principals => '{public}')", (query,))


def test_documents_meet_conditions_as_a_whole(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
    conn.execute(
        "SELECT sift.put_documents('t', '[{\"key\": \"m\", \"chunks\": [{\"body\": \"alpha beta words\"}, {\"body\": \"gamma delta words\"}]},"
        " {\"key\": \"n\", \"chunks\": [{\"body\": \"alpha words\"}, {\"body\": \"beta words\"}]}]')"
    )

    def found(query: str, unit: str, **more: Any) -> list[str]:
        rows = conn.execute(
            "SELECT s.key FROM sift.search('t', %s, principals => '{public}', unit => %s, per_document => 1, as_of => %s) AS s ORDER BY s.key",
            (query, unit, more.get("as_of")),
        ).fetchall()
        return [key for (key,) in rows]

    assert found("words +alpha +gamma", "chunk") == []
    assert found("words +alpha +gamma", "document") == ["m"]
    assert found("words -gamma", "chunk") == ["m", "n"]
    assert found("words -gamma", "document") == ["n"]
    assert found('words +"alpha beta"', "document") == ["m"]
    assert found('words -"alpha beta" -delt*', "document") == ["n"]


def test_only_excluding_is_an_error_with_a_hint(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('m', 2)")
    conn.execute(
        "SELECT sift.put_documents('t', '[{\"key\": \"a\", \"chunks\": [{\"body\": \"winch\", \"embedding\": [1, 0]}]},"
        " {\"key\": \"b\", \"chunks\": [{\"body\": \"ferry\", \"embedding\": [1, 1]}]}]', model => 'm')"
    )
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute("SELECT * FROM sift.search('t', '-ferry', principals => '{public}')")
    assert caught.value.sqlstate == "PS003"
    assert "plain => true" in (caught.value.diag.message_hint or "")
    for mode in ("hybrid", "dense"):
        rows = conn.execute(
            "SELECT s.key FROM sift.search('t', '-ferry', principals => '{public}', query_embedding => '{1,0}', mode => %s) AS s", (mode,)
        ).fetchall()
        assert rows == [("a",)]
    assert conn.execute("SELECT s.key FROM sift.search('t', '-ferry', principals => '{public}', plain => true) AS s").fetchall() == [("b",)]


def test_a_cached_vector_is_that_of_the_text_without_operators(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('m', 2)")
    conn.execute("SELECT sift.put_documents('t', '[{\"key\": \"a\", \"chunks\": [{\"body\": \"winch\", \"embedding\": [1, 0]}]}]', model => 'm')")
    conn.execute("SELECT sift.cache_query_embedding('t', 'winch rope', '{0,1}', 'm')")
    conn.execute("SELECT sift.cache_query_embedding('t', '+winch rope -ferry', '{1,0}', 'm')")

    def distance(query: str, plain: bool = False) -> Any:
        row = conn.execute(
            "SELECT s.distance FROM sift.search('t', %s, principals => '{public}', plain => %s) AS s", (query, plain)
        ).fetchone()
        assert row is not None
        return row[0]

    assert distance("+winch rope -ferry") == distance(' "winch" rope ') == distance("winch rope") == 1
    assert distance("+winch rope -ferry", plain=True) == 0
    assert distance("+winch -ferry") is None


def test_prefixes_of_what_is_hidden(conn: psycopg.Connection) -> None:
    """Terms of hidden chunks are neither told nor take the place of others, however many there are."""
    conn.execute("SELECT sift.create_tenant('t', 'standard')")
    hidden = [{"key": f"h{n}", "text": f"aab{n:03}", "acl": ["group:hr"]} for n in range(100)]
    shown = [{"key": f"s{n}", "text": f"aac{n:03} {'x' * n}y", "acl": ["public"]} for n in range(70)]
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps(hidden + shown),))
    for step in (
        "SELECT 1",  # few chunks are visible: they are looked through
        "UPDATE sift.corpus_stats AS c SET chunks = chunks + 10000",  # many, it seems: the vocabulary is
        "SELECT sift.pack_postings('t')",
    ):
        conn.execute(step)  # type: ignore[call-overload]
        terms = conn.execute(
            "SELECT sift._prefix_terms(t.tenant_id, 'aa', NULL, l.lists, NULL, 65) FROM sift.tenants AS t"
            " CROSS JOIN LATERAL (SELECT sift._visible_lists(t.tenant_id, '{public}', session_user::regrole::oid) AS lists) AS l"
            " WHERE t.name = 't'"
        ).fetchone()
        assert terms == ([f"aac{n:03}" for n in range(65)],)
    report = conn.execute("SELECT q.term, q.kept, q.reason FROM sift.query_terms('t', 'aa*', principals => '{public}') AS q").fetchall()
    assert report[0] == ("aa*", False, "stands for more than 64 terms, of which the first 64 count")
    assert [term for term, kept, _ in report if kept] == [f"aac{n:03}" for n in range(64)]
    assert conn.execute("SELECT q.term FROM sift.query_terms('t', 'aa*') AS q").fetchall() == [("aa",)]


def test_prefixes_of_chunks_that_are_not_ranked(conn: psycopg.Connection) -> None:
    """Of documents and of passages they are part, of the ranking of chunks they are not; hidden ones are part of nothing."""
    conn.execute("SELECT sift.create_tenant('t', 'english')")
    heads = [
        ("shown", "Hydraulics overview", "public"),
        ("other", "Hydrants", "public"),
        ("hidden", "Hydrazine", "group:hr"),
    ]
    batch = [
        {"key": key, "acl": [acl], "chunks": [{"body": head, "kind": "section_header"}, {"body": "pumps hydrated"}]}
        for key, head, acl in heads
    ]
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (json.dumps(batch),))

    def found(query: str, unit: str) -> set[str]:
        rows = conn.execute(
            "SELECT s.key FROM sift.search('t', %s, principals => '{public}', unit => %s) AS s", (query, unit)
        ).fetchall()
        return {key for (key,) in rows}

    def terms(documents: bool) -> list[str]:
        row = conn.execute(
            "SELECT sift._prefix_terms(t.tenant_id, 'hydra', NULL, l.lists, NULL, 64, %s) FROM sift.tenants AS t"
            " CROSS JOIN LATERAL (SELECT sift._visible_lists(t.tenant_id, '{public}', session_user::regrole::oid) AS lists) AS l"
            " WHERE t.name = 't'",
            (documents,),
        ).fetchone()
        assert row is not None
        return row[0]

    for step in (
        "SELECT 1",
        "UPDATE sift.corpus_stats AS c SET chunks = chunks + 10000",
        "SELECT sift.pack_postings('t')",
        "SELECT sift.delete_documents('t', '{other}')",
    ):
        conn.execute(step)  # type: ignore[call-overload]
        there = ["hydrant"] if "delete" not in step else []
        assert terms(True) == [*there, "hydrat", "hydraul"]
        assert terms(False) == ["hydrat"]
        assert found("hydrau*", "document") == found("+hydrau*", "document") == {"shown"}
        assert found("+hydran*", "document") == ({"other"} if there else set())
        assert found("hydraz*", "document") == found("hydrau*", "chunk") == set()
    row = conn.execute(
        "SELECT e.text, e.highlights, e.terms FROM sift.evidence('t', 'shown', 'hydrau*', principals => '{public}') AS e"
    ).fetchone()
    assert row is not None
    assert (row[1], row[2]) == ([[0, 10]], ["hydraul"])
