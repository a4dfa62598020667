"""The past of documents, purges, kept sources, and what may be sent to a remote embedder, in both stores."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgsift import errors
from pgsift.embed.api import ApiEmbedder

PUBLIC = ["public"]
EVERYTHING = ["sift:writer"]


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def test_a_search_of_the_past(store: Any) -> None:
    before = now()
    store.put_documents("t", [{"key": "a", "text": "red fox", "classification": "internal"}])
    first = now()
    store.put_documents("t", [{"key": "a", "text": "blue fox", "title": "T", "retain_until": "2099-01-01"}])
    second = now()
    store.delete("t", ["a"], "over")
    for search in (store.search, store.lexical_search):
        assert [hit.body for hit in search("t", "fox", principals=PUBLIC)] == []
        assert [hit.body for hit in search("t", "fox", principals=PUBLIC, as_of=before)] == []
        hits = search("t", "fox", principals=PUBLIC, as_of=first)
        assert [(hit.body, hit.document_version) for hit in hits] == [("red fox", 1)]
        hits = search("t", "fox", principals=PUBLIC, as_of=second.isoformat())
        assert [(hit.body, hit.document_version) for hit in hits] == [("blue fox", 2)]
        assert list(search("t", "fox", principals=["nobody"], as_of=first)) == []
    found = store.document_at("t", "a", first, principals=PUBLIC)
    assert (found.text, found.version, found.title) == ("red fox", 1, None)
    assert found.current_from < first < found.current_to < second
    assert store.document_at("t", "a", principals=PUBLIC) is None
    history = store.document_history("t", "a", principals=["sift:writer"])
    assert [(v.version, v.event, v.classification, v.reason) for v in history] == [
        (1, "created", "internal", None),
        (2, "replaced", None, None),
        (3, "deleted", None, "over"),
    ]
    assert history[1].retain_until == datetime.datetime(2099, 1, 1, tzinfo=datetime.UTC)
    json.dumps([version.to_dict() for version in history])


@pytest.mark.parametrize("time", ["yesterday-ish", "", 5])
def test_a_time_is_checked(store: Any, time: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="must be a time"):
        store.search("t", "fox", principals=PUBLIC, as_of=time)


def test_a_date_is_utc(store: Any) -> None:
    store.put_documents("t", [{"key": "a", "text": "red fox"}])
    tomorrow = (now() + datetime.timedelta(days=1)).date().isoformat()
    assert len(store.search("t", "fox", principals=PUBLIC, as_of=tomorrow)) == 1
    assert len(store.search("t", "fox", principals=PUBLIC, as_of="2020-01-01")) == 0


def test_purge_and_audit(store: Any) -> None:
    store.put_documents("t", [{"key": "a", "text": "red fox"}, {"key": "b", "text": "red fox"}])
    assert store.delete("t", ["a"])[0].deleted
    left = {(f.place, f.kind): f.found for f in store.audit_deletion("t", "a")}
    assert {place for (place, kind), found in left.items() if kind == "search" and found} == set()
    assert left["chunk_history", "history"] == 1 and left["chunks", "copy"] == 1
    assert [(r.key, r.purged) for r in store.purge("t", ["a", "none"], "asked")] == [
        ("a", True),
        ("none", False),
    ]
    findings = store.audit_deletion("t", "a")
    assert all(f.found == 0 for f in findings if f.kind in ("search", "history"))
    history = store.document_history("t", "a", principals=["sift:writer"])
    assert [v.event for v in history] == ["created", "deleted", "purged"]
    assert store.delete("t", ["b"], "asked", purge=True)[0].deleted
    assert all(f.found == 0 for f in store.audit_deletion("t", "b") if f.kind in ("search", "history"))


def test_options(store: Any) -> None:
    store.set_tenant("t", keep_history=False, remote_classifications=["public"], remote_retained=False)
    tenant = store.tenant("t")
    assert (tenant.keep_history, tenant.remote_classifications, tenant.remote_retained) == (
        False,
        ["public"],
        False,
    )
    store.set_tenant("t", remote_classifications=None)
    tenant = store.tenant("t")
    assert (tenant.keep_history, tenant.remote_classifications, tenant.remote_retained) == (
        False,
        None,
        False,
    )
    with pytest.raises(errors.InvalidArgument, match="unknown option"):
        store.set_tenant("t", history=True)
    with pytest.raises(errors.InvalidArgument, match="keeps no history"):
        store.search("t", "fox", principals=PUBLIC, as_of=now())


def test_fields_are_listed_and_filtered(store: Any) -> None:
    store.put_documents(
        "t",
        [
            {
                "key": "a",
                "text": "red fox",
                "classification": "internal",
                "retain_until": "2030-01-01T00:00:00Z",
            },
            {"key": "b", "text": "red fox"},
        ],
    )
    found = store.documents("t", principals=PUBLIC)
    assert [(d.key, d.classification, d.retain_until is not None) for d in found] == [
        ("a", "internal", True),
        ("b", None, False),
    ]
    for wanted, keys in (
        ("classification = 'internal'", ["a"]),
        ("classification IS NULL", ["b"]),
        ("retain_until >= '2029-01-01'", ["a"]),
    ):
        hits = store.search("t", "fox", principals=PUBLIC, filter=wanted, collapse=False)
        assert [hit.key for hit in hits] == keys
    # Another classification alone is another state of the same text, or at least never goes unnoticed.
    assert store.put_documents("t", [{"key": "b", "text": "red fox", "classification": "public"}])[
        0
    ].status in (
        "updated",
        "replaced",
    )


def test_sources_are_kept(store: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"<p>red <b>fox</b></p>" * 50)
    note = tmp_path / "note.txt"
    note.write_bytes("\ufeffblue f\xf6x\r\n".encode())
    report = store.ingest("t", tmp_path, keep_source=True, classification="internal")
    assert (report.created, report.failed) == (2, 0)
    first = now()
    for path, kind in ((page, "text/html"), (note, "text/plain")):
        source = store.document_source("t", path.name, principals=PUBLIC)
        assert (source.content, source.media_type, source.version) == (path.read_bytes(), kind, 1)
        assert store.document_source("t", path.name, principals=["nobody"]) is None
    assert {d.classification for d in store.documents("t", principals=PUBLIC)} == {"internal"}
    old = page.read_bytes()
    page.write_bytes(b"<p>green fox</p>")
    store.ingest("t", page)
    assert store.document_source("t", "page.html", principals=PUBLIC) is None
    assert store.document_source("t", "page.html", first, principals=PUBLIC).content == old
    store.purge("t", ["page.html"])
    assert store.document_source("t", "page.html", first, principals=PUBLIC) is None


def test_of_a_record_its_own_bytes_are_kept(store: Any, dsn: str, make_login: Any, tmp_path: Path) -> None:
    records = [
        b'{"id": "a",  "title": "One", "text": "red fox", "acl": ["public", "group:hr"], "metadata": {"n": 1.50}}',
        b'{"key": "b", "chunks": [{"body": "blue fox"}], "version": 7}',
    ]
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + records[0] + b"\r\n\n" + records[1])
    assert store.ingest("t", path, keep_source=True, acl=["public"]).failed == 0
    for key, line in zip("ab", records, strict=True):
        source = store.document_source("t", key, principals=PUBLIC)
        assert (source.content, source.media_type) == (line, "application/json")
    # It tells the access list, which readers are not told.
    login = make_login(dsn, "sift_reader")
    with psycopg.connect(dsn) as admin:
        admin.execute("SELECT sift.map_role('t', %s, '{public}')", (conninfo_to_dict(login)["user"],))
    with psycopg.connect(login) as reader:
        assert reader.execute("SELECT count(*) FROM sift.list_documents('t')").fetchone() == (2,)
        assert reader.execute("SELECT * FROM sift.document_source('t', 'a')").fetchall() == []
    store.delete("t", ["a", "b"])
    store.sync("t", path, keep_source=True, acl=["public"])
    source = store.document_source("t", "b", principals=PUBLIC)
    assert (source.content, source.media_type) == (records[1], "application/json")


# What front matter says


def test_front_matter_wins_over_the_classification_given(
    store: Any, remote: tuple[ApiEmbedder, list[str]], tmp_path: Path
) -> None:
    embedder, received = remote
    store.set_tenant("t", remote_classifications=["open"], remote_retained=False)
    matter = (
        "---\nclassification: secret\nlicense: MIT\nlanguage: de\nobserved_at: 2024-05-31\n"
        "valid_from: 2020-01-01\nvalid_to: 2021-01-01\n---\n"
    )
    (tmp_path / "secret.md").write_text(matter + "keptsecret\n")
    (tmp_path / "retained.md").write_text("---\nretain_until: 2099-01-01\n---\nkeptretained\n")
    (tmp_path / "unsaid.md").write_text("---\ntitle: T\n---\nsentunsaid\n")
    (tmp_path / "wrong.md").write_text("---\nclassification: [open]\n---\nkeptwrong\n")
    (tmp_path / "wrongdate.md").write_text("---\nretain_until: some day\n---\nkeptwrongdate\n")
    lines = [
        {"id": "record", "format": "markdown", "text": matter + "keptrecord"},
        {"id": "two", "format": "markdown", "text": matter + "kepttwo", "classification": "open"},
        {"id": "number", "text": "keptnumber", "classification": 5},
        {"id": "date", "text": "keptdate", "retain_until": 2099},
    ]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = store.ingest("t", tmp_path, embedder=embedder, classification="open")
    assert (report.created, report.failed, report.withheld) == (4, 5, 3)
    assert sorted({text.split()[-1] for text in received}) == ["sentunsaid"]
    found = {d.key: d for d in store.documents("t", principals=EVERYTHING)}
    assert {key: d.classification for key, d in found.items()} == {
        "secret.md": "secret", "retained.md": "open", "unsaid.md": "open", "lines.jsonl#record": "secret",
    }  # fmt: skip
    secret = found["secret.md"]
    assert (secret.license, secret.language, dict(secret.metadata)) == ("MIT", "de", {})
    assert secret.observed_at.isoformat().startswith("2024-05-31")
    (version,) = store.document_history("t", "secret.md", principals=EVERYTHING)
    assert (version.valid_from.year, version.valid_to.year) == (2020, 2021)
    assert found["retained.md"].retain_until.year == 2099
    reasons = " ".join(letter.reason for letter in store.dead_letters("t"))
    for why in (
        "classification in the front matter is ['open'], not a text",
        "retain_until in the front matter is 'some day', not a date",
        "the classification is 'open', and 'secret' in the front matter",
        "classification must be a string, not int",
        "retain_until must be a datetime or a string, not int",
    ):
        assert why in reasons
    # The option alone changes what is stored of those that do not say it themselves.
    (tmp_path / "lines.jsonl").unlink()
    store.ingest("t", tmp_path, classification="closed")
    assert {d.key: d.classification for d in store.documents("t", principals=EVERYTHING)} == {
        "secret.md": "secret", "retained.md": "closed", "unsaid.md": "closed", "lines.jsonl#record": "secret",
    }  # fmt: skip


# Remote embedders


class Recorder(BaseHTTPRequestHandler):
    """An endpoint that answers with vectors and keeps every text it was sent."""

    received: list[str]

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        type(self).received += texts
        rows = [{"index": i, "embedding": [1.0, len(text) + 1.0, 2.0]} for i, text in enumerate(texts)]
        body = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def remote() -> Iterator[tuple[ApiEmbedder, list[str]]]:
    """An embedder whose server stands here, and what that was sent."""
    handler = type("Handler", (Recorder,), {"received": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            embedder = ApiEmbedder(
                "toy-remote", base_url=f"http://127.0.0.1:{server.server_port}", dimensions=3
            )
            yield embedder, handler.received
        finally:
            server.shutdown()
            thread.join()


def test_what_must_not_leave_is_not_sent(
    store: Any, remote: tuple[ApiEmbedder, list[str]], tmp_path: Path
) -> None:
    embedder, received = remote
    assert embedder.remote
    store.set_tenant("t", remote_classifications=["public"], remote_retained=False)
    lines = [
        {"id": "open", "text": "sentopen", "classification": "public"},
        {"id": "closed", "text": "keptclosed", "classification": "confidential"},
        {"id": "unsaid", "text": "keptunsaid"},
        {"id": "retained", "text": "keptretained", "classification": "public", "retain_until": "2099-01-01"},
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    report = store.ingest("t", path, embedder=embedder)
    assert (report.created, report.failed, report.withheld) == (4, 0, 3)
    assert sorted(report.withheld_keys) == ["closed", "retained", "unsaid"]
    store.put_documents("t", [{"key": "put", "text": "keptput"}], embedder=embedder)
    # Again, and a backfill: what is unchanged and has no vector is not sent either.
    store.ingest("t", path, embedder=embedder)
    assert store.embed_missing("t", embedder=embedder) == 0
    assert [text for text in received if "kept" in text] == []
    assert [text for text in received if "sentopen" in text]
    assert store.stats("t").vectors == {embedder.name: 1}
    found = store.lexical_search("t", "keptclosed keptunsaid keptretained keptput", principals=PUBLIC)
    assert {hit.key for hit in found} == {"closed", "unsaid", "retained", "put"}
    # Allowed later, the backfill finds them.
    store.set_tenant("t", remote_classifications=None, remote_retained=True)
    assert store.embed_missing("t", embedder=embedder) == 4
    assert len([text for text in received if "kept" in text]) == 4


def test_a_local_embedder_is_not_concerned(store: Any, remote: tuple[ApiEmbedder, list[str]]) -> None:
    embedder, received = remote
    embedder.remote = False
    store.set_tenant("t", remote_classifications=[])
    store.put_documents("t", [{"key": "a", "text": "red fox"}], embedder=embedder)
    assert store.stats("t").vectors == {embedder.name: 1} and received
