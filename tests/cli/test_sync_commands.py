"""``pgsift sync``, ``manifest`` and ``dead-letters``, and what an ingest refuses or leaves alone."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import Cli

from pgsift import Store

NONE = ("--embedder", "none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "a.txt").write_text("about apples")
    (root / "b.txt").write_text("about bananas")
    return root


def keys(cli: Cli) -> list[str]:
    return [document["key"] for document in cli("documents", "--all", "--json").json["documents"]]


def test_sync_adds_up(cli: Cli, folder: Path) -> None:
    (folder / "notes.png").write_bytes(b"\x89PNG")
    first = cli("sync", str(folder), "--prefix", "d/", *NONE)
    assert first.code == 0
    assert "entries:   3 in the source = 2 stored + 0 dead letters + 1 skipped\n" in first.out
    (folder / "a.txt").rename(folder / "c.txt")
    (folder / "b.txt").unlink()
    (folder / "bad.txt").write_bytes(b"\xff")
    dry = cli("sync", str(folder), "--prefix", "d/", "--dry-run")
    assert "move    d/a.txt -> d/c.txt\n" in dry.out
    assert "delete  d/b.txt\n" in dry.out
    assert keys(cli) == ["d/a.txt", "d/b.txt"]
    done = cli("sync", str(folder), "--prefix", "d/", "--json", *NONE)
    assert done.code == 7
    (source,) = done.json["sources"]
    assert done.json["reconciled"] is True
    assert {name: source[name] for name in ("entries", "stored", "failed", "skipped")} == {
        "entries": 3,
        "stored": 1,
        "failed": 1,
        "skipped": 1,
    }
    assert (source["ingest"]["moved"], source["ingest"]["deleted"]) == (1, 1)
    assert list(source["ingest"]["reasons"].values()) == [1]
    assert "failed: d/bad.txt (parse): not UTF-8" in cli("sync", str(folder), "--prefix", "d/", *NONE).err


def test_what_does_not_add_up_is_code_1(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file comes between listing and reading, as a document of somebody else's that claims the folder."""
    delete = Store.delete

    def disturbed(self: Any, tenant: str, *arguments: Any, **options: Any) -> Any:
        self.put_documents(tenant, [{"key": "late.txt", "text": "x", "source_uri": f"{folder.as_uri()}/late.txt"}])
        return delete(self, tenant, *arguments, **options)

    cli("sync", str(folder), *NONE)
    (folder / "a.txt").unlink()
    monkeypatch.setattr(Store, "delete", disturbed)
    result = cli("sync", str(folder), *NONE)
    assert result.code == 1
    assert "DOES NOT ADD UP" in result.out
    assert "synchronize again" in result.err
    assert cli("sync", str(folder), *NONE).code == 0
    assert keys(cli) == ["b.txt"]


def test_sources_are_listed_and_forgotten(cli: Cli, folder: Path) -> None:
    cli("sync", str(folder), "--name", "docs", *NONE)
    assert cli("sync", "--list").out.splitlines()[1].startswith("docs\tfolder\t\t2\t")
    refused = cli("sync", str(folder), "--name", "docs", "--prefix", "x/", *NONE)
    assert (refused.code, "another name" in refused.err) == (2, True)
    assert cli("sync", "--forget", "docs").code == 0
    assert cli("sync", "--forget", "docs").code == 3
    assert cli("sync", "--list", "--json").json == {"sources": []}
    assert keys(cli) == ["a.txt", "b.txt"]


def test_usage_of_sync(cli: Cli, folder: Path) -> None:
    for arguments in (
        [],
        [str(folder), "--list"],
        ["--list", "--forget", "x"],
        [str(folder), str(folder), "--name", "x"],
        ["-"],
        [str(folder / "a.txt")],
        [str(folder / "none")],
        [str(folder), "--acl", ""],
    ):
        assert cli("sync", *arguments, *NONE).code == 2, arguments
    cli("sync", str(folder), *NONE)
    (folder / "a.txt").unlink()
    (folder / "b.txt").unlink()
    empty = cli("sync", str(folder), *NONE)
    assert (empty.code, "--allow-empty" in empty.err) == (2, True)
    assert cli("sync", str(folder), "--allow-empty", *NONE).code == 0
    assert keys(cli) == []


