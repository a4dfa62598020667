"""Random corpora under random histories: the lexical leg equals the oracle bit for bit, and pure Python.

The oracle counts everything anew from the tokens and reads neither postings nor statistics, so that this also
holds the statistics to a recount. Blocks are made of any number of chunks here (``purge``), and directly by
large batches, so that postings lie in rows, in several blocks and in both.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgsift.domain import bm25

PEOPLE = ["p0", "p1", "p2", "p3"]
#: How often each principal's list is used: from almost everything to one document in a hundred.
WEIGHTS = [90, 9, 3, 1]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"metadata.n": {"$lt": 5}},
    {"metadata.n": 3},
    {"key": "d7"},
    {"kind": "table"},
]
PARAMETERS = [(1.2, 0.75), (0.0, 0.75), (0.9, 0.0), (2.0, 1.0)]


class World:
    """A tenant and what its documents should be, changed together."""

    def __init__(self, conn: psycopg.Connection, seed: int) -> None:
        self.conn = conn
        self.random = random.Random(seed)
        self.k1, self.b = self.random.choice(PARAMETERS)
        row = conn.execute("SELECT sift.create_tenant('t', 'standard', %s, %s)", (self.k1, self.b)).fetchone()
        assert row is not None
        self.tenant_id = row[0]
        fingerprint = conn.execute("SELECT sift.analyzer_fingerprint('standard')").fetchone()
        assert fingerprint is not None
        self.fingerprint = fingerprint[0]
        self.vocabulary = self.random.choice([5, 40, 400])
        self.next = 0

    def term(self) -> str:
        return f"w{int(self.vocabulary * self.random.random() ** 3)}"

    def document(self, key: str) -> dict[str, Any]:
        chunks = []
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 5])):
            tokens = [self.term() for _ in range(self.random.choice([0, 1, 3, 8, 8, 30]))]
            if self.random.random() < 0.01:
                tokens += ["w0"] * 300  # does not fit the packed form
            text = " ".join(tokens)
            chunks.append(
                {"body": text or "-", "tokens": text, "kind": self.random.choice(["text", "table"])}
            )
        return {
            "key": key,
            "metadata": {"n": self.random.randrange(10)},
            "acl": self.random.choices(PEOPLE, WEIGHTS)[:1],
            "chunks": chunks,
        }

    def put(self, keys: list[str]) -> None:
        documents = [self.document(key) for key in keys]
        self.conn.execute(
            "SELECT count(*) FROM sift.put_documents('t', %s, %s)", (json.dumps(documents), self.fingerprint)
        )

    def step(self) -> None:
        known = [f"d{number}" for number in range(self.next)]
        match self.random.choice(
            ["many", "few", "few", "replace", "delete", "move", "pack", "pack", "purge", "fold"]
        ):
            case "many":
                count = self.random.choice([100, 300])
                self.put([f"d{self.next + number}" for number in range(count)])
                self.next += count
            case "few":
                count = self.random.randrange(1, 20)
                self.put([f"d{self.next + number}" for number in range(count)])
                self.next += count
            case "replace" if known:
                self.put(self.random.sample(known, min(len(known), 10)))
            case "delete" if known:
                gone = self.random.sample(known, min(len(known), self.random.choice([1, 10, 100])))
                self.conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", (gone,))
            case "move" if known:
                self.conn.execute(
                    "SELECT sift.set_access('t', %s, %s)",
                    (self.random.sample(known, min(len(known), 5)), self.random.choices(PEOPLE, WEIGHTS)[:1]),
                )
            case "pack":
                self.conn.execute("SELECT count(*) FROM sift.pack_postings('t')")
            case "purge":
                self.conn.execute("SELECT count(*) FROM sift.pack_postings('t', true)")
            case "fold":
                self.conn.execute("SELECT count(*) FROM sift.fold_statistics('t')")

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the leg: tenant, terms, lists, predicate, bound values, k, k1, b."""
        terms = [self.term() for _ in range(self.random.choice([1, 2, 3, 4, 7, 13]))] + ["absent"]
        who = self.random.sample(PEOPLE, self.random.randrange(1, 5))
        lists = self.conn.execute("SELECT sift._visible_lists(%s, %s, current_user::regrole)", (self.tenant_id, who)).fetchone()
        wanted = self.random.choice(FILTERS)
        compiled = self.conn.execute(
            "SELECT f.predicate, f.bound FROM sift._compile_filter(%s) AS f",
            (None if wanted is None else json.dumps(wanted),),
        ).fetchone()
        assert lists is not None and compiled is not None
        bound = None if compiled[1] is None else json.dumps(compiled[1])
        k = self.random.choice([1, 3, 10, 10, 100, 5000])
        return (self.tenant_id, terms, lists[0], compiled[0], bound, k, self.k1, self.b)

    def reference(self, arguments: tuple[Any, ...]) -> dict[int, float]:
        """Scores by pgsift.domain.bm25 of all visible chunks, without the filter."""
        _, terms, lists, *_ = arguments
        rows = self.conn.execute(
            "SELECT chunk_id, access_list_id, tokens FROM sift.chunks WHERE tenant_id = %s AND tokens <> ''",
            (self.tenant_id,),
        ).fetchall()
        counts = {chunk_id: Counter(tokens.split(" ")) for chunk_id, _, tokens in rows}
        lengths = {chunk_id: count.total() for chunk_id, count in counts.items()}
        average = bm25.average_length(len(rows), sum(lengths.values()))
        df = {term: sum(term in count for count in counts.values()) for term in set(terms)}
        weights = {term: bm25.idf(len(rows), df[term]) for term in bm25.term_order(df)}
        scores = {}
        for chunk_id, access_list_id, _ in rows:
            found = [term for term in weights if counts[chunk_id][term]]
            if found and access_list_id in lists:
                scores[chunk_id] = bm25.score(
                    bm25.term_score(
                        weights[term],
                        counts[chunk_id][term],
                        lengths[chunk_id],
                        average,
                        k1=self.k1,
                        b=self.b,
                    )
                    for term in found
                )
        return scores


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 2**32))
@example(1)
@example(2)
def test_leg_equals_oracle_and_python(conn: psycopg.Connection, seed: int) -> None:
    with conn.transaction(force_rollback=True):
        world = World(conn, seed)
        for _ in range(world.random.randrange(1, 9)):
            world.step()
        for _ in range(4):
            arguments = world.arguments()
            leg = conn.execute(
                "SELECT * FROM sift._lexical_leg(%s, %s, %s, %s, %s, %s, %s, %s)", arguments
            ).fetchall()
            oracle = conn.execute(
                "SELECT * FROM sift._lexical_exhaustive(%s, %s, %s, %s, %s, %s, %s, %s)", arguments
            ).fetchall()
            assert leg == oracle
            reference = world.reference(arguments)
            assert all(score == pytest.approx(reference[chunk_id], rel=1e-13) for chunk_id, score in leg)
            if arguments[3] is None:
                assert len(leg) == min(len(reference), arguments[5])
        assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


