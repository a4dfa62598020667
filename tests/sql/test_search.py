"""sift.search and its two single-leg forms: fusion, degradation, caps, collapse, floors, refused arguments."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

Row = dict[str, Any]


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    """Three documents with vectors of two dimensions, in a transaction that is rolled back."""
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('toy', 2)")
    put(
        conn,
        [
            {"key": "a", "chunks": [{"body": "red apple", "embedding": [1, 0]}]},
            {"key": "b", "chunks": [{"body": "red red car", "embedding": [0.8, 0.6]}]},
            {"key": "c", "chunks": [{"body": "blue car", "embedding": [0, 1]}]},
        ],
        model="toy",
    )
    return conn


def put(conn: psycopg.Connection, documents: list[dict[str, Any]], model: str | None = None) -> None:
    conn.execute("SELECT sift.put_documents('t', %s::jsonb, model => %s)", (json.dumps(documents), model))


def floats(value: Any) -> Any:
    """Numbers of a list as floats: the driver sends no list of mixed types."""
    return [float(x) if isinstance(x, int) else x for x in value] if isinstance(value, list) else value


def search(conn: psycopg.Connection, query: str | None, function: str = "search", **options: Any) -> list[Row]:
    options = {"principals": ["public"], **options}
    casts = {"query_embedding": "::real[]", "filter": "::jsonb", "weights": "::double precision[]", "principals": "::text[]"}
    arguments = "".join(f", {name} => %s{casts.get(name, '')}" for name in options)
    head = "%s" if function == "dense_search" else "%s::text"
    values = [json.dumps(v) if isinstance(v, dict) else floats(v) for v in options.values()]
    first: list[Any] = [] if function == "dense_search" else [query]
    call = f"SELECT * FROM sift.{function}('t'{', ' + head if first else ''}{arguments})"
    cursor = conn.execute(call, [*first, *values])  # type: ignore[arg-type]
    names = [column.name for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def refused(conn: psycopg.Connection, sqlstate: str, query: str | None, function: str = "search", **options: Any) -> str:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        search(conn, query, function, **options)
    assert caught.value.sqlstate == sqlstate, caught.value
    return str(caught.value.diag.message_primary)


def test_bm25_scores_and_their_change_when_a_document_goes(store: psycopg.Connection) -> None:
    scores = {row["key"]: row["score"] for row in search(store, "red", "lexical_search")}
    assert scores["b"] == pytest.approx(0.271903, abs=5e-7)
    assert scores["a"] == pytest.approx(0.226898, abs=5e-7)
    store.execute("SELECT sift.delete_documents('t', '{b}')")
    scores = {row["key"]: row["score"] for row in search(store, "red", "lexical_search")}
    assert scores == {"a": pytest.approx(0.315067, abs=5e-7)}


def test_bm25_scores_after_an_update_of_the_text(store: psycopg.Connection) -> None:
    put(store, [{"key": "b", "text": "green tractor"}])
    hits = search(store, "red", "lexical_search")
    # Three chunks of two tokens, one with the term: idf = ln(1 + 2.5 / 1.5), tf / (tf + 1.2) = 1 / 2.2.
    assert [row["key"] for row in hits] == ["a"]
    assert hits[0]["score"] == pytest.approx(0.4458315, abs=5e-7)


def test_fusion_adds_reciprocal_ranks(store: psycopg.Connection) -> None:
    hits = search(store, "apple", query_embedding=[1, 0])
    assert [row["key"] for row in hits] == ["a", "b", "c"]
    assert hits[0]["score"] == 2 / 61
    assert hits[1]["score"] == 1 / 62  # second in the dense leg, absent from the lexical one
    assert (hits[0]["lexical_rank"], hits[0]["dense_rank"]) == (1, 1)
    assert (hits[1]["lexical_rank"], hits[1]["dense_rank"], hits[1]["lexical_score"]) == (None, 2, None)
    assert hits[0]["distance"] == pytest.approx(0, abs=1e-7)
    assert hits[1]["distance"] == pytest.approx(0.2, abs=1e-6)
    assert {row["legs"] for row in hits} == {"lexical+dense"}
    assert {row["dense_path"] for row in hits} == {"exact"}


def test_integer_arguments_give_what_floats_give(store: psycopg.Connection) -> None:
    as_integers = store.execute(
        "SELECT chunk_id, score FROM sift.search('t', 'red car', principals => '{public}',"
        " query_embedding => '{1,0}', rrf_k => 60, weights => '{1,2}')"
    ).fetchall()
    as_floats = store.execute(
        "SELECT chunk_id, score FROM sift.search('t', 'red car', principals => '{public}',"
        " query_embedding => '{1.0,0.0}', rrf_k => 60.0, weights => '{1.0,2.0}')"
    ).fetchall()
    assert as_integers == as_floats
    assert len(as_integers) == 3


def test_weights_scale_the_legs(store: psycopg.Connection) -> None:
    hits = {row["key"]: row["score"] for row in search(store, "apple", query_embedding=[0, 1], weights=[3, 0.5])}
    assert hits["a"] == 3 / 61 + 0.5 / 63
    assert hits["c"] == 0.5 / 61


def test_no_terms_leaves_the_dense_leg(store: psycopg.Connection) -> None:
    for query in ("", "   ", "the of and", None):
        hits = search(store, query, query_embedding=[1, 0])
        assert [row["key"] for row in hits] == ["a", "b", "c"]
        assert {row["legs"] for row in hits} == {"dense"}


def test_no_vector_leaves_the_lexical_leg(store: psycopg.Connection) -> None:
    hits = search(store, "red", query_embedding=None)
    assert [row["key"] for row in hits] == ["b", "a"]
    assert {(row["legs"], row["distance"], row["dense_path"]) for row in hits} == {("lexical", None, None)}


def test_neither_terms_nor_vector_is_an_error(store: psycopg.Connection) -> None:
    for query in ("", "the", None):
        refused(store, "PS003", query)
        refused(store, "PS003", query, mode="lexical", query_embedding=[1, 0])
        refused(store, "PS003", query, "lexical_search")
    refused(store, "PS003", "red", mode="dense")
    refused(store, "PS003", None, "dense_search", query_embedding=None)


def test_a_stopword_in_a_query_changes_nothing(store: psycopg.Connection) -> None:
    assert search(store, "the red of car") == search(store, "red car")


@pytest.mark.parametrize(
    "query", ["a & b | !c", "foo:*", "')", '"unbalanced', "C:\\x", "%s", ":name", "$1", "🍎🍏", "(" * 10_000 + " x9"]
)
def test_no_query_text_is_syntax(store: psycopg.Connection, query: str) -> None:
    search(store, query, query_embedding=[1, 0])
    assert search(store, query + " apple", mode="lexical")[0]["key"] == "a"


def test_punctuation_between_words_is_one_separator(store: psycopg.Connection) -> None:
    answers = [search(store, query) for query in ("blue,car", "blue, car", "blue car")]
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 2


def test_an_absent_word_finds_nothing_lexically(store: psycopg.Connection) -> None:
    assert search(store, "zeppelin") == []
    assert search(store, "zeppelin", "lexical_search") == []


def test_a_cached_query_vector_brings_the_dense_leg(store: psycopg.Connection) -> None:
    assert {row["legs"] for row in search(store, "red")} == {"lexical"}
    store.execute("SELECT sift.cache_query_embedding('t', ' red ', '{1,0}')")
    for query in ("red", "  red\n"):
        hits = search(store, query)
        assert {row["legs"] for row in hits} == {"lexical+dense"}
        assert [row["key"] for row in hits] == [row["key"] for row in search(store, "red", query_embedding=[1, 0])]
    assert {row["legs"] for row in search(store, "red car")} == {"lexical"}


def test_k_and_the_order_of_ties(store: psycopg.Connection) -> None:
    assert search(store, "red", k=0) == []
    assert len(search(store, "red car", k=2)) == 2
    put(store, [{"key": f"tie{i}", "text": f"zebra number{i}"} for i in range(20)])
    hits = search(store, "zebra", k=20)
    assert [row["chunk_id"] for row in hits] == sorted(row["chunk_id"] for row in hits)
    assert search(store, "zebra", k=5) == hits[:5]


def test_a_cap_promotes_the_next_document(store: psycopg.Connection) -> None:
    best = {"key": "long", "chunks": [{"body": f"walrus walrus walrus n{i}"} for i in range(30)]}
    rest = [
        {"key": f"short{i}", "chunks": [{"body": f"walrus and filler words{i} here{j}"} for j in range(2)]}
        for i in range(6)
    ]
    put(store, [best, *rest])
    uncapped = search(store, "walrus", k=10, per_document=None)
    assert {row["key"] for row in uncapped} == {"long"}
    usual = [row["key"] for row in search(store, "walrus", k=10)]
    assert usual[:3] == ["long"] * 3
    assert usual.count("long") == 3
    assert [row["key"] for row in search(store, "walrus", "lexical_search", k=10)] == ["long"] * 10
    for function in ("search", "lexical_search"):
        hits = search(store, "walrus", function, k=10, per_document=2)
        assert len(hits) == 10
        keys = [row["key"] for row in hits]
        assert len(set(keys)) >= 5
        assert max(keys.count(key) for key in keys) == 2
        assert [row["rank"] for row in hits] == list(range(1, 11))
        scores = [row["score"] for row in hits]
        assert scores == sorted(scores, reverse=True)


def test_a_cap_looks_deeper_than_the_default_depth(store: psycopg.Connection) -> None:
    put(store, [{"key": "flood", "chunks": [{"body": f"gecko gecko n{i}"} for i in range(300)]},
                {"key": "other", "text": "gecko among many other words in a longer text"}])
    hits = search(store, "gecko", k=5, per_document=1)
    assert [row["key"] for row in hits] == ["flood", "other"]


def test_identical_texts_collapse_to_the_first(store: psycopg.Connection) -> None:
    put(store, [{"key": f"copy{i}", "text": "pelican twin"} for i in range(30)])
    hits = search(store, "pelican", k=30)
    assert [(row["key"], row["duplicates"]) for row in hits] == [("copy0", 29)]
    every = search(store, "pelican", k=30, collapse=False)
    assert len(every) == 30
    assert {row["duplicates"] for row in every} == {0}
    assert [row["chunk_id"] for row in every] == sorted(row["chunk_id"] for row in every)


def test_copies_that_may_not_be_seen_are_not_counted(store: psycopg.Connection) -> None:
    put(store, [{"key": f"copy{i}", "text": "pelican twin", "acl": ["group:x"] if i else ["public"]} for i in range(3)])
    assert [row["duplicates"] for row in search(store, "pelican")] == [0]
    assert [row["duplicates"] for row in search(store, "pelican", principals=["public", "group:x"])] == [2]


def test_floors_act_before_fusion(store: psycopg.Connection) -> None:
    put(store, [{"key": "h", "chunks": [{"body": "helicopters fly", "embedding": [0, 1]}]}], model="toy")
    assert search(store, "sandwich", query_embedding=[1, 0], filter={"key": {"$eq": "h"}}, max_distance=0.5, min_score=0.1) == []
    hits = search(store, "red", query_embedding=[1, 0], min_score=0.35, max_distance=0.1)
    assert [(row["key"], row["lexical_rank"], row["dense_rank"]) for row in hits] in (
        [("a", None, 1), ("b", 1, None)],
        [("b", 1, None), ("a", None, 1)],
    )


def test_a_filter_acts_on_both_legs_and_changes_no_score(store: psycopg.Connection) -> None:
    put(store, [{"key": f"n{i}", "metadata": {"group": i % 4}, "text": f"deploy kubernetes n{i}" if i == 3 else f"deploy words{i}"}
                for i in range(40)])
    whole = {row["key"]: row["score"] for row in search(store, "kubernetes deploy", "lexical_search", k=50)}
    some = {row["key"]: row["score"] for row in
            search(store, "kubernetes deploy", "lexical_search", k=50, filter={"metadata.group": {"$eq": 3}})}
    assert len(some) == 10
    assert some["n3"] == whole["n3"]
    assert all(whole[key] == score for key, score in some.items())
    hits = search(store, "red", query_embedding=[1, 0], filter={"key": {"$in": ["c", "b"]}})
    assert {row["key"] for row in hits} == {"b", "c"}


def test_chunks_without_a_vector_are_found_lexically_alone(store: psycopg.Connection) -> None:
    put(store, [{"key": "plain", "text": "red plum"}], model="toy")
    assert "plain" in {row["key"] for row in search(store, "red", query_embedding=[1, 0])}
    assert "plain" not in {row["key"] for row in search(store, None, "dense_search", query_embedding=[1, 0], k=100)}


def test_arguments_outside_their_domain_are_refused(store: psycopg.Connection) -> None:
    nan, inf = float("nan"), float("inf")
    assert "-1" in refused(store, "PS002", "red", k=-1)
    refused(store, "PS002", "red", k=None)
    refused(store, "PS002", "red", k=10_001)
    assert "sideways" in refused(store, "PS002", "red", mode="sideways")
    refused(store, "PS002", "red", mode=None)
    refused(store, "PS002", "red", k=20, depth=10)
    refused(store, "PS002", "red", depth=10_001)
    refused(store, "PS002", "red", per_document=0)
    for rrf_k in (nan, inf, -1.0, 1e308):
        refused(store, "PS002", "red", rrf_k=rrf_k)
    for weights in ([5e-324, 1.0], [1e308, 1e308], [nan, 1.0], [1.0, inf], [-1.0, 1.0], [0.0, 0.0], [1.0], [1.0, 1.0, 1.0], [None, 1.0], []):
        refused(store, "PS002", "red", weights=weights)
    refused(store, "PS002", "red", min_score=nan)
    refused(store, "PS006", "red", model="unheard of")
    with pytest.raises(psycopg.Error) as caught, store.transaction():
        store.execute("SELECT sift.search('nowhere', 'red')")
    assert caught.value.sqlstate == "PS001"
    with pytest.raises(psycopg.Error) as caught, store.transaction():
        store.execute("SELECT sift.search(NULL, 'red')")
    assert caught.value.sqlstate == "PS001"


def test_vectors_that_cannot_be_compared_are_refused(store: psycopg.Connection) -> None:
    assert "3" in (message := refused(store, "PS005", "red", query_embedding=[1, 0, 0])) and "2" in message
    refused(store, "PS005", "red", query_embedding=[float("nan"), 0])
    refused(store, "PS005", "red", query_embedding=[float("inf"), 0])
    refused(store, "PS005", "red", query_embedding=[0, 0])
    refused(store, "PS005", "red", query_embedding=[])


def test_an_empty_corpus_answers_no_rows(conn: psycopg.Connection) -> None:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    assert search(conn, "red") == []
    assert search(conn, "red", "lexical_search") == []


def test_every_column_of_a_hit(store: psycopg.Connection) -> None:
    put(store, [{"key": "full", "title": "The Title", "metadata": {"year": 2024}, "chunks": [
        {"body": "first part", "start": 0, "end": 10, "section": ["One"], "page": 3},
        {"body": "ostrich part", "start": 12, "end": 24, "section": ["One", "Two"], "page": 4, "kind": "table"}]}])
    (hit,) = search(store, "ostrich")
    assert {name: hit[name] for name in (
        "rank", "key", "title", "kind", "section", "page", "char_start", "char_end", "document_version", "body", "metadata")} == {
        "rank": 1, "key": "full", "title": "The Title", "kind": "table", "section": "One > Two", "page": 4, "char_start": 12,
        "char_end": 24, "document_version": 1, "body": "ostrich part", "metadata": {"year": 2024}}
    # The title is found through the first chunk, and is not part of what is shown.
    assert [row["body"] for row in search(store, "title")] == ["first part"]
