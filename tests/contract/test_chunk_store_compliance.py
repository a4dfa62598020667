"""What every chunk store does: the tests that both adapters pass, word for word.

Each method that reads has a test that changing what it returned (or what was stored) changes nothing in the
store, and a test that it shows nothing of another tenant. :func:`proves` says which test is which;
``test_chunk_store_gate.py`` refuses a method without them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
import pytest

from pgsift.chunk_store import PostgresChunkStore
from pgsift.domain.errors import InvalidArgument
from pgsift.domain.memory import InMemoryChunkStore
from pgsift.domain.ports import WRITER, ChunkStore, Source, SourceChunk
from pgsift.domain.rank import rank_chunks
from pgsift.errors import AlreadyExists, InvalidFilter, UnknownTenant

F = TypeVar("F", bound=Callable[..., Any])
ALL = (WRITER,)


def proves(what: str, method: str) -> Callable[[F], F]:
    """Marks a test as the proof that a method of the port has an isolation: mutation or tenant."""

    def mark(test: F) -> F:
        test.__proves__ = (what, method)  # type: ignore[attr-defined]
        return test

    return mark


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> ChunkStore:
    made: ChunkStore
    if request.param == "memory":
        made = InMemoryChunkStore()
    else:
        connection: psycopg.Connection[Any] = request.getfixturevalue("conn")
        made = PostgresChunkStore(connection)
    made.create_tenant("acme", default_principals=["public"])
    made.create_tenant("other", default_principals=["public"])
    return made


@contextlib.contextmanager
def refused(store: ChunkStore, error: type[Exception]) -> Iterator[None]:
    """The block raises; in a database, what it began is rolled back, so that the test can go on."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.raises(error))
        if isinstance(store, PostgresChunkStore):
            stack.enter_context(store._connection.transaction())
        yield


def chunk(text: str, **fields: Any) -> SourceChunk:
    return SourceChunk(body=text, tokens=text.split(), **fields)


def source(key: str, *texts: str, **fields: Any) -> Source:
    return Source(key, [chunk(text) for text in texts], **fields)


def found(store: ChunkStore, *terms: str, limit: int = 100, **options: Any) -> list[tuple[str, int]]:
    options.setdefault("principals", ALL)
    candidates = store.lexical_candidates(terms, "acme", limit, **options).candidates
    return [(one.source, one.index) for one in candidates]


# Writing


def test_statuses(store: ChunkStore) -> None:
    first = source("a", "red apple", metadata={"year": 2020})
    assert store.upsert_many([first, source("b", "blue car")], "acme") == ["created", "created"]
    assert store.upsert_many([source("b", "blue car"), first], "acme") == ["unchanged", "unchanged"]
    assert store.replace_source(dataclasses.replace(first, metadata={"year": 2021}), "acme") == "updated"
    assert store.replace_source(dataclasses.replace(first, principals=["x"]), "acme") == "updated"
    assert store.replace_source(source("a", "green apple"), "acme") == "replaced"
    assert store.replace_source(source("a", "green apple", title="Apple"), "acme") == "replaced"


def test_unchanged_content_keeps_its_chunks_and_new_content_gets_new_ones(store: ChunkStore) -> None:
    def ids() -> list[int]:
        found = store.lexical_candidates(["apple"], "acme", 9, principals=ALL)
        return [one.chunk_id for one in found.candidates]

    store.replace_source(source("a", "red apple", "apple pie"), "acme")
    before = ids()
    assert len(before) == 2 and before == sorted(before)
    store.replace_source(source("a", "red apple", "apple pie", license="CC0-1.0"), "acme")
    assert ids() == before
    store.replace_source(source("a", "one apple"), "acme")
    assert len(ids()) == 1 and ids()[0] > max(before)


def test_replacing_leaves_nothing_of_what_was(store: ChunkStore) -> None:
    old = Source("a", [chunk("red apple", entities=["Malus"]), chunk("red red", entities=["Malus"])])
    store.upsert_many([old, source("b", "red car")], "acme")
    store.replace_source(Source("a", [chunk("green pear", entities=["Pyrus"])]), "acme")
    after = store.lexical_candidates(["red", "apple", "green"], "acme", 9, principals=ALL)
    assert {(one.source, one.index) for one in after.candidates} == {("a", 0), ("b", 0)}
    assert after.doc_frequencies == {"red": 1, "apple": 0, "green": 1}
    assert (after.chunks, after.total_length) == (2, 4)
    assert store.get_by_entity("Malus", "acme", principals=ALL) == []
    (pear,) = store.get_by_entity("Pyrus", "acme", principals=ALL)
    assert (pear.source, pear.index, pear.body, pear.version) == ("a", 0, "green pear", 2)


