"""Random histories: the store in memory, the store in PostgreSQL and the database's own search agree.

Scores are compared bit for bit between the functions of the database, and to the last few bits with Python,
whose logarithm may come from another library.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.chunk_store import PostgresChunkStore
from pgsift.domain.memory import InMemoryChunkStore
from pgsift.domain.ports import Source, SourceChunk
from pgsift.domain.rank import RankedChunk, rank_chunks

# Few words and few sources, so that histories meet; "standard" makes each word the term it is.
WORDS = ["red", "blue", "green", "apple", "car", "pie", "one", "two"]
KEYS = ["a", "b", "c", "d", "e"]
PEOPLE = ["public", "group:hr", "user:7"]

words = st.lists(st.sampled_from(WORDS), max_size=8)
chunks = st.builds(
    lambda tokens, kind, entities: SourceChunk(" ".join(tokens), tokens=tokens, kind=kind, entities=entities),
    words,
    st.sampled_from(["text", "table"]),
    st.lists(st.sampled_from(["E", "F"]), max_size=2),
)
sources = st.builds(
    Source,
    st.sampled_from(KEYS),
    st.lists(chunks, max_size=3),
    title=st.sampled_from([None, "T"]),
    metadata=st.fixed_dictionaries({"n": st.integers(0, 3)}),
    principals=st.one_of(st.none(), st.lists(st.sampled_from(PEOPLE), max_size=2)),
)
batches = st.lists(sources, max_size=4, unique_by=lambda source: source.key)
steps = st.one_of(
    st.tuples(st.just("upsert_many"), batches),
    st.tuples(st.just("replace_source"), sources),
    st.tuples(st.just("delete_source"), st.sampled_from(KEYS)),
    st.tuples(st.just("pack"), st.none()),
    st.tuples(st.just("fold"), st.none()),
)
queries = st.tuples(
    st.lists(st.sampled_from([*WORDS, "absent"]), max_size=4),
    st.one_of(st.none(), st.lists(st.sampled_from([*PEOPLE, "sift:writer", "unknown"]), max_size=2)),
    st.sampled_from(
        [None, {"metadata.n": {"$gte": 1}}, {"kind": "text"}, {"$not": {"title": "T"}}, {"version": 1}]
    ),
    st.integers(0, 6),
)


cases = st.tuples(
    st.tuples(st.sampled_from([0.0, 0.5, 1.2, 7.0]), st.sampled_from([0.0, 0.75, 1.0])),
    st.lists(steps, max_size=10),
    st.lists(queries, min_size=1, max_size=5),
)


def _run(
    conn: psycopg.Connection, parameters: tuple[float, float], history: list[tuple[str, Any]]
) -> tuple[InMemoryChunkStore, PostgresChunkStore]:
    memory, database = InMemoryChunkStore(), PostgresChunkStore(conn)
    k1, b = parameters
    for store in (memory, database):
        store.create_tenant("model", k1=k1, b=b, default_principals=["public"])
    for action, argument in history:
        if action == "fold":
            conn.execute("SELECT sift.fold_statistics('model')")
        elif action == "pack":
            conn.execute("SELECT sift.pack_postings('model', purge => true)")
        else:
            assert getattr(memory, action)(argument, "model") == getattr(database, action)(argument, "model")
    return memory, database


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases)
def test_the_stores_agree(conn: psycopg.Connection, case: tuple[Any, Any, Any]) -> None:
    parameters, history, asked = case
    with conn.transaction(force_rollback=True):
        memory, database = _run(conn, parameters, history)
        for entity in "EF":
            assert _places(memory.get_by_entity(entity, "model", principals=["public"])) == _places(
                database.get_by_entity(entity, "model", principals=["public"])
            )
        for terms, principals, filter, k in asked:
            _compare(memory, database, terms, principals, filter, k)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases)
def test_search_agrees_with_the_store_in_memory(conn: psycopg.Connection, case: tuple[Any, Any, Any]) -> None:
    parameters, history, asked = case
    with conn.transaction(force_rollback=True):
        memory, database = _run(conn, parameters, history)
        for terms, principals, filter, k in asked:
            if terms:
                reference = _compare(memory, database, terms, principals, filter, k)
                _compare_search(conn, terms, principals, filter, k, reference)


def _compare(
    memory: InMemoryChunkStore,
    database: PostgresChunkStore,
    terms: list[str],
    principals: list[str] | None,
    filter: dict[str, Any] | None,
    k: int,
) -> list[RankedChunk]:
    options: dict[str, Any] = {"principals": principals, "filter": filter}
    ours = memory.lexical_candidates(terms, "model", 100, **options)
    theirs = database.lexical_candidates(terms, "model", 100, **options)
    for name in ("doc_frequencies", "chunks", "total_length", "k1", "b"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert [(*_place(one), one.doc_length, one.frequencies) for one in ours.candidates] == [
        (*_place(one), one.doc_length, one.frequencies) for one in theirs.candidates
    ]
    cut = memory.lexical_candidates(terms, "model", k, **options)
    assert [_place(one) for one in cut.candidates] == [
        _place(one) for one in database.lexical_candidates(terms, "model", k, **options).candidates
    ]

    # The same numbers through the same function: the same bits.
    reference = rank_chunks(terms, ours, k)
    ranked = rank_chunks(terms, theirs, k)
    assert [(*_place(one), one.score) for one in ranked] == [(*_place(one), one.score) for one in reference]
    return reference


def _compare_search(
    conn: psycopg.Connection,
    terms: list[str],
    principals: list[str] | None,
    filter: dict[str, Any] | None,
    k: int,
    reference: list[RankedChunk],
) -> None:
    searched = conn.execute(
        "SELECT s.key, c.ordinal, s.score FROM sift.lexical_search(tenant => 'model', query => %s, k => %s,"
        " principals => %s::text[], filter => %s::text::jsonb) AS s"
        " JOIN sift.chunks AS c ON c.chunk_id = s.chunk_id ORDER BY s.rank",
        [" ".join(terms), k, principals, json.dumps(filter or {})],
    ).fetchall()
    assert [row[:2] for row in searched] == [_place(one) for one in reference]
    assert [row[2] for row in searched] == pytest.approx([one.score for one in reference], rel=1e-14, abs=0)


def _place(one: Any) -> tuple[str, int]:
    return one.source, one.index


def _places(chunks: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [
        (*_place(one), one.body, one.title, one.kind, one.doc_length, one.version, one.metadata)
        for one in chunks
    ]
