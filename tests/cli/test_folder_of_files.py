"""The folder of :mod:`folder_of_files` through one run of ``pgsift ingest``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import folder_of_files
import psycopg
import pytest

from pgsift import Store
from pgsift.ingest import sources
from pgsift.ingest.formats import FORMATS, Limits
from pgsift.ingest.parsers import Parsed, parse

for _module in (
    "pypdfium2", "docx", "pptx", "openpyxl", "lxml", "docutils", "pylatexenc", "fpdf", "trafilatura",
    "charset_normalizer",
):  # fmt: skip
    pytest.importorskip(_module)

PUBLIC = ["public"]


def sources_of(root: Path) -> Mapping[str, Parsed]:
    """The documents that are parsed in processes of their own, by key, read without a store."""
    texts: dict[str, Parsed] = {}
    for found in sources.read(root, sources.Options(limits=Limits(workers=1))):
        if isinstance(found, sources.Item) and found.document.chunks is None and found.document.format in FORMATS:
            try:
                texts[found.document.key] = parse(found.document.text, found.document.format, Limits())
            except Exception:  # it is a dead letter of the run, which is compared below
                continue
    return texts


def test_each_is_found_or_a_dead_letter_with_its_reason(
    cli: Any, tenant: str, schema_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "folder"
    folder_of_files.make(root)
    special = folder_of_files.make_special(root)
    files = folder_of_files.FILES
    assert len(files) + len(special) >= 100
    formats = {spec.module for spec in FORMATS.values()}
    assert {"pdf", "docx", "pptx", "xlsx", "odt", "epub", "rst", "latex", "table", "mail", "archive"} <= formats

    ran = cli("ingest", str(root), "--embedder", "none", "--json")
    assert ran.code == 7, ran.err
    report = ran.json
    expected = {key: (file.name, found) for file in files for key, found in file.found.items()}
    dead = {key: reason for file in files for key, reason in file.dead.items()} | special
    empty = {key for file in files for key in file.empty}
    with Store(schema_dsn) as store:
        letters = {letter.key: letter.reason for letter in store.dead_letters(tenant, k=1000)}
        assert {key: reason for key, reason in dead.items() if reason not in letters.get(key, "(none)")} == {}
        assert letters.keys() == dead.keys()
        assert report["failed"] == len(dead)
        wrong: dict[str, Any] = {}
        for key, (name, found) in expected.items():
            hits = [
                hit for hit in store.lexical_search(tenant, found.query, principals=PUBLIC, k=50) if hit.key == key
            ]
            if not hits:
                wrong[key] = "not found"
                continue
            passage = store.evidence(tenant, key, found.query, principals=PUBLIC)[0]
            if found.page is not None and passage.page != found.page:
                wrong[key] = f"on page {passage.page}"
            if found.section is not None and found.section not in (passage.section or ""):
                wrong[key] = f"in {passage.section}"
            assert name == key.partition("#")[0]
        assert wrong == {}
        stored = {document.key for document in store.documents(tenant, principals=PUBLIC, k=10_000)}
        rows = {key for key in stored if key.startswith("csv/rows.csv#")}
        assert stored == expected.keys() | empty | rows
        assert (report["created"], len(rows), report["empty"]) == (len(stored), 5000, len(empty))
        assert report["skipped"] == {"symlink": 3}
        # Nothing of the system's own files came in by a link, an archive or an instruction to include it.
        assert [hit.key for hit in store.lexical_search(tenant, "root daemon nologin", principals=PUBLIC)] == []
        # The same once more costs nothing and finds the same broken files.
        again = store.ingest(tenant, root / "office")
        assert again.created == sum(key.startswith("office/") for key in stored)  # other keys: another root
    assert report["characters_cleaned"] >= 1 + 3 + 8

    # Every chunk is a span of its source, and its page is that of its first character.
    texts = sources_of(root)
    with psycopg.connect(schema_dsn) as connection:
        chunks = connection.execute(
            "SELECT d.key, c.body, c.char_start, c.char_end, c.page FROM sift.chunks AS c"
            " JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id"
            " JOIN sift.tenants AS t ON t.tenant_id = d.tenant_id WHERE t.name = %s",
            (tenant,),
        ).fetchall()
    compared = 0
    for key, body, start, end, page in chunks:
        if key in texts:
            assert texts[key].text[start:end] == body, key
            assert texts[key].page(start) == page, key
            compared += 1
    assert compared > 200