def test_deleting(store: ChunkStore) -> None:
    store.upsert_many([Source("a", [chunk("red", entities=["E"])]), source("b", "red")], "acme")
    assert store.delete_source("a", "acme") is True
    assert store.delete_source("a", "acme") is False
    assert found(store, "red") == [("b", 0)]
    assert store.get_by_entity("E", "acme", principals=ALL) == []
    assert store.lexical_candidates(["red"], "acme", 1, principals=ALL).doc_frequencies == {"red": 1}
    assert store.replace_source(source("a", "red"), "acme") == "created"


def test_a_batch_is_stored_whole_or_not_at_all(store: ChunkStore) -> None:
    bad = Source("b", [SourceChunk("x", tokens=["two words"])])
    for batch in (
        [source("a", "red"), bad],
        [source("a", "red"), source("a", "blue")],
        [source("a", "red"), source("", "blue")],
        [source("a", "red"), Source("b", [SourceChunk("x", kind="poem")])],
        [source("a", "red"), Source("b", [SourceChunk("x", char_start=5, char_end=2)])],
        [source("a", "red"), source("b", "x\x00")],
        [source("a", "red"), source("b", "x", title="\ud800")],
        [source("a", "red"), source("b", "x", metadata={"a": ["\x00"]})],
    ):
        with refused(store, InvalidArgument):
            store.upsert_many(batch, "acme")
        assert found(store, "red") == []
    assert store.upsert_many([], "acme") == []


def test_ids_rise_with_key_and_index(store: ChunkStore) -> None:
    store.upsert_many(
        [source("b", "x 1", "x 2"), source("a", "x 3"), source("Z", "x"), source("é", "x")], "acme"
    )
    assert found(store, "x") == [("Z", 0), ("a", 0), ("b", 0), ("b", 1), ("é", 0)]


def test_a_chunk_without_tokens_counts_nowhere(store: ChunkStore) -> None:
    store.replace_source(Source("a", [SourceChunk("…", entities=["E"]), chunk("red")]), "acme")
    result = store.lexical_candidates(["red"], "acme", 9, principals=ALL)
    assert (result.chunks, result.total_length) == (1, 1)
    assert [one.index for one in store.get_by_entity("E", "acme", principals=ALL)] == [0]


def test_a_source_without_chunks(store: ChunkStore) -> None:
    assert store.replace_source(Source("a", []), "acme") == "created"
    assert store.replace_source(source("a", "red"), "acme") == "replaced"
    assert store.replace_source(Source("a", []), "acme") == "replaced"
    assert found(store, "red") == []


def test_unknown_tenants_and_known_ones(store: ChunkStore) -> None:
    for call in (
        lambda: store.lexical_candidates(["x"], "nobody", 1, principals=ALL),
        lambda: store.lexical_candidates([], "nobody", 0, principals=ALL),
        lambda: store.get_by_entity("x", "nobody", principals=ALL),
        lambda: store.replace_source(source("a", "x"), "nobody"),
        lambda: store.delete_source("a", "nobody"),
    ):
        with refused(store, UnknownTenant):
            call()
    with refused(store, AlreadyExists):
        store.create_tenant("acme")


