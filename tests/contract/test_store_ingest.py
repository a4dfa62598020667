from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from pgsift import AsyncStore, Document, errors
from pgsift.ingest import pipeline
from pgsift.models import Progress

PUBLIC = ["public"]


def keys(result: Any) -> list[str]:
    return [hit.key for hit in result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "guide.md").write_text(
        "# Guide\n\nRead this first.\n\n## Pumps\n\nA pump moves water.\n", encoding="utf-8"
    )
    (root / "note.txt").write_bytes("plain café note".encode("utf-16"))
    (root / "sub" / "page.html").write_text("<title>A page</title><p>turbine blades</p>", encoding="utf-8")
    (root / "sub" / "records.jsonl").write_text(
        '{"id": 1, "title": "One", "text": "valve", "metadata": {"n": 1}, "acl": ["group:hr"]}\n\n'
        '{"id": "two", "text": "valve seat", "license": "CC0-1.0", "extra": true}\n',
        encoding="utf-8",
    )
    (root / "image.png").write_bytes(b"\x89PNG")
    (root / "Makefile").write_text("all:")
    (root / ".hidden.md").write_text("secret")
    (root / ".git").mkdir()
    (root / ".git" / "config.txt").write_text("secret")
    (root / "loop").symlink_to(root, target_is_directory=True)
    return root


def test_a_folder(store: Any, folder: Path) -> None:
    pytest.importorskip("trafilatura")
    seen: list[Progress] = []
    report = store.ingest("t", folder, progress=seen.append)
    assert (report.created, report.failed) == (5, 0)
    assert report.skipped == {".png": 1, "hidden": 2, "no extension": 1, "symlink": 1}
    assert report.chunks == 6
    assert report.bytes == sum(
        (folder / name).stat().st_size for name in ("guide.md", "note.txt", "sub/page.html")
    ) + sum(
        len(line)
        for line in (folder / "sub/records.jsonl").read_bytes().splitlines(keepends=True)
        if line.strip()
    )
    assert seen[-1].documents == 5
    assert seen[-1].total_bytes is not None and seen[-1].total_bytes >= report.bytes
    found = {d.key: d for d in store.documents("t", principals=["public", "group:hr"])}
    assert sorted(found) == [
        "guide.md",
        "note.txt",
        "sub/page.html",
        "sub/records.jsonl#1",
        "sub/records.jsonl#two",
    ]
    assert found["guide.md"].title == "Guide"
    assert found["note.txt"].title is None
    assert found["sub/page.html"].title == "A page"
    assert found["guide.md"].source_uri == (folder / "guide.md").as_uri()
    assert found["sub/records.jsonl#1"].visible_to == ["group:hr"]
    assert (found["sub/records.jsonl#two"].license, found["sub/records.jsonl#two"].metadata) == (
        "CC0-1.0",
        {"extra": True},
    )
    hit = store.search("t", "pump", principals=PUBLIC)[0]
    text = (folder / "guide.md").read_text(encoding="utf-8")
    assert (hit.key, hit.section, hit.body) == ("guide.md", "Pumps", text[hit.char_start : hit.char_end])
    assert keys(store.search("t", "guide", principals=PUBLIC)) == ["guide.md"]


def test_again_changes_nothing_and_a_change_replaces(store: Any, folder: Path) -> None:
    pytest.importorskip("trafilatura")
    store.ingest("t", folder)
    again = store.ingest("t", folder)
    assert (again.unchanged, again.created, again.replaced, again.chunks, again.tokens) == (5, 0, 0, 0, 0)
    (folder / "guide.md").write_text("# Guide\n\nNow about fans.", encoding="utf-8")
    changed = store.ingest("t", folder)
    assert (changed.unchanged, changed.replaced) == (4, 1)
    assert keys(store.search("t", "pump", principals=PUBLIC)) == []
    assert [s.version for s in store.document_states("t", ["guide.md"])] == [2]
    with_acl = store.ingest("t", folder, acl=["group:hr"])
    # The JSON line that brings its own list keeps it.
    assert (with_acl.unchanged, with_acl.updated, with_acl.chunks) == (1, 4, 0)
    without = store.ingest("t", folder)
    assert without.unchanged == 5, "left out, the access list is what it was"
    assert keys(store.search("t", "fans", principals=PUBLIC)) == []


