"""The lexical leg, its postings and its statistics: known values, the packed form, plans, upkeep."""

from __future__ import annotations

import json
import random
from typing import Any

import psycopg
import pytest

Rows = list[tuple[Any, ...]]


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard')")
    conn.execute("SELECT sift.set_default_access('t', '{public}')")
    return conn


def put(conn: psycopg.Connection, *documents: dict[str, Any]) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))


def put_tokens(conn: psycopg.Connection, texts: dict[str, str], **extra: Any) -> None:
    """One document of one chunk each, its tokens given."""
    documents = [
        {"key": key, "chunks": [{"body": text or "-", "tokens": text}], **extra}
        for key, text in texts.items()
    ]
    conn.execute(
        "SELECT count(*) FROM sift.put_documents('t', %s, sift.analyzer_fingerprint('standard'))",
        (json.dumps(documents),),
    )


def search(conn: psycopg.Connection, query: str, k: int = 10, **options: Any) -> list[tuple[str, float]]:
    extra = "".join(f", {name} => %s" for name in options)
    values = [json.dumps(value) if isinstance(value, dict) else value for value in options.values()]
    return conn.execute(
        f"SELECT key, score FROM sift.lexical_search('t', %s, %s, '{{public}}'{extra})",  # type: ignore[arg-type]
        [query, k, *values],
    ).fetchall()


def leg(conn: psycopg.Connection, terms: list[str], k: int | None, function: str = "_lexical_leg") -> Rows:
    return conn.execute(
        f"SELECT x.* FROM sift.tenants AS t, sift.{function}(t.tenant_id, %s,"  # type: ignore[arg-type]
        " sift._visible_lists(t.tenant_id, '{public}', current_user::regrole), NULL, NULL, %s, t.k1, t.b) AS x WHERE t.name = 't'",
        (terms, k),
    ).fetchall()


def pack(conn: psycopg.Connection, *, purge: bool = False) -> tuple[Any, ...]:
    row = conn.execute("SELECT packed, merged, purged FROM sift.pack_postings('t', %s)", (purge,)).fetchone()
    assert row is not None
    return row


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("change", ["delete", "purge", "update", "cascade"])
def test_scores_follow_the_corpus(store: psycopg.Connection, packed: bool, change: str) -> None:
    put(
        store,
        {"key": "a", "text": "red apple"},
        {"key": "b", "text": "red red car"},
        {"key": "c", "text": "blue car"},
    )
    if packed:
        assert pack(store, purge=True)[0] == 3
    assert search(store, "red") == [
        ("b", pytest.approx(0.271903, abs=5e-7)),
        ("a", pytest.approx(0.226898, abs=5e-7)),
    ]
    if change == "delete":
        store.execute("SELECT count(*) FROM sift.delete_documents('t', '{b}')")
    elif change == "purge":
        store.execute("SELECT count(*) FROM sift.purge_documents('t', '{b}', 'asked to')")
    elif change == "update":
        put(store, {"key": "b", "text": "-"})  # has no term any more
    else:
        put(store, {"key": "b", "chunks": []})
    for _ in range(2):
        assert search(store, "red") == [("a", pytest.approx(0.315067, abs=5e-7))]
        assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
        store.execute("SELECT count(*) FROM sift.fold_statistics('t')")
        pack(store, purge=True)


def test_another_session_sees_the_old_scores_until_commit(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as writer, psycopg.connect(dsn, autocommit=True) as reader:
        writer.execute("SELECT sift.create_tenant('t', 'standard')")
        writer.execute("SELECT sift.set_default_access('t', '{public}')")
        put(
            writer,
            {"key": "a", "text": "red apple"},
            {"key": "b", "text": "red red car"},
            {"key": "c", "text": "blue car"},
        )
        before = search(reader, "red")
        with writer.transaction():
            writer.execute("SELECT count(*) FROM sift.delete_documents('t', '{b}')")
            writer.execute("SELECT count(*) FROM sift.fold_statistics('t')")
            pack(writer, purge=True)
            assert [key for key, _ in search(writer, "red")] == ["a"]
            assert search(reader, "red") == before
        assert search(reader, "red") == [("a", pytest.approx(0.315067, abs=5e-7))]


def test_an_empty_store_answers_nothing(store: psycopg.Connection) -> None:
    assert search(store, "red") == []
    assert leg(store, ["red"], 10) == leg(store, ["red"], 10, "_lexical_exhaustive") == []
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    put(store, {"key": "a", "text": "-"})
    assert search(store, "red") == []
    assert pack(store, purge=True) == (0, 0, 0)


@pytest.mark.parametrize("k", [0, -1, None])
def test_no_rows_wanted(store: psycopg.Connection, k: int | None) -> None:
    put(store, {"key": "a", "text": "red apple"})
    assert leg(store, ["red"], k) == []


def test_terms_may_repeat_and_be_absent(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "red apple"}, {"key": "b", "text": "blue"})
    assert leg(store, ["red", "red", "absent"], 10) == leg(store, ["red"], 10)
    assert leg(store, [], 10) == leg(store, ["absent"], 10) == []