@pytest.mark.parametrize("k1", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("b", [1.5, -0.1, float("nan"), 0.75])
def test_bm25_parameters_are_checked(store: ChunkStore, k1: float, b: float) -> None:
    with refused(store, InvalidArgument):
        store.create_tenant("new", k1=k1, b=b)
    with refused(store, InvalidArgument):
        store.create_tenant("new", b=2.0)


# Candidates


def test_candidates_are_ordered_by_terms_matched_then_by_id(store: ChunkStore) -> None:
    store.upsert_many(
        [
            source("a", "red red red"),
            source("b", "red apple pie", "pie"),
            source("c", "pie red"),
            source("d", "car"),
        ],
        "acme",
    )
    result = store.lexical_candidates(["red", "pie", "apple", "red"], "acme", 10, principals=ALL)
    assert [(one.source, one.index) for one in result.candidates] == [("b", 0), ("c", 0), ("a", 0), ("b", 1)]
    assert [one.frequencies for one in result.candidates] == [
        {"red": 1, "pie": 1, "apple": 1}, {"pie": 1, "red": 1}, {"red": 3}, {"pie": 1},
    ]  # fmt: skip
    assert [one.doc_length for one in result.candidates] == [3, 2, 3, 1]
    assert found(store, "red", "pie", "apple", limit=2) == [("b", 0), ("c", 0)]


def test_every_term_asked_for_has_a_frequency(store: ChunkStore) -> None:
    store.upsert_many([source("a", "red apple", "red"), source("b", "red")], "acme")
    result = store.lexical_candidates(["red", "apple", "absent", "red"], "acme", 10, principals=ALL)
    assert result.doc_frequencies == {"red": 3, "apple": 1, "absent": 0}
    assert list(result.doc_frequencies) == ["red", "apple", "absent"]
    assert (result.chunks, result.total_length, result.average_length) == (3, 4, 4 / 3)


def test_limits(store: ChunkStore) -> None:
    store.upsert_many([source("a", "red"), source("b", "red blue")], "acme")
    with refused(store, InvalidArgument):
        store.lexical_candidates(["red"], "acme", -1, principals=ALL)
    none = store.lexical_candidates(["red", "absent"], "acme", 0, principals=ALL)
    assert none.candidates == ()
    assert (none.doc_frequencies, none.chunks, none.total_length) == ({"red": 2, "absent": 0}, 2, 3)
    assert len(store.lexical_candidates(["red"], "acme", 10**12, principals=ALL).candidates) == 2


def test_no_terms_and_no_corpus(store: ChunkStore) -> None:
    empty = store.lexical_candidates(["red"], "acme", 10, principals=ALL)
    assert (empty.candidates, empty.doc_frequencies, empty.chunks, empty.average_length) == (
        (),
        {"red": 0},
        0,
        0.0,
    )
    assert rank_chunks(["red"], empty, 10) == []
    store.replace_source(source("a", "red"), "acme")
    nothing = store.lexical_candidates([], "acme", 10, principals=ALL)
    assert (nothing.candidates, nothing.doc_frequencies, nothing.chunks) == ((), {}, 1)


def test_hostile_terms(store: ChunkStore) -> None:
    hostile = ["'; DROP TABLE x; --", "%s", "{}", '"', "\\", "🙂", "ما", "a,b", "NULL", "$1"]
    tokens = [term.replace(" ", "_") for term in hostile]
    store.replace_source(Source("a", [SourceChunk("x", tokens=tokens)]), "acme")
    result = store.lexical_candidates(tokens, "acme", 10, principals=ALL)
    assert result.candidates[0].frequencies == dict.fromkeys(tokens, 1)
    assert result.doc_frequencies == dict.fromkeys(tokens, 1)


def test_who_sees_what(store: ChunkStore) -> None:
    store.upsert_many(
        [
            source("default", "red"),
            source("hr", "red", principals=["group:hr"]),
            source("two", "red", principals=["user:7", "group:hr"]),
            source("nobody", "red", principals=[]),
        ],
        "acme",
    )
    for principals, keys in (
        (None, []),
        ([], []),
        (["unknown"], []),
        (["public"], ["default"]),
        (["group:hr"], ["hr", "two"]),
        (["user:7", "public"], ["default", "two"]),
        ([WRITER], ["default", "hr", "nobody", "two"]),
    ):
        result = store.lexical_candidates(["red"], "acme", 10, principals=principals)
        assert [one.source for one in result.candidates] == keys
        # Whoever asks, the statistics are the same.
        assert (result.doc_frequencies, result.chunks) == ({"red": 4}, 4)


def test_access_stays_unless_it_is_given(store: ChunkStore) -> None:
    store.replace_source(source("a", "red", principals=["group:hr"]), "acme")
    store.replace_source(source("a", "red apple"), "acme")
    assert found(store, "red", principals=["public"]) == []
    assert found(store, "red", principals=["group:hr"]) == [("a", 0)]
    store.replace_source(source("a", "red apple", principals=[]), "acme")
    assert found(store, "red", principals=["group:hr"]) == []
    store.replace_source(source("a", "red apple", principals=["public"]), "acme")
    assert found(store, "red", principals=["public"]) == [("a", 0)]


def test_a_filter_acts_on_candidates_and_not_on_statistics(store: ChunkStore) -> None:
    store.upsert_many(
        [
            Source("a", [chunk("red one", kind="table", section=["Results"], page=3), chunk("red two")],
                   metadata={"year": 2020, "tags": ["x", "y"]}, title="A", license="CC0-1.0"),
            Source("b", [chunk("red three", section=["Intro"])], metadata={"year": 2021}, language="en"),
        ],
        "acme",
    )  # fmt: skip
    for filter, expected in (
        ({"metadata.year": {"$gt": 2020}}, [("b", 0)]),
        ({"metadata.tags": "y"}, [("a", 0), ("a", 1)]),
        ({"kind": "table"}, [("a", 0)]),
        ({"$not": {"kind": "table"}}, [("a", 1), ("b", 0)]),
        ({"section": {"$in": ["Results", "Intro"]}}, [("a", 0), ("b", 0)]),
        ({"page": {"$exists": False}}, [("a", 1), ("b", 0)]),
        ({"title": "A", "ordinal": 1}, [("a", 1)]),
        ({"license": {"$ne": "CC0-1.0"}}, [("b", 0)]),
        ({"language": "en"}, [("b", 0)]),
        ({"version": 1, "doc_length": 2}, [("a", 0), ("a", 1), ("b", 0)]),
        ({"length": {"$gte": 9}}, [("b", 0)]),
        ({"key": {"$gte": "b"}}, [("b", 0)]),
        ({"observed_at": {"$lt": "2001-01-01"}}, []),
        ({}, [("a", 0), ("a", 1), ("b", 0)]),
    ):
        assert found(store, "red", filter=filter) == expected, filter
        result = store.lexical_candidates(["red", "two"], "acme", 9, principals=ALL, filter=filter)
        assert (result.doc_frequencies, result.chunks) == ({"red": 3, "two": 1}, 3)
    with refused(store, InvalidFilter):
        found(store, "red", filter={"titel": "x"})


def test_field_case_1_scores(store: ChunkStore) -> None:
    """Texts "red apple", "red red car", "blue car" at k1 1.2, b 0.75."""
    store.upsert_many([source("1", "red apple"), source("2", "red red car"), source("3", "blue car")], "acme")

    def scores() -> list[tuple[str, float]]:
        ranked = rank_chunks(["red"], store.lexical_candidates(["red"], "acme", 10, principals=ALL), 10)
        return [(one.source, round(one.score, 6)) for one in ranked]

    assert scores() == [("2", 0.271903), ("1", 0.226898)]
    store.delete_source("2", "acme")
    assert scores() == [("1", 0.315067)]


# Entities


def test_entities_are_ordered_by_source_index_and_id(store: ChunkStore) -> None:
    def mention(text: str, *entities: str) -> SourceChunk:
        return chunk(text, entities=entities, section=["S", text], page=4, char_start=10)

    store.upsert_many(
        [Source("b", [mention("b0", "E"), mention("b1", "F"), mention("b2", "E", "F", "E")])], "acme"
    )
    store.upsert_many(
        [Source("é", [mention("e0", "E")]), Source("a", [mention("a0", "E")], title="T", metadata={"n": 1}),
         Source("Z", [mention("z0", "E")])],
        "acme",
    )  # fmt: skip
    chunks = store.get_by_entity("E", "acme", principals=ALL)
    assert [(one.source, one.index) for one in chunks] == [("Z", 0), ("a", 0), ("b", 0), ("b", 2), ("é", 0)]
    one = chunks[1]
    assert (one.body, one.title, one.kind, one.section, one.page) == ("a0", "T", "text", ("S", "a0"), 4)
    assert (one.char_start, one.char_end, one.doc_length, one.version) == (10, 12, 1, 1)
    assert one.metadata == {"n": 1}
    assert store.get_by_entity("absent", "acme", principals=ALL) == []


def test_entities_of_invisible_sources_are_not_shown(store: ChunkStore) -> None:
    store.upsert_many(
        [
            Source("a", [chunk("x", entities=["E"])], principals=["group:hr"]),
            Source("b", [chunk("x", entities=["E"])]),
        ],
        "acme",
    )
    for principals, keys in (
        (None, []), ([], []), (["unknown"], []), (["public"], ["b"]), (["group:hr"], ["a"]),
        ([WRITER], ["a", "b"]),
    ):  # fmt: skip
        assert [one.source for one in store.get_by_entity("E", "acme", principals=principals)] == keys


# Isolation


def spoiled(value: Any) -> Any:
    """Change whatever can be changed in a value, in place; frozen things are tried and must refuse."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in dataclasses.fields(value):
            spoiled(getattr(value, item.name))
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(value, item.name, None)
    elif isinstance(value, dict):
        for inner in value.values():
            spoiled(inner)
        value.clear()
        value["spoiled"] = 1
    elif isinstance(value, list):
        for inner in value:
            spoiled(inner)
        value.clear()
    elif isinstance(value, tuple):
        for inner in value:
            spoiled(inner)
    return value


def mutable() -> tuple[Source, Callable[[], None]]:
    """A source made of parts that can be changed afterwards, and what changes them."""
    tokens, section, entities, principals = ["red", "apple"], ["S"], ["E"], ["public"]
    metadata = {"tags": ["a"], "deep": {"n": 1}}
    chunks = [SourceChunk("red apple", tokens=tokens, section=section, entities=entities)]

    def spoil() -> None:
        for part in (tokens, section, entities, principals, metadata["tags"], chunks):
            part.clear()  # type: ignore[attr-defined]
        spoiled(metadata)

    return Source("a", chunks, metadata=metadata, principals=principals), spoil


@proves("mutation_isolation", "lexical_candidates")
def test_candidates_cannot_be_changed_from_outside(store: ChunkStore) -> None:
    def read() -> Any:
        return store.lexical_candidates(
            ["red", "apple"], "acme", 9, principals=["public"], filter={"metadata.tags": "a", "section": "S"}
        )

    stored, spoil = mutable()
    store.replace_source(stored, "acme")
    before = read()
    assert len(before.candidates) == 1
    spoil()
    assert read() == before
    again = read()
    spoiled(again)
    assert again != before
    assert read() == before


@proves("mutation_isolation", "get_by_entity")
def test_chunks_of_an_entity_cannot_be_changed_from_outside(store: ChunkStore) -> None:
    def read() -> Any:
        return store.get_by_entity("E", "acme", principals=["public"])

    stored, spoil = mutable()
    store.replace_source(stored, "acme")
    before = read()
    assert [one.metadata for one in before] == [{"tags": ["a"], "deep": {"n": 1}}]
    spoil()
    assert read() == before
    again = read()
    spoiled(again)
    assert again != before
    assert read() == before


@proves("tenant_isolation", "lexical_candidates")
def test_candidates_are_of_one_tenant(store: ChunkStore) -> None:
    store.replace_source(source("a", "red apple"), "acme")

    def read() -> Any:
        return store.lexical_candidates(["red", "secret"], "acme", 99, principals=["public", WRITER])

    before = read()
    assert [one.source for one in before.candidates] == ["a"]
    store.upsert_many([source("a", "red secret", "red"), source("b", "red secret")], "other")
    assert read() == before, "another tenant's sources change neither candidates nor statistics"
    store.delete_source("a", "other")
    store.replace_source(source("b", "blue"), "other")
    assert read() == before
    other = store.lexical_candidates(["red", "secret"], "other", 99, principals=["public", WRITER])
    assert (other.candidates, other.doc_frequencies, other.chunks) == ((), {"red": 0, "secret": 0}, 1)


@proves("tenant_isolation", "get_by_entity")
def test_chunks_of_an_entity_are_of_one_tenant(store: ChunkStore) -> None:
    store.replace_source(Source("a", [chunk("ours", entities=["E"])]), "acme")
    store.upsert_many([Source(key, [chunk("theirs", entities=["E", "F"])]) for key in "ab"], "other")
    assert [one.body for one in store.get_by_entity("E", "acme", principals=["public", WRITER])] == ["ours"]
    assert store.get_by_entity("F", "acme", principals=["public", WRITER]) == []
    assert store.delete_source("b", "acme") is False
    store.delete_source("a", "acme")
    assert [one.source for one in store.get_by_entity("E", "other", principals=["public"])] == ["a", "b"]
