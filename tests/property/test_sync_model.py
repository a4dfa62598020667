"""A random tree of files, edited at random: a synchronization after every step gives what a fresh ingest of the
same tree gives: keys, hashes, access, searches."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store

WORDS = [f"w{number}" for number in range(30)]


class Tree:
    """Files that change."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.clock = 1_600_000_000

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.is_file())

    def text(self, suffix: str) -> str:
        words = [self.random.choice(WORDS) for _ in range(self.random.choice([0, 1, 5, 60]))]
        if suffix == ".md":
            return f"# {self.random.choice(WORDS)}\n\n" + " ".join(words)
        if suffix == ".jsonl":
            ids = self.random.sample(range(6), self.random.randrange(5))
            return "".join(f'{{"id": {n}, "text": "{" ".join(words[:n])}"}}\n' for n in ids)
        return " ".join(words)

    def place(self) -> Path:
        parts = [self.random.choice("pqr") for _ in range(self.random.randrange(3))]
        suffix = self.random.choice([".txt", ".txt", ".md", ".jsonl", ".bin"])
        return self.root.joinpath(*parts) / f"f{self.random.randrange(12)}{suffix}"

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.clock += 10
        os.utime(path, (self.clock, self.clock))

    def edit(self) -> None:
        files = self.files()
        change = self.random.choice(["new", "new", "change", "delete", "rename", "copy", "swap", "folder", "garble", "touch"])
        if change == "new" or len(files) < 4:
            path = self.place()
            self.write(path, self.text(path.suffix))
            return
        path, other = self.random.sample(files, 2)
        if change == "change":
            self.write(path, self.text(path.suffix))
        elif change == "delete":
            path.unlink()
        elif change == "rename":
            target = path.with_name(f"g{self.random.randrange(9)}{path.suffix}")
            path.rename(target)
        elif change == "copy":
            self.write(path.with_name(f"h{self.random.randrange(9)}{path.suffix}"), path.read_text(errors="replace"))
        elif change == "swap" and path.suffix == other.suffix:
            path.rename(path.with_name("swapping"))
            other.rename(path)
            path.with_name("swapping").rename(other)
        elif change == "folder" and path.parent != self.root:
            target = self.root / f"moved{self.random.randrange(3)}"
            if not target.exists():
                path.parent.rename(target)
        elif change == "garble":
            path.write_bytes(b"\xff\xfe\xff")
        elif change == "touch":
            self.clock += 10
            os.utime(path, (self.clock, self.clock))


def contents(dsn: str, tenant: str) -> Any:
    """All that a tenant holds, without numbers and versions."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            """
            SELECT d.key, encode(d.content_hash, 'hex'), d.title, d.source_uri, d.length, a.principals, c.ordinal, c.body, c.tokens, c.kind
            FROM sift.documents AS d
            JOIN sift.tenants AS t USING (tenant_id)
            JOIN sift.access_lists AS a ON a.tenant_id = d.tenant_id AND a.access_list_id = d.access_list_id
            LEFT JOIN sift.chunks AS c ON c.tenant_id = d.tenant_id AND c.document_id = d.document_id
            WHERE t.name = %s
            ORDER BY d.key COLLATE "C", c.ordinal
            """,
            (tenant,),
        ).fetchall()


def searches(store: Store, tenant: str) -> list[Any]:
    found = []
    for query in ("w1 w2", "w3", "w7 w8 w9"):
        hits = store.lexical_search(tenant, query, principals=["public"], k=500, collapse=False)
        found.append(sorted((hit.key, hit.char_start, hit.lexical_score) for hit in hits))
    return found


@pytest.mark.parametrize(("seed", "watermark"), [(1, False), (2, True), (3, True)])
def test_synchronized_is_as_ingested_anew(dsn: str, tmp_path: Path, seed: int, watermark: bool) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    tree = Tree(root, seed)
    moved = 0
    with Store(dsn) as store:
        store.create_tenant("kept", analyzer="standard", default_principals=["public"])
        store.set_access("kept", principals=["group:p"], key_prefix="p/")
        for step in range(25):
            for _ in range(tree.random.randrange(1, 5)):
                tree.edit()
            report = store.sync("kept", root, watermark=watermark, allow_empty=True)
            moved += report.ingest.moved
            assert report.reconciled, report.notes
            assert report.entries == report.stored + report.failed + report.skipped
            fresh = f"fresh{step}"
            store.create_tenant(fresh, analyzer="standard", default_principals=["public"])
            store.set_access(fresh, principals=["group:p"], key_prefix="p/")
            once = store.ingest(fresh, root)
            failed = {letter.key for letter in store.dead_letters("kept", k=1000)}
            assert failed == {letter.key for letter in store.dead_letters(fresh, k=1000)}
            assert (once.failed, once.skipped) == (report.failed, report.ingest.skipped)
            # What fails now and was stored before stays as it was; a fresh ingest has nothing of it.
            stale = {
                row[0]
                for row in contents(dsn, "kept")
                if row[0] in failed or any(row[0].startswith(f"{(key or '').rpartition(':')[0]}#") for key in failed)
            }
            kept = [row for row in contents(dsn, "kept") if row[0] not in stale]
            assert kept == [row for row in contents(dsn, fresh) if row[0] not in stale]
            if not stale:
                assert searches(store, "kept") == searches(store, fresh)
            store.drop_tenant(fresh)
        assert moved > 0
        findings = store.doctor("kept", sample=None).findings
        assert [finding for finding in findings if finding.severity == "error"] == []