def test_the_key_is_the_path_under_the_root(
    store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    report = store.ingest("t", ["guide.md", str(folder / "sub" / "records.jsonl")], prefix="x/")
    assert report.created == 3
    assert [d.key for d in store.documents("t", principals=["public", "group:hr"])] == [
        "x/1",
        "x/guide.md",
        "x/two",
    ]


def test_sync_deletes_what_is_gone(store: Any, folder: Path) -> None:
    pytest.importorskip("trafilatura")
    store.put_documents("t", [{"key": "elsewhere", "text": "not of this folder"}])
    store.ingest("t", folder)
    (folder / "note.txt").unlink()
    (folder / "guide.md").write_bytes(b"\xff broken")
    assert store.ingest("t", folder).deleted == 0
    report = store.ingest("t", folder, sync=True)
    # A file that cannot be read any more is not gone.
    assert (report.deleted, report.failed, report.unchanged) == (1, 1, 3)
    left = [d.key for d in store.documents("t", principals=["public", "group:hr"])]
    assert "note.txt" not in left
    assert "guide.md" in left
    assert "elsewhere" in left


def test_sync_keeps_what_it_could_not_look_for(
    store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trafilatura")
    store.ingest("t", folder)
    lines = folder / "sub" / "records.jsonl"
    lines.write_text('not json\n{"id": "two", "text": "valve seat", "license": "CC0-1.0", "extra": true}\n')
    report = store.ingest("t", folder, sync=True)
    # The broken line may have been document 1.
    assert (report.deleted, report.failed, report.unchanged) == (0, 1, 4)
    scandir = os.scandir

    def refused(path: Any) -> Any:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    report = store.ingest("t", folder, sync=True)
    assert (report.deleted, report.failed, report.unchanged) == (0, 1, 2)
    monkeypatch.undo()
    lines.write_text('{"id": "two", "text": "valve seat", "license": "CC0-1.0", "extra": true}\n')
    (folder / "sub" / "page.html").unlink()
    report = store.ingest("t", folder, sync=True)
    assert (report.deleted, report.failed, report.unchanged) == (2, 0, 3)


def test_bad_sources_are_dead_letters_and_do_not_stop_the_rest(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    root.mkdir()
    (root / "bad.txt").write_bytes(b"\xff\xfe\xfd latin \xe9")
    (root / "good.txt").write_text("good words")
    (root / "lines.jsonl").write_bytes(
        b'{"id": "ok", "text": "fine words"}\n'
        b"not json\n"
        b'{"text": "no id"}\n'
        b'{"id": "ok", "text": "again"}\n'
        b'{"id": "acls", "text": "x", "acls": ["public"]}\n'
        b'{"id": "acl", "text": "x", "acl": "public"}\n'
        b'{"id": "meta", "text": "x", "metadata": 5}\n'
        b'{"id": "utf", "text": "\xff"}\n'
        b'{"id": "when", "text": "x", "valid_from": "yesterday-ish"}\n'
        b'{"id": "reserved", "text": "x", "acl": ["sift:writer"]}\n'
        b'{"id": "deep", "text": "x", "metadata": {"a": ' + b"[" * 3000 + b"]" * 3000 + b"}}\n"
        b'{"id": "' + b"k" * 2001 + b'", "text": "x"}\n'
        b'{"id": "nul\\u0000", "text": "x"}\n'
        b'{"id": "nul", "text": "nul\\u0000words \\ud800"}\n'
        b"[1, 2]\n"
    )
    report = store.ingest("t", root)
    assert report.created == 3
    assert report.failed == 14
    assert report.characters_cleaned == 2
    letters = store.dead_letters("t", run_id=report.run_id)
    assert len(letters) == 14
    reasons = {letter.key: (letter.stage, letter.reason) for letter in letters}
    assert reasons["bad.txt"][0] == "parse"
    assert "UTF-16" in reasons["bad.txt"][1] or "utf-16" in reasons["bad.txt"][1]
    assert "not JSON" in reasons["lines.jsonl:2"][1]
    assert "no id" in reasons["lines.jsonl:3"][1]
    assert "twice" in reasons["lines.jsonl#ok"][1]
    assert "acls" in reasons["lines.jsonl:5"][1]
    assert reasons["lines.jsonl#when"][0] == "store"
    assert "one by one" not in reasons["lines.jsonl#when"][1]
    assert reasons["lines.jsonl#reserved"][0] == "store"
    assert "NUL" in reasons["lines.jsonl:13"][1]
    assert sorted(keys(store.search("t", "words", principals=PUBLIC))) == [
        "good.txt",
        "lines.jsonl#nul",
        "lines.jsonl#ok",
    ]
    json.dumps([letter.to_dict() for letter in letters])


def test_a_file_that_is_given_twice_is_no_failure(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("apples")
    (root / "sub" / "b.txt").write_text("bananas")
    (root / "many.jsonl").write_text('{"id": "1", "text": "one"}\n')
    (root / "nowhere.txt").symlink_to("gone.txt")
    report = store.ingest("t", [root, root / "a.txt", f"{root}/./a.txt", root / "many.jsonl", root / "many.jsonl"])
    # Lines of a file that is given by itself have keys of their own.
    assert (report.created, report.skipped) == (4, {"repeated": 3})
    assert report.reasons == {"a link that leads nowhere": 1}
    # Another file under the key that was met is one.
    report = store.ingest("t", [root, root / "sub" / "b.txt", tmp_path / "docs" / "sub" / ".." / "a.txt"])
    assert (report.created, report.skipped) == (1, {"repeated": 1})
    (tmp_path / "a.txt").write_text("other")
    report = store.ingest("t", [root / "a.txt", tmp_path / "a.txt"])
    assert report.reasons == {"the key occurs twice in this run; the first document was kept": 1}


def test_a_document_of_the_wrong_type_is_one_dead_letter(store: Any) -> None:
    bad: list[Any] = [
        Document("uri", "x", source_uri=5),  # type: ignore[arg-type]
        Document(None, "x"),  # type: ignore[arg-type]
        Document("acl", "x", acl="public"),
        {"key": "chunks", "chunks": ["a"]},
        {"key": "both", "text": "lost words", "chunks": []},
        {"key": "more", "text": "x", "acll": ["public"]},
        Document("a\0b", "x"),
        Document("hr", "x", acl=["group:h\0r"]),
    ]
    report = store.ingest("t", [Document("first", "good words"), *bad, Document("last", "fine words")])
    assert (report.created, report.failed) == (2, 8)
    assert sorted(keys(store.search("t", "words", principals=PUBLIC))) == ["first", "last"]
    reasons = {failure.key: failure.reason for failure in report.failures}
    assert "source_uri must be a string, not int" in reasons["uri"]
    assert "no key" in reasons[None]
    assert len(store.dead_letters("t", run_id=report.run_id)) == 8
    for document in bad:
        with pytest.raises(errors.InvalidDocument):
            store.put_documents("t", [Document("beside", "x"), document])
    with pytest.raises(errors.InvalidDocument, match=r"document 'uri': source_uri"):
        store.put_documents("t", bad[:1])
    assert store.stats("t").documents == 2
    with pytest.raises(errors.InvalidArgument, match="source"):
        store.ingest("t", None)


def test_names_that_do_not_fit_reach_nobody_elses_documents(store: Any) -> None:
    store.put_documents(
        "t", [Document("secret", "salary", acl=["group:hr"]), Document("ab", "salary", acl=["user:\ufffd"])]
    )
    for principal in ("group:h\0r", "\0group:hr", "group:hr\0", "user:\ud800"):
        with pytest.raises(errors.InvalidArgument, match="principals"):
            store.search("t", "salary", principals=[principal], mode="lexical")
        with pytest.raises(errors.InvalidArgument, match="principals"):
            store.documents("t", principals=[principal])
    with pytest.raises(errors.InvalidDocument, match="key"):
        store.put_documents("t", [Document("a\0b", "other")])
    with pytest.raises(errors.InvalidArgument, match="keys"):
        store.delete("t", ["secre\0t"])
    for tenant in ("\ud800", "t\0"):
        with pytest.raises(errors.InvalidArgument, match="tenant"):
            store.create_tenant(tenant)
    assert keys(store.search("t", "salary", principals=["group:hr"])) == ["secret"]
    assert [tenant.tenant for tenant in store.tenants()] == ["t"]


def test_numbers_no_double_holds_are_kept_as_text(store: Any, tmp_path: Path) -> None:
    source = tmp_path / "numbers.jsonl"
    source.write_text(
        '{"id": "n", "text": "nul\\u0000words", "metadata": {"big": 1e400, "small": -2e-999, "nan": NaN,'
        ' "inf": [Infinity, -Infinity], "plain": 0.0, "half": 5e-1}}\n'
    )
    report = store.ingest("t", source)
    assert (report.created, report.failed, report.characters_cleaned) == (1, 0, 6)
    hit = store.search("t", "words", principals=PUBLIC)[0]
    assert hit.metadata == {
        "big": "1E+400",
        "small": "-2E-999",
        "nan": "NaN",
        "inf": ["Infinity", "-Infinity"],
        "plain": 0.0,
        "half": 0.5,
    }
    assert (hit.body, hit.char_start, hit.char_end) == ("nul words", 0, 9)


def test_an_empty_path_or_filter_is_refused(
    store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for path in ("", " ", ["guide.md", ""]):
        with pytest.raises(errors.InvalidArgument, match="empty"):
            store.ingest("t", path, progress=lambda _: None)
    assert store.stats("t").documents == 0
    with pytest.raises(errors.InvalidFilter, match="empty"):
        store.search("t", "x", principals=PUBLIC, filter=" ")


def test_a_document_the_database_refuses_is_found_among_many(store: Any) -> None:
    documents = [
        Document(f"d{n:03}", f"word{n}", acl=["sift:x"] if n in (3, 77) else None) for n in range(120)
    ]
    report = store.ingest("t", documents)
    assert (report.created, report.failed) == (118, 2)
    assert [(f.key, f.stage) for f in report.failures] == [("d003", "store"), ("d077", "store")]
    assert store.stats("t").documents == 118


def test_names_that_are_not_utf8(store: Any, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("the file system does not take such names")
    for name in (b"a\xff.txt", b"a\xfe.txt"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("odd name")
    report = store.ingest("t", tmp_path)
    assert (report.created, report.characters_cleaned) == (2, 2)
    assert [d.key for d in store.documents("t", principals=PUBLIC)] == ["a\\xfe.txt", "a\\xff.txt"]


def test_an_unreadable_folder_and_special_files(store: Any, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    report = store.ingest("t", tmp_path)
    assert (report.created, report.failed) == (1, 2)
    assert {f.key for f in report.failures} == {"broken.txt", "pipe.txt"}


def test_standard_input(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    feed(b"# From a pipe\n\nstreamed words")
    assert store.ingest("t", "-", format="markdown", key="pipe").created == 1
    hit = store.search("t", "streamed", principals=PUBLIC)[0]
    assert (hit.key, hit.title) == ("pipe", "From a pipe")
    feed(b'{"id": "l1", "text": "line one"}\n{"id": "l2", "text": "line two"}')
    assert store.ingest("t", "-", format="jsonl", prefix="in/").created == 2
    assert sorted(keys(store.search("t", "line", principals=PUBLIC))) == ["in/l1", "in/l2"]


def test_titles_without_text(store: Any) -> None:
    report = store.ingest(
        "t",
        [
            Document("md", "# Only a heading", "markdown"),
            Document("given", "", title="Only a title"),
            Document("nothing", " \n "),
        ],
    )
    assert (report.created, report.empty, report.chunks) == (3, 1, 2)
    found = store.search("t", "only", principals=PUBLIC)
    assert {(h.key, h.kind, h.body) for h in found} == {
        ("md", "text", "# Only a heading"),
        ("given", "text", ""),
    }


def test_terms_are_cut_and_counted(store: Any) -> None:
    report = store.ingest("t", [Document("long", "x" * 300_000 + " http://example.org/" + "y" * 5000)])
    assert (report.created, report.failed) == (1, 0)
    assert report.terms_cut == 2
    assert keys(store.search("t", "example", principals=PUBLIC)) == ["long"]


def test_bibliographies_are_kept_counted_and_not_found(store: Any) -> None:
    paper = "# Pumps\n\nSeals fail.\n\n## 7. References\n\n[1] A. Zimmer. Seals. 1999.\n"
    report = store.ingest("t", [Document("paper", paper, format="markdown")])
    assert (report.chunks, report.references) == (2, 1)
    assert keys(store.search("t", "seals", principals=PUBLIC)) == ["paper"]
    assert keys(store.search("t", "zimmer", principals=PUBLIC)) == []
    passages = store.evidence("t", "paper", "zimmer seals", principals=PUBLIC)
    assert [passage.text for passage in passages] == ["Seals fail."]
    text = store.document_at("t", "paper", principals=PUBLIC).text
    assert text.endswith("## 7. References\n\n[1] A. Zimmer. Seals. 1999.")


def test_many_groups_keep_order_and_counts(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GROUP_DOCUMENTS", 7)
    monkeypatch.setattr(pipeline, "BATCH_CHUNKS", 3)
    report = store.ingest("t", (Document(f"d{n:02}", "common word " * 150) for n in range(40)))
    assert (report.created, report.chunks, report.tokens) == (40, 80, 12_000)
    stats = store.stats("t")
    assert (stats.documents, stats.chunks, stats.total_length) == (40, 80, 12_000)


def test_an_interrupted_ingest_leaves_whole_documents(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GROUP_DOCUMENTS", 5)

    def documents() -> Any:
        for n in range(100):
            if n == 42:
                raise KeyboardInterrupt
            yield Document(f"d{n:02}", f"word{n} shared")

    with pytest.raises(KeyboardInterrupt):
        store.ingest("t", documents())
    stats = store.stats("t")
    assert stats.documents == stats.chunks == stats.indexed_chunks
    assert stats.documents % 5 == 0
    report = store.ingest("t", [Document(f"d{n:02}", f"word{n} shared") for n in range(100)])
    assert (report.created, report.unchanged) == (100 - stats.documents, stats.documents)


def test_ctrl_c_leaves_whole_documents(dsn: str, tmp_path: Path) -> None:
    """A real interrupt, while documents are prepared in one thread and stored in another."""
    source = tmp_path / "many.jsonl"
    with source.open("w") as lines:
        for number in range(30_000):
            lines.write(
                json.dumps({"id": f"d{number:05}", "text": f"number{number} shared words " * 8}) + "\n"
            )
    code = (
        "import signal, sys, pgsift\n"
        # What a shell runs in the background ignores interrupts, and hands that on.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with pgsift.Store(sys.argv[1]) as store:\n"
        "    store.create_tenant('t', default_principals=['public'])\n"
        "    seen = lambda p: print(p.documents, flush=True)\n"
        "    store.ingest('t', sys.argv[2], progress=seen)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, dsn, str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in stderr
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM sift.chunks),"
            " (SELECT s.indexed_chunks FROM sift.corpus_statistics('t') AS s),"
            " (SELECT count(*) FROM sift.lexical_search('t', 'shared', 10, '{public}'))"
            " FROM sift.documents"
        ).fetchone()
    assert row is not None
    assert 0 < row[0] < 30_000
    assert row == (row[0], row[0], row[0], 10)


def test_an_error_in_the_sources_is_raised(store: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="source"):
        store.ingest("t", [Document("a", "x"), 5])


def test_a_run_is_recorded(store: Any, dsn: str, folder: Path) -> None:
    report = store.ingest("t", folder / "guide.md", acl=["group:hr"])
    with psycopg.connect(dsn) as other:
        row = other.execute(
            "SELECT r.source, r.parameters ->> 'acl', r.summary ->> 'created', r.finished_at IS NOT NULL"
            " FROM sift.ingest_runs AS r WHERE r.run_id = %s",
            (report.run_id,),
        ).fetchone()
    assert row == (str(folder / "guide.md"), '["group:hr"]', "1", True)


def test_another_fingerprint_is_refused(store: Any, dsn: str) -> None:
    with psycopg.connect(dsn) as other:
        other.execute("UPDATE sift.tenants SET analyzer_fingerprint = 'feedfacefeedface'")
    with pytest.raises(errors.AnalyzerMismatch, match="feedfacefeedface"):
        store.ingest("t", [Document("a", "x")])


# Embedding


class Letters:
    """An embedder that counts letters: small, the same always, and it tells how often it was asked."""

    name = "letters"
    revision = "1"
    dimensions = 4
    metric = "cosine"
    query_prefix = ""
    document_prefix = ""
    normalized = False
    identity = "letters@1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen.extend(texts)
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        if "unembeddable" in text:
            raise errors.InvalidVector("NaN for this text")
        return [float(1 + text.count(letter)) for letter in "abcd"]


class LatinLetters(Letters):
    scripts = frozenset({"LATIN"})


def test_a_model_takes_no_part_in_queries_of_a_script_it_does_not_read(store: Any) -> None:
    embedder = LatinLetters()
    documents = [Document("zh", "红海早过了，船在印度洋面上开驶着"), Document("en", "abcd")]
    store.ingest("t", documents, embedder=embedder)

    def search(query: str, mode: str = "hybrid") -> Any:
        return store.search("t", query, principals=PUBLIC, mode=mode, embedder=embedder)

    found = search("印度洋 abc")
    assert (found.legs, found[0].key) == ("lexical+dense", "zh")
    found = search("印度洋")
    assert (found.legs, [hit.key for hit in found]) == ("lexical", ["zh"])
    assert found.warnings == (
        "searched by words alone: the query has no vector, the model does not read its script",
    )
    assert len(search("印度洋", "dense")) == 2, "asked for by name, vectors answer"


def test_ingest_embeds_once(store: Any) -> None:
    embedder = Letters()
    documents = [Document("a", "aaa", title="Tee"), Document("b", "bbb"), Document("copy", "bbb")]
    report = store.ingest("t", documents, embedder=embedder)
    assert (report.vectors_computed, report.vectors_reused) == (2, 0)
    assert embedder.seen == ["Tee\naaa", "bbb"]
    again = store.ingest("t", documents, embedder=embedder)
    assert (again.unchanged, again.vectors_computed) == (3, 0)
    moved = store.ingest(
        "t", [Document("b", "bbb", metadata={"new": 1}), Document("d", "ddd")], embedder=embedder
    )
    assert (moved.replaced, moved.created, moved.vectors_computed, moved.vectors_reused) == (1, 1, 1, 1)
    assert embedder.seen == ["Tee\naaa", "bbb", "ddd"]
    assert store.stats("t").vectors == {"letters": 4}
    found = store.search("t", "zzz dddd", principals=PUBLIC, embedder=embedder)
    assert (found[0].key, found.legs) == ("d", "lexical+dense")
    dense = store.dense_search("t", query="ddd", principals=PUBLIC, embedder=embedder)
    assert (dense[0].key, dense[0].dense_path) == ("d", "exact")


def test_the_stores_embedder_is_the_default(make_store: Any, dsn: str) -> None:
    store = make_store(dsn, embedder=Letters())
    store.create_tenant("t", default_principals=PUBLIC)
    store.put_documents("t", [{"key": "a", "text": "aaa"}, {"key": "b", "text": "bbb"}])
    assert store.search("t", "aa", principals=PUBLIC, mode="dense")[0].key == "a"
    assert store.search("t", "aaa", principals=PUBLIC, mode="lexical").legs == "lexical"
    store.cache_query_embedding("t", "bb")
    plain = make_store(dsn)
    found = plain.search("t", "bb", principals=PUBLIC)
    assert (found.legs, found[0].key) == ("lexical+dense", "b")


def test_vectors_missing_from_an_earlier_ingest_are_filled_in(store: Any) -> None:
    documents = [Document("a", "aaa"), Document("b", "bbb")]
    store.ingest("t", documents)
    embedder = Letters()
    report = store.ingest("t", documents, embedder=embedder)
    assert (report.unchanged, report.vectors_computed) == (2, 2)
    assert store.stats("t").vectors == {"letters": 2}
    store.put_documents("t", [Document("c", "ccc")])
    assert store.embed_missing("t", embedder=embedder) == 1
    assert store.embed_missing("t", embedder=embedder) == 0


def test_a_text_the_model_refuses_is_a_dead_letter(store: Any) -> None:
    documents = [Document("a", "aaa"), Document("bad", "unembeddable"), Document("b", "bbb")]
    report = store.ingest("t", documents, embedder=Letters())
    assert (report.created, report.failed) == (2, 1)
    assert [(f.key, f.stage) for f in report.failures] == [("bad", "embed")]
    assert store.stats("t").vectors == {"letters": 2}


def test_another_revision_of_a_model_is_refused(store: Any) -> None:
    store.ingest("t", [Document("a", "aaa")], embedder=Letters())
    other = Letters()
    other.revision = "2"
    with pytest.raises(errors.AlreadyExists, match="revision"):
        store.ingest("t", [Document("b", "bbb")], embedder=other)
    with pytest.raises(errors.InvalidArgument, match="letters"):
        store.ingest("t", [Document("b", "bbb")], embedder=other, model="another")


def test_two_ingests_of_the_same_documents_end_as_one(store: Any, dsn: str) -> None:
    """Another writer has the same keys in the opposite order: nobody deadlocks, one version is left."""
    import threading

    from pgsift import Store

    documents = [Document(f"d{n:02}", f"shared words {n}") for n in range(60)]
    failures: list[BaseException] = []

    def ingest() -> None:
        try:
            with Store(dsn) as other:
                other.ingest("t", documents[::-1])
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=ingest)
    thread.start()
    report = store.ingest("t", documents)
    thread.join()
    assert failures == []
    assert report.failed == 0
    stats = store.stats("t")
    assert (stats.documents, stats.chunks, stats.indexed_chunks) == (60, 60, 60)
    assert {s.version for s in store.document_states("t", [d.key for d in documents])} == {1}


@pytest.mark.usefixtures("store")
def test_a_writer_who_owns_nothing_may_ingest(make_store: Any, make_login: Any, dsn: str) -> None:
    writer = make_store(make_login(dsn, "sift_writer"))
    embedder = Letters()
    report = writer.ingest(
        "t", [Document("a", "aaa"), Document("bad", "x", valid_to="never")], embedder=embedder
    )
    assert (report.created, report.failed, report.vectors_computed) == (1, 1, 2)
    assert writer.embed_missing("t", embedder=embedder) == 0
    assert [d.deleted for d in writer.delete("t", ["a"])] == [True]
    reader = make_store(make_login(dsn, "sift_app"))
    with pytest.raises(errors.NotPermitted):
        reader.ingest("t", [Document("b", "bbb")])


def test_a_cancelled_ingest_leaves_whole_documents(dsn: str) -> None:
    """What is stored is whole, and the store can be used again."""

    async def scenario() -> None:
        async with AsyncStore(dsn) as store:
            await store.create_tenant("t", default_principals=PUBLIC)
            documents = [Document(f"d{n:05}", f"number{n} shared words") for n in range(20_000)]
            started = asyncio.Event()
            task = asyncio.create_task(store.ingest("t", documents, progress=lambda _: started.set()))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            stats = await store.stats("t")
            assert 0 < stats.documents < 20_000
            assert stats.documents == stats.chunks == stats.indexed_chunks
            assert len(await store.search("t", "shared", principals=PUBLIC)) == 10
            report = await store.ingest("t", documents[:1000])
            assert report.documents == 1000

    asyncio.run(scenario())
