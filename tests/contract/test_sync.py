"""Synchronizing folders and feeds: what is added, changed, moved and deleted, what is kept, and that it adds
up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Document, Store, errors
from pgsift.ingest import pipeline, sources, syncing

PUBLIC = ["public"]


class Counting:
    """An embedder that remembers what it was asked."""

    name = "counting"
    revision = "1"
    dimensions = 2
    metric = "cosine"
    query_prefix = ""
    document_prefix = ""
    normalized = False
    identity = "counting@1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("about apples")
    (root / "b.md").write_text("# B\n\nabout bananas")
    (root / "sub" / "c.txt").write_text("about cherries")
    return root


def stored(store: Any, tenant: str = "t") -> list[str]:
    return [document.key for document in store.documents(tenant, principals=["sift:writer"], k=1000)]


def adds_up(report: Any) -> bool:
    return bool(report.reconciled and report.entries == report.stored + report.failed + report.skipped)


def age(root: Path) -> None:
    """Make files old enough for their times to tell a change."""
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def test_a_folder_is_followed(store: Any, folder: Path) -> None:
    first = store.sync("t", folder, prefix="x/")
    assert (first.kind, first.ingest.created, first.entries, first.stored) == ("folder", 3, 3, 3)
    assert adds_up(first)
    again = store.sync("t", folder, prefix="x/")
    assert (again.ingest.unchanged, again.ingest.created, again.ingest.chunks) == (3, 0, 0)
    (folder / "a.txt").write_text("about avocados")
    (folder / "b.md").unlink()
    (folder / "d.txt").write_text("about dates")
    (folder / "e.png").write_bytes(b"\x89PNG")
    report = store.sync("t", folder, prefix="x/")
    counts = report.ingest
    assert (counts.replaced, counts.created, counts.deleted, counts.unchanged) == (1, 1, 1, 1)
    assert (report.entries, report.stored, report.skipped) == (4, 3, 1)
    assert adds_up(report)
    assert stored(store) == ["x/a.txt", "x/d.txt", "x/sub/c.txt"]
    last = store.document_history("t", "x/b.md", principals=["sift:writer"])[-1]
    assert (last.event, last.reason) == ("deleted", f"gone from {folder.as_uri()}")


def test_a_move_keeps_the_document(store: Any, folder: Path) -> None:
    embedder = Counting()
    store.sync("t", folder, embedder=embedder)
    before = store.search("t", "cherries", principals=PUBLIC)[0]
    asked = len(embedder.seen)
    (folder / "sub").rename(folder / "elsewhere")
    report = store.sync("t", folder, embedder=embedder)
    assert (report.ingest.moved, report.ingest.created, report.ingest.deleted) == (1, 0, 0)
    assert adds_up(report)
    after = store.search("t", "cherries", principals=PUBLIC)[0]
    assert (after.key, after.document_id, after.chunk_id, after.document_version) == (
        "elsewhere/c.txt",
        before.document_id,
        before.chunk_id,
        1,
    )
    assert len(embedder.seen) == asked
    history = store.document_history("t", "elsewhere/c.txt", principals=["sift:writer"])
    assert [(v.event, v.key_then) for v in history] == [
        ("created", "sub/c.txt"),
        ("moved", "elsewhere/c.txt"),
    ]
    (info,) = [d for d in store.documents("t", principals=PUBLIC) if d.key == "elsewhere/c.txt"]
    assert info.source_uri == (folder / "elsewhere" / "c.txt").as_uri()
    past = store.document_at("t", "sub/c.txt", history[0].current_from, principals=PUBLIC)
    assert past.text == "about cherries"
    assert store.document_at("t", "sub/c.txt", principals=PUBLIC) is None
    assert store.document_history("t", "elsewhere/c.txt", principals=PUBLIC)[0].key_then is not None


def test_copies_and_swaps_are_no_moves(store: Any, folder: Path) -> None:
    store.sync("t", folder)
    (folder / "copy.txt").write_text("about apples")
    report = store.sync("t", folder)
    assert (report.ingest.moved, report.ingest.created) == (0, 1)
    a, c = folder / "a.txt", folder / "sub" / "c.txt"
    one, two = a.read_text(), c.read_text()
    a.write_text(two)
    c.write_text(one)
    report = store.sync("t", folder)
    assert (report.ingest.moved, report.ingest.replaced) == (0, 2)
    # Two of one content go, and one comes that may be either: it is the one whose path ends alike.
    (folder / "copy.txt").unlink()
    c.unlink()
    (folder / "new").mkdir()
    (folder / "new" / "copy.txt").write_text("about apples")
    report = store.sync("t", folder)
    assert (report.ingest.moved, report.ingest.deleted) == (1, 1)
    events = [v.event for v in store.document_history("t", "new/copy.txt", principals=["sift:writer"])]
    assert events == ["created", "moved"]


def test_access_follows_a_move_unless_it_is_the_documents_own(store: Any, folder: Path) -> None:
    store.set_access("t", principals=["group:hr"], key_prefix="hr/")
    store.sync("t", folder)
    store.set_access("t", ["a.txt"], ["user:7"])
    (folder / "hr").mkdir()
    (folder / "a.txt").rename(folder / "hr" / "a.txt")
    (folder / "b.md").rename(folder / "hr" / "b.md")
    assert store.sync("t", folder).ingest.moved == 2
    shown = {entry.name: list(entry.principals) for entry in store.show_access("t", ["hr/a.txt", "hr/b.md"])}
    assert shown == {"hr/a.txt": ["user:7"], "hr/b.md": ["group:hr"]}
    assert [hit.key for hit in store.search("t", "bananas", principals=PUBLIC)] == []


def test_an_empty_source_deletes_nothing(store: Any, folder: Path) -> None:
    store.sync("t", folder)
    for path in (folder / "a.txt", folder / "b.md", folder / "sub" / "c.txt"):
        path.unlink()
    with pytest.raises(errors.InvalidArgument, match="holds no document") as caught:
        store.sync("t", folder)
    assert "--allow-empty" in str(caught.value.hint)
    assert len(stored(store)) == 3
    with pytest.raises(errors.InvalidArgument, match="there is no file or folder"):
        store.sync("t", folder / "not there", allow_empty=True)
    report = store.sync("t", folder, allow_empty=True)
    assert (report.ingest.deleted, report.entries) == (3, 0)
    assert stored(store) == []


def test_what_cannot_be_read_is_kept(store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.sync("t", folder)
    (folder / "a.txt").write_bytes(b"\xff not text any more")
    (folder / "b.md").unlink()
    closed = str(folder / "sub")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if os.fspath(path) == closed:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = store.sync("t", folder)
    assert stored(store) == ["a.txt", "sub/c.txt"]
    assert (report.failed, report.kept, report.ingest.deleted) == (2, 1, 1)
    assert adds_up(report)
    assert {failure.key for failure in report.ingest.failures} == {"a.txt", "sub"}
    monkeypatch.setattr(os, "scandir", scandir)
    (folder / "a.txt").write_text("readable")
    report = store.sync("t", folder)
    assert (report.failed, report.stored) == (0, 2)
    assert store.dead_letters("t") == [], "what is read again is missing no more"


def test_a_watermark_reads_what_changed(store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age(folder)
    first = store.sync("t", folder, watermark=True)
    assert (first.mode, first.unread) == ("watermark", 0)
    read: list[str] = []
    read_file = sources.read_file

    def noted(path: Path, *arguments: Any, **options: Any) -> Any:
        read.append(path.name)
        return read_file(path, *arguments, **options)

    monkeypatch.setattr(syncing, "read_file", noted)
    report = store.sync("t", folder, watermark=True)
    assert (report.unread, report.ingest.unchanged, read) == (3, 3, [])
    assert adds_up(report)
    (folder / "a.txt").write_text("about avocados")
    (folder / "b.md").unlink()
    report = store.sync("t", folder, watermark=True)
    assert (read, report.unread, report.ingest.replaced, report.ingest.deleted) == (["a.txt"], 1, 1, 1)
    # Just written: its time may stay what it is while it changes again.
    (folder / "a.txt").write_text("about artichokes"[:14])
    assert store.sync("t", folder, watermark=True).ingest.replaced == 1
    # What somebody else changed or deleted is put right.
    age(folder)
    store.sync("t", folder, watermark=True)
    store.delete("t", ["sub/c.txt"])
    store.put_documents("t", [Document("a.txt", "not what the file says")])
    report = store.sync("t", folder, watermark=True)
    assert (report.ingest.created, report.ingest.replaced, report.unread) == (1, 1, 0)
    # Another chunker, another access list: all is read, and the report says so.
    report = store.sync("t", folder, watermark=True, chunk_size=20)
    assert (report.unread, report.ingest.replaced) == (0, 2)
    assert "chunker" in report.notes[0]
    report = store.sync("t", folder, watermark=True, chunk_size=20, acl=["group:hr"])
    assert (report.unread, report.ingest.updated, report.ingest.chunks) == (0, 2, 0)
    assert "acl" in report.notes[0]


def test_missing_vectors_are_no_mark(store: Any, folder: Path) -> None:
    age(folder)
    store.sync("t", folder, watermark=True)
    embedder = Counting()
    report = store.sync("t", folder, watermark=True, embedder=embedder)
    assert report.ingest.vectors_computed == 3
    assert store.sync("t", folder, watermark=True, embedder=embedder).unread == 3


def test_dry_run_changes_nothing(store: Any, folder: Path, dsn: str) -> None:
    store.sync("t", folder)
    (folder / "a.txt").write_text("about avocados")
    (folder / "b.md").rename(folder / "moved.md")
    (folder / "sub" / "c.txt").unlink()
    (folder / "new.txt").write_text("new")

    def state() -> Any:
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "SELECT (SELECT jsonb_agg(to_jsonb(d) ORDER BY d.key) FROM sift.documents AS d),"
                " (SELECT jsonb_agg(to_jsonb(s)) FROM sift.sync_sources AS s),"
                " (SELECT jsonb_agg(to_jsonb(i) ORDER BY i.key) FROM sift.sync_items AS i),"
                " (SELECT count(*) FROM sift.ingest_runs), (SELECT count(*) FROM sift.document_versions)"
            ).fetchone()

    before = state()
    report = store.sync("t", folder, dry_run=True)
    assert state() == before
    assert {(c.change, c.key, c.from_key) for c in report.planned} == {
        ("change", "a.txt", None),
        ("move", "moved.md", "b.md"),
        ("delete", "sub/c.txt", None),
        ("create", "new.txt", None),
    }
    done = store.sync("t", folder).ingest
    assert (done.replaced, done.moved, done.deleted, done.created) == (1, 1, 1, 1)


def test_a_source_is_known_by_its_name(store: Any, folder: Path) -> None:
    store.sync("t", folder, prefix="x/")
    with pytest.raises(errors.AlreadyExists, match="prefix"):
        store.sync("t", folder, prefix="y/")
    assert stored(store) == ["x/a.txt", "x/b.md", "x/sub/c.txt"]
    (known,) = store.sync_sources("t")
    assert (known.name, known.kind, known.prefix, known.documents) == (folder.as_uri(), "folder", "x/", 3)
    assert known.counts["reconciled"] is True
    assert store.end_sync("t", known.name) is True
    assert store.end_sync("t", known.name) is False
    assert len(stored(store)) == 3
    assert store.sync("t", folder, prefix="y/").ingest.created == 3
    # Another place under the same name is the same source.
    other = folder.parent / "mounted elsewhere"
    store.sync("t", folder, name="docs", prefix="z/")
    folder.rename(other)
    (other / "a.txt").unlink()
    report = store.sync("t", other, name="docs", prefix="z/")
    assert (report.ingest.unchanged, report.ingest.deleted) == (2, 1)
    assert "was at" in report.notes[0]


def test_two_sources_do_not_take_turns_with_a_key(store: Any, folder: Path) -> None:
    store.sync("t", folder)
    other = folder.parent / "other"
    other.mkdir()
    (other / "a.txt").write_text("another a")
    (other / "z.txt").write_text("z")
    report = store.sync("t", other)
    assert (report.failed, report.stored) == (1, 1)
    assert adds_up(report)
    assert "another synchronized source" in report.ingest.failures[0].reason
    assert store.sync("t", folder).ingest.unchanged == 3
    assert store.sync("t", other, name="o", prefix="o/").stored == 2


def test_what_was_ingested_before_is_taken_over(store: Any, folder: Path) -> None:
    store.ingest("t", folder)
    (folder / "b.md").unlink()
    report = store.sync("t", folder)
    assert (report.ingest.unchanged, report.ingest.deleted, report.ingest.created) == (2, 1, 0)
    store.put_documents("t", [Document("by hand", "x")])
    assert store.sync("t", folder).ingest.deleted == 0
    assert stored(store) == ["a.txt", "by hand", "sub/c.txt"]


def test_json_lines_in_a_folder(store: Any, folder: Path) -> None:
    lines = folder / "many.jsonl"
    lines.write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n\n{"id": "2", "text": "again"}\n')
    report = store.sync("t", folder)
    assert (report.entries, report.stored, report.failed) == (6, 5, 1)
    assert adds_up(report)
    lines.write_text('{"id": "1", "text": "one"}\nnot json\n')
    report = store.sync("t", folder)
    assert (report.ingest.deleted, report.failed, report.kept) == (0, 1, 1), "the broken line may be number 2"
    assert adds_up(report)
    lines.write_text('{"id": "1", "text": "one"}\n')
    assert store.sync("t", folder).ingest.deleted == 1
    assert store.dead_letters("t") == []


def feed(path: Path, *records: dict[str, Any] | str) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def test_a_feed_in_full(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    feed(
        path,
        {"id": 1, "text": "one", "version": 1},
        {"id": 2, "text": "two"},
        {"id": 1, "text": "uno", "version": 3},
        {"id": 1, "text": "late", "version": 2},
    )
    report = store.sync("t", path, prefix="f/")
    assert (report.kind, report.entries, report.stored, report.skipped) == ("feed", 4, 2, 2)
    assert report.ingest.skipped == {"superseded": 2}
    assert adds_up(report)
    assert store.document_at("t", "f/1", principals=PUBLIC).text == "uno"
    (one, two) = store.documents("t", principals=PUBLIC)
    assert (one.source_version, one.metadata, two.source_version) == ("3", {}, None)
    feed(path, {"id": 1, "text": "uno", "version": 3}, {"id": 3, "text": "two"})
    report = store.sync("t", path, prefix="f/")
    assert (report.ingest.moved, report.ingest.unchanged, report.watermark) == (1, 1, "3")
    feed(path, {"id": 1, "deleted": True, "version": 4}, {"id": 3, "text": "two"})
    report = store.sync("t", path, prefix="f/")
    assert (report.deletions, report.ingest.deleted, report.stored, report.skipped) == (1, 1, 1, 1)
    assert adds_up(report)
    reason = store.document_history("t", "f/1", principals=["sift:writer"])[-1].reason
    assert reason == f"deleted in {path.as_uri()}"


def test_a_feed_of_changes(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    times = [f"2024-05-0{day}T12:00:00Z" for day in range(1, 6)]
    feed(path, *({"id": n, "text": f"text {n}", "updated_at": times[n]} for n in range(3)))
    store.sync("t", path, watermark=True)
    feed(
        path,
        {"id": 1, "text": "changed", "updated_at": times[3]},
        {"id": 0, "text": "stale", "updated_at": "2024-04-01"},
        {"id": 2, "deleted": True, "updated_at": times[4]},
        {"id": 9, "text": "new", "updated_at": "2024-05-03T14:00:00+02:00"},
    )
    report = store.sync("t", path, watermark=True)
    counts = report.ingest
    assert (counts.replaced, counts.deleted, counts.created, report.unread) == (1, 1, 1, 1)
    assert report.watermark == "2024-05-05T12:00:00+00:00"
    assert adds_up(report)
    assert stored(store) == ["0", "1", "9"]
    assert store.document_at("t", "0", principals=PUBLIC).text == "text 0"
    feed(path, {"id": 1, "text": "again", "updated_at": "2024-06-01"})
    report = store.sync("t", path, watermark=True)
    assert (report.kept, report.ingest.deleted, stored(store)) == (2, 0, ["0", "1", "9"])


def test_what_comes_late_in_a_feed_of_changes_undoes_nothing(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    feed(path, {"id": 1, "text": "two", "version": 2}, {"id": 2, "text": "one", "version": 1})
    store.sync("t", path, watermark=True)
    feed(path, {"id": 1, "deleted": True, "version": 1})
    report = store.sync("t", path, watermark=True)
    assert (report.ingest.deleted, report.deletions, report.kept) == (0, 1, 2)
    assert adds_up(report)
    # Nor where everything is read anew, since it is made into something else.
    feed(path, {"id": 1, "text": "stale", "version": 1}, {"id": 2, "text": "one", "version": 1})
    report = store.sync("t", path, watermark=True, classification="open")
    assert any("everything is read" in note for note in report.notes)
    assert (report.unread, report.ingest.replaced) == (1, 1)
    assert adds_up(report)
    assert [store.document_at("t", key, principals=PUBLIC).text for key in ("1", "2")] == ["two", "one"]
    # A deletion of the version that is stored, and one of the last document by name, are meant.
    feed(path, {"id": 1, "deleted": True, "version": 2})
    assert store.sync("t", path, watermark=True).ingest.deleted == 1
    feed(path, {"id": 2, "deleted": True, "version": 3})
    report = store.sync("t", path, watermark=True)
    assert (report.ingest.deleted, stored(store)) == (1, [])
    assert adds_up(report)


def test_what_is_left_of_a_source_that_cannot_be_read_is_not_everything(
    store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.sync("t", folder)
    for name in ("a.txt", "b.md"):
        (folder / name).unlink()
    closed, scandir = str(folder / "sub"), os.scandir

    def refuse(path: Any) -> Any:
        if os.fspath(path) == closed:
            raise PermissionError(13, "Permission denied", closed)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(errors.InvalidArgument, match="holds no document"):
        store.sync("t", folder)
    assert len(stored(store)) == 3
    report = store.sync("t", folder, allow_empty=True)
    assert (report.ingest.deleted, report.kept, stored(store)) == (2, 1, ["sub/c.txt"])


def test_a_broken_record_is_found_again_though_the_watermark_has_passed(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    feed(
        path,
        {"id": 1, "text": 5, "version": 1},
        {"id": 2, "text": "two", "version": 7},
        {"id": 3, "version": "x"},
        "{",
    )
    report = store.sync("t", path, watermark=True)
    assert (report.failed, report.stored) == (3, 1)
    assert adds_up(report)
    assert {failure.key for failure in report.ingest.failures} == {f"feed.jsonl:{n}" for n in (1, 3, 4)}
    feed(path, {"id": 1, "text": "mended", "version": 1}, {"id": 2, "text": "two", "version": 7})
    report = store.sync("t", path, watermark=True)
    assert (report.failed, report.stored, report.unread) == (0, 2, 1)
    assert store.dead_letters("t") == []


def test_what_cannot_be_synchronized(store: Any, folder: Path) -> None:
    with pytest.raises(errors.InvalidArgument, match="standard input"):
        store.sync("t", "-")
    with pytest.raises(errors.InvalidArgument, match="neither a folder nor"):
        store.sync("t", folder / "a.txt")
    with pytest.raises(errors.InvalidArgument, match="principal is empty"):
        store.sync("t", folder, acl=[""])
    assert store.sync_sources("t") == []


def test_it_works_in_the_callers_transaction(
    make_store: Callable[..., Any], connect: Callable[..., Any], store: Any, dsn: str, folder: Path
) -> None:
    connection = connect(dsn)
    inner = make_store(connection=connection)
    assert inner.sync("t", folder).stored == 3
    connection.rollback()
    assert stored(store) == []
    assert inner.sync("t", folder, dry_run=True).planned != ()
    assert inner.sync("t", folder).ingest.created == 3
    connection.commit()
    assert len(stored(store)) == 3


@pytest.mark.usefixtures("store")
def test_a_writer_who_owns_nothing_may_synchronize(
    make_store: Any, make_login: Any, dsn: str, folder: Path
) -> None:
    writer = make_store(make_login(dsn, "sift_writer"))
    assert writer.sync("t", folder).stored == 3
    (folder / "a.txt").rename(folder / "z.txt")
    assert writer.sync("t", folder).ingest.moved == 1
    app = make_store(make_login(dsn, "sift_app"))
    with pytest.raises(errors.NotPermitted):
        app.sync("t", folder)


def test_killed_and_run_again(dsn: str, tmp_path: Path) -> None:
    """The client dies by kill -9 half-way, several times; what it leaves is whole, and another run completes
    it: the same as a sync that was never interrupted."""
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(1500):
        (root / f"{number:04}.txt").write_text(f"number{number} shared words " * 20)
    code = (
        "import sys, pgsift\n"
        "from pgsift.ingest import pipeline\n"
        "pipeline.GROUP_DOCUMENTS = pipeline.BATCH_CHUNKS = 40\n"
        "with pgsift.Store(sys.argv[1]) as store:\n"
        "    store.sync('t', sys.argv[2], progress=lambda p: print(p.documents, flush=True))\n"
    )
    with Store(dsn) as store:
        store.create_tenant("t", default_principals=PUBLIC)
        store.create_tenant("whole", default_principals=PUBLIC)
        sizes = []
        for wanted in (1, 300, 700):
            process = subprocess.Popen(
                [sys.executable, "-c", code, dsn, str(root)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) >= wanted:
                    break
            process.send_signal(signal.SIGKILL)
            process.communicate()
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                # The server may still be committing what it was sent.
                with psycopg.connect(dsn) as connection:
                    (others,) = connection.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                        " AND pid <> pg_backend_pid() AND state <> 'idle'"
                    ).fetchone() or (0,)
                if not others:
                    break
            stats = store.stats("t")
            assert stats.documents == stats.chunks == stats.indexed_chunks
            sizes.append(stats.documents)
        assert 0 < sizes[-1] < 1500
        for number in range(0, 1500, 100):
            (root / f"{number:04}.txt").rename(root / f"moved{number:04}.txt")
        report = store.sync("t", root)
        assert adds_up(report)
        assert report.stored == 1500
        assert 0 < report.ingest.moved <= 15
        whole = store.sync("whole", root)
        assert whole.stored == 1500
        assert stored(store) == stored(store, "whole")
        hashes = {s.key: s.content_hash for s in store.document_states("t", stored(store))}
        assert hashes == {s.key: s.content_hash for s in store.document_states("whole", stored(store))}
        for query in ("number700", "number0", "shared"):
            found = [
                (hit.key, hit.lexical_score)
                for hit in store.lexical_search("t", query, principals=PUBLIC, k=5, collapse=False)
            ]
            other = [
                (hit.key, hit.lexical_score)
                for hit in store.lexical_search("whole", query, principals=PUBLIC, k=5, collapse=False)
            ]
            assert [score for _, score in found] == [score for _, score in other]


def test_many_groups(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GROUP_DOCUMENTS", 7)
    path = feed(tmp_path / "feed.jsonl", *({"id": n, "text": f"text {n}", "version": n + 1} for n in range(60)))
    assert store.sync("t", path).stored == 60
    feed(path, *({"id": n + 30, "text": f"text {n + 30}", "version": n + 31} for n in range(60)))
    report = store.sync("t", path)
    assert (report.ingest.unchanged, report.ingest.created, report.ingest.deleted) == (30, 30, 30)
    assert adds_up(report)
