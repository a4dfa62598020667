"""Explanations sum to the scores of searches, bit for bit, and reasons agree with what searches say that are asked otherwise."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

WORDS = ["red", "blue", "green", "apple", "car", "pie", "moon"]
PEOPLE = ["p0", "p1"]
UNRANKED = ("title", "section_header", "reference")
TENANTS = ["ex tenant", "ex visible", "ex claims"]
TOP = 5000


def _documents(chance: random.Random, claims: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(24):
        kinds = ["text"] * 4 + ["abstract", "table"]
        if number % 6 == 5:
            kinds = list(UNRANKED)
        chunks: list[dict[str, Any]] = []
        for _ in range(chance.choice([1, 1, 2, 4, 7])):
            chunk: dict[str, Any] = {
                "body": " ".join(chance.choices(WORDS, [9, 6, 4, 3, 2, 1, 1], k=chance.choice([1, 1, 2, 3, 6, 11]))),
                "kind": chance.choice(kinds),
            }
            if chance.random() < 0.7:
                chunk["embedding"] = [chance.choice([-1, 0.5, 1, 2, 3]) for _ in range(3)]
            chunks.append(chunk)
        bearing = [n for n, chunk in enumerate(chunks) if chunk["kind"] not in UNRANKED]
        for _ in range(2 if claims and bearing and number % 2 else 0):
            supports = chance.sample(bearing, min(2, len(bearing)))
            chunks.append({
                "kind": "claim", "supports": supports, "body": " ".join(chance.choices(WORDS, k=3)),
                "embedding": [chance.choice([0.5, 1, 2]) for _ in range(3)],
            })  # fmt: skip
        found.append({
            "key": f"d{number}", "title": " ".join(chance.choices(WORDS, k=chance.choice([0, 1, 2]))),
            "acl": chance.choice([["p0"], ["p0", "p1"], ["p1"], ["p2"]]), "metadata": {"n": number % 4}, "chunks": chunks,
        })  # fmt: skip
    return found


@pytest.fixture(scope="module")
def corpora(schema_dsn: str) -> Iterator[tuple[psycopg.Connection[Any], dict[str, list[dict[str, Any]]]]]:
    """Three tenants: with the statistics of all, of what is visible, and with claims. A depth of 6. Never committed."""
    with psycopg.connect(schema_dsn, row_factory=dict_row) as connection:
        connection.execute("SELECT sift.register_model('explain toy', 3)")
        stored = {}
        for number, name in enumerate(TENANTS):
            chance = random.Random(number)
            connection.execute("SELECT sift.create_tenant(%s, 'standard')", [name])
            connection.execute(
                "UPDATE sift.tenants AS t SET depth = 6, statistics = %s WHERE t.name = %s",
                ["visible" if name == "ex visible" else "tenant", name],
            )
            stored[name] = _documents(chance, name == "ex claims")
            put = "SELECT sift.put_documents(%s, %s::jsonb, model => 'explain toy')"
            connection.execute(put, [name, json.dumps(stored[name])])
            # Some packed, some not; some replaced and some gone, so that postings of the dead lie about.
            connection.execute("SELECT sift.pack_postings(%s)", [name])
            again = _documents(chance, name == "ex claims")[:5]
            stored[name][:5] = again
            connection.execute(put, [name, json.dumps(again)])
            connection.execute("SELECT sift.delete_documents(%s, '{d7}')", [name])
            del stored[name][7]
        yield connection, stored
        connection.rollback()


ASKED = st.fixed_dictionaries({
    "query": st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=4, unique=True).map(" ".join),
    "principals": st.lists(st.sampled_from(PEOPLE), min_size=1, unique=True),
    "unit": st.sampled_from(["chunk", "document"]),
    "query_embedding": st.one_of(st.none(), st.lists(st.sampled_from([-1.0, 0.25, 1.0, 2.0]), min_size=3, max_size=3)),
    "mode": st.sampled_from(["hybrid", "hybrid", "lexical"]),
    "depth": st.sampled_from([None, None, 3, 12]),
    "rrf_k": st.sampled_from([None, 0.0, 7.5]),
    "weights": st.sampled_from([None, [0.3, 2.0], [1.0, 0.0], [0.0, 1.0]]),
    "filter": st.sampled_from([None, None, {"metadata.n": {"$gte": 1}}, {"kind": "text"}]),
    "min_score": st.sampled_from([None, None, 0.5, 1.2]),
    "max_distance": st.sampled_from([None, None, 0.3]),
    "k1": st.sampled_from([None, 0.0, 2.0]),
    "b": st.sampled_from([None, 0.0, 1.0]),
    "title_weight": st.sampled_from([None, None, 0.0, 3.0, 1.7]),
    "abstract_weight": st.sampled_from([None, None, 0.5]),
})  # fmt: skip
PAGE = st.fixed_dictionaries({
    "per_document": st.sampled_from([None, 1, 3]),
    "collapse": st.booleans(),
    "skip": st.sampled_from([0, 0, 2]),
    "k": st.sampled_from([1, 3, 10]),
})  # fmt: skip
TYPES = {
    "principals": "text[]", "query_embedding": "real[]", "weights": "double precision[]", "filter": "jsonb",
    "query": "text", "key": "text", "chunk": "bigint", "mode": "text", "unit": "text", "depth": "integer", "k": "integer",
    "per_document": "integer", "skip": "integer", "collapse": "boolean",
}  # fmt: skip
NOTHING = "PS003"


def call(connection: psycopg.Connection[Any], function: str, tenant: str, **arguments: Any) -> list[dict[str, Any]]:
    names = ", ".join(f"{name} => %({name})s::{TYPES.get(name, 'double precision')}" for name in arguments)
    values = {name: json.dumps(value) if name == "filter" and value else value for name, value in arguments.items()}
    with connection.transaction():
        return connection.execute(
            f"SELECT x.* FROM sift.{function}(%(tenant)s, {names}) AS x".encode(), values | {"tenant": tenant}
        ).fetchall()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenant=st.sampled_from(TENANTS), asked=ASKED)
def test_the_parts_sum_to_the_score(corpora: Any, tenant: str, asked: dict[str, Any]) -> None:
    connection, stored = corpora
    k = asked["depth"] or TOP
    try:
        hits = call(connection, "search", tenant, **asked, k=k, per_document=None, collapse=False)
    except psycopg.Error as error:
        assert error.sqlstate == NOTHING
        with pytest.raises(psycopg.Error) as refused:
            call(connection, "explain", tenant, **asked, key="d1")
        assert refused.value.sqlstate == NOTHING
        return
    chance = random.Random(len(hits))
    for hit in chance.sample(hits, min(6, len(hits))):
        parts = call(connection, "explain", tenant, **asked, chunk=hit["chunk_id"])
        assert [part["place"] for part in parts] == list(range(1, len(parts) + 1))
        told = {(part["part"], part["name"]): part for part in parts}
        terms = [part for part in parts if part["part"] == "term"]
        total = 0.0
        for part in terms:
            total += part["value"]
        if hit["lexical_score"] is not None:
            assert total == hit["lexical_score"] == told["leg", "lexical"]["value"]
            assert told["fusion", "lexical"]["rank"] == hit["lexical_rank"] == told["leg", "lexical"]["rank"]
        if hit["dense_rank"] is not None:
            assert told["leg", "dense"]["value"] == hit["distance"]
            assert told["fusion", "dense"]["rank"] == hit["dense_rank"] == told["leg", "dense"]["rank"]
        for leg, rank in (("lexical", hit["lexical_rank"]), ("dense", hit["dense_rank"])):
            part = told["fusion", leg]
            if rank is None:
                assert part["rank"] is None and part["value"] == 0
            else:
                assert part["value"] == part["weight"] / (part["constant"] + part["rank"])
        assert told["score", "score"]["value"] == hit["score"]
        assert told["fusion", "lexical"]["value"] + told["fusion", "dense"]["value"] == hit["score"]
        k1, b = told.get(("setting", "k1")), told.get(("setting", "b"))
        for part in terms:
            assert k1 and b
            number = told["setting", "documents" if asked["unit"] == "document" else "chunks"]["value"]
            average = told["setting", "average_length"]["value"]
            idf = math.log(1 + (number - part["df"] + 0.5) / (part["df"] + 0.5))
            assert part["idf"] == pytest.approx(idf, rel=1e-12)
            norm = k1["value"] * (1 - b["value"] + b["value"] * part["doc_length"] / average)
            expected = idf * part["tf"] / (part["tf"] + norm) if part["tf"] > 0 else 0.0
            assert part["value"] == pytest.approx(expected, rel=1e-12)

    # What did not come back has no score, unless the page was too short for it; what may not be seen has no rows.
    for document in chance.sample(stored[tenant], 6):
        parts = call(connection, "explain", tenant, **asked, key=document["key"])
        if not set(document["acl"]) & set(asked["principals"]):
            assert parts == []
            continue
        (score,) = [part["value"] for part in parts if part["part"] == "score"]
        first = next((hit for hit in hits if hit["key"] == document["key"]), None)
        if first is None:
            # With claims, one may stand for the chunk; a page of depth rows may be too short for what both legs gave.
            assert score is None or len(hits) == k or tenant == "ex claims"
        elif tenant != "ex claims":
            # Of a document named by its key, the chunk that comes first.
            assert score == first["score"]
            assert asked["unit"] == "document" or parts[0]["chunk_id"] == first["chunk_id"]


def expected(search: Any, document: dict[str, Any], asked: dict[str, Any], page: dict[str, Any]) -> tuple[str, int | None] | None:
    """The reason, from searches alone; None where searches cannot tell."""
    if not set(document["acl"]) & set(asked["principals"]):
        return "absent", None
    key, whole = document["key"], asked["unit"] == "document"
    for hit in search(**asked, **page):
        if hit["key"] == key:
            return "found", hit["rank"]
    chunks = document["chunks"]
    if asked["filter"] == {"kind": "text"}:
        chunks = [chunk for chunk in chunks if chunk["kind"] == "text"]
    if ((asked["filter"] or {}).get("metadata.n") and document["metadata"]["n"] < 1) or not chunks:
        return "filtered", None
    if all(chunk["kind"] == "reference" or (not whole and chunk["kind"] in UNRANKED) for chunk in chunks):
        return "unranked", None
    alone = {**asked, "depth": None, "filter": {"$and": [asked["filter"] or {"key": key}, {"key": key}]}}
    wide = {"per_document": None, "collapse": False, "skip": 0, "k": TOP}
    if not search(**{**alone, "min_score": None, "max_distance": None}, **wide):
        words = asked["mode"] != "dense" and (asked["mode"] == "lexical" or (asked["weights"] or [1, 1])[0] > 0)
        return ("no_match" if words else "no_vector"), None
    if not search(**alone, **wide):
        return "below_floor", None
    if asked["depth"] is not None:
        return None
    everything = search(**asked, **wide)
    first = next((hit for hit in everything if hit["key"] == key), None)
    if first is None:
        return "beyond_depth", None
    if page["collapse"] and not whole and any(hit["body"] == first["body"] for hit in everything if hit["rank"] < first["rank"]):
        return "collapsed", first["rank"]
    (left,) = [hit for hit in search(**asked, **{**page, "k": TOP, "skip": 0}) if hit["chunk_id"] == first["chunk_id"]]
    return ("earlier_page" if left["rank"] <= page["skip"] else "beyond_k"), left["rank"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenant=st.sampled_from(TENANTS[:2]), asked=ASKED, page=PAGE, data=st.data())
def test_the_reason_is_what_searches_say(corpora: Any, tenant: str, asked: dict[str, Any], page: dict[str, Any], data: st.DataObject) -> None:
    connection, stored = corpora
    if asked["depth"] is not None and asked["depth"] < page["k"] + page["skip"]:
        asked = {**asked, "depth": page["k"] + page["skip"]}

    def search(**arguments: Any) -> list[dict[str, Any]]:
        return call(connection, "search", tenant, **arguments)

    for document in data.draw(st.lists(st.sampled_from(stored[tenant]), min_size=1, max_size=3, unique_by=lambda d: d["key"])):
        try:
            wanted = expected(search, document, asked, page)
        except psycopg.Error as error:
            assert error.sqlstate == NOTHING
            return
        try:
            (told,) = call(connection, "why_not", tenant, **asked, **page, key=document["key"])
        except psycopg.Error as error:
            # What a search refuses is refused, whatever it is asked about.
            assert error.sqlstate == NOTHING and wanted == ("absent", None)
            with pytest.raises(psycopg.Error):
                search(**asked, **page)
            return
        event(told["reason"])
        assert told["sentence"] and (told["document_key"] == document["key"]) == (told["reason"] != "absent")
        if wanted is None:
            assert told["reason"] in ("beyond_depth", "collapsed", "beyond_k", "earlier_page")
            legs = {hit["key"] for mode in ("lexical", "dense") for hit in legs_of(search, asked, mode)}
            assert (told["reason"] == "beyond_depth") == (document["key"] not in legs)
        else:
            assert (told["reason"], told["rank"]) == wanted
        if told["reason"] == "collapsed":
            (body,) = connection.execute("SELECT array_agg(DISTINCT c.body) AS b FROM sift.chunks AS c WHERE c.chunk_id = ANY (%s)",
                                         [[told["chunk_id"], told["other_chunk_id"]]]).fetchall()
            assert len(body["b"]) == 1 and told["other_chunk_id"] != told["chunk_id"]


def legs_of(search: Any, asked: dict[str, Any], mode: str) -> list[dict[str, Any]]:
    """The rows of one leg that are fused: its first ones to the depth, less those that a floor leaves out."""
    weights = asked["weights"] or [1.0, 1.0]
    if asked["mode"] not in ("hybrid", mode) or (asked["mode"] == "hybrid" and weights[mode == "dense"] == 0):
        return []
    if mode == "dense" and asked["query_embedding"] is None:
        return []
    rows = search(**{**asked, "mode": mode, "k": asked["depth"], "min_score": None, "max_distance": None}, per_document=None, collapse=False)
    if mode == "lexical":
        return [row for row in rows if asked["min_score"] is None or row["lexical_score"] >= asked["min_score"]]
    return [row for row in rows if asked["max_distance"] is None or row["distance"] <= asked["max_distance"]]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenant=st.sampled_from(TENANTS), asked=ASKED, page=PAGE)
def test_each_chunk_has_the_rank_of_the_long_page(corpora: Any, tenant: str, asked: dict[str, Any], page: dict[str, Any]) -> None:
    """Whatever claims, caps and copies do: a chunk is found, or has the rank it has on a page as long as can be, or neither."""
    connection, _ = corpora
    asked = {**asked, "depth": None, "unit": "chunk"}
    try:
        whole = {hit["chunk_id"]: hit for hit in call(connection, "search", tenant, **asked, **{**page, "k": TOP, "skip": 0})}
        every = call(connection, "search", tenant, **asked, k=TOP, per_document=None, collapse=False)
    except psycopg.Error as error:
        assert error.sqlstate == NOTHING
        return
    for hit in every[:8] + every[8::5]:
        (told,) = call(connection, "why_not", tenant, **asked, **page, chunk=hit["chunk_id"])
        event(told["reason"])
        if hit["chunk_id"] in whole:
            rank = whole[hit["chunk_id"]]["rank"]
            reason = "earlier_page" if rank <= page["skip"] else "found" if rank <= page["skip"] + page["k"] else "beyond_k"
            assert (told["reason"], told["rank"]) == (reason, rank)
        elif tenant == "ex claims":
            assert told["reason"] in ("collapsed", "capped", "covered", "surplus_claim")
        else:
            assert told["reason"] in ("collapsed", "capped")
            assert (told["reason"] == "collapsed") == (page["collapse"] and any(other["body"] == hit["body"] for other in every[: hit["rank"] - 1]))
