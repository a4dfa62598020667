"""What a delete and a purge leave behind, in every table, and in a dump of the database."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from pgsift import server
from pgsift.errors import PgsiftError

WORD = "xylocarp"


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        connection.execute("SELECT sift.register_model('m', 2)")
        yield connection


def put(conn: psycopg.Connection, *documents: dict[str, Any]) -> None:
    conn.execute("SELECT count(*) FROM sift.put_documents('t', %s, model => 'm')", (json.dumps(documents),))


def secret(key: str, text: str, **extra: Any) -> dict[str, Any]:
    return {
        "key": key,
        "title": f"{WORD} title",
        "source_uri": f"file:///{WORD}",
        "source_version": f"{WORD}-1",
        "metadata": {WORD: WORD},
        "classification": WORD,
        "chunks": [{"body": text, "embedding": [1, 0.5], "entities": [WORD], "section": [WORD]}, {"body": f"{text} more"}],
        **extra,
    }


def audit(conn: psycopg.Connection, key: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for place, kind, count in conn.execute("SELECT place, kind, found FROM sift.audit_deletion('t', %s)", (key,)):
        found.setdefault(kind, {})[place] = count
    return found


def left(conn: psycopg.Connection, key: str, kind: str) -> dict[str, int]:
    return {place: count for place, count in audit(conn, key)[kind].items() if count}


def dump(dsn: str) -> str:
    try:
        program = str(server.program("pg_dump"))
    except (PgsiftError, FileNotFoundError):
        pytest.skip("no pg_dump")
    done = subprocess.run([program, "--data-only", "--dbname", dsn], capture_output=True, text=True)
    if "server version mismatch" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("how", ["purge of a deleted one", "delete with purge", "purge of a live one"])
def test_a_purge_leaves_nothing(dsn: str, conn: psycopg.Connection, how: str, history: bool, packed: bool) -> None:
    if not history:
        conn.execute("SELECT sift.set_tenant('t', '{\"keep_history\": false}')")
    others = [{"key": f"o{n}", "text": f"other text w{n % 7}"} for n in range(300 if packed else 3)]
    key = f"{WORD}/key.md"
    put(conn, secret(key, f"the {WORD} in the first version"), *others)
    put(conn, secret(key, f"the {WORD} in the second version"))
    put(conn, secret(key, f"the {WORD} in the second version", license=WORD))
    conn.execute("SELECT sift.add_dead_letter('t', 'read', %s, %s)", (f"about {WORD}", key))
    run = conn.execute("SELECT sift.start_run('t', 's')").fetchone()
    assert run is not None
    conn.execute("SELECT sift.finish_run('t', %s, %s)", (run[0], json.dumps({"failures": [
        {"key": key, "source_uri": None, "reason": WORD}, {"key": "o1", "source_uri": None, "reason": "r"}]})))
    assert WORD in dump(dsn)
    assert left(conn, key, "search")
    match how:
        case "purge of a deleted one":
            conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s, 'first')", ([key],))
            assert left(conn, key, "search") == {}
            assert ("chunk_history" in left(conn, key, "history")) == history
            conn.execute("SELECT count(*) FROM sift.purge_documents('t', %s, 'asked to')", ([key],))
        case "delete with purge":
            conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s, 'asked to', true)", ([key],))
        case _:
            assert conn.execute("SELECT purged FROM sift.purge_documents('t', %s, 'asked to')", ([key, "none"],)).fetchall() == [
                (True,), (False,)]
    assert left(conn, key, "search") == {}
    assert left(conn, key, "history") == {}
    assert audit(conn, key)["record"]["document_versions"] >= 1
    assert WORD not in dump(dsn)
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    assert conn.execute("SELECT summary FROM sift.ingest_runs").fetchall() == [({"failures": [{"key": "o1", "source_uri": None, "reason": "r"}]},)]
    rows = conn.execute("SELECT event, reason, changed_by IS NOT NULL, title FROM sift.document_history('t', %s, '{sift:writer}')", (key,)).fetchall()
    assert rows[0][0] == "created" and rows[-1] == ("purged", "asked to", True, None)
    assert conn.execute("SELECT count(*) FROM sift.lexical_search('t', 'text', 1000, '{public}')").fetchone() == (len(others),)
    # There again, and the audit tells.
    put(conn, secret(key, "harmless"))
    assert left(conn, key, "search")["documents"] == 1


def test_an_audit_finds_what_was_left(conn: psycopg.Connection) -> None:
    """Every trace that this plants is found in its place."""
    put(conn, *({"key": f"k{n}", "chunks": [{"body": f"common own{n}", "embedding": [1, n], "entities": ["e"]}]} for n in range(300)))
    chunk, document = conn.execute(
        "SELECT c.chunk_id, c.document_id FROM sift.chunks AS c JOIN sift.documents AS d USING (tenant_id, document_id) WHERE d.key = 'k7'"
    ).fetchone() or (0, 0)
    conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{k7}')")
    assert left(conn, "k7", "search") == {}
    tenant = "(SELECT tenant_id FROM sift.tenants)"
    planted = {
        "posting_blocks": f"UPDATE sift.posting_blocks SET postings = array_append(postings, ({chunk}::bigint << 23) | 257)"
        " WHERE postings[cardinality(postings)] >> 23 < %s AND term = 'own6'" % chunk,
        "packed_chunks": f"UPDATE sift.packed_chunks SET chunk_ids = (SELECT array_agg(i ORDER BY i) FROM unnest(chunk_ids || {chunk}::bigint) AS i)",
        "chunk_terms": f"INSERT INTO sift.chunk_terms VALUES ({tenant}, 'x', {chunk}, 1, 1)",
        "unpacked_chunks": f"INSERT INTO sift.unpacked_chunks VALUES ({tenant}, {chunk}, false)",
        "term_stats": f"INSERT INTO sift.term_stats (tenant_id, term, df, max_tf, min_doc_length) VALUES ({tenant}, 'own7', 0, 1, 1)",
        "corpus_totals": f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES ({tenant}, 1, 2)",
        "dead_letters": "SELECT sift.add_dead_letter('t', 'read', 'r', 'k7')",
        "document_sources": f"INSERT INTO sift.document_sources VALUES ({tenant}, {document}, 1, 'text/plain', 'none', 1, 'x')",
    }
    for place, statement in planted.items():
        with conn.transaction(force_rollback=True):
            assert conn.execute(statement).rowcount == 1  # type: ignore[arg-type]
            found = audit(conn, "k7")
            assert found["search"].get(place, 0) + found["history"].get(place, 0) == 1, place
    # Tables that a key of another table guards cannot hold a trace, but are looked at.
    assert {"chunks", "chunk_embeddings", "chunk_entities", "documents"} <= set(audit(conn, "k7")["search"])


@pytest.mark.parametrize("key", ["personnel-1042.md", "personnel/secretkey1", 'odd [1] "q" \\ (x).md', "päck/ß+1.md"])
@pytest.mark.parametrize("how", ["purge", "delete with purge", "delete, then purge"])
def test_a_purge_leaves_no_name_in_records(dsn: str, conn: psycopg.Connection, key: str, how: str) -> None:
    """The key, and the address of the document, in every place where a record may hold them, whatever its shape."""
    address = f"file:///srv/one/{key}"
    written = json.dumps(key, ensure_ascii=False)[1:-1]  # as in JSON
    put(conn, secret(key, "words", source_uri=address), {"key": "o1", "text": "others", "source_uri": "file:///srv/o1"})
    conn.execute("SELECT count(*) FROM sift.create_manifest('t', 'm1')")

    def run(source: str, parameters: object, summary: object) -> int:
        (number,), = conn.execute("SELECT sift.start_run('t', %s, %s)", (source, json.dumps(parameters))).fetchall()
        conn.execute("SELECT sift.finish_run('t', %s, %s)", (number, json.dumps(summary)))
        return int(number)

    runs = [
        run(f"one/{key}", {"sources": [f"one/{key}", key], "deep": {"er": [[address]]}}, {"withheld": 2, "withheld_keys": [key, "o1"]}),
        run("folder", {}, {"failed": [key]}),
        run("folder", {}, {key: {"reason": f"cannot read 'one/{key}': empty"}, "failures": [{"key": key}, {"key": "o1"}]}),
        run("folder", {}, key),
        run("folder", {"n": 1}, {"failures": [{"key": None, "source_uri": address}], "kept": [True, None, 1.5, "o1"]}),
    ]
    conn.execute("SELECT sift.add_dead_letter('t', 'read', 'gone', NULL, %s)", (address,))
    conn.execute("SELECT sift.add_dead_letter('t', 'read', 'gone', NULL, 'u', origin => %s)", (json.dumps({"path": f"/one/{key}"}),))
    conn.execute("SELECT sift.add_dead_letter('t', 'read', %s, 'o2', 'u2', origin => %s)",
                 (f"lies behind {key}", json.dumps({"root": f"/one/{key}", "path": "/one/o2"})))
    (source,), = conn.execute("SELECT sync_source_id FROM sift.start_sync('t', 's', 'folder', 'file:///srv')").fetchall()
    conn.execute("INSERT INTO sift.sync_items SELECT tenant_id, %s, %s, 'x', NULL FROM sift.tenants", (source, key))
    conn.execute("INSERT INTO sift.query_embeddings SELECT tenant_id, 1, %s, '{1,1}' FROM sift.tenants", (key,))
    conn.execute("SELECT count(*) FROM sift.set_access('t', principals => '{public}', key_prefix => %s)", (key,))
    before = left(conn, key, "history")
    assert {"ingest_runs", "dead_letters", "sync_items", "manifest_documents"} <= set(before)
    assert (before["ingest_runs"], before["dead_letters"]) == (5, 3)
    assert {"access_rules", "query_embeddings"} <= set(left(conn, key, "record"))
    match how:
        case "purge":
            conn.execute("SELECT count(*) FROM sift.purge_documents('t', %s)", ([key],))
        case "delete with purge":
            conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s, NULL, true)", ([key],))
        case _:
            conn.execute("SELECT count(*) FROM sift.delete_documents('t', %s)", ([key],))
            assert left(conn, key, "history")["ingest_runs"] == 5
            conn.execute("SELECT count(*) FROM sift.purge_documents('t', %s)", ([key],))
    assert left(conn, key, "search") == left(conn, key, "history") == {}
    assert set(left(conn, key, "record")) == {"document_versions"}
    everything = dump(dsn)
    for form in {key, written, key.replace("\\", "\\\\"), written.replace("\\", "\\\\")}:
        assert form not in everything
    # What is told of others is as it was.
    (hashed,), = conn.execute("SELECT sift._key_hash(%s)", (key,)).fetchall()
    rows = dict(conn.execute("SELECT run_id, summary FROM sift.ingest_runs").fetchall())
    assert [rows[number] for number in runs] == [
        {"withheld": 2, "withheld_keys": [hashed, "o1"]},
        {"failed": [hashed]},
        {hashed: {"reason": f"cannot read 'one/{hashed}': empty"}, "failures": [{"key": "o1"}]},
        hashed,
        {"failures": [], "kept": [True, None, 1.5, "o1"]},
    ]
    assert conn.execute("SELECT key, origin, reason FROM sift.dead_letters").fetchall() == [
        ("o2", {"root": f"/one/{hashed}", "path": "/one/o2"}, f"lies behind {hashed}")]
    # Written down again, and purged again, although there is no document.
    run(key, {}, None)
    assert left(conn, key, "history") == {"ingest_runs": 1}
    assert conn.execute("SELECT purged FROM sift.purge_documents('t', %s)", ([key],)).fetchall() == [(False,)]
    assert left(conn, key, "history") == {}


def test_names_of_other_things_stay(conn: psycopg.Connection) -> None:
    """A longer name that holds a key is another name, and an address that another document has is still its own."""
    put(conn, {"key": "a.md", "text": "one", "source_uri": "file:///all.jsonl"}, {"key": "c", "text": "two", "source_uri": "file:///all.jsonl"})
    others = ["b-a.md", "a.md.bak", "a.md/b", "aXmd", "A.MD", "xa.md", "file:///all.jsonl"]
    conn.execute("SELECT sift.start_run('t', 'file:///all.jsonl', %s)", (json.dumps([*others, "a.md.", "./a.md"]),))
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{a.md,none}')")
    (hashed,), = conn.execute("SELECT sift._key_hash('a.md')").fetchall()
    assert conn.execute("SELECT source, parameters FROM sift.ingest_runs").fetchall() == [
        ("file:///all.jsonl", [*others, f"{hashed}.", f"./{hashed}"])]
    assert left(conn, "a.md", "history") == {}


def test_a_rule_that_gives_other_access_stays_and_is_told(conn: psycopg.Connection) -> None:
    put(conn, {"key": "f/a.md", "text": "one"}, {"key": "f/b.md", "text": "two"})
    for prefix, who in (("f/", "{ann}"), ("f/a.md", "{bob}"), ("f/b.md", "{bob}"), ("f/b.md", "{ann}")):
        conn.execute("SELECT count(*) FROM sift.set_access('t', principals => %s, key_prefix => %s)", (who, prefix))
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{f/a.md,f/b.md}')")
    assert conn.execute("SELECT key_prefix FROM sift.access_rules ORDER BY 1").fetchall() == [("f/",), ("f/a.md",)]
    (found, note), = conn.execute(
        "SELECT found, note FROM sift.audit_deletion('t', 'f/a.md') WHERE kind = 'record' AND place = 'access_rules'").fetchall()
    assert found == 1 and "set_access" in note
    assert "access_rules" not in left(conn, "f/b.md", "record")
    # What the note says helps.
    conn.execute("SELECT count(*) FROM sift.set_access('t', principals => '{ann}', key_prefix => 'f/a.md')")
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{f/a.md}')")
    assert "access_rules" not in left(conn, "f/a.md", "record")


def test_copies_under_other_keys_are_told(conn: psycopg.Connection) -> None:
    put(conn, {"key": "a", "text": "the same words"}, {"key": "b", "text": "the same words"}, {"key": "c", "text": "other words"})
    conn.execute("SELECT count(*) FROM sift.delete_documents('t', '{a}')")
    notes = conn.execute("SELECT place, found, note FROM sift.audit_deletion('t', 'a') WHERE kind = 'copy'").fetchall()
    assert notes == [("chunks", 1, "documents that hold one of its texts: b"), ("documents", 1, "documents made of the same source: b")]
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{a}')")
    assert {row[1] for row in conn.execute("SELECT place, found FROM sift.audit_deletion('t', 'a') WHERE kind = 'copy'")} == {0}
    assert left(conn, "b", "search")["documents"] == 1


def test_a_purge_does_not_touch_what_was_moved_away(conn: psycopg.Connection) -> None:
    """A document that has another key today keeps its history."""
    put(conn, {"key": "a", "text": "one"})
    conn.execute("UPDATE sift.documents SET key = 'b'")
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', '{a}')")
    assert conn.execute("SELECT key FROM sift.document_versions").fetchall() == [("a",)]


def test_purges_and_deletes_at_once(dsn: str, conn: psycopg.Connection) -> None:
    keys = [f"k{n}" for n in range(400)]
    for _ in range(2):
        for start in (0, 200):
            put(conn, *({"key": key, "text": f"shared w{n % 5} {key} v{_}"} for n, key in enumerate(keys[start : start + 200])))
    put(conn, *({"key": f"o{n}", "text": f"shared w{n % 5}"} for n in range(300)))
    conn.execute("SELECT count(*) FROM sift.pack_postings('t', true)")

    def remove(part: int) -> None:
        with psycopg.connect(dsn, autocommit=True) as mine:
            for start in range(part, 400, 40):
                some = [keys[(start * 7 + step * 4) % 400] for step in range(9)]
                function = "purge_documents" if start % 3 else "delete_documents"
                mine.execute(f"SELECT count(*) FROM sift.{function}('t', %s)", (some,))  # type: ignore[arg-type]
                mine.execute("SELECT count(*) FROM sift.pack_postings('t', true)")

    with ThreadPoolExecutor(4) as pool:
        assert [future.exception() for future in [pool.submit(remove, part) for part in range(4)]] == [None] * 4
    conn.execute("SELECT count(*) FROM sift.purge_documents('t', %s)", (keys,))
    assert conn.execute("SELECT * FROM sift.verify_statistics('t')").fetchall() == []
    assert conn.execute("SELECT count(*) FROM sift.chunk_history").fetchone() == (0,)
    assert conn.execute(
        "SELECT count(*) FROM sift.posting_blocks AS b, unnest(b.postings) AS p WHERE NOT EXISTS"
        " (SELECT FROM sift.chunks AS c WHERE c.chunk_id = p >> 23)"
    ).fetchone() == (0,)
    assert {term for (term,) in conn.execute("SELECT DISTINCT term FROM sift.term_stats WHERE term LIKE 'k%'")} == set()
