"""Searches of the past give what the same search gave then: rows, scores bit for bit, order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import psycopg
import pytest

Rows = list[tuple[Any, ...]]

#: Who sees a document is fixed by its key here; permissions that change are tested below.
PEOPLE = ["p0", "p1", "p2"]
VOCABULARY = [f"w{number}" for number in range(40)]
COLUMNS = (
    "rank, score, lexical_rank, lexical_score, dense_rank, distance, chunk_id, document_id, key, title, kind, section,"
    " page, char_start, char_end, document_version, body, metadata, duplicates, legs"
)


class World:
    """A tenant with random documents, and searches of it at given times."""

    def __init__(self, conn: psycopg.Connection, seed: int, precision: str) -> None:
        self.conn = conn
        self.random = random.Random(seed)
        self.keys: list[str] = []
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.register_model('m', 3, vector_type => %s)", (precision,))
        row = conn.execute("SELECT sift.analyzer_fingerprint('standard')").fetchone()
        assert row is not None
        self.fingerprint = row[0]

    def vector(self) -> list[float]:
        return [self.random.gauss(0, 1) for _ in range(3)]

    def document(self, key: str) -> dict[str, Any]:
        chunks = []
        start = 0
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            words = [VOCABULARY[int(40 * self.random.random() ** 2)] for _ in range(self.random.choice([1, 4, 12]))]
            body = " ".join(words)
            chunk: dict[str, Any] = {"body": body, "tokens": body, "start": start, "page": self.random.choice([None, 3])}
            if self.random.random() < 0.8:
                chunk["embedding"] = self.vector()
            chunks.append(chunk)
            start += len(body) + 2
        return {
            "key": key,
            "title": self.random.choice([None, f"T{self.random.randrange(9)}"]),
            "metadata": {"n": self.random.randrange(4)},
            "classification": self.random.choice([None, "public", "internal"]),
            "acl": [PEOPLE[sum(map(ord, key)) % 3]],
            "chunks": chunks,
        }

    def put(self, documents: list[dict[str, Any]]) -> None:
        self.conn.execute(
            "SELECT count(*) FROM sift.put_documents('t', %s, %s, 'm')", (json.dumps(documents), self.fingerprint)
        )

    def step(self) -> None:
        some = self.random.sample(self.keys, min(len(self.keys), self.random.choice([1, 3, 20])))
        match self.random.choice(["many", "few", "few", "replace", "replace", "update", "delete", "again", "pack", "purge", "fold"]):
            case "many" | "few" as size:
                count = 280 if size == "many" else self.random.randrange(1, 12)
                fresh = [f"d{len(self.keys) + number}" for number in range(count)]
                self.keys += fresh
                self.put([self.document(key) for key in fresh])
            case "replace" | "again" if some:  # of a deleted key: there again, as another document
                self.put([self.document(key) for key in some])
            case "update" if some:
                row = self.conn.execute(
                    "SELECT coalesce(jsonb_agg(jsonb_build_object('key', d.key, 'title', d.title, 'content_hash', encode(d.content_hash, 'hex'),"
                    " 'metadata', jsonb_build_object('n', %s::int), 'classification', 'internal')), '[]') FROM sift.documents AS d WHERE d.key = ANY (%s)",
                    (self.random.randrange(4), some),
                ).fetchone()
                assert row is not None
                self.put(row[0])
            case "delete" if some:
                self.conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", (some,))
            case "pack":
                self.conn.execute("SELECT count(*) FROM sift.pack_postings('t')")
            case "purge":
                self.conn.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
            case "fold":
                self.conn.execute("SELECT count(*) FROM sift.fold_statistics('t')")

    def now(self) -> Any:
        row = self.conn.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        return row[0]

    def question(self) -> tuple[str, list[Any]]:
        """A call of one of the three search functions, without its last argument."""
        terms = " ".join(self.random.choices([*VOCABULARY, "absent"], k=self.random.choice([1, 2, 5])))
        who = self.random.sample(PEOPLE, self.random.randrange(1, 4))
        wanted = self.random.choice([None, {"metadata.n": 2}, {"classification": "internal"}, {"page": {"$exists": True}}])
        k = self.random.choice([3, 10, 1000])
        arguments = [k, who, None if wanted is None else json.dumps(wanted), self.random.choice([None, 1])]
        named = "k => %s, principals => %s, filter => %s, per_document => %s"
        match self.random.choice(["lexical", "dense", "hybrid"]):
            case "lexical":
                return f"sift.lexical_search('t', %s, {named}", [terms, *arguments]
            case "dense":
                return f"sift.dense_search('t', %s::real[], model => 'm', {named}", [self.vector(), *arguments]
        return f"sift.search('t', %s, query_embedding => %s::real[], model => 'm', {named}", [terms, self.vector(), *arguments]

    def ask(self, question: tuple[str, list[Any]], as_of: Any = None) -> Rows:
        call, values = question
        return self.conn.execute(
            f"SELECT {COLUMNS} FROM {call}, as_of => %s)", [*values, as_of]  # type: ignore[arg-type]
        ).fetchall()


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("seed", "precision"),
    [(0, "vector"), (0, "halfvec")]
    + [pytest.param(seed, kind, marks=pytest.mark.slow) for seed, kind in ((1, "vector"), (1, "halfvec"), (2, "vector"), (2, "halfvec"), (3, "vector"), (3, "halfvec"))],
)
def test_the_past_answers_as_it_did(conn: psycopg.Connection, seed: int, precision: str) -> None:
    world = World(conn, seed, precision)
    questions = [world.question() for _ in range(12)]
    then: list[tuple[Any, list[Rows]]] = [(world.now(), [[] for _ in questions])]
    for _ in range(14):
        world.step()
        then.append((world.now(), [world.ask(question) for question in questions]))
    found = 0
    for as_of, answers in then:
        for question, answer in zip(questions, answers, strict=True):
            assert world.ask(question, as_of) == answer
            found += len(answer)
    assert found > 0
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    # Each version's time ends where that of the next begins.
    assert conn.execute(
        "SELECT count(*) FROM (SELECT current_to, lead(current_from) OVER (PARTITION BY key ORDER BY current_from, version, revision) AS next"
        " FROM sift.document_versions WHERE event <> 'deleted') AS h WHERE h.current_to > h.next"
    ).fetchone() == (0,)


def test_documents_of_the_past(conn: psycopg.Connection) -> None:
    world = World(conn, 99, "vector")
    texts: dict[str, tuple[str, dict[str, Any]]] = {}
    past: list[tuple[Any, dict[str, tuple[str, dict[str, Any]]]]] = []
    world.keys = [f"d{number}" for number in range(6)]
    for _ in range(12):
        key = world.random.choice(world.keys)
        if key in texts and world.random.random() < 0.3:
            conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", ([key],))
            del texts[key]
        else:
            document = world.document(key)
            world.put([document])
            bodies = [(chunk["start"], chunk["body"]) for chunk in document["chunks"]]
            text = ""
            for start, body in bodies:
                text += (" " * (start - len(text) - 1) + "\n" if start > len(text) else "") + body
            texts[key] = (text, document["metadata"])
        past.append((world.now(), dict(texts)))
    for at, expected in past:
        for key in world.keys:
            rows = conn.execute(
                "SELECT text, metadata FROM sift.document_at('t', %s, %s, %s)", (key, at, PEOPLE)
            ).fetchall()
            assert rows == ([expected[key]] if key in expected else [])
            assert conn.execute("SELECT * FROM sift.document_at('t', %s, %s, '{nobody}')", (key, at)).fetchall() == []
    hits = conn.execute(
        "SELECT key, char_start, char_end, body, document_version FROM sift.lexical_search('t', 'w0 w1 w2', 1000, %s, as_of => %s)",
        (PEOPLE, past[6][0]),
    ).fetchall()
    assert hits
    for key, start, end, body, version in hits:
        row = conn.execute("SELECT text, version FROM sift.document_at('t', %s, %s, %s)", (key, past[6][0], PEOPLE)).fetchone()
        assert row is not None
        assert (row[0][start:end], row[1]) == (body, version)


def test_permissions_are_those_of_today(conn: psycopg.Connection) -> None:
    def put(key: str, text: str, *acl: str) -> None:
        conn.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps([{"key": key, "text": text, "acl": acl}]),))

    def past(at: Any, *who: str) -> set[tuple[str, str]]:
        rows = conn.execute(
            "SELECT key, body FROM sift.lexical_search('t', 'fox', 10, %s, as_of => %s)", (list(who), at)
        ).fetchall()
        texts = {
            (key, row[0])
            for key in ("a", "b", "c")
            for row in conn.execute("SELECT text FROM sift.document_at('t', %s, %s, %s)", (key, at, list(who)))
        }
        assert set(rows) == texts
        return set(rows)

    world = World(conn, 1, "vector")
    put("a", "fox one", "ann")
    put("b", "fox two", "ann")
    put("c", "fox three", "ann")
    at = world.now()
    everything = {("a", "fox one"), ("b", "fox two"), ("c", "fox three")}
    assert past(at, "ann") == everything
    put("a", "hound", "bob")  # replaced, for others
    conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{b,c}')")
    put("c", "hound", "bob")  # deleted and there again, for others
    # What lies under the key of c now opens nothing of what lay there, and who may not see it may not see that either.
    assert past(at, "ann") == {("b", "fox two")}
    assert past(at, "bob") == {("a", "fox one")}
    assert past(at, "ann", "bob") == everything
    # The list of what was deleted does not change with those of documents that stood under it.
    put("d", "fox four", "ann")
    conn.execute("SELECT count(*) FROM sift.set_access('t', '{d}', '{bob}')")
    assert past(at, "bob") == {("a", "fox one")}
    conn.execute("SELECT count(*) FROM sift.set_access('t', '{a,c}', '{}')")
    assert past(at, "bob") == set()
    assert past(at, "ann", "bob") == {("b", "fox two")}
    assert past(at, "sift:writer") == everything


def test_a_tenant_without_history_has_no_past(conn: psycopg.Connection) -> None:
    world = World(conn, 1, "vector")
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": false}')")
    world.put([{"key": f"k{n}", "acl": ["p0"], "chunks": [{"body": f"w0 own{n}", "tokens": f"w0 own{n}"}]} for n in range(300)])
    at = world.now()
    world.put([{"key": "k7", "acl": ["p0"], "chunks": [{"body": "w0", "tokens": "w0"}]}])
    conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{k8}')")
    for table in ("chunk_history", "vector_history"):
        assert conn.execute(f"SELECT count(*) FROM sift.{table}").fetchone() == (0,)  # type: ignore[arg-type]
    assert conn.execute("SELECT term FROM sift.posting_blocks WHERE term IN ('own7', 'own8', 'own9')").fetchall() == [("own9",)]
    with pytest.raises(psycopg.Error, match="keeps no history") as refused:
        conn.execute("SELECT * FROM sift.lexical_search('t', 'w0', 10, '{p0}', as_of => %s)", (at,))
    assert refused.value.sqlstate == "PS002"
    assert conn.execute("SELECT version, text FROM sift.document_at('t', 'k7', %s, '{p0}')", (at,)).fetchall() == [(1, None)]
    assert conn.execute("SELECT version, text FROM sift.document_at('t', 'k7', principals => '{p0}')").fetchall() == [(2, "w0")]
    events = conn.execute("SELECT version, event FROM sift.document_history('t', 'k8', '{sift:writer}')").fetchall()
    assert events == [(1, "created"), (2, "deleted")]


def test_a_gap_in_the_history_is_an_error(conn: psycopg.Connection) -> None:
    """Off, and on again: what was lost is lost for times before and in the gap, and nothing else."""
    world = World(conn, 1, "vector")

    def put(key: str, text: str) -> None:
        world.put([{"key": key, "acl": ["p0"], "chunks": [{"body": text, "tokens": text}]}])

    def past(at: Any) -> set[str]:
        return {row[0] for row in conn.execute(
            "SELECT body FROM sift.lexical_search('t', 'fox', 10, '{p0}', as_of => %s)", (at,)).fetchall()}

    put("a", "fox one")
    put("b", "fox two")
    before = world.now()
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": true}')")  # is on: no gap
    assert past(before) == {"fox one", "fox two"}
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": false}')")
    put("a", "fox three")
    within = world.now()
    conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{b}')")
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": true}')")
    (since,), = conn.execute("SELECT history_since FROM sift.tenants WHERE name = 't'").fetchall()
    assert since > within
    after = world.now()
    put("a", "fox four")
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": true}')")  # is on: the time stays
    for at in (before, within):
        with pytest.raises(psycopg.Error, match=f"complete history since {since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ} only") as refused:
            past(at)
        assert refused.value.sqlstate == "PS002"
        with pytest.raises(psycopg.Error, match="complete history since") as refused:
            conn.execute("SELECT * FROM sift.document_at('t', 'a', %s, '{p0}')", (at,))
        assert refused.value.sqlstate == "PS002"
    assert past(since) == past(after) == {"fox three"}
    assert past(world.now()) == {"fox four"}
    assert conn.execute("SELECT text FROM sift.document_at('t', 'a', %s, '{p0}')", (after,)).fetchall() == [("fox three",)]
    assert conn.execute("SELECT text FROM sift.document_at('t', 'a', principals => '{p0}')").fetchall() == [("fox four",)]


def test_history_is_complete_only_after_those_who_keep_none(dsn: str, conn: psycopg.Connection) -> None:
    """A delete that began without a history is over before the time from which it is complete."""
    world = World(conn, 1, "vector")
    world.put([{"key": "a", "acl": ["p0"], "chunks": [{"body": "fox", "tokens": "fox"}]}])
    conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": false}')")
    with psycopg.connect(dsn) as deleting, psycopg.connect(dsn, autocommit=True) as switching:
        deleting.execute("SELECT count(*) FROM sift.delete_documents('t', '{a}')")
        switching.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            switching.execute("SELECT sift.set_tenant('t', '{\"keep_history\": true}')")
        deleting.commit()
        switching.execute("SELECT sift.set_tenant('t', '{\"keep_history\": true}')")
    assert conn.execute(
        "SELECT count(*) FROM sift.document_versions AS h JOIN sift.tenants AS t USING (tenant_id) WHERE h.current_to >= t.history_since"
    ).fetchone() == (0,)


@pytest.mark.parametrize("options", ['[]', 'null', '{"keep": true}', '{"keep_history": "no"}', '{"remote_classifications": "public"}',
                                     '{"remote_classifications": [1]}'])
def test_options_are_checked(conn: psycopg.Connection, options: str) -> None:
    conn.execute("SELECT sift.create_tenant('t')")
    with pytest.raises(psycopg.Error) as refused:
        conn.execute("SELECT sift.set_tenant('t', %s)", (options,))
    assert refused.value.sqlstate == "PS002"