def test_a_corrupted_frequency_is_named_and_mended(store: psycopg.Connection) -> None:
    put(
        store,
        {"key": "a", "text": "red apple"},
        {"key": "b", "text": "red red car"},
        {"key": "c", "text": "blue car"},
    )
    right = search(store, "red car")
    store.execute("UPDATE sift.term_stats SET df = df + 40 WHERE term = 'red' AND df > 0")
    wrong = store.execute(
        "SELECT statistic, term, stored, counted FROM sift.verify_statistics('t')"
    ).fetchall()
    assert wrong == [("df", "red", 42, 2)]
    with pytest.raises(psycopg.errors.QueryCanceled), store.transaction():
        store.execute("SELECT count(*) FROM sift.repair_statistics('t')")
        store.execute("SET LOCAL statement_timeout = 1")  # killed half-way
        store.execute("SELECT pg_sleep(1)")
    repaired = store.execute(
        "SELECT statistic, term, stored, counted FROM sift.repair_statistics('t')"
    ).fetchall()
    assert repaired == wrong
    assert store.execute("SELECT * FROM sift.repair_statistics('t')").fetchall() == []
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    assert search(store, "red car") == right


def test_every_kind_of_statistic_is_verified(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n}": f"x y{n % 7} " + "z " * (n % 3) + "u" for n in range(300)})
    put(store, {"key": "a", "text": "red red apple"})
    store.execute("UPDATE sift.posting_blocks SET df = df - 1, max_tf = 1 WHERE term = 'z'")
    store.execute("UPDATE sift.term_stats SET min_doc_length = 9 WHERE term = 'red'")
    store.execute("UPDATE sift.corpus_totals SET chunks = chunks + 1 WHERE chunks = 300")
    store.execute("UPDATE sift.corpus_stats SET total_length = total_length + 5 WHERE chunks = 300")
    found = store.execute(
        "SELECT statistic, term, stored, counted FROM sift.verify_statistics('t')"
    ).fetchall()
    assert [(row[0], row[1], row[2] - row[3]) for row in found] == [
        ("min_doc_length", "red", 6),
        ("df", "z", -1),
        ("max_tf", "z", -1),
        ("chunks", None, 1),
        ("total_length", None, 5),
    ]
    store.execute("SELECT count(*) FROM sift.repair_statistics('t')")
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    pack(store, purge=True)
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_a_filter_does_not_change_a_score(store: psycopg.Connection) -> None:
    documents = [
        {"key": f"d{n}", "text": f"deploy w{n} " if n % 2 else f"other w{n}", "metadata": {"g": n % 10}}
        for n in range(40)
    ]
    documents[7]["text"] = "kubernetes deploy"
    put(store, *documents)
    everywhere = dict(search(store, "kubernetes deploy", 100))
    filtered = search(store, "kubernetes deploy", 100, filter={"metadata.g": 7})
    assert [key for key, _ in filtered] == ["d7", "d17", "d27", "d37"]
    assert all(score == everywhere[key] for key, score in filtered)


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("红海早过了，船在印度洋面上开驶着", "印度洋", True),
        ("红海早过了，船在印度洋面上开驶着", "船 docker", True),
        ("今日は成語しりとりをした", "しりとり", True),
        ("红海早过了，船在印度洋面上开驶着", "大西洋底", False),
    ],
)
def test_scripts_without_spaces(store: psycopg.Connection, text: str, query: str, found: bool) -> None:
    put(store, {"key": "a", "text": text}, {"key": "b", "text": "helicopters fly"})
    assert [key for key, _ in search(store, query)] == (["a"] if found else [])


