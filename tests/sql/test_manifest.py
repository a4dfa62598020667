"""Manifests: what they count and hash, what two of them tell; documents that are moved; dead letters."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import psycopg
import pytest

from pgsift.manifests import compare, documents_digest

Row = tuple[Any, ...]


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('toy', 2)")
    return conn


def put(conn: psycopg.Connection, *documents: dict[str, Any], tenant: str = "t", model: str | None = None) -> None:
    conn.execute("SELECT sift.put_documents(%s, %s::jsonb, model => %s)", (tenant, json.dumps(documents), model))


def create(conn: psycopg.Connection, name: str | None = None, parent: str | None = None, tenant: str = "t") -> dict[str, Any]:
    row = conn.execute("SELECT summary FROM sift.create_manifest(%s, %s, %s, '1.0')", (tenant, name, parent)).fetchone()
    assert row is not None
    return dict(row[0])


def whole(conn: psycopg.Connection, name: str) -> dict[str, Any]:
    """A manifest with its documents, as the command prints it."""
    (summary,) = conn.execute("SELECT summary FROM sift.list_manifests('t') WHERE manifest_name = %s", (name,)).fetchone() or ({},)
    documents = conn.execute(
        "SELECT key, document_id, version, content_hash, access_hash FROM sift.manifest_documents('t', %s, 100000)", (name,)
    ).fetchall()
    members = ("key", "document_id", "version", "content_hash", "access_hash")
    return {"summary": summary, "documents": [dict(zip(members, row, strict=True)) for row in documents]}


def changes(conn: psycopg.Connection, a: str, b: str = "now") -> list[Row]:
    return conn.execute("SELECT kind, change, name, before, after FROM sift.compare_manifests('t', %s, %s)", (a, b)).fetchall()


def names(conn: psycopg.Connection, a: str, b: str = "now") -> list[Row]:
    return [row[1:3] for row in changes(conn, a, b)]


def refused(conn: psycopg.Connection, sqlstate: str, statement: str, *parameters: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement, parameters)  # type: ignore[arg-type]
    assert caught.value.sqlstate == sqlstate, caught.value
    assert caught.value.diag.message_hint
    return caught.value


def test_counts_settings_and_digests(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "chunks": [{"body": "one fox", "embedding": [1, 0]}, {"body": "two"}]}, model="toy")
    put(store, {"key": "B", "text": "hound", "acl": ["x", "y"]})
    summary = create(store, "m1")
    assert summary["counts"] == {"documents": 2, "chunks": 3, "tokens": 4, "vectors": {"toy": 1}}
    assert summary["models"] == {"toy": {"revision": "", "dimensions": 2, "metric": "cosine", "precision": "vector"}}
    settings = summary["settings"]
    assert (settings["analyzer"], settings["k1"], settings["b"], settings["rrf_k"]) == ("standard", 1.2, 0.75, 60)
    assert settings["model"] == "toy" and len(settings["analyzer_fingerprint"]) == 16
    assert (summary["package"], summary["schema"]) == ("1.0", store.execute("SELECT sift.schema_version()").fetchone()[0])  # type: ignore[index]

    # The digests made again from their description.
    def digest(*entries: bytes) -> str:
        return hashlib.sha256(hashlib.sha256(b"".join(entries)).digest()).hexdigest()

    def access(*principals: str) -> bytes:
        return hashlib.sha256(("".join(f"{len(p)}:{p}" for p in principals) + "\n").encode()).digest()

    hashes = dict(store.execute("SELECT key, decode(content_hash, 'hex') FROM sift.document_states('t', '{a,B}')").fetchall())
    assert summary["digests"] == {
        "documents": digest(b"B\0001\0" + hashes["B"], b"a\0001\0" + hashes["a"]),
        "texts": digest(*(hashlib.sha256(body).digest() for body in (b"hound", b"one fox", b"two"))),
        "access": digest(b"B\0" + access("x", "y"), b"a\0" + access("public")),
    }
    assert documents_digest(whole(store, "m1")["documents"]) == summary["digests"]["documents"]


def test_more_documents_than_one_part_of_a_digest(store: psycopg.Connection) -> None:
    put(store, *({"key": f"d{n:04}", "text": f"word{n}"} for n in range(2100)))
    summary = create(store, "m")
    assert documents_digest(whole(store, "m")["documents"]) == summary["digests"]["documents"]


def test_the_same_corpus_has_the_same_digests(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.create_tenant('other', 'standard', default_principals => '{public}')")
    documents = [{"key": f"é{n}", "text": f"word{n}", "acl": ["b", "a"]} for n in range(30)]
    put(store, *documents)
    for document in reversed(documents):
        put(store, document, tenant="other")
    one, two = create(store, "m"), create(store, "m", tenant="other")
    assert one["digests"] == two["digests"]
    store.execute("SELECT sift.pack_postings('t', purge => true), sift.fold_statistics('t')")
    assert create(store)["digests"] == one["digests"]
    put(store, {"key": "é1", "text": "other"}, tenant="other")
    changed = create(store, tenant="other")["digests"]
    assert changed["documents"] != two["digests"]["documents"] and changed["texts"] != two["digests"]["texts"]
    assert changed["access"] == two["digests"]["access"]


def test_what_changed(store: psycopg.Connection) -> None:
    put(store, *({"key": key, "text": f"text of {key}"} for key in "abcdefg"))
    create(store, "before")
    assert changes(store, "before") == []
    put(store, {"key": "a", "text": "another"}, {"key": "new", "text": "new"})
    store.execute("SELECT sift.delete_documents('t', '{b}')")
    store.execute("SELECT sift.move_documents('t', '{c,d}', '{c2,e2}')")
    store.execute("SELECT sift.set_access('t', '{e,e2}', '{group:hr}')")
    store.execute("SELECT sift.delete_documents('t', '{f}')")
    put(store, {"key": "f2", "content_hash": store.execute(
        "SELECT content_hash FROM sift.manifest_documents('t', 'before') WHERE key = 'f'").fetchone()[0], "text": "text of f"})  # type: ignore[index]
    expected = [("access", "e"), ("added", "new"), ("changed", "a"), ("moved", "c2"), ("moved", "e2"), ("moved", "f2"), ("removed", "b")]
    assert names(store, "before") == expected
    create(store, "after")
    assert names(store, "before", "after") == expected
    assert changes(store, "after") == []
    assert dict(row[2:4] for row in changes(store, "before") if row[1] == "moved").keys() == {"c2", "e2", "f2"}
    backwards = {"access": "access", "added": "removed", "changed": "changed", "moved": "moved", "removed": "added"}
    assert sorted(row[0] for row in names(store, "after", "before")) == sorted(backwards[change] for change, _ in expected)


def test_settings_that_differ(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "x"})
    create(store, "m")
    store.execute("""SELECT sift.set_tenant('t', '{"statistics": "visible"}')""")
    put(store, {"key": "b", "chunks": [{"body": "y", "embedding": [1, 0]}]}, model="toy")
    found = {name: (before, after) for kind, _, name, before, after in changes(store, "m") if kind == "setting"}
    assert found.keys() == {"model", "model toy", "statistics"}
    assert found["statistics"] == ("tenant", "visible")
    assert found["model"] == (None, "toy")


def test_files_compare_as_the_database_does(store: psycopg.Connection) -> None:
    """Random changes, compared by SQL and by the library."""
    rng = random.Random(4)
    keys = [f"k{n}" for n in range(40)]
    put(store, *({"key": key, "text": f"text {n % 25}"} for n, key in enumerate(keys[:30])))
    create(store, "r0")
    for number in range(1, 5):
        put(store, *({"key": rng.choice(keys) + f"x{n}" * rng.randrange(2), "text": f"text {rng.randrange(30)}"} for n in range(5)))
        present = [key for (key,) in store.execute("SELECT key FROM sift.documents AS d ORDER BY d.key").fetchall()]
        rng.shuffle(present)
        store.execute("SELECT sift.delete_documents('t', %s)", (present[:4],))
        store.execute("SELECT sift.move_documents('t', %s, %s)", (present[4:8], [f"{key}m" for key in present[4:8]]))
        store.execute("SELECT sift.set_access('t', %s, '{group:x}')", (present[8:10],))
        create(store, f"r{number}")
    kinds = set()
    for a in range(5):
        for b in range(5):
            by_sql = changes(store, f"r{a}", f"r{b}")
            by_file = compare(whole(store, f"r{a}"), whole(store, f"r{b}"))
            assert [(c.kind, c.change, c.name, c.before, c.after) for c in by_file] == by_sql
            kinds |= {row[1] for row in by_sql}
    assert kinds >= {"added", "removed", "changed", "moved", "access"}


def test_names_and_parents(store: psycopg.Connection) -> None:
    create(store, "one")
    create(store, "two")
    create(store, "three", "one")
    create(store, "root", "")
    listed = store.execute("SELECT manifest_name, parent_name FROM sift.list_manifests('t')").fetchall()
    assert listed == [("root", None), ("three", "one"), ("two", "one"), ("one", None)]
    refused(store, "PS011", "SELECT sift.create_manifest('t', 'one')")
    for statement in (
        "SELECT sift.create_manifest('t', 'now')", "SELECT sift.create_manifest('t', '')",
        "SELECT sift.create_manifest('t', 'x', 'none such')", "SELECT sift.compare_manifests('t', 'none such')",
        "SELECT sift.manifest_documents('t', 'none such')", "SELECT sift.manifest_documents('t', 'one', 0)",
    ):
        refused(store, "PS002", statement)
    assert store.execute("SELECT sift.drop_manifest('t', 'one'), sift.drop_manifest('t', 'one')").fetchone() == (True, False)
    assert store.execute("SELECT parent_name FROM sift.list_manifests('t') WHERE manifest_name = 'two'").fetchone() == (None,)


def test_a_purge_reaches_manifests(store: psycopg.Connection) -> None:
    put(store, {"key": "secret name", "text": "x"}, {"key": "other", "text": "y"})
    create(store, "m")
    store.execute("SELECT sift.purge_documents('t', ARRAY['secret name'])")
    left = store.execute("SELECT key, document_id, content_hash, access_hash FROM sift.manifest_documents AS m WHERE m.key <> 'other'").fetchall()
    assert left == [("sha256:" + hashlib.sha256(b"secret name").hexdigest(), None, None, None)]
    assert store.execute("SELECT place FROM sift.audit_deletion('t', 'secret name') WHERE found > 0 AND kind IN ('search', 'history')").fetchall() == []
    assert [row[1] for row in changes(store, "m")] == ["removed"]


# Moves


def test_a_move(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "chunks": [{"body": "one fox", "embedding": [1, 0], "entities": ["fox"]}]}, model="toy")
    search = "SELECT key, chunk_id, document_id, score FROM sift.search('t', 'fox', principals => '{public}', query_embedding => '{1,0}')"
    (before,) = store.execute(search).fetchall()
    (moved,) = store.execute("SELECT * FROM sift.move_documents('t', '{a}', '{b}', '{file:///b}')").fetchall()
    assert moved == ("a", "b", before[2], True)
    assert store.execute(search).fetchall() == [("b", *before[1:])]
    assert store.execute("SELECT severity, finding FROM sift.doctor('t') WHERE severity = 'error' AND tenant_name = 't'").fetchall() == []
    assert store.execute("SELECT source_uri, version FROM sift.list_documents('t', '{public}')").fetchall() == [("file:///b", 1)]
    # Back again, and another in its place: the history of each key is its own document's.
    store.execute("SELECT sift.move_documents('t', '{b}', '{a}')")
    put(store, {"key": "b", "text": "another"})
    history = store.execute("SELECT event, key_then FROM sift.document_history('t', 'a', '{sift:writer}')").fetchall()
    assert history == [("created", "a"), ("moved", "b"), ("moved", "a")]
    assert store.execute("SELECT count(*) FROM sift.verify_statistics('t')").fetchone() == (0,)


def test_a_move_tells_others_no_key_but_the_one_they_ask_for(dsn: str, make_login: Any) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        put(admin, {"key": "hr/dismissals/1", "text": "x"})
        admin.execute("SELECT sift.move_documents('t', '{hr/dismissals/1}', '{archive/1}')")
        reader = make_login(dsn, "sift_reader")
        admin.execute("SELECT sift.map_role('t', %s, '{public}')", (psycopg.conninfo.conninfo_to_dict(reader)["user"],))
    with psycopg.connect(reader) as connection:
        rows = connection.execute("SELECT event, key_then FROM sift.document_history('t', 'archive/1')").fetchall()
        assert rows == [("created", None), ("moved", "archive/1")]


def test_the_past_of_what_was_moved_and_deleted(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        put(conn, {"key": "a", "text": "one fox"})
        (then,) = conn.execute("SELECT clock_timestamp()").fetchone() or (None,)
        conn.execute("SELECT sift.move_documents('t', '{a}', '{b}')")
        for _ in range(2):
            found = conn.execute("SELECT key FROM sift.search('t', 'fox', principals => '{public}', as_of => %s)", (then,)).fetchall()
            assert found == [("a",)]
            text = conn.execute("SELECT text FROM sift.document_at('t', 'a', %s, '{public}')", (then,)).fetchall()
            assert text == [("one fox",)]
            conn.execute("SELECT sift.delete_documents('t', '{b}')")


def test_moves_that_cannot_be(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "x"}, {"key": "b", "text": "y"})
    rows = store.execute("SELECT from_key, moved FROM sift.move_documents('t', '{a,none}', '{b,c}')").fetchall()
    assert rows == [("a", False), ("none", False)]
    for statement in (
        "SELECT sift.move_documents('t', '{a}', '{c,d}')", "SELECT sift.move_documents('t', '{a,b}', '{c,c}')",
        "SELECT sift.move_documents('t', '{a,b}', '{b,c}')", "SELECT sift.move_documents('t', '{a}', '{NULL}')",
        "SELECT sift.move_documents('t', '{a}', '{c}', '{x,y}')", "SELECT sift.move_documents('t', '{a}', '{c}', run_id => 77)",
    ):
        refused(store, "PS002", statement)
    refused(store, "PS012", "SELECT sift.move_documents('t', '{a}', ARRAY[''])")
    refused(store, "PS012", "SELECT sift.move_documents('t', '{a}', ARRAY[repeat('x', 2001)])")


# Dead letters


def letters(conn: psycopg.Connection) -> list[Row]:
    return conn.execute("SELECT key, stage, reason, failures FROM sift.list_dead_letters('t')").fetchall()


def test_one_letter_for_a_source(store: psycopg.Connection) -> None:
    (first,), (second,) = (store.execute("SELECT sift.start_run('t')").fetchone() or (0,) for _ in range(2))
    add = "SELECT sift.add_dead_letter('t', %s, %s, %s, %s, %s)"
    store.execute(add, ("read", "why", "k", "file:///k", first))
    store.execute(add, ("parse", "another reason", "k", "file:///elsewhere", second))
    store.execute(add, ("read", "no key", None, "file:///x", second))
    store.execute(add, ("read", "no key", None, "file:///x", second))
    store.execute(add, ("read", "neither", None, None, None))
    assert letters(store)[::-1] == [("k", "parse", "another reason", 2), (None, "read", "no key", 2), (None, "read", "neither", 1)]
    (run, uri, created, failed) = store.execute(
        "SELECT run_id, source_uri, created_at, failed_at FROM sift.list_dead_letters('t') WHERE key = 'k'").fetchone() or ()
    assert (run, uri) == (second, "file:///elsewhere") and failed > created
    assert store.execute("SELECT dead_letters FROM sift.corpus_statistics('t')").fetchone() == (3,)
    # Stored in the run in which another source of the key failed: that one is missing still.
    store.execute("""SELECT sift.put_documents('t', '[{"key": "k", "text": "x"}]', run_id => %s)""", (second,))
    assert len(letters(store)) == 3
    put(store, {"key": "k", "text": "y"})
    assert [row[0] for row in letters(store)] == [None, None]


def test_clearing(store: psycopg.Connection) -> None:
    (run,) = store.execute("SELECT sift.start_run('t')").fetchone() or (0,)
    (later,) = store.execute("SELECT sift.start_run('t')").fetchone() or (0,)
    for key, root, of in (("a", "file:///r", run), ("b", "file:///r", later), ("c", "file:///s", run)):
        store.execute("SELECT sift.add_dead_letter('t', 'read', 'why', %s, NULL, %s, %s)", (key, of, json.dumps({"root": root, "prefix": ""})))
    assert store.execute("SELECT sift.clear_dead_letters('t', root => 'file:///r', before_run => %s)", (later,)).fetchone() == (1,)
    assert {row[0] for row in letters(store)} == {"b", "c"}
    assert store.execute("SELECT sift.clear_dead_letters('t', root => 'file:///s', prefix => 'x/')").fetchone() == (0,)
    assert store.execute("SELECT sift.clear_dead_letters('t', keys => '{c,d}')").fetchone() == (1,)
    (number,) = store.execute("SELECT dead_letter_id FROM sift.list_dead_letters('t')").fetchone() or (0,)
    assert store.execute("SELECT count(*) FROM sift.list_dead_letters('t', ids => ARRAY[%s])", (number,)).fetchone() == (1,)
    assert store.execute("SELECT sift.clear_dead_letters('t', ids => ARRAY[%s])", (number,)).fetchone() == (1,)
    refused(store, "PS002", "SELECT sift.clear_dead_letters('t')")


def test_sources_and_their_items(store: psycopg.Connection) -> None:
    put(store, {"key": "x/a", "text": "a"}, {"key": "x/b", "text": "b"}, {"key": "y/c", "text": "c"})
    start = "SELECT sync_source_id, known FROM sift.start_sync('t', %s, 'folder', 'file:///x', 'x/')"
    (one, known) = store.execute(start, ("one",)).fetchone() or (0, None)
    assert known is False
    (two, _) = store.execute(start, ("two",)).fetchone() or (0, None)
    items = "SELECT key, mark FROM sift.list_sync_items('t', %s)"
    assert store.execute("SELECT * FROM sift.put_sync_items('t', %s, '{x/a,x/none}', '{1,2}')", (one,)).fetchall() == []
    assert store.execute("SELECT * FROM sift.put_sync_items('t', %s, '{x/a,x/b}', '{3,NULL}')", (two,)).fetchall() == [("x/a", "one")]
    assert store.execute(items, (one,)).fetchall() == [("x/a", "1")]
    assert store.execute(items, (two,)).fetchall() == [("x/b", None)]
    assert store.execute("SELECT * FROM sift.sync_owners('t', %s, '{x/a,x/b,y/c}')", (two,)).fetchall() == [("x/a", "one")]
    put(store, {"key": "x/a", "text": "changed by somebody"})
    assert store.execute(items, (one,)).fetchall() == [("x/a", None)], "the mark tells nothing of this text"
    store.execute("SELECT sift.delete_documents('t', '{x/a}')")
    assert store.execute("SELECT * FROM sift.sync_owners('t', %s, '{x/a}')", (two,)).fetchall() == []
    store.execute("SELECT sift.finish_sync('t', %s, 'made so')", (one,))
    assert store.execute("SELECT documents FROM sift.list_sync_sources('t') ORDER BY name").fetchall() == [(0,), (1,)]
    assert store.execute(start, ("one",)).fetchone() == (one, True)
    refused(store, "PS011", "SELECT sift.start_sync('t', 'one', 'feed', 'file:///x', 'x/')")
    for statement in (
        "SELECT sift.start_sync('t', '', 'folder', 'x')", "SELECT sift.start_sync('t', 'n', 'heap', 'x')",
        "SELECT sift.finish_sync('t', -1, '')", "SELECT sift.list_sync_items('t', -1)",
        "SELECT sift.put_sync_items('t', -1, '{a}', '{b}')", "SELECT sift.put_sync_items('t', 1, '{a}', '{}')",
    ):
        refused(store, "PS002", statement)
    assert store.execute("SELECT sift.drop_tenant('t')").fetchone() == (True,)
