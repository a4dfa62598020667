"""Properties of claims: numbers against a reader of its own, the merge against its definition, and depth."""

from __future__ import annotations

import json
import random
import unicodedata
from decimal import Context, Decimal
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LETTERS = "abeEHZ_ÀßøΑβЖяBIL"
SIGNS = {"-": "-", "+": "", "\u2212": "-", "\u2013": "-"}
EXACT = Context(prec=5000)
PIECES = st.one_of(
    st.sampled_from([*SIGNS, *LETTERS, *".,;%()[] \n\u2009\u202f\u0663\uff13×±\u00bd\u207b\u2075", "e-5", "E3", "0", ".5", "12,345", "1e-4", "B12", "IL-6"]),
    st.integers(0, 10**7).map(str),
    st.decimals(0, 1000, places=3).map(str),
)  # fmt: skip


def numbers(text: str) -> set[str]:
    """The numbers of a text by the rules of docs/claims.md, read character by character."""
    found: set[str] = set()
    text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    numeral = lambda i: i < len(text) and text[i] in "\u00bd\u207b\u2075"  # noqa: E731
    digit = lambda i: i < len(text) and text[i] in "0123456789"  # noqa: E731
    letter = lambda i: 0 <= i < len(text) and text[i] in LETTERS  # noqa: E731
    i = 0
    while i < len(text):
        if letter(i):
            while letter(i) or digit(i) or numeral(i):
                i += 1
            continue
        start = i
        if numeral(i):
            while numeral(i):
                i += 1
            if text[start:i].strip("\u207b"):
                found.add(text[start:i])
            continue
        sign = ""
        if text[i] in SIGNS and not (start > 0 and (letter(start - 1) or text[start - 1] in "0123456789)]%")):
            sign, i = SIGNS[text[i]], i + 1
        bare = i
        if digit(i):
            while digit(i):
                i += 1
            if i - bare <= 3 and text[bare] != "0":
                while i < len(text) and text[i] in ",\u2009\u202f" and all(digit(i + n) for n in (1, 2, 3)) and not digit(i + 4):
                    i += 4
            if i < len(text) and text[i] == "." and digit(i + 1):
                i += 1
                while digit(i):
                    i += 1
        elif text[bare : bare + 1] == "." and digit(bare + 1) and not (
            bare > 0 and (text[bare - 1] in "0123456789." or letter(bare - 1))
        ):
            i += 1
            while digit(i):
                i += 1
        else:
            i = start + 1
            continue
        mantissa = text[bare:i].translate({ord(c): None for c in ",\u2009\u202f"})
        power, j = 0, i + 1
        if i < len(text) and text[i] in "eE":
            minus = 1
            if j < len(text) and text[j] in "-+\u2212":
                minus, j = 1 if text[j] == "+" else -1, j + 1
            k = j
            while digit(k):
                k += 1
            if 1 <= k - j <= 3 and not letter(k) and text[k : k + 1] != ".":
                power, i = minus * int(text[j:k]), k
        value = Decimal(sign + mantissa).scaleb(power, EXACT)
        found.add(format(value.normalize(EXACT), "f") if value else "0")
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=12))
def test_numbers_are_read_as_the_page_says(conn: psycopg.Connection, pieces: list[str]) -> None:
    text = "".join(pieces)
    row = conn.execute("SELECT sift._numbers(%s)", [text]).fetchone()
    assert row is not None and set(row[0]) == numbers(text) and len(row[0]) == len(set(row[0]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.decimals(-10**6, 10**6, places=4),
    other=st.decimals(-10**6, 10**6, places=4),
    forms=st.tuples(*[st.sampled_from(["{}", "{:.6f}", "{:,}", "{:e}", "({})", " {}%", "={}"])] * 2),
)  # fmt: skip
def test_a_claim_is_stored_where_its_numbers_are_those_of_the_source(
    conn: psycopg.Connection, value: Decimal, other: Decimal, forms: tuple[str, str]
) -> None:
    """However either writes them; and the effect, in JSON, by value."""
    value, other = value or Decimal(1), other or Decimal(2)

    def problem(number: Decimal, effect: Decimal) -> str | None:
        chunks = [{"kind": "text", "body": "x " + forms[0].format(value)}]
        claim = f'{{"kind": "claim", "supports": [0], "body": {json.dumps("y " + forms[1].format(number))}, "effect": {{"v": {effect}}}}}'
        row = conn.execute("SELECT sift._claim_problem(%s, %s)", [claim, json.dumps(chunks)]).fetchone()
        assert row is not None
        return row[0]  # type: ignore[no-any-return]

    assert problem(value, value) is None
    if value != other:
        assert "of the claim does not occur" in (problem(other, value) or "")
        assert 'of its "effect" ("v") does not occur' in (problem(value, other) or "")


WORDS = ["pump", "seal", "valve", "motor"]


def some_corpus(rng: random.Random) -> list[dict[str, Any]]:
    documents = []
    for number in range(rng.randrange(1, 12)):
        chunks: list[dict[str, Any]] = []
        for part in range(rng.randrange(1, 6)):
            words = rng.choices(WORDS, k=rng.randrange(1, 7))
            unique = [] if rng.random() < 0.1 else [f"d{number}p{part}"]
            chunks.append({"body": " ".join(words + unique), "embedding": [rng.random() + 0.1, rng.random()]})
        sources = len(chunks)
        for claim in range(rng.choice([0, 0, 1, 2, 4])):
            supports = rng.sample(range(sources), rng.randrange(1, min(sources, 3) + 1))
            body = chunks[supports[0]]["body"] if rng.random() < 0.2 else " ".join([*rng.choices(WORDS, k=rng.randrange(1, 4)), f"c{number}n{claim}"])
            chunks.append({"kind": "claim", "body": body, "supports": supports, "embedding": [rng.random() + 0.1, rng.random()]})
        rng.shuffle(documents)
        documents.append({"key": f"d{number}", "chunks": chunks, "acl": [rng.choice(["p", "q"])]})
    return documents


def merged(rows: list[tuple[Any, ...]], limit: int | None, cap: int | None, k: int) -> list[int]:
    """The definition: from the hits of both kinds in their order, the claims that are shown, then what they do
    not stand for, then the cap, which counts claims first."""
    kept: list[tuple[Any, ...]] = []
    for row in rows:
        if row[2] == "claim" and (cap is None or sum(other[1] == row[1] for other in kept) < cap):
            kept.append(row)
    kept = kept[:limit]
    covered = {(row[1], source["ordinal"]) for row in kept for source in row[4]["sources"]}
    left = [row for row in rows if row in kept or (row[2] != "claim" and (row[1], row[3]) not in covered)]
    shown: list[tuple[Any, ...]] = list(kept)
    for row in left:
        if row not in kept and (cap is None or sum(other[1] == row[1] for other in shown) < cap):
            shown.append(row)
    return [row[0] for row in left if row in shown][:k]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_merging_is_what_it_is_said_to_be(conn: psycopg.Connection, seed: int) -> None:
    rng = random.Random(seed)
    with conn.transaction(force_rollback=True):
        conn.execute("SELECT sift.create_tenant('t', 'standard')")
        conn.execute("SELECT sift.register_model('claims toy', 2)")
        conn.execute("SELECT sift.put_documents('t', %s, model => 'claims toy')", [json.dumps(some_corpus(rng))])
        if rng.random() < 0.5:
            conn.execute("SELECT sift.pack_postings('t', purge => true)")
        for _ in range(4):
            limit, cap, k = rng.choice([0, 1, 3, None]), rng.choice([1, 2, 3, None]), rng.choice([1, 3, 10, 100])
            options = {
                "q": " ".join(rng.sample(WORDS, rng.randrange(1, 4))), "k": k, "who": rng.choice([["p"], ["p", "q"]]), "limit": limit,
                "cap": cap, "v": rng.choice([None, [1.0, 0.5]]), "filter": rng.choice([None, None, '{"ordinal": {"$gt": 0}}']),
                "collapse": rng.random() < 0.7,
            }  # fmt: skip
            call = (
                "SELECT s.chunk_id, s.document_id, s.kind, c.ordinal, s.claim, s.score FROM sift.search('t', %(q)s, {k}, %(who)s, %(filter)s::jsonb,"
                " query_embedding => %(v)s::real[], per_document => {cap}, collapse => %(collapse)s, strategy => '{strategy}', claims_k => {limit}{more})"
                " AS s JOIN sift.chunks AS c ON c.chunk_id = s.chunk_id ORDER BY s.rank"
            )

            def run(call: str, options: dict[str, Any] = options, **parts: str) -> list[tuple[Any, ...]]:
                given = {"k": "%(k)s::integer", "cap": "%(cap)s::integer", "limit": "%(limit)s::integer", "more": "", "strategy": "merged"} | parts
                return conn.execute(call.format(**given).encode(), options).fetchall()  # type: ignore[arg-type]

            everything = run(call, k="1000", cap="NULL", limit="NULL", strategy="mixed")
            found = run(call)
            assert [row[0] for row in found] == merged(everything, limit, cap, k)
            scores = {row[0]: row[5] for row in everything}
            assert all(scores[row[0]] == row[5] for row in found)
            # Pages are those of one long page, and a greater k begins with the same rows.
            assert run(call, k="1000")[:k] == found
            assert run(call, k="2", more=", skip => 1") == run(call, k="1000")[1:3]
            plain = run(call, strategy="claims", limit="NULL")
            assert all(row[2] == "claim" for row in plain)
            assert all(row[2] != "claim" for row in run(call, strategy="chunks"))
