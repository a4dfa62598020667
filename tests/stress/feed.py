"""A corpus in a file, and the comparison of a store with it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import load
import psycopg

from pgsift import Store


class Toy:
    """An embedder that needs no model: eight numbers that follow from the text."""

    name = "toy"
    revision = "1"
    dimensions = 8
    metric = "cosine"
    query_prefix = ""
    document_prefix = ""

    def embed_documents(self, texts: Any) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        rng = random.Random(text)
        return [rng.uniform(-1, 1) for _ in range(self.dimensions)]

    def embed_document_tokens(self, texts: Any) -> list[list[list[float]]]:
        return [self.embed_query_tokens(text) for text in texts]

    def embed_query_tokens(self, text: str) -> list[list[float]]:
        return [self.embed_query(word) for word in text.split()]


def write(path: Path, documents: int, *, version: int = 0, paragraphs: int = 6) -> list[str]:
    """JSON lines of so many documents; their keys. Each paragraph becomes a chunk of its own, or nearly so."""
    rng = random.Random(version)
    keys = []
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            text = "\n\n".join(
                f"version{version} document{number} paragraph{part} winch "
                + " ".join(rng.choices(load.WORDS, k=60))
                for part in range(1 + number % paragraphs)
            )
            file.write(json.dumps({"id": f"{number:05}", "title": f"t{version}", "text": text}) + "\n")
            keys.append(f"{number:05}")
    return keys


def whole(
    dsn: str, path: Path, tenant: str = "default", *, vectors: bool, as_it_is: bool = False
) -> tuple[list[str], list[str]]:
    """The keys stored, and what is wrong. Each document there is must be what the same file gives in a store
    where nothing went wrong; here: whole, in one version, with all derivatives."""
    faults = load.compare_derived(dsn, tenant, as_it_is=as_it_is)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with psycopg.connect(dsn, autocommit=True) as conn:
        stored = {
            row[0]: row[1:]
            for row in conn.execute(
                "SELECT d.key, d.title, d.length,"
                " (SELECT coalesce(jsonb_agg(jsonb_build_array(c.body, c.char_start, c.char_end) ORDER BY c.ordinal), '[]')"
                "  FROM sift.chunks AS c WHERE c.tenant_id = d.tenant_id AND c.document_id = d.document_id),"
                " (SELECT count(*) FROM sift.chunks AS c JOIN sift.chunk_embeddings AS e USING (tenant_id, chunk_id)"
                "  WHERE c.tenant_id = d.tenant_id AND c.document_id = d.document_id)"
                " FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s",
                (tenant,),
            )
        }
    for line in lines:
        key = line["id"]
        if key in stored:
            title, length, chunks, embedded = stored[key]
            text = line["text"]
            if title == line["title"]:
                end = 0
                for body, start, stop in chunks:
                    if start > end and text[end:start].strip():
                        faults.append(f"{key}: the characters {end} to {start} are in no chunk")
                    if body != text[start:stop]:
                        faults.append(f"{key}: a chunk is not the text it stands for")
                    end = max(end, stop)
                if length != len(text) or text[end:].strip():
                    faults.append(f"{key}: of {len(text)} characters, {end} are there")
            marks = {word for body, _, _ in chunks for word in body.split() if word.startswith("version")}
            if marks != {f"version{title[1:]}"}:
                faults.append(f"{key}: titled {title}, with chunks of {sorted(marks)}")
            if vectors and embedded != len(chunks):
                faults.append(f"{key}: {embedded} vectors of {len(chunks)} chunks")
    return sorted(stored), faults


def ingest(dsn: str, path: Path, *, vectors: bool) -> Any:
    """Ingest the file to its end; the report."""
    with Store(dsn) as store:
        return store.ingest("default", str(path), embedder=Toy() if vectors else None)
