"""Documents as a whole and weighted fields, over random corpora and histories: equal to the oracle, and to pure Python.

The oracle counts every token of every chunk anew. Its sums run in another order where weights are not whole
numbers, so the weights here are such that no sum rounds, and scores are compared bit for bit.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

WORDS = [f"w{n}" for n in range(7)]
KINDS = ["text", "text", "text", "abstract", "table", "claim", "title", "section_header", "reference"]
UNRANKED = ("title", "section_header", "reference")
PEOPLE = ["p0", "p1"]
PARAMETERS = [(1.2, 0.75), (0.0, 0.5), (0.9, 0.0), (2.0, 1.0)]
WEIGHTS = [(1.0, 1.0), (2.0, 1.0), (1.0, 0.5), (3.0, 0.0), (0.0, 4.0)]


@dataclass
class Part:
    """What a chunk holds: words of the title, words that repeat the chunk before, words of its own."""

    kind: str
    title: list[str]
    repeated: list[str]
    own: list[str]
    ranked: bool


def parts(document: dict[str, Any], least: int) -> list[Part]:
    """The chunks of a document as the store should take them."""
    found = []
    for chunk in document["chunks"]:
        words = chunk["body"].split()
        repeated = len(words) if chunk.get("overlap") else min(chunk.get("overlap_tokens", 0), len(words))
        kind = chunk["kind"]
        ranked = kind not in UNRANKED and (kind in ("table", "figure", "claim") or least == 1 or len(words) >= least)
        # A prefix is found with the chunk, and in the document it stands elsewhere.
        prefix = chunk.get("prefix", "").split()
        found.append(Part(kind, [], prefix + words[:repeated], words[repeated:], ranked))
    holder = next((p for p in found if p.ranked), next((p for p in found if p.kind != "reference"), None))
    if holder is not None:
        holder.title = document["title"].split()
    return [part for part in found if part.kind != "reference"]


def reference(
    documents: list[dict[str, Any]], unit: str, query: list[str], least: int, k1: float, b: float, title_weight: float, abstract_weight: float,
) -> dict[Any, float]:  # fmt: skip
    """Scores by key, or by key and ordinal among the ranked chunks' bodies, from the definition."""
    units: dict[Any, list[tuple[str, float]]] = {}
    for document in documents:
        for number, part in enumerate(parts(document, least)):
            weight = abstract_weight if part.kind == "abstract" else 1.0
            words = [(w, title_weight) for w in part.title]
            if unit == "document":
                words += [(w, weight) for w in part.own]
                units.setdefault(document["key"], []).extend(words)
            elif part.ranked:
                units[document["key"], number] = words + [(w, weight) for w in part.repeated + part.own]
    units = {key: words for key, words in units.items() if words}
    if not units:
        return {}
    average = sum(map(len, units.values())) / len(units)
    df = Counter(word for words in units.values() for word in {w for w, _ in words})
    scores: dict[Any, float] = {}
    for key, words in units.items():
        for term in sorted((t for t in set(query) if df[t]), key=lambda t: (df[t], t)):
            tf = sum(weight for word, weight in words if word == term)
            if tf > 0:
                idf = math.log(1 + (len(units) - df[term] + 0.5) / (df[term] + 0.5))
                norm = k1 * (1 - b + b * len(words) / average)
                scores[key] = scores.get(key, 0.0) + idf * tf / (tf + norm)
    return scores


def some_document(rng: random.Random, key: str) -> dict[str, Any]:
    chunks: list[dict[str, Any]] = []
    for _ in range(rng.choice([0, 1, 1, 2, 4, 6])):
        chunk: dict[str, Any] = {
            "body": " ".join(rng.choices(WORDS, [9, 6, 4, 3, 2, 1, 1], k=rng.choice([0, 1, 2, 5, 12]))) or "-",
            "kind": rng.choice(KINDS),
        }
        if chunks and rng.random() < 0.4:
            chunk |= rng.choice([{"overlap": True}, {"overlap_tokens": rng.randrange(6)}])
        if rng.random() < 0.2:
            chunk["prefix"] = " ".join(rng.choices(WORDS, k=rng.randrange(4)))
        if chunk["body"] == "-":
            chunk["body"] = ""
        chunks.append(chunk)
    return {
        "key": key, "title": " ".join(rng.choices(WORDS, k=rng.choice([0, 1, 3]))), "chunks": chunks,
        "acl": [rng.choice(PEOPLE)], "metadata": {"n": rng.randrange(3)},
    }  # fmt: skip


