"""Store.rebuild: derivatives made anew from the sources that were kept."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Document, Store, _rebuild
from pgsift.ingest import pipeline
from pgsift.ingest.chunker import Chunker, Span
from pgsift.models import Progress

PAGE = """---
title: Winch
license: CC0
color: red
---
# Winch

The winch turns. It has a drum and a brake.

## Brake

The brake holds the drum when the motor stops.
"""
EVERYTHING = ["sift:writer"]


@pytest.fixture
def store(schema_dsn: str) -> Iterator[Store]:
    with Store(schema_dsn) as opened:
        yield opened


@pytest.fixture
def tenant(store: Store) -> Iterator[str]:
    name = f"reb_{uuid.uuid4().hex[:12]}"
    store.create_tenant(name, default_principals=["public"])
    try:
        yield name
    finally:
        store.drop_tenant(name)


def state(dsn: str, tenant: str) -> list[Any]:
    """Everything that is derived, without numbers: document, chunks, access list."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT d.key, d.version, d.title, d.metadata, d.parser, d.chunker, d.content_hash, d.observed_at, d.license, d.source_uri,"
            " a.principals, a.denied, ARRAY(SELECT (c.ordinal, c.kind, c.body, c.tokens, c.char_start, c.char_end)::text"
            "   FROM sift.chunks AS c WHERE c.tenant_id = d.tenant_id AND c.document_id = d.document_id ORDER BY c.ordinal)"
            " FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id)"
            " JOIN sift.access_lists AS a USING (tenant_id, access_list_id) WHERE t.name = %s ORDER BY d.key", (tenant,)
        ).fetchall()


def fill(store: Store, tenant: str, folder: Path) -> None:
    """A file, a page, a record, a document of a program with its own title and metadata, and one without a source."""
    (folder / "page.md").write_text(PAGE)
    (folder / "note.txt").write_text("A note about the crane.\n\nIt lifts.")
    (folder / "site.html").write_text("<html><title>Hoist</title><body><h1>Hoist</h1><p>It hoists the load.</p></body></html>")
    (folder / "rows.jsonl").write_text(
        json.dumps({"id": "one", "title": "Row", "text": "A row about ropes.", "metadata": {"n": 1}, "acl": ["group:ropes"]}) + "\n"
    )
    assert store.ingest(tenant, [folder], keep_source=True).failed == 0
    store.ingest(
        tenant,
        [Document(
            "given.md", PAGE.encode(), "markdown", title="Given", metadata={"size": 3}, language="en", acl=["group:hr"],
            valid_from="2024-01-01", source_version="7", observed_at="2023-05-06T07:08:09+02:00", classification="internal",
        )],
        keep_source=True,
    )
    store.ingest(tenant, [Document("chunks", chunks=None, text="No bytes of this are kept.")])