def test_a_question_does_not_drag_the_corpus_in(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n}": " ".join(f"w{(n * p) % 50}" for p in (1, 2, 3)) for n in range(1000)})
    question = " ".join(f"w{n}" for n in range(12))
    hits = search(store, question, 10)
    assert len(hits) == 10
    assert hits == sorted(hits, key=lambda hit: -hit[1])
    assert len(search(store, question, 1000)) < 1000


def test_equal_texts_keep_one_order(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n:02}": "same words here" for n in range(30)})
    first = search(store, "same words", 30)
    assert [key for key, _ in first] == [f"d{n:02}" for n in range(30)]
    for _ in range(20):
        assert search(store, "same words", 30) == first
    pack(store, purge=True)
    assert search(store, "same words", 30) == first
    for setting in (
        "enable_indexscan",
        "enable_bitmapscan",
        "enable_indexonlyscan",
        "enable_nestloop",
        "enable_hashagg",
    ):
        with store.transaction():
            store.execute(f"SET LOCAL {setting} = off")  # type: ignore[arg-type]
            assert search(store, "same words", 30) == first


def test_what_does_not_fit_the_packed_form_stays_rows(store: psycopg.Connection) -> None:
    texts = {f"d{n}": f"w{n % 5} common" for n in range(300)}
    texts |= {
        "much": "common " * 300 + "rare",
        "long": "filler " * 40_000 + "rare",
        "edge": "common " * 255 + "rare",
    }
    put_tokens(store, {key: text.strip() for key, text in texts.items()})
    assert store.execute("SELECT chunks FROM sift.packed_chunks").fetchall() == [(301,)]
    assert store.execute("SELECT count(*) FROM sift.unpacked_chunks WHERE oversize").fetchone() == (2,)
    for _ in range(2):
        for terms in (["common"], ["rare"], ["common", "rare", "w3"], ["filler"]):
            for k in (1, 5, 400):
                assert leg(store, terms, k) == leg(store, terms, k, "_lexical_exhaustive")
        assert pack(store, purge=True)[0] == 0
    store.execute("SELECT count(*) FROM sift.delete_documents('t', '{much,long}')")
    assert store.execute("SELECT count(*) FROM sift.chunk_terms").fetchone() == (0,)
    assert store.execute("SELECT count(*) FROM sift.unpacked_chunks").fetchone() == (0,)


ORPHANS = (
    "SELECT count(*) FROM sift.posting_blocks AS b, unnest(b.postings) AS p WHERE NOT EXISTS"
    " (SELECT FROM sift.chunks AS c WHERE c.chunk_id = p >> 23)"
)


@pytest.mark.parametrize("gone", [1, 2, 40, 399, 400])
def test_a_delete_takes_packed_postings_along(store: psycopg.Connection, gone: int) -> None:
    """Two blocks; terms that all, some and one of the deleted chunks have, in arrays long and short."""
    for block in "ab":
        put_tokens(
            store, {f"{block}{n}": f"all all w{n % 5} {block}{n // 2} secret{block}{n}" for n in range(600)}
        )
    keys = [f"a{n}" for n in range(600) if n % 600 < gone] + ["b300"]
    before = search(store, "all w3 b150", 2000)
    store.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", (keys,))
    assert store.execute(ORPHANS).fetchone() == (0,)
    for key in keys:
        assert store.execute(
            "SELECT count(*) FROM sift.posting_blocks WHERE term = %s", (f"secret{key}",)
        ).fetchone() == (0,)
    blocks = store.execute(
        "SELECT chunks, cardinality(chunk_ids), first_chunk_id = chunk_ids[1], last_chunk_id = chunk_ids[chunks]"
        " FROM sift.packed_chunks ORDER BY block_no"
    ).fetchall()
    assert blocks == [(600 - gone, 600 - gone, True, True), (599, 599, True, True)]
    assert {row[0] for row in search(store, "all w3 b150", 2000)} == {key for key, _ in before} - set(keys)
    for terms in (["all"], ["w1", "a0"], ["all", "w3", "b150"]):
        assert leg(store, terms, 2000) == leg(store, terms, 2000, "_lexical_exhaustive")
    assert store.execute("SELECT df <> cardinality(postings), count(*) FROM sift.posting_blocks GROUP BY 1").fetchall() == [
        (False, store.execute("SELECT count(*) FROM sift.posting_blocks").fetchone()[0])  # type: ignore[index]
    ]
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    # Nothing was noted in term_stats: blocks count themselves.
    assert store.execute("SELECT count(*) FROM sift.term_stats").fetchone() == (0,)