class Named:
    """An embedder of any name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.revision = "1"
        self.dimensions = 2
        self.metric = "cosine"
        self.max_tokens = 512
        self.query_prefix = self.document_prefix = ""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_vectors_are_of_the_tenants_model_unless_another_is_named(
    cli: Cli, folder: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = f"{tenant} ours", f"{tenant} other"
    loaded: list[str] = []

    def load(spec: str = "minilm") -> Named:
        loaded.append(spec)
        return Named(spec)

    monkeypatch.setattr("pgsift.embed.load_embedder", load)
    (folder / "bad.txt").write_bytes(b"\xff")
    assert cli("ingest", str(folder), "--embedder", ours).code == 7
    (folder / "c.txt").write_text("about cherries")
    assert cli("sync", str(folder)).code == 7
    assert cli("models", "backfill").code == 0
    assert cli("embed-queries", "-", input="cherries").code == 0
    (folder / "more.txt").write_bytes(b"\xff")
    assert cli("ingest", str(folder), "--embedder", other).code == 7
    assert set(loaded) == {ours, other}
    # Each letter with the model of its run, unless another is named.
    loaded.clear()
    for name in ("bad.txt", "more.txt"):
        (folder / name).write_text("mended now")
    letters = cli("dead-letters", "--json").json["dead_letters"]
    first, second = sorted(letter["dead_letter_id"] for letter in letters)
    assert cli("dead-letters", "retry", str(first)).code == 0
    assert cli("dead-letters", "retry", str(second), "--embedder", ours).code == 0
    assert loaded == [other, ours]  # the first failed again in the last ingest


def test_the_name_of_a_model_need_not_be_that_of_an_embedder(
    cli: Cli, folder: Path, tenant: str, schema_dsn: str
) -> None:
    with Store(schema_dsn) as store:
        name = f"{tenant} by hand"
        store.register_model(name, 2)
        document = {"key": "k", "chunks": [{"body": "x", "embedding": [1.0, 1.0]}]}
        with psycopg.connect(schema_dsn, autocommit=True) as conn:  # as an application does it in SQL
            conn.execute(
                "SELECT count(*) FROM sift.put_documents(%s, %s, model => %s)",
                [tenant, json.dumps([document]), name],
            )
    refused = cli("ingest", str(folder))
    assert refused.code == 2
    assert "unknown embedder" in refused.err and "--embedder none" in refused.err
    assert cli("ingest", str(folder), *NONE).code == 0


def test_letters_that_are_not_there(cli: Cli, folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"\xff")
    assert cli("ingest", str(folder), *NONE).code == 7
    (letter,) = cli("dead-letters", "--json").json["dead_letters"]
    number, none = str(letter["dead_letter_id"]), str(letter["dead_letter_id"] + 1)
    for command in ("retry", "clear"):
        missing = cli("dead-letters", command, none)
        assert (missing.code, missing.err) == (3, f"no dead letter {none}\n")
    assert cli("dead-letters", "retry", number, none).code == 7
    assert cli("dead-letters", "clear", number, none, "--json").json == {"cleared": 1}
    assert cli("dead-letters", "retry", "--all").code == 0


def test_manifests(cli: Cli, folder: Path, tmp_path: Path) -> None:
    cli("ingest", str(folder), *NONE)
    made = cli("manifest", "create", "--name", "one", "--json").json
    assert (made["manifest_name"], made["summary"]["counts"]["documents"]) == ("one", 2)
    file = tmp_path / "one.json"
    file.write_text(cli("manifest", "show", "one", "--documents", "--json").out)
    assert cli("manifest", "diff", "one").err == "nothing changed\n"
    (folder / "a.txt").write_text("changed")
    (folder / "c.txt").write_text("new")
    cli("ingest", str(folder), *NONE)
    expected = "added\tc.txt\nchanged\ta.txt\n"
    assert cli("manifest", "diff", "one").out == expected
    assert cli("manifest", "diff", str(file)).out == expected
    assert cli("manifest", "diff", str(file), "now").out == expected
    assert cli("manifest", "create", "--name", "two").code == 0
    assert cli("manifest", "diff", str(file), "two").out == expected
    by_name = cli("manifest", "diff", "one", "two", "--json").json["changes"]
    assert by_name == cli("manifest", "diff", str(file), "two", "--json").json["changes"]
    listed = cli("manifest", "list", "--json").json["manifests"]
    assert [(m["manifest_name"], m["parent_name"]) for m in listed] == [("two", "one"), ("one", None)]
    assert cli("manifest", "list").out.splitlines()[1].startswith("two\tone\t")
    shown = cli("manifest", "show", "two", "--documents").out
    assert "analyzer_fingerprint\t" in shown
    assert "digest of texts\t" in shown
    assert "\na.txt\t2\t" in shown
    assert cli("manifest", "show", "now", "--json").json["summary"]["digests"] == listed[0]["summary"]["digests"]
    assert len(cli("manifest", "list", "--json").json["manifests"]) == 2
    assert cli("manifest", "create", "--name", "two").code == 2
    for command in (("show",), ("diff",), ("diff", "two"), ("diff", str(file)), ("delete",)):
        missing = cli("manifest", *command, "none such")
        assert (missing.code, missing.out) == (3, "")
        assert "no manifest 'none such'" in missing.err
    file.write_text("{}")
    assert cli("manifest", "diff", str(file)).code == 2
    assert cli("manifest", "delete", "one").code == 0
    assert cli("manifest", "delete", "one").code == 3


def test_dead_letters_are_retried(cli: Cli, folder: Path) -> None:
    for name in ("bad.txt", "worse.txt"):
        (folder / name).write_bytes(b"\xff")
    (folder / "lines.jsonl").write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": 2}\n')
    options = ("--prefix", "x/", "--acl", "group:hr")
    assert cli("ingest", str(folder), *options, *NONE).code == 7
    assert cli("ingest", str(folder), *options, *NONE).code == 7
    letters = cli("dead-letters", "--json").json["dead_letters"]
    found = {letter["key"]: letter["failures"] for letter in letters}
    assert found == {"x/bad.txt": 2, "x/worse.txt": 2, "x/lines.jsonl:2": 2}
    assert "dead letters\t3 open\n" in cli("stats").out
    assert "x/bad.txt" in cli("dead-letters", "list").out
    (folder / "bad.txt").write_text("about cherries")
    (folder / "lines.jsonl").write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n')
    retried = cli("dead-letters", "retry", "--all", *NONE)
    assert retried.code == 7
    assert retried.out.splitlines() == ["mended\t2", "failed again\t1", "not retried\t0"]
    assert "failed: x/worse.txt" in retried.err
    (left,) = cli("dead-letters", "--json").json["dead_letters"]
    assert (left["key"], left["failures"]) == ("x/worse.txt", 3)
    assert keys(cli) == ["x/a.txt", "x/b.txt", "x/bad.txt", "x/lines.jsonl#1", "x/lines.jsonl#2"]
    # With the access list of the run they failed in.
    assert cli("search", "cherries").code == 0
    assert "cherries" not in cli("search", "cherries").out
    assert "cherries" in cli("search", "cherries", "--as", "group:hr").out
    assert cli("dead-letters", "retry").code == 2
    assert cli("dead-letters", "clear", str(left["dead_letter_id"]), "--json").json == {"cleared": 1}
    assert cli("dead-letters", "clear", "--all", "--json").json == {"cleared": 0}


def test_letters_of_a_feed_and_of_standard_input(cli: Cli, tmp_path: Path) -> None:
    feed = tmp_path / "feed.jsonl"
    feed.write_text('{"id": 1, "text": "one", "version": 3}\n{"id": 2, "text": 2, "version": 3}\n')
    assert cli("sync", str(feed), "--name", "feed", *NONE).code == 7
    assert cli("ingest", "-", "--format", "jsonl", "--prefix", "p/", *NONE, input="{").code == 7
    listed = cli("dead-letters", "--json").json["dead_letters"]
    letters = {letter["key"]: letter["dead_letter_id"] for letter in listed}
    assert letters.keys() == {"feed.jsonl:2", "p/stdin:1"}
    feed.write_text('{"id": 1, "text": "one", "version": 3}\n{"id": 2, "text": "two", "version": 3}\n')
    report = cli("dead-letters", "retry", "--all", "--json", *NONE).json
    assert (report["mended"], report["failed"], report["not_retried"]) == (1, 0, [letters["p/stdin:1"]])
    (one, two) = cli("documents", "--all", "--json").json["documents"]
    assert (one["metadata"], two["metadata"], two["source_version"]) == ({}, {}, "3")
    assert cli("sync", str(feed), "--name", "feed", *NONE).code == 0


# What an ingest refuses, and what it leaves alone


def test_an_access_list_in_front_matter_is_not_published(cli: Cli, folder: Path) -> None:
    for name, matter in (("c.md", "acl: [group:hr]"), ("d.md", "visibility: private"), ("e.md", "tags: [acl]")):
        (folder / name).write_text(f"---\n{matter}\ntitle: T\n---\n\nsecret words of {name}")
    result = cli("ingest", str(folder), *NONE)
    assert result.code == 7
    assert keys(cli) == ["a.txt", "b.txt", "e.md"]
    assert "failed: c.md (parse): the front matter says who may see the file (acl)" in result.err
    assert "--acl" in result.err
    given = cli("ingest", str(folder), "--acl", "group:x", *NONE)
    assert given.code == 0
    assert "2 files name an access list in their front matter; that of --acl was taken" in given.err
    assert cli("dead-letters", "--json").json == {"dead_letters": []}
    assert "secret" not in cli("search", "secret").out
    assert "c.md" in cli("search", "secret", "--as", "group:x").out
    assert "c.md" not in cli("search", "secret", "--as", "group:hr").out
    assert cli("ingest", str(folder), *NONE, "--json").json["unchanged"] == 5


def test_links_out_of_the_folder_are_skipped(cli: Cli, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("not to be published")
    (folder / "out.txt").symlink_to(outside)
    (folder / "relative.txt").symlink_to("../outside.txt")
    (folder / "chained.txt").symlink_to(folder / "out.txt")
    (folder / "within.txt").symlink_to(folder / "a.txt")
    (folder / "away").symlink_to(tmp_path, target_is_directory=True)
    report = cli("ingest", str(folder), *NONE, "--json").json
    assert report["skipped"] == {"symlink": 4}
    assert keys(cli) == ["a.txt", "b.txt", "within.txt"]
    assert "skipped:   4 symlink\n" in cli("ingest", str(folder), *NONE).out
    # The folder given may be a link itself, and so may a file that is named.
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    assert cli("ingest", str(tmp_path / "link"), *NONE, "--json").json["unchanged"] == 3
    assert cli("ingest", str(folder / "out.txt"), *NONE, "--json").json["created"] == 1


def test_access_is_no_part_of_the_content(cli: Cli, folder: Path) -> None:
    cli("ingest", str(folder), "--acl", "group:hr", *NONE)
    again = cli("ingest", str(folder), *NONE, "--json").json
    assert (again["unchanged"], again["replaced"]) == (2, 0)
    assert cli("search", "apples").out == ""
    other = cli("ingest", str(folder), "--acl", "public", *NONE, "--json").json
    assert (other["updated"], other["chunks"]) == (2, 0)
    assert "a.txt" in cli("search", "apples").out
    (document, _) = cli("documents", "--all", "--json").json["documents"]
    assert document["version"] == 1
    refused = cli("ingest", str(folder), "--acl", "sift:x", *NONE)
    assert (refused.code, "reserved" in refused.err) == (7, True)


def test_wrong_usage(cli: Cli, folder: Path, tmp_path: Path) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"id": 1, "text": "x"}\n')
    before = cli("stats", "--json").json
    for arguments in (
        ["ingest", str(folder), "--key", "k"],
        ["ingest", str(lines), "--key", "k"],
        ["ingest", "-", str(folder), "--key", "k"],
        ["ingest", "-", "--format", "jsonl", "--key", "k"],
        ["ingest", str(folder), "--acl", ""],
        ["ingest", str(folder), "--acl", "x", "--acl", " "],
        ["ingest", str(folder), "--dsn", ""],
        ["--dsn", "", "stats"],
        ["search", "x", "--as", ""],
        ["documents", "--as", ""],
        ["history", "a.txt", "--as", ""],
    ):
        result = cli(*arguments, *(NONE if arguments[0] == "ingest" else ()))
        assert (result.code, result.out) == (2, ""), arguments
    assert cli("stats", "--json").json == before
    empty = cli("ingest", "-", *NONE, input=" \n")
    assert (empty.code, "standard input is empty" in empty.err) == (2, True)
    assert cli("documents", "--all", "--json").json["documents"] == []


def test_failures_carry_the_prefix(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "bad.txt").write_bytes(b"\xff")
    (folder / "l.jsonl").write_text("{\n")
    lines = tmp_path / "alone.jsonl"
    lines.write_text('{\n{"id": 5, "text": 5}\n')
    if os.geteuid() != 0:
        (folder / "closed").mkdir(mode=0)
    result = cli("ingest", str(folder), str(lines), "--prefix", "p/", *NONE, "--json")
    found = {failure["key"] for failure in result.json["failures"]}
    assert found >= {"p/bad.txt", "p/l.jsonl:1", "p/alone.jsonl:1", "p/alone.jsonl:2"}
    assert all(key.startswith("p/") for key in found)
    result = cli("ingest", "-", "--prefix", "p/", *NONE, "--json", input=b"\xff")
    assert [failure["key"] for failure in result.json["failures"]] == ["p/stdin"]
    assert json.dumps(result.json["reasons"]).count("not UTF-8") == 1
