"""Documents to look at: one with page numbers, a hidden one, and one that is as hostile as texts get."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsift.models import Chunk, Document

ATTACK = (
    "<script>window.pwned = 1</script><img src=x onerror=\"window.pwned=2\"><svg onload='window.pwned=3'>"
    "</p></li></ol></section><base href=//evil.example><iframe src=javascript:window.pwned=4></iframe>"
    "{{ 7 * 7 }}{% raw %} javascript:window.pwned=5 \u202egpj.exe\u202c \x1b[31m\x07 \ufeff '\"`&amp; "
)
HOSTILE_KEY = '"><script>window.pwned=6</script>\u202etxt.exe'
GUIDE = [
    ("Safety", "Before work on a winch begins, the brake is set and the motor is locked."),
    ("Safety", "Nobody stands in the bight of a rope. The winch is stopped at once when a rope jams."),
    ("Repair > Brake", "The brake of the winch is adjusted every month; worn linings are replaced in pairs."),
    ("Repair > Drum", "The drum is greased twice a year, and after every storm."),
]


class Toy:
    """Vectors of eight numbers by the words of a text, the same each time."""

    name, revision, dimensions, metric = "browse-toy", "1", 8, "cosine"
    query_prefix = document_prefix = ""
    normalized, remote = False, False
    identity = "browse-toy@1"
    asked = 0

    def embed_documents(self, texts: Any) -> Any:
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        type(self).asked += 1
        return self._vector(text)

    @staticmethod
    def _vector(text: str) -> Any:
        vector = np.full(8, 0.05, dtype=np.float32)
        for word in text.lower().replace(",", " ").replace(".", " ").split():
            vector[zlib.crc32(word.encode()) % 8] += 1
        return vector


def documents() -> list[Document]:
    """What is stored."""
    place, chunks = 0, []
    for number, (section, body) in enumerate(GUIDE):
        chunks.append(
            Chunk(body=body, section=section.split(" > "), page=10 + number, start=place, end=place + len(body))
        )
        place += len(body) + 1
    return [
        Document(
            key="guide.pdf", title="Winch guide", chunks=chunks, source_uri="https://docs.example/guide.pdf#page=10",
            metadata={"year": 2021},
        ),
        Document(key="ferry.md", text="The ferry has one winch and no brake.", source_uri="file:///srv/ferry.md",
                 metadata={"year": 2019}),
        Document(key="hidden.md", title="Hidden winch", text="The secret winch brake of the mine.", acl=["group:mine"]),
        Document(
            key=HOSTILE_KEY, title=f"winch {ATTACK}",
            source_uri="javascript:window.pwned=7", text=f"winch {ATTACK} {'x' * 5000} {'w' * 300_000}",
        ),
        Document(key="pages.md", chunks=[
            Chunk(body=f"Entry {number} of the harbour log.", start=number * 40, end=number * 40 + 30) for number in range(25)
        ]),
    ]  # fmt: skip


@dataclass(frozen=True)
class Site:
    """Where the documents are."""

    dsn: str
    tenant: str