@pytest.mark.parametrize("m", [1, 700, *(pytest.param(m, marks=pytest.mark.slow) for m in (10, 150))])
def test_the_top_is_that_of_scoring_everything(conn: psycopg.Connection, m: int) -> None:
    """Long lists, so that sampling, thresholds and chains of more than five terms come into play."""
    world = World(conn, 5)
    world.vocabulary = 60
    for _ in range(5):
        world.put([f"d{world.next + number}" for number in range(500)])
        world.next += 500
    conn.execute(
        "SELECT count(*) FROM sift.delete_documents('t', %s)", ([f"d{n}" for n in range(0, 900, 3)],)
    )
    lists = conn.execute("SELECT sift._visible_lists(%s, %s, current_user::regrole)", (world.tenant_id, PEOPLE)).fetchone()
    assert lists is not None
    for length in (1, 2, 3, 5, 6, 9, 14):
        terms = [world.term() for _ in range(length)]
        arguments = (world.tenant_id, terms, lists[0], None, None, m, 1.2, 0.75)
        leg = conn.execute("SELECT * FROM sift._lexical_leg(%s, %s, %s, %s, %s, %s, %s, %s)", arguments)
        oracle = conn.execute(
            "SELECT * FROM sift._lexical_exhaustive(%s, %s, %s, %s, %s, %s, %s, %s)", arguments
        )
        assert leg.fetchall() == oracle.fetchall()
