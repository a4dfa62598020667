"""Claims: what is refused, what is kept, and what becomes of them in searches."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

SOURCES: list[dict[str, Any]] = [
    {"kind": "abstract", "body": "Cavitation shortens the life of pumps by 12 %."},
    {"body": "Among 12,500 pumps, cavitation doubled failures (RR 2.04, 95% CI 1.70–2.45; change −0.3)."},
    {"kind": "abstract", "body": "Pumps were new in 2020."},
    {"kind": "reference", "body": "Pump, A. (1999). Cavitation."},
]


@pytest.fixture
def tenant(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    return conn


def put(conn: psycopg.Connection, *claims: dict[str, Any], key: str = "d") -> None:
    chunks = SOURCES + [{"kind": "claim"} | claim for claim in claims]
    conn.execute("SELECT * FROM sift.put_documents('t', %s)", [json.dumps([{"key": key, "chunks": chunks}])])


def put_claims(conn: psycopg.Connection, *claims: dict[str, Any], key: str = "d") -> list[tuple[Any, ...]]:
    return conn.execute(
        "SELECT p.status, p.chunk_id, p.source_level FROM sift.put_claims('t', %s, %s) AS p", [key, json.dumps(claims)]
    ).fetchall()


def search(conn: psycopg.Connection, query: str, options: str = "") -> list[tuple[Any, ...]]:
    return conn.execute(
        "SELECT s.ordinal, s.kind, s.claim FROM (SELECT h.rank, c.ordinal, h.kind, h.claim FROM sift.search('t', %s,"
        f" principals => '{{public}}', per_document => 1000{options}) AS h JOIN sift.chunks AS c ON c.chunk_id = h.chunk_id) AS s"
        " ORDER BY s.rank".encode(),  # type: ignore[operator]
        [query],
    ).fetchall()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"supports": []}, '"supports" must name 1 to 100 chunks, not 0'),
    ({"supports": [0] * 101}, "must name 1 to 100 chunks, not 101"),
    ({"supports": [9]}, '"supports" names 9, and the document\'s chunks are numbered 0 to'),
    ({"supports": [-1]}, '"supports" names -1'),
    ({"supports": [0.5]}, '"supports" names 0.5'),
    ({"supports": ["0"]}, '"supports" names "0"'),
    ({"supports": [None]}, '"supports" names null'),
    ({"supports": [3]}, "names 3, which is a reference"),
    ({"supports": [0], "evidence_span": " \n"}, '"evidence_span" is blank'),
    ({"supports": [0], "evidence_span": "cavitation shortens"}, "is not a verbatim quotation"),
    ({"supports": [0], "evidence_span": "doubled failures"}, "is not a verbatim quotation"),
    ({"supports": [0], "evidence_span": "life  of"}, "is not a verbatim quotation"),
    ({"supports": [0], "body": "By 13 %."}, "the number 13 of the claim does not occur"),
    ({"supports": [0], "body": "In 12,500."}, "the number 12500 of the claim"),
    ({"supports": [1], "body": "Change 0.3."}, "the number 0.3 of the claim"),
    ({"supports": [1], "effect": {"value": 2.05}}, 'the number 2.05 of its "effect" ("value") does not occur'),
    ({"supports": [1], "effect": {"range": "1.7 to 2.5"}}, 'the number 2.5 of its "effect" ("range")'),
    ({"supports": [1], "effect": {"ci": [1.7, 2.45]}}, '"effect": "ci" must be a string, a number or a boolean, not an array'),
    ({"supports": [1], "effect": {"note": "x" * 4000}}, "bytes of JSON; the limit is 4000"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "message"), BAD)
def test_a_claim_its_sources_do_not_bear_out(
    tenant: psycopg.Connection, claim: dict[str, Any], message: str
) -> None:
    claim = {"body": "Pumps wear."} | claim
    put(tenant)
    for store in (lambda: put(tenant, claim, key="new"), lambda: put_claims(tenant, {"body": "ok", "supports": [0]}, claim)):
        with pytest.raises(psycopg.Error) as caught, tenant.transaction():
            store()
        assert caught.value.sqlstate == "PS012" and caught.value.diag.message_hint
        assert message in str(caught.value) and json.dumps(claim["body"])[:-1] in str(caught.value)
    # Nothing of the document, and of the other claim, is there.
    assert tenant.execute("SELECT count(*) FROM sift.chunks WHERE kind = 'claim'").fetchone() == (0,)
    assert tenant.execute("SELECT key FROM sift.list_documents('t', '{public}')").fetchall() == [("d",)]


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ({"body": "x", "supports": [0]}, '"supports" belongs to chunks of kind claim'),
        ({"body": "x", "kind": "table", "effect": {}}, '"effect" belongs to chunks of kind claim'),
        ({"body": "x", "kind": "claim", "evidence_span": "x"}, 'it has no "supports"'),
        ({"body": "x", "kind": "claim", "supports": {}}, '"supports" must be an array, not an object'),
        ({"body": "x", "kind": "claim", "supports": [0], "effect": 1}, '"effect" must be an object, not a number'),
        ({"body": "x", "kind": "claim", "supports": [1]}, "names 1, which is a claim"),
    ],
)
def test_shapes(tenant: psycopg.Connection, chunk: dict[str, Any], message: str) -> None:
    with pytest.raises(psycopg.Error, match="chunk 2 of the document") as caught:
        tenant.execute(
            "SELECT * FROM sift.put_documents('t', %s)", [json.dumps([{"key": "d", "chunks": [{"body": "a"}, chunk]}])]
        )
    assert caught.value.sqlstate == "PS012" and message in str(caught.value)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ("{}", "claims must be a JSON array"),
        ("null", "claims must be a JSON array"),
        ("[1]", "claim 1 for the document \"d\": it is not an object, but a number"),
        ('[{"body": "x", "supports": [0]}, {"supports": [0]}]', 'claim 2 for the document "d": it has no "body"'),
        ('[{"body": " ", "supports": [0]}]', 'it has no "body"'),
        ('[{"body": "x"}]', 'it has no "supports"'),
        ('[{"body": "x", "supports": [0], "kind": "claim"}]', 'it has the unknown member "kind"'),
        ('[{"body": "x", "supports": 0}]', '"supports" must be an array, not a number'),
        ('[{"body": "x", "supports": [0], "page": 0}]', '"page" must be a whole number'),
        ('[{"body": "x", "supports": [0], "section": [1]}]', '"section" may hold nothing but strings'),
        ('[{"body": "x", "supports": [0], "entities": [""]}]', '"entities" must be names'),
    ],
)
def test_shapes_of_put_claims(tenant: psycopg.Connection, claims: str, message: str) -> None:
    put(tenant)
    with pytest.raises(psycopg.Error) as caught:
        tenant.execute("SELECT * FROM sift.put_claims('t', 'd', %s)", [claims])
    assert caught.value.sqlstate == "PS012" and message in str(caught.value) and caught.value.diag.message_hint


@pytest.mark.parametrize("function", ["put_claims", "put_entities", "remove_entities"])
def test_a_document_that_is_not_there(tenant: psycopg.Connection, function: str) -> None:
    with pytest.raises(psycopg.Error, match='there is no document with the key "x"') as caught:
        tenant.execute(f"SELECT sift.{function}('t', 'x', '[]')".encode())
    assert caught.value.sqlstate == "PS012"


def test_source_level_and_sources(tenant: psycopg.Connection) -> None:
    put(
        tenant,
        {"body": "a", "supports": [2, 0, 0], "evidence_span": "new in 2020"},
        {"body": "b", "supports": [1], "effect": {"RR": 2.040, "n": 12500, "change": -0.3, "p": True, "unit": "%"}},
        {"body": "c +12500", "supports": [1, 0]},
        {"body": "unchecked 77"},
    )
    rows = tenant.execute("SELECT * FROM sift.list_claims('t', 'd', '{public}')").fetchall()
    assert [(r[1], r[2], r[3], r[4]) for r in rows] == [
        (4, "a", "abstract", "new in 2020"), (5, "b", "fulltext", None), (6, "c +12500", "mixed", None),
        (7, "unchecked 77", None, None),
    ]  # fmt: skip
    assert rows[1][5] == {"RR": 2.04, "n": 12500, "change": -0.3, "p": True, "unit": "%"} and rows[0][5] is None
    assert [[s["ordinal"] for s in r[6] or ()] for r in rows] == [[0, 2], [1], [0, 1], []]
    assert [s["body"] for s in rows[2][6]] == [SOURCES[0]["body"], SOURCES[1]["body"]]
    assert set(rows[0][6][0]) == {"chunk_id", "ordinal", "kind", "section", "page", "char_start", "char_end", "body"}


NUMBERS = [
    ("0.50 .5 00.5", ["0.5"]),
    ("+7 7", ["7"]),
    ("-3 \u22123.0 (\u20133)", ["-3"]),
    ("3-5 IL-6 x-1 (a)-2 9%-8", ["1", "2", "3", "5", "6", "8", "9"]),
    ("12,500 12\u2009500 12\u202f500", ["12500"]),
    ("1,23 0,123 1,2345", ["0", "1", "123", "23", "2345"]),
    ("1e-5 1E\u22125", ["0.00001"]),
    ("B12 H2O \u03b22 \u00e91 _3", []),
    ("5mg 95%CI 1.2.3 2020-01-05.", ["1", "1.2", "2020", "3", "5", "95"]),
    ("\u0663 \uff13 three", ["3"]),
    ("\uff19.\uff19 \u0665\u0660% \u0967\u0968,500 \U0001d7d7", ["12500", "50", "9", "9.9"]),
    ("10\u207b\u2075 2\u00bd \u2163 \u2460 \u207b", ["10", "2", "\u00bd", "\u207b\u2075", "\u2163", "\u2460"]),
    ("m\u00b2 H\u2082O s\u207b\u00b9", []),
    ("-0 0.0", ["0"]),
    ("1e999", ["1" + "0" * 999]),
    ("", []),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_numbers(tenant: psycopg.Connection, text: str, numbers: list[str]) -> None:
    row = tenant.execute("SELECT sift._numbers(%s)", [text]).fetchone()
    assert row is not None and sorted(row[0]) == numbers


def test_a_number_of_any_length(tenant: psycopg.Connection) -> None:
    digits = "9" * 200_000
    put(tenant)
    tenant.execute(
        "SELECT * FROM sift.put_documents('t', %s)",
        [json.dumps([{"key": "long", "chunks": [{"body": f"x {digits}"}, {"body": digits, "kind": "claim", "supports": [0]}]}])],
    )


def test_strategies(tenant: psycopg.Connection) -> None:
    put(
        tenant,
        {"body": "cavitation failures", "supports": [1]},
        {"body": "cavitation", "supports": [1]},
        {"body": "cavitation life", "supports": [0]},
        {"body": "cavitation pumps", "supports": [1]},
    )
    query = "cavitation failures life pumps"
    ordinals = {
        name: [row[0] for row in search(tenant, query, f", strategy => '{name}', claims_k => {limit}")]
        for name, limit in (("chunks", 3), ("claims", 1), ("mixed", "NULL"), ("merged", "NULL"))
    }
    assert set(ordinals["chunks"]) == {0, 1, 2} and set(ordinals["claims"]) == {4, 5, 6, 7}
    assert set(ordinals["mixed"]) == {0, 1, 2, 4, 5, 6, 7}
    # Both sources give way; what neither claim covers moves up, and the order is the same.
    assert ordinals["merged"] == [n for n in ordinals["mixed"] if n not in (0, 1)]
    claims = [n for n in ordinals["mixed"] if n > 3]
    for limit in range(5):
        kept = claims[:limit]
        hits = search(tenant, query, f", strategy => 'mixed', claims_k => {limit}")
        assert [row[0] for row in hits] == [n for n in ordinals["mixed"] if n < 4 or n in kept]
        hits = search(tenant, query, f", claims_k => {limit}")
        covered = {source["ordinal"] for row in hits if row[2] for source in row[2]["sources"]}
        assert [row[0] for row in hits] == [n for n in ordinals["mixed"] if (n < 4 and n not in covered) or n in kept]
    for row in search(tenant, query):
        assert (row[2] is not None) == (row[1] == "claim")
    # The default is three.
    assert len([row for row in search(tenant, query) if row[1] == "claim"]) == 3
    # Filters act on both kinds, and what a claim carries is not filtered.
    assert [row[0] for row in search(tenant, query, """, filter => '{"kind": "claim"}', claims_k => NULL""")] == claims
    assert all(row[1] == "abstract" for row in search(tenant, query, """, filter => '{"kind": "abstract"}'"""))


def test_a_claim_word_for_word_is_no_copy_of_its_source(tenant: psycopg.Connection) -> None:
    put(tenant, {"body": SOURCES[1]["body"], "supports": [1]})
    assert [row[0] for row in search(tenant, "doubled")] == [4]
    assert sorted(row[0] for row in search(tenant, "doubled", ", strategy => 'mixed'")) == [1, 4]


def test_the_cap_never_loses_both(tenant: psycopg.Connection) -> None:
    """A document whose claim ranks last: the claim is shown, not what it stands for, and the cap holds."""
    chunks: list[dict[str, Any]] = [{"body": "pump pump valve"}, {"body": "pump pump pump"}, {"body": "pump pump"}]
    chunks.append({"body": "one pump of the many that there are in this plant today", "kind": "claim", "supports": [1]})
    tenant.execute("SELECT * FROM sift.put_documents('t', %s)", [json.dumps([{"key": "d", "chunks": chunks}])])
    for cap, expected in ((1, ["claim"]), (2, ["text", "claim"]), (3, ["text", "text", "claim"])):
        found = tenant.execute(
            "SELECT s.kind, s.body FROM sift.search('t', 'pump', principals => '{public}', per_document => %s) AS s", [cap]
        ).fetchall()
        assert [kind for kind, _ in found] == expected and "pump pump pump" not in [body for _, body in found]


def test_pages_are_those_of_one_long_page(tenant: psycopg.Connection) -> None:
    for number in range(60):
        chunks: list[dict[str, Any]] = [{"body": f"pump part{n} of{number} " + "filler " * ((number * n) % 7)} for n in range(4)]
        chunks += [{"body": f"pump claim{n} of{number}", "kind": "claim", "supports": [n, n + 1]} for n in range(2)]
        tenant.execute("SELECT * FROM sift.put_documents('t', %s)", [json.dumps([{"key": f"d{number}", "chunks": chunks}])])
    call = "SELECT s.chunk_id FROM sift.search('t', 'pump', %s, '{public}', skip => %s, claims_k => %s, per_document => %s) AS s"
    for limit, cap in ((3, 2), (70, 3), (None, 1)):
        whole = tenant.execute(call, [150, 0, limit, cap]).fetchall()
        assert len(whole) == (60 if cap == 1 else 120 if cap == 2 else 150)
        pages = [tenant.execute(call, [30, skip, limit, cap]).fetchall() for skip in range(0, 150, 30)]
        assert [row for page in pages for row in page] == whole


def test_without_claims_merged_is_the_plain_search(tenant: psycopg.Connection) -> None:
    """Also where there were claims once, and where they are invisible to the query."""
    put(tenant)
    call = "SELECT * FROM sift.search('t', 'cavitation pumps', principals => '{public}', strategy => %s) AS s"
    expected = tenant.execute(call, ["merged"]).fetchall()
    assert expected and all(tenant.execute(call, [s]).fetchall() == expected for s in ("chunks", "mixed"))
    assert tenant.execute(call, ["claims"]).fetchall() == []
    put(tenant, {"body": "x", "supports": [0]}, key="other")
    tenant.execute("SELECT sift.delete_documents('t', '{other}')")
    assert tenant.execute(call, ["merged"]).fetchall() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("strategy => 'all'", 'strategy must be merged, chunks, claims or mixed, not "all"'),
        ("strategy => NULL", "not NULL"),
        ("claims_k => -1", "claims_k must not be negative, not -1"),
        ("strategy => 'claims', unit => 'document'", "strategy claims does not go with unit document"),
    ],
)
def test_arguments(tenant: psycopg.Connection, options: str, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        tenant.execute(f"SELECT * FROM sift.search('t', 'pump', {options})".encode())
    assert caught.value.sqlstate == "PS002" and caught.value.diag.message_hint


def test_documents_as_a_whole_do_not_count_claims(tenant: psycopg.Connection) -> None:
    call = "SELECT s.key, s.score FROM sift.search('t', 'cavitation pumps', unit => 'document', principals => '{public}') AS s"
    put(tenant)
    put(tenant, key="e")
    expected = tenant.execute(call).fetchall()
    put(tenant, {"body": "cavitation cavitation pumps", "supports": [0]}, {"body": "rare words", "supports": [1]}, key="e")
    put_claims(tenant, {"body": "cavitation again", "supports": [0]})
    assert tenant.execute(call).fetchall() == expected
    assert tenant.execute(call.replace("cavitation pumps", "rare words")).fetchall() == []
    assert tenant.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    # A claim that was not checked is a passage like any other.
    put(tenant, {"body": "rare words"}, key="f")
    assert [row[0] for row in tenant.execute(call.replace("cavitation pumps", "rare words"))] == ["f"]


def test_adding_claims_keeps_version_and_history(tenant: psycopg.Connection) -> None:
    """as_of: what was known then, with the statistics of then."""
    put(tenant, {"body": "cavitation first", "supports": [1]})
    tenant.execute("SELECT sift.put_documents('t', '[{\"key\": \"z\", \"text\": \"cavitation elsewhere\"}]')")
    moments: list[Any] = []
    snapshots: list[Any] = []
    call = (
        "SELECT s.body, s.score, s.claim FROM sift.search('t', 'cavitation', principals => '{public}', strategy => 'mixed', "
        "per_document => 99, as_of => %s) AS s"
    )
    conn = tenant

    def remember() -> None:
        # All of a test is one transaction; versions of one transaction follow each other by updated_at.
        (moment,) = conn.execute("SELECT max(updated_at) FROM sift.documents").fetchone() or (None,)
        moments.append(moment)
        snapshots.append(conn.execute(call, [moment]).fetchall())

    remember()
    assert [row[0] for row in snapshots[0] if row[2]] == ["cavitation first"]
    conn.execute("UPDATE sift.documents SET updated_at = updated_at + interval '1 hour'")
    (status,) = put_claims(conn, {"body": "cavitation second", "supports": [0], "entities": ["pump"]})
    assert status[0] == "created"
    assert put_claims(conn, {"body": "cavitation second", "supports": [0]})[0] == ("unchanged", *status[1:])
    remember()
    assert len(snapshots[1]) == len(snapshots[0]) + 1
    assert conn.execute(call, [moments[0]]).fetchall() == snapshots[0]
    versions = conn.execute("SELECT version, revision, event, reason FROM sift.document_versions WHERE key = 'd' ORDER BY 1, 2").fetchall()
    assert versions == [(1, 0, "created", None), (1, 1, "updated", "1 claims added")]
    assert [r[0] for r in conn.execute("SELECT body FROM sift.chunks_by_entity('t', 'pump', '{public}')")] == ["cavitation second"]
    # The document is replaced: its claims are history, with their sources.
    conn.execute("UPDATE sift.documents SET updated_at = updated_at + interval '1 hour'")
    conn.execute("SELECT sift.put_documents('t', '[{\"key\": \"d\", \"text\": \"something else\"}]')")
    for moment, expected in zip(moments, snapshots, strict=True):
        assert conn.execute(call, [moment]).fetchall() == expected
    assert [r for r in conn.execute("SELECT * FROM sift.list_claims('t', 'd', '{public}')")] == []
    conn.execute("SELECT sift.purge_documents('t', '{d}', 'test')")
    assert conn.execute("SELECT (SELECT count(*) FROM sift.chunks WHERE claim IS NOT NULL) + (SELECT count(*) FROM sift.chunk_history)").fetchone() == (0,)


def test_the_text_of_a_document_has_no_claims(tenant: psycopg.Connection) -> None:
    put(tenant)
    text = "SELECT d.text FROM sift.document_at('t', 'd', clock_timestamp() + interval '1 day', '{public}') AS d"
    before = tenant.execute(text).fetchall()
    put_claims(tenant, {"body": "cavitation " * 40, "supports": [0]})
    assert tenant.execute(text).fetchall() == before


def test_claims_are_as_visible_as_their_document(tenant: psycopg.Connection) -> None:
    put(tenant, {"body": "cavitation first", "supports": [1]})
    tenant.execute("SELECT sift.set_access('t', '{d}', '{group:hr}')")
    put_claims(tenant, {"body": "cavitation second", "supports": [1]})
    for who, number in (("public", 0), ("group:hr", 2)):
        assert len(tenant.execute("SELECT * FROM sift.list_claims('t', 'd', %s)", [[who]]).fetchall()) == number
        found = tenant.execute("SELECT s.claim FROM sift.search('t', 'cavitation', principals => %s, strategy => 'claims') AS s", [[who]]).fetchall()
        assert len(found) == number


# Entities


def test_mentions_are_added_and_removed(tenant: psycopg.Connection) -> None:
    put(tenant)
    put(tenant, key="b")
    tenant.execute("SELECT sift.put_entities('t', 'd', '[{\"ordinal\": 2, \"entities\": [\"pump\"]}, {\"ordinal\": 0, \"entities\": [\"pump\", \"seal\"]}]')")
    assert tenant.execute("SELECT sift.put_entities('t', 'b', '[{\"ordinal\": 1, \"entities\": [\"pump\", \"pump\"]}]')").fetchone() == (1,)
    assert tenant.execute("SELECT sift.put_entities('t', 'b', '[{\"ordinal\": 1, \"entities\": [\"pump\"]}]')").fetchone() == (0,)
    by = "SELECT c.key, c.ordinal FROM sift.chunks_by_entity('t', 'pump', '{public}') AS c"
    assert tenant.execute(by).fetchall() == [("b", 1), ("d", 0), ("d", 2)]
    facets = tenant.execute("SELECT value, chunks, documents FROM sift.facets('t', 'entity', principals => '{public}')").fetchall()
    assert facets == [(None, 5, 2), ("pump", 3, 2), ("seal", 1, 1)]
    assert tenant.execute("SELECT value FROM sift.facets('t', 'entity', 'shortens', principals => '{public}', filter => '{\"key\": \"d\"}')").fetchall() == [("pump",), ("seal",)]
    assert tenant.execute("SELECT sift.remove_entities('t', 'd', '[{\"ordinal\": 0, \"entities\": [\"pump\", \"none\"]}]')").fetchone() == (1,)
    assert tenant.execute(by).fetchall() == [("b", 1), ("d", 2)]
    assert tenant.execute("SELECT sift.remove_entities('t', 'd')").fetchone() == (2,)
    assert tenant.execute(by).fetchall() == [("b", 1)]


@pytest.mark.parametrize("function", ["put_entities", "remove_entities"])
@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        ("{}", "mentions must be a JSON array"),
        ("[1]", 'mention 1 for the document "d": it is not an object'),
        ('[{"ordinal": 0}]', '"entities" must be an array'),
        ('[{"entities": ["x"]}]', '"ordinal" must be the number of a chunk'),
        ('[{"ordinal": -1, "entities": []}]', '"ordinal" must be the number of a chunk'),
        ('[{"ordinal": 0, "entities": [1]}]', '"entities" must be names of 1 to 1000 bytes'),
        ('[{"ordinal": 0, "entities": [""]}]', '"entities" must be names of 1 to 1000 bytes'),
        ('[{"ordinal": 0, "entities": [], "x": 1}]', "members other than"),
        ('[{"ordinal": 0, "entities": ["x"]}, {"ordinal": 9, "entities": ["x"]}]', 'mention 2 for the document "d": it has no chunk 9'),
    ],
)  # fmt: skip
def test_mentions_that_are_refused(tenant: psycopg.Connection, function: str, mentions: str, message: str) -> None:
    put(tenant)
    with pytest.raises(psycopg.Error) as caught:
        tenant.execute(f"SELECT sift.{function}('t', 'd', %s)".encode(), [mentions])
    assert caught.value.sqlstate == "PS012" and message in str(caught.value) and caught.value.diag.message_hint


def test_the_filter_in_both_legs(tenant: psycopg.Connection) -> None:
    tenant.execute("SELECT sift.register_model('claims toy', 2)")
    chunks = [
        {"body": f"pump number {n}", "embedding": [1, n], "entities": [e for e, m in (("two", 2), ("three", 3)) if n % m == 0]}
        for n in range(12)
    ]
    tenant.execute("SELECT * FROM sift.put_documents('t', %s, model => 'claims toy')", [json.dumps([{"key": "d", "chunks": chunks}])])
    for filter, passes in (
        ({"entity": "two"}, lambda n: n % 2 == 0),
        ({"entity": {"$in": ["two", "three"]}}, lambda n: n % 2 == 0 or n % 3 == 0),
        ({"$and": [{"entity": "two"}, {"entity": "three"}]}, lambda n: n % 6 == 0),
        ({"entity": {"$nin": ["two"]}}, lambda n: n % 2),
        ({"entity": {"$exists": False}}, lambda n: n % 2 and n % 3),
        ({"$or": [{"entity": "three"}, {"ordinal": 1}]}, lambda n: n % 3 == 0 or n == 1),
        ({"entity": {"$gt": "three"}}, lambda n: n % 2 == 0),
    ):
        expected = {n for n in range(12) if passes(n)}
        for options in ("'pump', mode => 'lexical'", "query_embedding => '{1,3}', mode => 'dense'", "'pump', query_embedding => '{1,3}'",
                        "'pump', title_weight => 2"):  # fmt: skip
            rows = tenant.execute(
                f"SELECT c.ordinal FROM sift.search('t', {options}, k => 100, per_document => 100, principals => '{{public}}', filter => %s) AS s"
                " JOIN sift.chunks AS c ON c.chunk_id = s.chunk_id".encode(),  # type: ignore[operator]
                [json.dumps(filter)],
            ).fetchall()
            assert {row[0] for row in rows} == expected, (filter, options)
    with pytest.raises(psycopg.Error, match="a filter on entity does not go with as_of") as caught:
        tenant.execute("SELECT * FROM sift.search('t', 'pump', principals => '{public}', filter => '{\"entity\": \"two\"}', as_of => clock_timestamp())")
    assert caught.value.sqlstate == "PS002"