def put(conn: psycopg.Connection, documents: list[dict[str, Any]]) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s::jsonb)", (json.dumps(documents),))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), statistics=st.sampled_from(["tenant", "visible"]), least=st.sampled_from([1, 1, 3]))
@example(seed=6008072, statistics="tenant", least=1)
def test_units_equal_the_oracle_and_the_definition(conn: psycopg.Connection, seed: int, statistics: str, least: int) -> None:
    rng = random.Random(seed)
    k1, b = rng.choice(PARAMETERS)
    with conn.transaction(force_rollback=True):
        row = conn.execute("SELECT sift.create_tenant('t', 'standard', %s, %s)", (k1, b)).fetchone()
        assert row is not None
        conn.execute("SELECT sift.set_tenant('t', %s)", (json.dumps({"statistics": statistics, "min_chunk_tokens": least}),))
        held: dict[str, dict[str, Any]] = {}
        for _ in range(rng.randrange(1, 5)):
            match rng.choice(["put", "put", "replace", "delete", "move", "pack", "fold"]):
                case "put" | "replace":
                    batch = [some_document(rng, f"d{n}") for n in rng.sample(range(12), rng.randrange(1, 9))]
                    put(conn, batch)
                    held |= {d["key"]: d for d in batch}
                case "delete" if held:
                    key = rng.choice(sorted(held))
                    conn.execute("SELECT sift.delete_documents('t', %s)", ([key],))
                    del held[key]
                case "move" if held:
                    key = rng.choice(sorted(held))
                    held[key]["acl"] = [rng.choice(PEOPLE)]
                    conn.execute("SELECT sift.set_access('t', %s, %s)", ([key], held[key]["acl"]))
                case "pack":
                    conn.execute("SELECT sift.pack_postings('t', purge => true)")
                case "fold":
                    conn.execute("SELECT sift.fold_statistics('t')")
                case _:
                    pass
        assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
        assert conn.execute("SELECT * FROM sift._document_term_errors(%s)", row).fetchall() == []

        for _ in range(4):
            query = rng.sample(WORDS, rng.randrange(1, 5))
            who = rng.choice([["p0"], ["p0", "p1"], ["nobody"]])
            filter = rng.choice([None, None, {"metadata.n": 1}, {"kind": "table"}, {"kind": "reference"}])
            unit = rng.choice(["document", "document", "chunk"])
            title_weight, abstract_weight = rng.choice(WEIGHTS)
            options: dict[str, Any] = {
                "q": " ".join(query), "who": who, "filter": None if filter is None else json.dumps(filter), "unit": unit,
                "tw": title_weight, "aw": abstract_weight, "k": rng.choice([2, 100]),
            }  # fmt: skip
            found = conn.execute(
                "SELECT key, chunk_id, document_id, score, kind, body FROM sift.lexical_search('t', %(q)s, %(k)s, %(who)s, %(filter)s,"
                " unit => %(unit)s, title_weight => %(tw)s, abstract_weight => %(aw)s, per_document => 1000, claims_k => 1000)", options).fetchall()
            expected = conn.execute(
                "SELECT x.id, x.score FROM sift._compile_filter(%(filter)s) AS f, LATERAL sift._lexical_units_exhaustive("
                "%(t)s, %(unit)s, string_to_array(%(q)s, ' '), sift._lists_for(%(t)s, %(who)s), f.predicate, f.bound, %(k)s, %(k1)s, %(b)s,"
                " %(tw)s, %(aw)s, %(st)s) AS x",
                options | {"t": row[0], "k1": k1, "b": b, "st": statistics}).fetchall()
            assert [(d if unit == "document" else c, s) for _, c, d, s, *_ in found] == expected

            visible = [d for d in held.values() if set(d["acl"]) & set(who)]
            counted = visible if statistics == "visible" else list(held.values())
            scores = reference(counted, unit, query, least, k1, b, title_weight, abstract_weight)
            if unit == "document":
                passing = {
                    d["key"] for d in visible
                    if filter is None or d["metadata"]["n"] == filter.get("metadata.n") or any(c["kind"] == filter.get("kind") for c in d["chunks"])
                }  # fmt: skip
                if filter is not None and "metadata.n" in filter:
                    passing = {d["key"] for d in visible if d["metadata"]["n"] == 1}
                best = sorted((s for key, s in scores.items() if key in passing), reverse=True)
                assert len({key for key, *_ in found}) == len(found)
                for key, *_, kind, body in found:
                    assert kind != "reference"
                    assert any(c["body"] == body and c["kind"] == kind for c in held[key]["chunks"])
            elif filter is None:
                keys = {d["key"] for d in visible}
                best = sorted((s for (key, _), s in scores.items() if key in keys), reverse=True)
            else:
                continue
            assert [s for *_, s, _, _ in found] == pytest.approx(best[: options["k"]], rel=1e-12)

        # The past, at a time when all of this was there.
        now, then = (
            conn.execute(
                "SELECT key, chunk_id, score FROM sift.lexical_search('t', 'w0 w1 w2', 100, %s, unit => 'document', title_weight => 2" + as_of + ")",
                (PEOPLE,)).fetchall()
            for as_of in ("", ", as_of => clock_timestamp()")
        )  # fmt: skip
        assert now == then
