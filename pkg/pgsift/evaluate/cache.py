"""Vectors kept between measurements: embedding is nearly all of their work."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsift.embed import Embedder
from pgsift.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CachedEmbedder:
    """An embedder that looks into a file first: ``vectors.sqlite3`` in a folder.

    A vector is known by the hash of the embedder's identity, of whether it is a query's or a document's, and
    of the text, so that none can be stale. Everything else is the embedder's own.
    """

    def __init__(self, embedder: Embedder, folder: str | os.PathLike[str]) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        root = Path(folder)
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(root / "vectors.sqlite3", timeout=60, check_same_thread=False)
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise InvalidArgument(
                f"vectors cannot be kept in {str(root)!r}: {error}", hint="Name a folder that can be written."
            ) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the embedder's, of shape (texts, dimensions)."""
        return self._vectors("document", texts, self._embedder.embed_documents)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the embedder's, of shape (dimensions,)."""
        import numpy as np

        vectors = self._vectors(
            "query", [text], lambda texts: np.stack([self._embedder.embed_query(one) for one in texts])
        )
        first: NDArray[np.float32] = vectors[0]
        return first

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _vectors(
        self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Any]
    ) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            empty: NDArray[np.float32] = embed(texts)
            return empty
        hashes = [
            hashlib.sha256(
                "\x00".join([self._embedder.identity, kind, text]).encode("utf-8", "surrogatepass")
            ).digest()
            for text in texts
        ]
        with self._lock:
            known: dict[bytes, bytes] = {}
            for value in dict.fromkeys(hashes):
                row = self._file.execute("SELECT vector FROM vectors WHERE hash = ?", (value,)).fetchone()
                if row is not None:
                    known[value] = row[0]
        missing = {value: text for value, text in zip(hashes, texts, strict=True) if value not in known}
        if missing:
            made = np.asarray(embed(list(missing.values())), dtype=np.float32)
            new = {value: vector.tobytes() for value, vector in zip(missing, made, strict=True)}
            with self._lock, self._file:
                self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", new.items())
            known |= new
        return np.stack([np.frombuffer(known[value], dtype=np.float32) for value in hashes])
