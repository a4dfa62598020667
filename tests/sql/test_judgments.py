"""Judgments: what is kept of them, where the judged passage is found again, who may write and see them, and what
takes them along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from pgsift import AsyncStore, Store
from pgsift.errors import InvalidArgument, NotPermitted, UnknownTenant
from pgsift.evaluate.collection import load_collection
from pgsift.evaluate.judged import export_judgments
from pgsift.models import Chunk, Document

PASSAGES = ["The winch of the ferry.", "A pump stands beside it.", "The harbour master has a key."]


@pytest.fixture
def conn(conn: psycopg.Connection) -> psycopg.Connection:
    """In a transaction that is rolled back: a tenant with a public document in three chunks, and a hidden one."""
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    put(conn, "guide.md", PASSAGES)
    put(conn, "secret.md", ["The winch of the mine."], acl=["group:mine"])
    return conn


def put(conn: psycopg.Connection, key: str, bodies: list[str], **fields: Any) -> None:
    place, chunks = 0, []
    for body in bodies:
        chunks.append({"body": body, "start": place, "end": place + len(body), "page": 1 + place // 30})
        place += len(body) + 1
    fields.setdefault("content_hash", None)
    document = {"key": key, "chunks": chunks} | {name: value for name, value in fields.items() if value is not None}
    conn.execute("SELECT sift.put_documents('t', %s)", (json.dumps([document]),))


def one(conn: psycopg.Connection, statement: str, *values: Any) -> Any:
    row = conn.execute(statement.encode(), values).fetchone()
    assert row is not None
    return row[0]


def chunk(conn: psycopg.Connection, body: str) -> int:
    return int(one(conn, "SELECT max(c.chunk_id) FROM sift.chunks AS c WHERE c.body = %s", body))


def judge(conn: psycopg.Connection, grade: int = 2, body: str | None = PASSAGES[0], **given: Any) -> int:
    values = {"query": "winch", "key": "guide.md", "principals": ["public"], "judged_by": None, "note": None} | given
    return int(one(
        conn, "SELECT sift.judge('t', %s, %s, %s, %s, %s, %s, %s)", values["query"], values["key"], grade,
        None if body is None else chunk(conn, body), values["principals"], values["judged_by"], values["note"],
    ))  # fmt: skip


def listed(conn: psycopg.Connection, columns: str, arguments: str = "'{public}'") -> list[tuple[Any, ...]]:
    return conn.execute(f"SELECT {columns} FROM sift.list_judgments('t', {arguments}) AS j".encode()).fetchall()


class TestJudging:
    def test_what_is_kept(self, conn: psycopg.Connection) -> None:
        number = judge(conn, 3, body=PASSAGES[1], judged_by="anna", note="it does")
        assert listed(conn, "judgment_id, query, key, title, grade, judged_by, note, place, chunk_id, char_start, char_end, page") == [
            (number, "winch", "guide.md", None, 3, "anna", "it does", "passage", chunk(conn, PASSAGES[1]), 24, 48, 1)
        ]  # fmt: skip
        assert one(conn, "SELECT j.judged_at <= clock_timestamp() AND j.judged_at > now() - interval '1 hour' FROM sift.judgments AS j")

    def test_one_of_each_judge_for_a_passage_and_a_query(self, conn: psycopg.Connection) -> None:
        first = judge(conn, 1, judged_by="anna", note="hm")
        assert judge(conn, 3, judged_by="anna", query="  WINCH\u00a0 ") == first
        assert listed(conn, "grade, note, query") == [(3, None, "  WINCH\u00a0 ")]
        others = {judge(conn, 2, judged_by="berta"), judge(conn, 2, body=None, judged_by="anna"), judge(conn, 2, judged_by="anna", query='"winch"')}
        assert len(others | {first}) == 4
        assert listed(conn, "count(*)") == [(4,)]

    def test_ways_to_write_a_query(self, conn: psycopg.Connection) -> None:
        number = judge(conn, query="Straße  ﬁne\n")
        assert judge(conn, query="STRASSE FINE") == number
        assert len(listed(conn, "1", "'{public}', of_query => 'strasse\tfine '")) == 1
        for other in ("strasse", "+strasse fine", " ", "\ufdd0"):
            assert listed(conn, "1", f"'{{public}}', of_query => '{other}'") == []

    def test_the_login_is_the_judge_where_none_is_named(self, conn: psycopg.Connection) -> None:
        judge(conn)
        assert listed(conn, "judged_by") == [(one(conn, "SELECT session_user::text"),)]

    @pytest.mark.parametrize(
        "arguments",
        [
            "NULL, 'guide.md', 1", "' \t', 'guide.md', 1", "'', 'guide.md', 1", "repeat('x', 10001), 'guide.md', 1", "'x', 'guide.md', 4", "'x', 'guide.md', -1",
            "'x', 'guide.md', NULL", "'x', 'nothing.md', 1", "'x', NULL, 1", "'x', 'secret.md', 1", "'x', 'guide.md', 1, 0", "'x', 'guide.md', 1, judged_by => ' '",
            "'x', 'guide.md', 1, judged_by => repeat('x', 201)", "'x', 'guide.md', 1, note => repeat('x', 10001)",
            "'x', 'guide.md', 1, (SELECT c.chunk_id FROM sift.chunks AS c WHERE c.body LIKE '%mine%')",
        ],
    )  # fmt: skip
    def test_bad_arguments(self, conn: psycopg.Connection, arguments: str) -> None:
        with pytest.raises(psycopg.Error) as caught:
            conn.execute(f"SELECT sift.judge('t', {arguments}, principals => '{{public}}')".encode())
        assert caught.value.sqlstate == "PS002"
        assert caught.value.diag.message_hint

    def test_an_unknown_tenant(self, conn: psycopg.Connection) -> None:
        for call in ("judge('u', 'x', 'k', 1)", "list_judgments('u')", "remove_judgment('u', 1)"):
            with pytest.raises(psycopg.Error) as caught, conn.transaction():
                conn.execute(f"SELECT sift.{call}".encode())
            assert caught.value.sqlstate == "PS001"

    def test_removing(self, conn: psycopg.Connection) -> None:
        number, hidden = judge(conn), judge(conn, body=None, key="secret.md", principals=["group:mine"])
        remove = "SELECT sift.remove_judgment('t', %s, %s)"
        assert [one(conn, remove, n, ["public"]) for n in (hidden, number, number, 10**12)] == [False, True, False, False]
        assert listed(conn, "judgment_id", "'{sift:writer}'") == [(hidden,)]
        assert one(conn, remove, hidden, ["sift:writer"]) is True

    def test_pages(self, conn: psycopg.Connection) -> None:
        numbers = [judge(conn, query=f"q{n}") for n in range(5)]
        assert [n for (n,) in listed(conn, "judgment_id", "'{public}', k => 2")] == numbers[:2:-1]
        assert [n for (n,) in listed(conn, "judgment_id", f"'{{public}}', k => 2, below => {numbers[3]}")] == numbers[2:0:-1]
        for wrong in ("-1", "NULL"):
            with pytest.raises(psycopg.Error, match="must not be negative"), conn.transaction():
                listed(conn, "1", f"'{{public}}', k => {wrong}")


class TestPassagesAreFoundAgain:
    def test_after_a_new_version(self, conn: psycopg.Connection) -> None:
        judge(conn, body=PASSAGES[1])
        judge(conn, body=PASSAGES[2])
        put(conn, "guide.md", ["A new beginning.", PASSAGES[1], "The master has none."])
        assert listed(conn, "place, chunk_id, char_start") == [("changed", None, 49), ("passage", chunk(conn, PASSAGES[1]), 17)]

    def test_cut_otherwise(self, conn: psycopg.Connection) -> None:
        source = "ab" * 32
        put(conn, "cut.md", ["one two three", "four five six"], content_hash=source)
        judge(conn, key="cut.md", body="four five six")
        judge(conn, key="cut.md", body="one two three")
        conn.execute("SELECT sift.delete_documents('t', '{cut.md}')")
        put(conn, "other.md", ["four five six"])  # the same words elsewhere are another passage
        assert listed(conn, "place") == []
        # A document that came back under its key, of the same source, cut at other places.
        put(conn, "cut.md", ["one two three four", "five six"], content_hash=source)
        assert listed(conn, "place") == []  # the document that was judged is gone, and its passages are not in the new one
        put(conn, "guide.md", PASSAGES, content_hash="cd" * 32)
        judge(conn, body=PASSAGES[2])
        conn.execute("UPDATE sift.documents SET content_hash = %s WHERE key = 'guide.md'", (bytes(32),))
        conn.execute("UPDATE sift.judgments SET content_hash = %s", (bytes(32),))
        conn.execute("SELECT sift.put_documents('t', %s)", (json.dumps([
            {"key": "guide.md", "content_hash": "ee" * 32, "chunks": [
                {"body": "A pump stands beside it. The harbour", "start": 24, "end": 60},
                {"body": "master has a key.", "start": 61, "end": 78}]}
        ]),))
        assert listed(conn, "place, chunk_id", "'{public}', of_key => 'guide.md'") == [("changed", None)]
        conn.execute("UPDATE sift.documents SET content_hash = %s WHERE key = 'guide.md'", (bytes(32),))
        assert listed(conn, "place, chunk_id, char_start, char_end", "'{public}', of_key => 'guide.md'") == [
            ("text", chunk(conn, "master has a key."), 49, 78)
        ]

    def test_deleted_and_stored_again(self, conn: psycopg.Connection) -> None:
        judge(conn, body=PASSAGES[1])
        judge(conn, body=None)
        conn.execute("SELECT sift.delete_documents('t', '{guide.md}')")
        assert listed(conn, "1") == []
        assert listed(conn, "place, key", "'{sift:writer}'") == [("gone", "guide.md")] * 2
        put(conn, "guide.md", ["Something else.", PASSAGES[1]])
        assert listed(conn, "place, chunk_id") == [("passage", chunk(conn, PASSAGES[1]))]

    def test_a_document_of_that_key_that_is_another_opens_nothing(self, conn: psycopg.Connection) -> None:
        judge(conn, key="secret.md", body="The winch of the mine.", principals=["group:mine"], note="of the mine")
        conn.execute("SELECT sift.delete_documents('t', '{secret.md}')")
        put(conn, "secret.md", ["A public notice."])
        assert listed(conn, "note") == []

    def test_moved(self, conn: psycopg.Connection) -> None:
        judge(conn)
        conn.execute("SELECT sift.move_documents('t', '{guide.md}', '{manual.md}')")
        put(conn, "guide.md", PASSAGES)  # one that has taken its place
        assert listed(conn, "key, place") == [("manual.md", "passage")]
        assert listed(conn, "key", "'{public}', of_key => 'guide.md'") == []
        assert len(listed(conn, "key", "'{public}', of_key => 'manual.md'")) == 1

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(judged=st.lists(st.integers(0, 7), min_size=1, max_size=4), kept=st.lists(st.integers(0, 7), max_size=8), again=st.booleans())
    def test_wherever_the_text_is(self, conn: psycopg.Connection, judged: list[int], kept: list[int], again: bool) -> None:
        """A judgment names the passage exactly where the document holds its text, however it came back."""
        with conn.transaction(force_rollback=True):
            put(conn, "x", [f"passage {n}" for n in range(8)])
            numbers = {judge(conn, key="x", body=f"passage {n}"): n for n in judged}
            if again:
                conn.execute("SELECT sift.delete_documents('t', '{x}')")
            put(conn, "x", [f"passage {n}" for n in kept] or ["nothing"])
            told = {number: (place, chunk_id) for number, place, chunk_id in listed(conn, "judgment_id, place, chunk_id")}
            bodies = dict(conn.execute("SELECT c.chunk_id, c.body FROM sift.chunks AS c").fetchall())
            for number, n in numbers.items():
                if n in kept:
                    place, chunk_id = told[number]
                    assert (place, bodies[chunk_id]) == ("passage", f"passage {n}")
                else:
                    assert told.get(number, ("gone", None)) == (("gone" if again else "changed"), None)


class TestWhoMay:
    def test_hidden_documents_are_judged_and_listed_by_those_who_see_them(self, conn: psycopg.Connection) -> None:
        judge(conn, key="secret.md", body=None, principals=["group:mine"])
        judge(conn)
        assert listed(conn, "key") == [("guide.md",)]
        assert listed(conn, "key", "'{group:mine}'") == [("secret.md",)]
        assert listed(conn, "key", "'{public,group:mine}'") == [("guide.md",), ("secret.md",)]
        for nobody in ("NULL", "'{}'", "'{PUBLIC}'"):
            assert listed(conn, "key", nobody) == []
        conn.execute("SELECT sift.revoke_access('t', '{guide.md}', '{public}')")
        assert listed(conn, "key") == []

    @pytest.mark.parametrize("role", ["sift_reader", "sift_app", "sift_writer", "sift_owner"])
    def test_roles(self, conn: psycopg.Connection, role: str) -> None:
        number = judge(conn)
        conn.execute("SELECT sift.map_role('t', 'sift_reader', '{public}')")
        with conn.transaction(force_rollback=True):
            conn.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
            for statement in (
                "SELECT sift.judge('t', 'winch', 'guide.md', 1, principals => '{public}')",
                "SELECT * FROM sift.list_judgments('t', '{public}')",
                f"SELECT sift.remove_judgment('t', {number}, '{{public}}')",
                "SELECT * FROM sift.list_judgments('t')",
            ):
                if role == "sift_reader":
                    with pytest.raises(psycopg.errors.InsufficientPrivilege), conn.transaction():
                        conn.execute(statement.encode())
                else:
                    conn.execute(statement.encode())
        for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            granted = one(conn, "SELECT has_table_privilege(%s, 'sift.judgments', %s)", role, privilege)
            assert granted is (role == "sift_owner")

    def test_an_application_does_not_see_all(self, conn: psycopg.Connection) -> None:
        conn.execute("SET LOCAL ROLE sift_app")
        for call in ("list_judgments('t', '{sift:writer}')", "judge('t', 'x', 'guide.md', 1, principals => '{sift:writer}')", "remove_judgment('t', 1, '{sift:writer}')"):
            with pytest.raises(psycopg.Error) as caught, conn.transaction():
                conn.execute(f"SELECT sift.{call}".encode())
            assert caught.value.sqlstate == "PS008"

    def test_tenants_are_apart(self, conn: psycopg.Connection) -> None:
        number = judge(conn)
        conn.execute("SELECT sift.create_tenant('u', 'standard', default_principals => '{public}')")
        assert one(conn, "SELECT count(*) FROM sift.list_judgments('u', '{sift:writer}')") == 0
        assert one(conn, "SELECT sift.remove_judgment('u', %s, '{sift:writer}')", number) is False


class TestWhatTakesThemAlong:
    def test_a_purge(self, conn: psycopg.Connection) -> None:
        judge(conn, note="see also secret.md")
        judge(conn, query="what does secret.md say")
        judge(conn, key="secret.md", body=None, principals=["sift:writer"])
        left = "SELECT sum(a.found) FROM sift.audit_deletion('t', 'secret.md') AS a WHERE a.place = 'judgments'"
        conn.execute("SELECT sift.delete_documents('t', '{secret.md}')")
        assert one(conn, left) == 3
        assert one(conn, "SELECT a.kind FROM sift.audit_deletion('t', 'secret.md') AS a WHERE a.place = 'judgments'") == "history"
        conn.execute("SELECT sift.purge_documents('t', '{secret.md}')")
        assert one(conn, left) == 0
        rows = listed(conn, "j::text", "'{sift:writer}'")
        assert len(rows) == 1 and "secret.md" not in rows[0][0] and "see also sha256:" in rows[0][0]

    def test_a_purge_of_one_that_was_moved(self, conn: psycopg.Connection) -> None:
        judge(conn)
        conn.execute("SELECT sift.move_documents('t', '{guide.md}', '{manual.md}')")
        conn.execute("SELECT sift.purge_documents('t', '{manual.md}')")
        assert one(conn, "SELECT count(*) FROM sift.judgments") == 0

    def test_a_tenant(self, conn: psycopg.Connection) -> None:
        judge(conn)
        assert one(conn, "SELECT sift.drop_tenant('t')") is True
        assert one(conn, "SELECT count(*) FROM sift.judgments") == 0


@pytest.fixture
def store(schema_dsn: str) -> Iterator[tuple[Store, str]]:
    with Store(schema_dsn) as opened:
        opened.create_tenant("judged", default_principals=["public"], exist_ok=True)
        try:
            opened.put_documents("judged", [
                Document(key="a b%.md", title="Winches", chunks=[Chunk(body="the winch", start=0, end=9), Chunk(body="its brake", start=10, end=19)]),
                Document(key="ferry.md", text="a ferry\u2028with a line"),
                Document(key=" odd\tkey", text="odd"),
                Document(key="hidden.md", text="hidden winch", acl=["user:1"]),
            ])
            yield opened, "judged"
        finally:
            opened.drop_tenant("judged")


class TestLibrary:
    def test_store(self, store: tuple[Store, str]) -> None:
        opened, tenant = store
        hit = opened.search(tenant, "brake", principals=["public"])[0]
        number = opened.judge(tenant, "brake", hit.key, 2, chunk=hit.chunk_id, principals=["public"], judged_by="anna", note="n")
        (found,) = opened.judgments(tenant, principals=["public"], query="Brake", key=hit.key, judged_by="anna", k=5)
        assert (found.judgment_id, found.grade, found.chunk_id, found.place, found.note) == (number, 2, hit.chunk_id, "passage", "n")
        assert json.dumps(found.to_dict())
        assert opened.judgments(tenant, principals=["public"], below=number) == []
        assert opened.remove_judgment(tenant, number, principals=["public"])
        for wrong in ({"grade": 7}, {"grade": 1, "judged_by": ""}, {"grade": 1, "principals": ["user:2"]}):
            with pytest.raises(InvalidArgument):
                opened.judge(tenant, "brake", hit.key, **({"principals": ["public"]} | wrong))  # type: ignore[arg-type]
        with pytest.raises(UnknownTenant):
            opened.judgments("nowhere")

    def test_readers(self, store: tuple[Store, str], role_dsn: Callable[[str], str]) -> None:
        with Store(role_dsn("sift_reader")) as reader, pytest.raises(NotPermitted):
            reader.judgments(store[1])

    def test_async(self, store: tuple[Store, str], schema_dsn: str) -> None:
        async def run() -> int:
            async with AsyncStore(schema_dsn) as opened:
                number = await opened.judge("judged", "x", "ferry.md", 0, principals=["public"])
                assert [one.judgment_id for one in await opened.judgments("judged", principals=["public"])] == [number]
                return int(await opened.remove_judgment("judged", number, principals=["public"]))

        assert store and asyncio.run(run()) == 1

    def test_export(self, store: tuple[Store, str], tmp_path: Path) -> None:
        opened, tenant = store
        for grade, body in ((1, "winch"), (3, "brake")):
            hit = opened.lexical_search(tenant, body, principals=["public"])[0]
            opened.judge(tenant, "Winch  brake", hit.key, grade, chunk=hit.chunk_id, principals=["public"], judged_by="anna")
        for judge_name, grade in (("berta", 0), ("clara", 2)):
            opened.judge(tenant, "winch brake", "a b%.md", grade, principals=["public"], judged_by=judge_name)
        opened.judge(tenant, "ferry", " odd\tkey", 0, principals=["public"], judged_by="anna")
        opened.judge(tenant, "ferry", "ferry.md", 3, principals=["public"], judged_by="anna")
        opened.judge(tenant, "ferry", "hidden.md", 3, principals=["user:1"], judged_by="anna")
        made = export_judgments(opened, tenant, tmp_path / "all", principals=["public"])
        assert (made.queries, made.judgments, made.documents, made.judges, made.left_out) == (2, 3, 3, 3, 0)
        collection = load_collection(tmp_path / "all")
        assert collection.queries == {"q1": "winch brake", "q2": "ferry"}
        # The lower median of 3 (the best passage), 0 and 2.
        assert collection.qrels == {"q1": {"a%20b%25.md": 2}, "q2": {"ferry.md": 3, "%20odd%09key": 0}}
        documents = {document.key: document for document in collection.documents}
        assert documents["a%20b%25.md"].title == "Winches" and documents["a%20b%25.md"].text.split() == ["the", "winch", "its", "brake"]
        assert documents["ferry.md"].text == "a ferry\u2028with a line" and "hidden.md" not in documents
        alone = export_judgments(opened, tenant, tmp_path / "anna", principals=["public", "user:1"], judged_by="anna", judged_only=True)
        assert (alone.documents, load_collection(tmp_path / "anna").qrels["q1"]) == (4, {"a%20b%25.md": 3})
        with pytest.raises(InvalidArgument, match="not an empty folder"):
            export_judgments(opened, tenant, tmp_path / "all", principals=["public"])
        with pytest.raises(InvalidArgument, match="no judgment"):
            export_judgments(opened, tenant, tmp_path / "none", principals=["user:9"])

    def test_what_has_changed_is_left_out(self, store: tuple[Store, str], tmp_path: Path) -> None:
        opened, tenant = store
        hit = opened.lexical_search(tenant, "ferry", principals=["public"])[0]
        opened.judge(tenant, "ferry", hit.key, 3, chunk=hit.chunk_id, principals=["public"])
        opened.judge(tenant, "line", "a b%.md", 1, principals=["public"])
        opened.put_documents(tenant, [Document(key="ferry.md", text="another text")])
        made = export_judgments(opened, tenant, tmp_path / "x", principals=["public"])
        assert (made.judgments, made.left_out) == (1, 1)