def test_a_block_without_chunks_goes(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n}": f"w{n % 5}" for n in range(300)})
    store.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", ([f"d{n}" for n in range(300)],))
    assert store.execute("SELECT count(*) FROM sift.packed_chunks").fetchone() == (0,)
    assert store.execute("SELECT count(*) FROM sift.posting_blocks").fetchone() == (0,)


def test_packing_with_purge_drops_what_was_replaced(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n}": f"w{n % 5} secret{n}" for n in range(400)})
    put_tokens(store, {"d7": "", "d8": ""})
    assert search(store, "secret7") == []
    assert store.execute("SELECT count(*) FROM sift.posting_blocks WHERE term = 'secret7'").fetchone() == (1,)
    assert pack(store, purge=True) == (0, 1, 2)
    assert store.execute("SELECT count(*) FROM sift.posting_blocks WHERE term = 'secret7'").fetchone() == (0,)
    assert store.execute(ORPHANS).fetchone() == (0,)
    assert store.execute("SELECT chunks, cardinality(chunk_ids) FROM sift.packed_chunks").fetchall() == [
        (398, 398)
    ]
    store.execute("SELECT count(*) FROM sift.fold_statistics('t')")
    assert store.execute("SELECT count(*) FROM sift.term_stats").fetchone() == (0,)
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_blocks_full_of_replaced_chunks_are_rewritten_by_themselves(store: psycopg.Connection) -> None:
    put_tokens(store, {f"d{n}": f"w{n % 5} x" for n in range(400)})
    put_tokens(store, {f"d{n}": "" for n in range(30)})
    assert pack(store) == (0, 0, 0)
    put_tokens(store, {f"d{n}": "" for n in range(150)})
    assert pack(store) == (0, 1, 150)
    put_tokens(store, {f"d{n}": "" for n in range(400)})
    assert pack(store) == (0, 1, 250)
    assert store.execute("SELECT count(*) FROM sift.packed_chunks").fetchone() == (0,)


def test_small_blocks_become_large_ones(store: psycopg.Connection) -> None:
    for batch in range(9):
        put_tokens(store, {f"d{batch}-{n}": f"w{(n * batch) % 11} x" for n in range(260)})
    before = [leg(store, terms, 20) for terms in (["w3"], ["w1", "x"], ["w2", "w4", "w6"])]
    assert store.execute("SELECT count(*) FROM sift.packed_chunks").fetchone() == (9,)
    assert pack(store) == (0, 9, 0)
    assert store.execute("SELECT chunks FROM sift.packed_chunks").fetchall() == [(9 * 260,)]
    assert before == [leg(store, terms, 20) for terms in (["w3"], ["w1", "x"], ["w2", "w4", "w6"])]
    put(store, *({"key": f"e{n}", "text": f"w{n % 11} y"} for n in range(200)))
    assert pack(store) == (0, 0, 0), "too few rows to be worth a block"
    put(store, *({"key": f"f{n}", "text": f"w{n % 11} y"} for n in range(200)))
    assert pack(store)[0] == 400
    assert store.execute("SELECT count(*) FROM sift.chunk_terms").fetchone() == (0,)
    assert store.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []


def test_packing_goes_on_in_steps(store: psycopg.Connection) -> None:
    put(store, *({"key": f"e{n}", "text": f"w{n % 11} y"} for n in range(200)))
    put(store, *({"key": f"f{n}", "text": f"w{n % 11} y"} for n in range(200)))
    assert store.execute("SELECT packed FROM sift.pack_postings('t', steps => 0)").fetchone() == (0,)
    assert store.execute("SELECT packed FROM sift.pack_postings('t', steps => 1)").fetchone() == (400,)


