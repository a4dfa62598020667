"""The record of queries: what is kept, who may write and read it, what purges take out of it, and replays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from pgsift import AsyncStore, Store
from pgsift.errors import InvalidArgument, NotPermitted, UnknownTenant
from pgsift.models import Document

TEXTS = {
    "winch.md": "the winch of the ferry",
    "ferry.md": "a ferry with a pump and a ferry winch",
    "pump": "pump pump winch",
    "other.md": "a harbour master",
}


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        documents = [{"key": key, "text": text} for key, text in TEXTS.items()]
        connection.execute("SELECT count(*) FROM sift.put_documents('t', %s)", (json.dumps(documents),))
        yield connection


@pytest.fixture
def store(conn: psycopg.Connection, dsn: str) -> Iterator[Store]:
    assert not conn.closed
    with Store(dsn) as opened:
        yield opened


def one(conn: psycopg.Connection, statement: str, *values: Any) -> Any:
    row = conn.execute(statement.encode(), values).fetchone()
    assert row is not None
    return row[0]


LOG = """SELECT sift.log_query('t', %s, '{public}', '{"k": 3}', hits => (
    SELECT jsonb_agg(to_jsonb(s)) FROM sift.search('t', %s, k => 3, principals => '{public}') AS s))"""


def found(conn: psycopg.Connection, query_id: int) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = one(conn, "SELECT hits FROM sift.list_queries('t', ids => ARRAY[%s::bigint])", query_id)
    return hits


class TestWriting:
    def test_what_is_kept(self, conn: psycopg.Connection) -> None:
        number = one(conn, LOG, "pump winch", "pump winch")
        row = conn.execute(
            "SELECT asked_by, query, principals, settings, defaults, query_embedding, payload_bytes, payload_characters, milliseconds"
            " FROM sift.list_queries('t')"
        ).fetchone()
        assert row is not None
        assert row[:4] == (one(conn, "SELECT session_user::text"), "pump winch", ["public"], {"k": 3})
        assert (row[4]["k1"], row[4]["rrf_k"], row[4]["weights"], row[4]["strip_questions"]) == (1.2, 60, [1, 1], True)
        texts = [TEXTS[hit["key"]] for hit in found(conn, number)]
        assert row[5:] == (None, sum(len(text.encode()) for text in texts), sum(map(len, texts)), None)
        hits = found(conn, number)
        assert [hit["rank"] for hit in hits] == [1, 2, 3]
        assert hits[0]["key"] == "pump"
        for hit in hits:
            assert set(hit) == {"rank", "chunk_id", "document_id", "key", "document_version", "score", "lexical_score"}

    def test_a_search_writes_nothing(self, conn: psycopg.Connection, store: Store) -> None:
        with conn.transaction():
            conn.execute("SET TRANSACTION READ ONLY")
            conn.execute("SELECT count(*) FROM sift.search('t', 'pump', principals => '{public}')")
        store.search("t", "pump", principals=["public"])
        assert one(conn, "SELECT count(*) FROM sift.list_queries('t')") == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            "hits => '{}'", "hits => '[1]'", "hits => '[{}]'", "hits => '[{\"rank\": 0, \"chunk_id\": 1, \"key\": \"a\"}]'",
            "hits => '[{\"rank\": 1.5, \"chunk_id\": 1, \"key\": \"a\"}]'", "hits => '[{\"rank\": 1, \"chunk_id\": \"1\", \"key\": \"a\"}]'",
            "hits => '[{\"rank\": 1, \"chunk_id\": 1, \"key\": 5}]'", "hits => '[{\"rank\": 1, \"chunk_id\": 1e40, \"key\": \"a\"}]'",
            "hits => '[{\"rank\": 1, \"chunk_id\": 1, \"key\": \"a\", \"document_id\": \"x\"}]'",
            "hits => '[{\"rank\": 1, \"chunk_id\": 1, \"key\": \"a\", \"body\": [1]}]'",
            "hits => (SELECT jsonb_agg('{\"rank\": 1, \"chunk_id\": 1, \"key\": \"a\"}'::jsonb) FROM generate_series(1, 10001))",
            "settings => '[]'", "settings => '5'", "settings => jsonb_build_object('x', repeat('x', 1000001))",
            "principals => '{a,NULL}'", "milliseconds => -1", "milliseconds => 'NaN'", "milliseconds => 'Infinity'",
            "payload_bytes => -1", "payload_characters => -1", "query_embedding => array_fill(1::real, ARRAY[20001])",
        ],
    )  # fmt: skip
    def test_bad_arguments(self, conn: psycopg.Connection, arguments: str) -> None:
        with pytest.raises(psycopg.Error) as caught:
            conn.execute(f"SELECT sift.log_query('t', 'x', {arguments})".encode())
        assert caught.value.sqlstate == "PS002"
        assert caught.value.diag.message_hint

    def test_little_is_needed(self, conn: psycopg.Connection) -> None:
        number = one(conn, "SELECT sift.log_query('t', NULL, NULL, NULL, NULL, NULL)")
        assert found(conn, number) == []
        with pytest.raises(psycopg.Error, match="no tenant"):
            conn.execute("SELECT sift.log_query('nowhere', 'x')")

    def test_too_long_a_query(self, conn: psycopg.Connection) -> None:
        with pytest.raises(psycopg.Error, match="at most 1,000,000 bytes"):
            conn.execute("SELECT sift.log_query('t', repeat('x', 1000001))")

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        hits=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab\u00e9'", max_size=3),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["rank", "chunk_id", "key", "document_id", "body", "x"]), inner, max_size=5),
            max_leaves=12,
        )
    )
    def test_whatever_json_comes_is_kept_or_refused(self, conn: psycopg.Connection, hits: Any) -> None:
        try:
            number = one(conn, "SELECT sift.log_query('t', 'x', hits => %s::jsonb)", json.dumps(hits))
        except psycopg.Error as error:
            assert error.sqlstate == "PS002", error
            return
        for hit in found(conn, number):
            assert isinstance(hit["rank"], int)
            assert isinstance(hit["chunk_id"], int)
            assert isinstance(hit["key"], str)
            assert "x" not in hit
            assert "body" not in hit


class TestRights:
    @pytest.mark.parametrize(("role", "writes", "reads"), [
        ("sift_reader", False, False), ("sift_app", True, False), ("sift_writer", True, True), ("sift_owner", True, True),
    ])  # fmt: skip
    def test_who_may_do_what(
        self, conn: psycopg.Connection, dsn: str, make_login: Callable[..., str], role: str, writes: bool, reads: bool
    ) -> None:
        one(conn, LOG, "pump", "pump")
        mine = make_login(dsn, role)
        user = psycopg.conninfo.conninfo_to_dict(mine)["user"]
        for statement, allowed in [
            ("SELECT sift.log_query('t', 'mine')", writes),
            ("SELECT * FROM sift.list_queries('t')", reads),
            ("SELECT sift.purge_queries('t', ids => '{9}')", reads),
            ("SELECT * FROM sift.query_log", role == "sift_owner"),
            ("SELECT sift._forget_hits(1, '{1}', '{}')", role == "sift_owner"),
        ]:
            with psycopg.connect(mine, autocommit=True) as connection:
                if allowed:
                    connection.execute(statement.encode())
                    continue
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
        if writes:
            assert user in {row[0] for row in conn.execute("SELECT asked_by FROM sift.list_queries('t')")}

    def test_nobody_reads_the_table(self, conn: psycopg.Connection) -> None:
        for role in ("sift_reader", "sift_app", "sift_writer", "public"):
            assert not one(conn, "SELECT has_table_privilege(%s, 'sift.query_log', 'SELECT, INSERT, UPDATE, DELETE')", role)

    def test_tenants_are_apart(self, conn: psycopg.Connection) -> None:
        conn.execute("SELECT sift.create_tenant('u', 'standard')")
        mine, theirs = one(conn, "SELECT sift.log_query('t', 'mine')"), one(conn, "SELECT sift.log_query('u', 'theirs')")
        assert [row[0] for row in conn.execute("SELECT query FROM sift.list_queries('t')")] == ["mine"]
        assert one(conn, "SELECT sift.purge_queries('t', ids => ARRAY[%s, %s]::bigint[])", mine, theirs) == 1
        assert one(conn, "SELECT count(*) FROM sift.list_queries('u')") == 1
        conn.execute("SELECT sift.drop_tenant('u')")
        assert one(conn, "SELECT count(*) FROM sift.query_log") == 0


class TestListing:
    def test_pages_and_times(self, conn: psycopg.Connection) -> None:
        numbers = [one(conn, "SELECT sift.log_query('t', %s)", f"q{n}") for n in range(5)]
        conn.execute("UPDATE sift.query_log SET asked_at = '2020-01-01'::timestamptz + query_id * interval '1 day'")
        first = [row[0] for row in conn.execute("SELECT query_id FROM sift.list_queries('t', k => 2)")]
        assert first == numbers[:2:-1]
        rest = [row[0] for row in conn.execute("SELECT query_id FROM sift.list_queries('t', below => %s)", (first[-1],))]
        assert first + rest == numbers[::-1]
        day = f"2020-01-01'::timestamptz + {numbers[2]} * interval '1 day"
        assert one(conn, f"SELECT count(*) FROM sift.list_queries('t', since => '{day}')") == 3
        assert one(conn, f"SELECT sift.purge_queries('t', before => '{day}')") == 2
        assert one(conn, "SELECT sift.purge_queries('t', before => 'infinity', ids => '{}')") == 0
        assert one(conn, "SELECT sift.purge_queries('t', before => 'infinity')") == 3

    @pytest.mark.parametrize("call", ["list_queries('t', k => -1)", "list_queries('t', k => NULL)", "purge_queries('t')"])
    def test_bad_arguments(self, conn: psycopg.Connection, call: str) -> None:
        with pytest.raises(psycopg.Error) as caught:
            conn.execute(f"SELECT * FROM sift.{call}".encode())
        assert caught.value.sqlstate == "PS002"
        assert caught.value.diag.message_hint

    def test_the_doctor_tells_of_an_old_record(self, conn: psycopg.Connection) -> None:
        one(conn, "SELECT sift.log_query('t', 'x')")
        assert one(conn, "SELECT count(*) FROM sift.doctor('t') AS d WHERE d.check_name = 'query_log'") == 0
        conn.execute("UPDATE sift.query_log SET asked_at = asked_at - interval '2 years'")
        row = conn.execute("SELECT d.severity, d.remedy FROM sift.doctor('t') AS d WHERE d.check_name = 'query_log'").fetchone()
        assert row is not None
        assert row[0] == "info"
        assert row[1].startswith("pgsift log purge --before 20")


class TestForgetting:
    def test_a_purge_takes_its_document_out(self, conn: psycopg.Connection) -> None:
        number = one(conn, LOG, "winch of winch.md", "winch")
        named = one(
            conn, "SELECT sift.log_query('t', 'where is winch.md?', settings => %s, query_embedding => '{1,2}')",
            json.dumps({"filter": {"key": {"$in": ["winch.md", "other.md"]}}, "mode": "lexical"}),
        )  # fmt: skip
        other = one(conn, "SELECT sift.log_query('t', 'xwinch.md and winch.md.bak', query_embedding => '{1,2}')")
        before = found(conn, number)
        assert "winch.md" in {hit["key"] for hit in before}
        # A deletion keeps what was asked; a purge does not.
        conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{winch.md}')")
        assert found(conn, number) == before
        left = "SELECT sum(found) FROM sift.audit_deletion('t', 'winch.md') WHERE place = 'query_log'"
        assert one(conn, left) == 2
        conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{winch.md}')")
        assert one(conn, left) == 0
        after = found(conn, number)
        for old, new in zip(before, after, strict=True):
            assert new == ({"rank": old["rank"], "purged": True} if old["key"] == "winch.md" else old)
        row = conn.execute("SELECT query, settings, query_embedding FROM sift.list_queries('t', ids => ARRAY[%s::bigint])", (named,)).fetchone()
        assert row is not None
        assert "winch.md" not in json.dumps(row[:2])
        assert row[1]["filter"]["key"]["$in"][1] == "other.md"
        assert (row[1]["mode"], row[2]) == ("lexical", None)
        row = conn.execute("SELECT query, query_embedding FROM sift.list_queries('t', ids => ARRAY[%s::bigint])", (other,)).fetchone()
        assert row == ("xwinch.md and winch.md.bak", [1.0, 2.0])
        dump = one(conn, "SELECT string_agg(q::text, '') FROM sift.query_log AS q WHERE q.query_id <> %s", other)
        assert "winch.md" not in dump

    def test_a_key_that_is_a_word(self, conn: psycopg.Connection) -> None:
        alone, within = (one(conn, "SELECT sift.log_query('t', %s)", query) for query in (" pump ", "pump recall"))
        conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{pump}')")
        queries: dict[int, str] = dict(conn.execute("SELECT query_id, query FROM sift.list_queries('t')").fetchall())
        assert queries[alone].startswith("sha256:")
        assert queries[within] == "pump recall"
        assert one(conn, "SELECT sum(found) FROM sift.audit_deletion('t', 'pump') WHERE place = 'query_log'") == 0

    def test_a_late_record_is_found_and_purged_again(self, conn: psycopg.Connection) -> None:
        hits = '[{"rank": 1, "chunk_id": 99, "key": "winch.md"}]'
        conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{winch.md}')")
        number = one(conn, "SELECT sift.log_query('t', 'x', hits => %s::jsonb)", hits)
        assert one(conn, "SELECT sum(found) FROM sift.audit_deletion('t', 'winch.md') WHERE place = 'query_log'") == 1
        conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{winch.md}')")
        assert found(conn, number) == [{"rank": 1, "purged": True}]

    def test_a_principal_that_is_renamed(self, conn: psycopg.Connection) -> None:
        one(conn, "SELECT sift.log_query('t', 'x', '{group:a,public}')")
        one(conn, "SELECT sift.log_query('t', 'y', '{group:a,group:b}')")
        conn.execute("SELECT * FROM sift.replace_principal('t', 'group:a', 'group:b')")
        rows = conn.execute("SELECT query, principals FROM sift.list_queries('t')").fetchall()
        assert dict(rows) == {"x": ["group:b", "public"], "y": ["group:b"]}


class TestReplay:
    def test_nothing_drifts_where_nothing_changed(self, store: Store) -> None:
        for options in ({"k": 2}, {"unit": "document", "k1": 0.5}, {"filter": "key != 'pump'"}, {"mode": "lexical", "skip": 1}):
            result = store.search("t", "pump winch", principals=["public"], log=True, **options)
            assert result.query_id is not None
            assert result.to_dict()["query_id"] == result.query_id
        report = store.replay_queries("t")
        assert (len(report.queries), report.drifted, report.failed, report.overlap) == (4, 0, 0, 1)
        assert [one.query_id for one in report.queries] == sorted(one.query_id for one in report.queries)
        assert store.search("t", "pump", principals=["public"]).query_id is None

    def test_what_changed_is_told(self, store: Store) -> None:
        store.search("t", "ferry winch pump", principals=["public"], log=True)
        (entry,) = store.queries("t")
        assert [hit["key"] for hit in entry.hits] == ["ferry.md", "pump", "winch.md"]
        store.put_documents("t", [Document(key="ferry.md", text="a ferry with a pump and a ferry winch, new")])
        store.purge("t", ["pump"])
        (drift,) = store.replay_queries("t").queries
        assert drift.drift is not None
        assert {(hit.status, hit.key) for hit in drift.drift.hits} == {("changed", "ferry.md"), ("moved", "winch.md"), ("purged", None)}
        assert 0 < drift.drift.overlap < 1
        assert json.loads(json.dumps(drift.to_dict()))["purged"] == 1

    def test_the_settings_of_then(self, store: Store) -> None:
        store.search("t", "ferry pump", principals=["public"], log=True)
        store.set_tenant("t", k1=0.0, b=0.0)
        then, now = store.replay_queries("t"), store.replay_queries("t", current_settings=True)
        assert then.queries[0].drift is not None
        assert then.queries[0].drift.rescored == 0
        assert now.queries[0].drift is not None
        assert now.queries[0].drift.rescored > 0

    def test_the_vector_of_then(self, conn: psycopg.Connection, store: Store) -> None:
        conn.execute("SELECT sift.register_model('m', 2)")
        store.put_documents("t", [Document(key="v", text="vector")])
        ids = [row[0] for row in conn.execute("SELECT chunk_id FROM sift.chunks ORDER BY chunk_id").fetchall()]
        tenant = one(conn, "SELECT tenant_id FROM sift.tenants")
        vectors = [f"[{number},1]" for number in range(len(ids))]
        conn.execute("SELECT sift._add_embeddings(%s, 1, %s, %s::text[], NULL)", (tenant, ids, vectors))
        result = store.search("t", "pump", principals=["public"], query_embedding=[1, 0], model="m", log=True)
        assert result.legs == "lexical+dense"
        entry = store.queries("t")[0]
        assert (entry.query_embedding, entry.settings["model"]) == ([1.0, 0.0], "m")
        assert store.replay_queries("t").drifted == 0

    def test_what_cannot_be_asked_again(self, store: Store) -> None:
        store.log_query("t", "pump")
        store.log_query("t", "pump", principals=["public"], settings={"colour": "red"})
        store.log_query("t", "pump", principals=["public"], settings={"rerank": "judge@1"})
        store.log_query("t", "pump", principals=["public"], settings={"k": -1})
        store.log_query("t", "the", principals=["public"])
        store.log_query("t", "pump", principals=["public"], settings={"query_token_embeddings": "given"})
        report = store.replay_queries("t")
        problems = [one.problem or "" for one in report.queries]
        assert report.failed == 6
        for problem, words in zip(
            problems, ("for whom", "colour", "judge@1", "k must", "no searchable term", "token vectors"), strict=True
        ):
            assert words in problem
        assert store.replay_queries("t", principals=["public"]).failed == 5

    def test_a_search_that_is_not_recorded_says_so(self, store: Store) -> None:
        with pytest.raises(UnknownTenant):
            store.log_query("nowhere", "x")
        with pytest.raises(InvalidArgument):
            store.purge_queries("t")
        with pytest.raises(InvalidArgument):
            store.queries("t", since="yesterday")

    def test_a_reader_may_not_record(self, conn: psycopg.Connection, dsn: str, make_login: Callable[..., str]) -> None:
        mine = make_login(dsn, "sift_reader")
        user = psycopg.conninfo.conninfo_to_dict(mine)["user"]
        conn.execute(sql.SQL("SELECT sift.map_role('t', {}, '{{public}}')").format(sql.Literal(user)))
        with Store(mine) as store:
            assert store.search("t", "pump")
            with pytest.raises(NotPermitted):
                store.search("t", "pump", log=True)

    @pytest.mark.usefixtures("conn")
    def test_asynchronously(self, dsn: str) -> None:
        async def run() -> tuple[int | None, int, int]:
            async with AsyncStore(dsn) as store:
                result = await store.search("t", "pump", principals=["public"], log=True)
                report = await store.replay_queries("t")
                return result.query_id, len(report.queries), await store.purge_queries("t", before="9999-01-01")

        number, replayed, purged = asyncio.run(run())
        assert number is not None
        assert (replayed, purged) == (1, 1)
