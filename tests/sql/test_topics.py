"""Topics in the database: what a run stores, what topics are about, and what they do not tell of hidden documents."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain.analyzer import get_analyzer

TENANT = "t"


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('m3', 3)")
    return conn


def put(store: psycopg.Connection, *documents: Mapping[str, Any]) -> None:
    """Each with one chunk of its text, and a vector."""
    batch = [
        {"chunks": [{"body": one["text"], "embedding": one.get("vector", [1, 0, 0])}], **{k: v for k, v in one.items() if k not in ("text", "vector")}}
        for one in documents
    ]
    store.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'm3')", (json.dumps(batch),))


def ids(store: psycopg.Connection) -> dict[str, tuple[int, int]]:
    rows = store.execute(
        "SELECT d.key, d.document_id, d.version FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = 't'"
    ).fetchall()
    return {key: (document_id, version) for key, document_id, version in rows}


def place(store: psycopg.Connection, labels: Mapping[str, int], distances: Mapping[str, float] | None = None, versions: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """Stores a run: run, topics, documents, outliers, left out."""
    known = ids(store)
    keys = list(labels)
    row = store.execute(
        "SELECT * FROM sift.put_topics('t', %s, %s, %s, %s, %s, %s, %s, 'm3', '{\"seed\": 1}')",
        (
            [known[key][0] for key in keys], [(versions or {}).get(key, known[key][1]) for key in keys], list(labels.values()),
            [0.0 if label < 0 else 1.0 for label in labels.values()],
            [None if label < 0 else (distances or {}).get(key, 0.5) for key, label in labels.items()],
            [0.5] * len(keys), [0.25] * len(keys),
        ),
    ).fetchone()  # fmt: skip
    assert row is not None
    return tuple(row)


def topics(store: psycopg.Connection, principals: Sequence[str] = ("public",), **options: Any) -> list[dict[str, Any]]:
    given = "".join(f", {name} => %({name})s" for name in options)
    with store.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute(f"SELECT * FROM sift.list_topics('t', %(p)s{given})".encode(), {"p": list(principals), **options}).fetchall()


def test_a_run_replaces_the_last_one(store: psycopg.Connection) -> None:
    put(store, *({"key": key, "text": f"winch {key}"} for key in "abcdef"))
    assert place(store, {"a": 7, "b": 3, "c": 3, "d": 7, "e": 3, "f": -1}) == (1, 2, 6, 1, 0)
    # The largest is 0, whatever the labels were.
    assert [(t["topic"], t["documents"]) for t in topics(store)] == [(0, 3), (1, 2), (-1, 1)]
    assert store.execute("SELECT topic, key FROM sift.document_topics('t', principals => '{public}')").fetchall() == [
        (0, "b"), (0, "c"), (0, "e"), (1, "a"), (1, "d"), (-1, "f"),
    ]  # fmt: skip
    # Of equal ones that with the smallest number of a document is the first.
    assert place(store, {"f": 1, "e": 1, "a": 9, "b": 9}) == (2, 2, 4, 0, 0)
    assert [row[:2] for row in store.execute("SELECT topic, key FROM sift.document_topics('t', principals => '{public}')").fetchall()] == [
        (0, "a"), (0, "b"), (1, "e"), (1, "f"),
    ]  # fmt: skip
    assert store.execute("SELECT run, model, parameters, documents, topics, outliers, unplaced FROM sift.topic_run('t')").fetchone() == (
        2, "m3", {"seed": 1}, 4, 2, 0, 2,
    )  # fmt: skip


def test_all_outliers(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "winch pier"}, {"key": "b", "text": "winch"})
    assert place(store, {"a": -1, "b": -1}) == (1, 0, 2, 2, 0)
    (only,) = topics(store)
    assert (only["topic"], only["documents"], only["terms"]) == (-1, 2, ["pier", "winch"])
    assert store.execute("SELECT strength, distance FROM sift.document_topics('t', -1, principals => '{public}')").fetchall() == [(0.0, None)] * 2


def test_what_was_replaced_or_deleted_since_is_in_no_topic(store: psycopg.Connection) -> None:
    put(store, *({"key": key, "text": f"winch {key}{key}"} for key in "abcd"))
    before = ids(store)
    put(store, {"key": "a", "text": "crane"})
    assert place(store, dict.fromkeys("abcd", 0), versions={"a": before["a"][1]}) == (1, 1, 3, 0, 1)
    put(store, {"key": "b", "text": "crane"})
    store.execute("SELECT sift.delete_documents('t', '{c}')")
    (only,) = topics(store)
    assert (only["documents"], only["keys"], only["terms"]) == (1, ["d"], ["dd", "winch"])
    assert store.execute("SELECT unplaced FROM sift.topic_run('t')").fetchone() == (2,)
    store.execute("SELECT sift.purge_documents('t', '{d}')")
    assert topics(store) == []
    # Another label of the same text stays in its topic; so does a document under another key.
    place(store, {"a": 0, "b": 0})
    store.execute("SELECT sift.move_documents('t', '{a}', '{z}')")
    assert topics(store)[0]["keys"] == ["z", "b"]


def test_what_cannot_be_is_refused(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "winch"})
    number = ids(store)["a"][0]
    good: dict[str, Any] = {
        "document_ids": [number], "versions": [1], "labels": [0], "strengths": [1.0], "distances": [0.0], "xs": [0.0], "ys": [0.0],
        "model": "m3", "parameters": "{}",
    }  # fmt: skip
    bad: list[dict[str, Any]] = [
        {"labels": [-2]}, {"labels": [0, 1]}, {"labels": None}, {"labels": [None]}, {"strengths": [1.5]}, {"distances": [None]}, {"distances": [3.0]},
        {"xs": [math.inf]}, {"ys": [math.nan]}, {"model": ""}, {"model": None}, {"parameters": "[]"}, {"versions": [None]}, {"document_ids": [None]},
        {name: value * 2 for name, value in good.items() if isinstance(value, list)},
    ]  # fmt: skip
    for change in bad:
        with pytest.raises(psycopg.Error) as error, store.transaction():
            store.execute(
                "SELECT sift.put_topics('t', %(document_ids)s::bigint[], %(versions)s::integer[], %(labels)s::integer[], %(strengths)s::float8[],"
                " %(distances)s::float8[], %(xs)s::float8[], %(ys)s::float8[], %(model)s, %(parameters)s::jsonb)",
                good | change,
            )
        assert error.value.sqlstate == "PS002", change
    assert store.execute("SELECT * FROM sift.topic_run('t')").fetchall() == []
    for call in ("list_topics('t', '{public}', -1)", "list_topics('t', '{public}', 1, -1)", "list_topics('t', '{public}', sample => 0)",
                 "document_topics('t', k => -1)", "documents_with_vectors('t', k => -1)"):  # fmt: skip
        with pytest.raises(psycopg.Error) as error, store.transaction():
            store.execute(f"SELECT * FROM sift.{call}".encode())
        assert error.value.sqlstate == "PS002", call


def test_vectors_of_documents(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('half', 2, vector_type => 'halfvec')")
    documents = [
        {"key": "two", "chunks": [{"body": "one", "embedding": [1, 0, 0]}, {"body": "two", "embedding": [0, 1, 0.5]}, {"body": "none"}]},
        {"key": "one", "chunks": [{"body": "one", "embedding": [0, 0, 2]}]},
        {"key": "without", "text": "no vector"},
    ]
    store.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'm3')", (json.dumps(documents),))
    rows = store.execute("SELECT document_id, key, vectors, text_hash FROM sift.documents_with_vectors('t')").fetchall()
    assert {key: vectors for _, key, vectors, _ in rows} == {"two": 2, "one": 1}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert len(store.execute("SELECT FROM sift.documents_with_vectors('t', k => 1)").fetchall()) == 1
    assert [row[0] for row in store.execute("SELECT document_id FROM sift.documents_with_vectors('t', after => %s)", (rows[0][0],)).fetchall()] == [rows[1][0]]
    number = {key: document_id for document_id, key, _, _ in rows}
    hashes = {key: text_hash for _, key, _, text_hash in rows}
    means = store.execute("SELECT document_id, text_hash, embedding FROM sift.document_vectors('t', %s)", ([*number.values(), 10**9],)).fetchall()
    assert {(n, h, tuple(v)) for n, h, v in means} == {(number["two"], hashes["two"], (0.5, 0.5, 0.25)), (number["one"], hashes["one"], (0.0, 0.0, 2.0))}
    # Another text is another hash; a model without vectors has none; halves are averaged too.
    put(store, {"key": "one", "text": "other", "vector": [0, 0, 2]})
    again = store.execute("SELECT text_hash FROM sift.documents_with_vectors('t') WHERE key = 'one'").fetchone()
    assert again is not None and again[0] != hashes["one"]
    assert store.execute("SELECT * FROM sift.documents_with_vectors('t', 'half')").fetchall() == []
    store.execute("SELECT sift.create_tenant('u')")
    store.execute("SELECT sift.put_documents('u', %s::jsonb, model => 'half')", (
        json.dumps([{"key": "h", "chunks": [{"body": "a", "embedding": [1, 0]}, {"body": "b", "embedding": [0, 1]}]}]),))  # fmt: skip
    assert store.execute(
        "SELECT v.embedding FROM sift.documents_with_vectors('u') AS d CROSS JOIN LATERAL sift.document_vectors('u', ARRAY[d.document_id]) AS v"
    ).fetchone() == ([0.5, 0.5],)


def test_overlaps_count_once_and_references_not_at_all(store: psycopg.Connection) -> None:
    document = {
        "key": "a", "title": "Pumps",
        "chunks": [
            {"body": "pump house seal", "start": 0, "end": 15, "embedding": [1, 0, 0]},
            {"body": "house seal crane", "start": 5, "end": 21, "overlap_tokens": 2, "embedding": [1, 0, 0]},
            {"body": "reference zebra zebra", "kind": "reference"},
        ],
    }  # fmt: skip
    store.execute("SELECT sift.put_documents('t', %s::jsonb, model => 'm3')", (json.dumps([document]),))
    place(store, {"a": 0})
    (only,) = topics(store)
    # One class: ln(1 + A / f) with A = 5 tokens, of the title and of both chunks, each once.
    assert dict(zip(only["terms"], only["weights"], strict=True)) == pytest.approx(
        {term: math.log(1 + 5 / 1) for term in ("crane", "house", "pump", "pumps", "seal")}
    )


WORDS = ["pump", "winch", "crane", "pier", "seal", "über", "1984", "x1", "船", "渔船", "-"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


def expected_terms(documents: list[tuple[int, str]], k: int) -> dict[int, list[tuple[str, float]]]:
    """Class-based tf-idf, written for obviousness."""
    analyzer = get_analyzer("standard")
    tokens = [(topic, analyzer.tokenize(text)) for topic, text in documents]
    classes = {topic: Counter(t for other, found in tokens if other == topic for t in found) for topic, found in tokens if found}
    everything = Counter(t for _, found in tokens for t in found)
    holding = Counter(t for _, found in tokens for t in set(found))
    total = sum(everything.values())
    result = {}
    for topic, counts in classes.items():
        size, rest = sum(counts.values()), total - sum(counts.values())
        rows = []
        for term, tf in counts.items():
            if len(term) == 1 or not any(c.isalpha() for c in term):
                continue
            frequent_here = tf * rest >= 2 * (everything[term] - tf) * size
            characteristic = frequent_here and holding[term] <= max(len(documents) // 4, 1)
            rows.append((not characteristic, -tf * math.log(1 + total / len(classes) / everything[term]), term.encode(), term))
        rows.sort()
        result[topic] = [(term, -weight) for _, weight, _, term in rows[:k]]
    return result


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(st.tuples(st.integers(-1, 2), texts, st.booleans()), min_size=1, max_size=10))
def test_terms_are_those_of_the_formula(conn: psycopg.Connection, documents: list[tuple[int, str, bool]]) -> None:
    """Of whoever asks: everything a writer gets, and a reader what the visible documents alone would give."""
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.register_model('m3', 3)")
        put(conn, *({"key": f"k{i}", "text": text, "acl": ["public"] if seen else ["group:x"]} for i, (_, text, seen) in enumerate(documents)))
        place(conn, {f"k{i}": topic for i, (topic, _, _) in enumerate(documents)})
        number = {int(key[1:]): topic for topic, key in conn.execute("SELECT topic, key FROM sift.document_topics('t', principals => '{sift:writer}')").fetchall()}
        for who in (["sift:writer"], ["public"], ["group:x"]):
            seen = [(number[i], text) for i, (_, text, open_) in enumerate(documents) if who == ["sift:writer"] or open_ == (who == ["public"])]
            expected = expected_terms(seen, 5)
            found = topics(conn, who, terms_k=5, sample=None)
            assert sum(t["documents"] for t in found) == len(seen)
            assert sum(t["share"] for t in found) == pytest.approx(1.0 if seen else 0.0)
            for topic in found:
                terms = expected.get(topic["topic"], [])
                assert topic["terms"] == [term for term, _ in terms]
                assert topic["weights"] == pytest.approx([weight for _, weight in terms])


def test_what_hidden_documents_change(store: psycopg.Connection) -> None:
    """Nothing but the numbers of the topics: terms, weights, counts, shares and titles are as if they were not there."""
    seen = [{"key": f"open/{i}", "text": f"winch pump {'seal' * (i % 2)} w{i}"} for i in range(6)]
    hidden = [{"key": f"hr/{i}", "text": "winch salary merger winch", "acl": ["group:hr"], "title": "Salaries"} for i in range(5)]
    labels = {one["key"]: i % 2 for i, one in enumerate(seen)}
    put(store, *seen)
    place(store, labels)
    alone = topics(store, sample=2)
    put(store, *hidden)
    place(store, labels | {one["key"]: i % 3 for i, one in enumerate(hidden)}, distances={one["key"]: 0.1 for one in hidden})
    beside = topics(store, sample=2)
    assert beside == alone
    assert topics(store, ["nobody"]) == []
    assert [t["documents"] for t in topics(store, ["public", "group:hr"])] == [5, 5, 1]
    assert "salary" in topics(store, ["group:hr"])[0]["terms"]
    # Access that is taken away is gone at once, terms included; the run stays.
    store.execute("SELECT sift.set_access('t', '{open/0,open/2,open/4}', '{group:hr}')")
    after = topics(store)
    assert [t["documents"] for t in after] == [3]
    assert not {"w0", "w2", "w4"} & set(after[0]["terms"])


def test_readers_are_told_the_topic_and_not_the_place(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "winch"}, {"key": "b", "text": "pump"}, {"key": "h", "text": "salary", "acl": ["group:hr"]})
    place(store, {"a": 0, "b": 0, "h": 0}, distances={"h": 0.0, "a": 0.5, "b": 0.25})
    role = f"reader_{id(store)}"
    store.execute(f"CREATE ROLE {role}; GRANT sift_reader TO {role}".encode())
    store.execute("SELECT sift.map_role('t', %s, '{public}')", (role,))
    store.execute(f"SET LOCAL ROLE {role}".encode())
    columns = "topic, key, strength, distance, x, y"
    assert store.execute(f"SELECT {columns} FROM sift.document_topics('t')".encode()).fetchall() == [
        (0, "b", None, None, None, None), (0, "a", None, None, None, None),
    ]  # fmt: skip
    rows = store.execute("SELECT documents, share, keys, terms FROM sift.list_topics('t')").fetchall()
    assert rows == [(2, 1.0, ["b", "a"], ["pump", "winch"])]
    for call in ("topic_run('t')", "documents_with_vectors('t')", "document_vectors('t', '{1}')", "list_topics('t', '{public}')",
                 "put_topics('t', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 'm3')"):  # fmt: skip
        with pytest.raises(psycopg.Error) as error, store.transaction():
            store.execute(f"SELECT * FROM sift.{call}".encode())
        assert error.value.sqlstate in ("42501", "PS008"), call
    for table in ("topics", "topic_runs", "document_topics"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), store.transaction():
            store.execute(f"SELECT * FROM sift.{table}".encode())
    store.execute("RESET ROLE")
    assert store.execute("SELECT x, y, strength FROM sift.document_topics('t', principals => '{public}')").fetchall() == [(0.5, 0.25, 1.0)] * 2


def test_a_search_within_a_topic(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "winch pump"}, {"key": "b", "text": "winch crane"}, {"key": "c", "text": "winch"})
    place(store, {"a": 0, "b": 1, "c": 0})
    rows = store.execute(
        "SELECT s.key FROM sift.search('t', 'winch', principals => '{public}', filter => jsonb_build_object('key', jsonb_build_object('$in',"
        " (SELECT jsonb_agg(d.key) FROM sift.document_topics('t', 0, principals => '{public}') AS d)))) AS s ORDER BY s.key"
    ).fetchall()
    assert rows == [("a",), ("c",)]


def test_a_dropped_tenant_leaves_nothing(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "winch"}, {"key": "b", "text": "pump"})
    place(store, {"a": 0, "b": -1})
    store.execute("SELECT sift.drop_tenant('t')")
    for table in ("topics", "topic_runs", "document_topics"):
        assert store.execute(f"SELECT count(*) FROM sift.{table} AS x WHERE NOT EXISTS (SELECT FROM sift.tenants AS t WHERE t.tenant_id = x.tenant_id)".encode()).fetchone() == (0,)