@pytest.mark.parametrize("analyzed", [False, True])
def test_no_search_scans_a_table(store: psycopg.Connection, analyzed: bool) -> None:
    """Generic plans, with and without statistics, postings packed and as rows, callers who see much and little."""
    rng = random.Random(3)

    def text() -> str:
        return " ".join(f"w{int(500 * rng.random() ** 2)}" for _ in range(12))

    store.execute("SELECT sift.create_tenant('other', 'standard')")
    for batch in range(3):
        put_tokens(store, {f"d{batch}-{n}": text() for n in range(1000)})
    put_tokens(store, {f"s{n}": text() for n in range(100)}, acl=["staff"])
    for batch in range(5):
        put_tokens(store, {f"r{batch}-{n}": text() for n in range(200)})
    store.execute("SELECT count(*) FROM sift.fold_statistics('t')")
    tables = ["posting_blocks", "chunk_terms", "chunks", "documents", "unpacked_chunks"]
    if analyzed:
        for table in tables:
            store.execute(f"ANALYZE sift.{table}")  # type: ignore[arg-type]
    store.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    count = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'sift' AND relname = ANY (%s)"
    before = dict(store.execute(count, (tables,)).fetchall())
    for query in ("w3 w400", "w1 w2 w3 w50 w100 w200 w300", "w499", "w0"):
        for principals in (["public"], ["staff"]):
            for wanted in (None, {"key": {"$ne": "d0-1"}}):
                for k in (10, 200):
                    store.execute(
                        "SELECT count(*) FROM sift.lexical_search('t', %s, %s, %s, %s)",
                        (query, k, principals, None if wanted is None else json.dumps(wanted)),
                    )
    assert dict(store.execute(count, (tables,)).fetchall()) == before


def test_a_search_reads_one_snapshot(dsn: str) -> None:
    """A STABLE function sees the moment of the statement that called it, in all its own statements; so a search
    between whose statements somebody packs, deletes and folds gives what it would have given alone."""
    with psycopg.connect(dsn, autocommit=True) as reader, psycopg.connect(dsn, autocommit=True) as writer:
        writer.execute("SELECT sift.create_tenant('t', 'standard')")
        writer.execute("SELECT sift.set_default_access('t', '{public}')")
        put_tokens(writer, {f"d{n}": f"w{n % 5} xx" for n in range(300)})
        put(writer, *({"key": f"e{n}", "text": f"w{n % 5} xx"} for n in range(100)))
        volatilities = reader.execute(
            "SELECT DISTINCT provolatile FROM pg_proc WHERE pronamespace = 'sift'::regnamespace"
            " AND proname IN ('_lexical_leg', '_lexical_top', '_lexical_few', '_lexical_all', '_search',"
            " 'search', 'lexical_search')"
        ).fetchall()
        assert volatilities == [("s",)]
        reader.execute(
            "CREATE FUNCTION public.twice() RETURNS boolean LANGUAGE plpgsql STABLE AS $$"
            " DECLARE a text; b text; BEGIN"
            " SELECT string_agg(l::text, ' ') INTO a FROM sift.lexical_search('t', 'w3 xx', 400, '{public}') AS l;"
            " PERFORM pg_sleep(1.5);"
            " SELECT string_agg(l::text, ' ') INTO b FROM sift.lexical_search('t', 'w3 xx', 400, '{public}') AS l;"
            " RETURN a = b AND a IS NOT NULL; END $$"
        )
        with psycopg.connect(dsn, autocommit=True) as sleeper:
            with sleeper.pipeline():
                cursor = sleeper.execute("SELECT public.twice()")
                sleeper.pgconn.flush()
                while not writer.execute(
                    "SELECT FROM pg_stat_activity"
                    " WHERE wait_event = 'PgSleep' AND datname = current_database()"
                ).fetchall():
                    pass
                writer.execute(
                    "SELECT count(*) FROM sift.delete_documents('t', %s)", ([f"d{n}" for n in range(200)],)
                )
                pack(writer, purge=True)
                writer.execute("SELECT count(*) FROM sift.fold_statistics('t')")
                assert len(search(writer, "w3 xx", 400)) == 200
            assert cursor.fetchone() == (True,)