@contextmanager
def earlier_release() -> Iterator[None]:
    """Other parsers and another chunker, by their names, which makes one chunk of everything."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chunker, "name", property(lambda _self: "old/1"))
        patched.setattr(Chunker, "chunk", lambda _self, text, _blocks, _pages: [Span(0, len(text), "text", ())])
        patched.setattr(pipeline, "parser_name", lambda kind, *_: f"old-{kind}/1")
        yield


def test_what_is_as_today_is_left_alone(store: Store, tenant: str, schema_dsn: str, tmp_path: Path) -> None:
    fill(store, tenant, tmp_path)
    before = state(schema_dsn, tenant)
    report = store.rebuild(tenant)
    assert (report.documents, report.rebuilt, report.unchanged, report.failed) == (6, 0, 5, 0)
    assert (report.without_source, report.without_source_keys) == (1, ("chunks",))
    assert state(schema_dsn, tenant) == before


def test_documents_of_an_earlier_release_become_what_an_ingest_would_make_today(
    store: Store, tenant: str, schema_dsn: str, tmp_path: Path
) -> None:
    today = f"{tenant}_today"
    store.create_tenant(today, default_principals=["public"])
    try:
        fill(store, today, tmp_path)
        with earlier_release():
            fill(store, tenant, tmp_path)
        for name in (tenant, today):
            store.set_access(name, ["page.md", "rows.jsonl#one"], ["group:x"], denied=["user:7"])
        old = {row[0]: row for row in state(schema_dsn, tenant)}
        wanted = {row[0]: row for row in state(schema_dsn, today)}
        assert old["page.md"][12] != wanted["page.md"][12]
        seen: list[Progress] = []
        report = store.rebuild(tenant, progress=seen.append)
        assert (report.documents, report.rebuilt, report.unchanged, report.failed) == (6, 5, 0, 0)
        assert report.without_source_keys == ("chunks",)
        assert report.chunks == sum(len(row[12]) for key, row in wanted.items() if key != "chunks")
        assert seen[-1].bytes == seen[-1].total_bytes > 0
        got = {row[0]: row for row in state(schema_dsn, tenant)}
        assert got["chunks"] == old["chunks"]
        for key in wanted.keys() - {"chunks"}:
            # Title, metadata, parser, chunker, hash, license, access and all chunks; when it was observed is not made anew.
            assert got[key][2:7] + got[key][8:] == wanted[key][2:7] + wanted[key][8:], key
            assert got[key][7] == old[key][7]
            assert got[key][1] == 2
            history = store.document_history(tenant, key, principals=EVERYTHING)
            versions = {item.version: (item.parser, item.chunker, item.run_id) for item in history}
            assert versions[2] == (wanted[key][4], wanted[key][5], report.run_id)
            assert versions[1][:2] == (old[key][4], "old/1")
        source = store.document_source(tenant, "page.md", principals=EVERYTHING)
        assert source is not None and (source.version, source.content) == (2, PAGE.encode())

        again = store.rebuild(tenant)
        assert (again.rebuilt, again.unchanged, again.without_source) == (0, 5, 1)
        # The source itself is unchanged too, as an ingest sees it.
        (tmp_path / "rows.jsonl").unlink()
        assert store.ingest(tenant, [tmp_path], keep_source=True).unchanged == 3
        assert not store.dead_letters(tenant)
        assert {row[0]: row for row in state(schema_dsn, tenant)} == got
        assert [hit.key for hit in store.search(tenant, "brake", principals=["group:x"], mode="lexical")] != []
        assert store.search(tenant, "brake", principals=["group:x", "user:7"], mode="lexical").hits == ()
    finally:
        store.drop_tenant(today)


def test_some_of_them_by_key(store: Store, tenant: str, tmp_path: Path) -> None:
    with earlier_release():
        fill(store, tenant, tmp_path)
    report = store.rebuild(tenant, ["note.txt", "absent", "chunks", "note.txt"])
    assert (report.documents, report.rebuilt, report.without_source_keys, report.absent) == (2, 1, ("chunks",), ("absent",))
    assert store.rebuild(tenant, []).documents == 0
    assert store.rebuild(tenant).rebuilt == 4


def test_an_interrupted_run_is_run_again(store: Store, tenant: str, schema_dsn: str, tmp_path: Path) -> None:
    with earlier_release():
        for number in range(7):
            (tmp_path / f"n{number}.txt").write_text(f"winch {number}")
        store.ingest(tenant, [tmp_path], keep_source=True)

    def stop(progress: Progress) -> None:
        if progress.documents >= 4:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_rebuild, "PAGE", 2)
        with pytest.raises(KeyboardInterrupt) as caught:
            store.rebuild(tenant, progress=stop)
    done = caught.value.rebuild_report  # type: ignore[attr-defined]
    assert done.rebuilt == 4
    report = store.rebuild(tenant)
    assert (report.rebuilt, report.unchanged) == (3, 4)
    assert {row[1] for row in state(schema_dsn, tenant)} == {2}
    with psycopg.connect(schema_dsn) as connection:
        row = connection.execute(
            "SELECT r.summary ->> 'rebuilt', r.summary ? 'interrupted' FROM sift.ingest_runs AS r WHERE r.run_id = %s", (done.run_id,)
        ).fetchone()
    assert row == ("4", True)


def test_what_another_writer_stores_meanwhile_is_not_replaced(
    store: Store, tenant: str, schema_dsn: str, tmp_path: Path
) -> None:
    with earlier_release():
        fill(store, tenant, tmp_path)
    read = _rebuild._made

    def made(*arguments: Any) -> Any:
        with Store(schema_dsn) as other:
            other.ingest(tenant, [Document("note.txt", "Something new.")])
            other.delete(tenant, ["site.html"])
        return read(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_rebuild, "_made", made)
        report = store.rebuild(tenant)
    assert (report.rebuilt, sorted(report.superseded)) == (3, ["note.txt", "site.html"])
    texts = {row[0]: row[12] for row in state(schema_dsn, tenant)}
    assert "Something new." in texts["note.txt"][0] and "site.html" not in texts


def test_what_cannot_be_made_stays_as_it_was(store: Store, tenant: str, schema_dsn: str, tmp_path: Path) -> None:
    with earlier_release():
        fill(store, tenant, tmp_path)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "UPDATE sift.document_sources AS s SET media_type = 'image/png' FROM sift.documents AS d, sift.tenants AS t"
            " WHERE d.tenant_id = t.tenant_id AND s.tenant_id = t.tenant_id AND s.document_id = d.document_id"
            " AND t.name = %s AND d.key = 'note.txt'", (tenant,)
        )
    old = {row[0]: row for row in state(schema_dsn, tenant)}
    report = store.rebuild(tenant)
    assert (report.rebuilt, report.failed, report.failures[0].key) == (4, 1, "note.txt")
    assert {row[0]: row for row in state(schema_dsn, tenant)}["note.txt"] == old["note.txt"]
    assert not store.dead_letters(tenant)


class Toy:
    """Vectors of the length of the text; counts what it was asked."""

    name, dimensions, revision, metric, query_prefix, document_prefix = "rebuild-toy", 2, "", "cosine", "", ""

    def __init__(self) -> None:
        self.asked = 0

    def embed_documents(self, texts: Any) -> list[list[float]]:
        self.asked += len(texts)
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_vectors_are_made_for_what_is_new(store: Store, tenant: str, tmp_path: Path) -> None:
    with earlier_release():
        fill(store, tenant, tmp_path)
    toy = Toy()
    report = store.rebuild(tenant, embedder=toy)
    assert report.vectors_computed == toy.asked > 0
    assert all(item.missing_vectors == 0 for item in store.document_states(tenant, ["page.md", "given.md"], "rebuild-toy"))
    # With another embedder nothing is made anew but vectors, of documents without a source too.
    again = store.rebuild(tenant, embedder=toy)
    assert (again.rebuilt, store.document_states(tenant, ["chunks"], "rebuild-toy")[0].missing_vectors) == (0, 0)
