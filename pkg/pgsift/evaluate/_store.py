"""The only part of the evaluation that talks to a store: a tenant made for one evaluation."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import psycopg

from pgsift.embed import Embedder
from pgsift.errors import PgsiftError
from pgsift.evaluate.collection import CollectionDocument
from pgsift.ingest.chunkers import TextChunker
from pgsift.models import Chunk, Document, Hit

if TYPE_CHECKING:
    from pgsift.store import Store

# Documents per call: a step of the progress shown, and what is lost of the embedding work on an interruption.
_BATCH = 64


class ScratchTenant:
    """A tenant of a name nobody else has, dropped on exit.

    What is stored in it may be a copy of what few may see (``pgsift judgments export``), and applications list
    tenants: it is visible to ``principals`` alone, one that nobody can guess.

    Without an embedder nothing is embedded, not even by an embedder that the store brings. With ``split``
    documents are cut as an ingest cuts them, by a ``chunker`` if one is given; else each is one chunk.
    """

    def __init__(
        self,
        store: Store,
        *,
        analyzer: str,
        embedder: Embedder | None,
        split: bool = False,
        chunker: TextChunker | None = None,
        context_prefix: bool = False,
    ) -> None:
        self._store = store
        self._analyzer = analyzer
        self._embedder = embedder
        self._split = split
        self._chunker = chunker
        self._context_prefix = context_prefix
        self._name = f"_evaluate_{secrets.token_hex(8)}"
        self.principals = [f"evaluate:{secrets.token_hex(16)}"]
        self._stores_own = store.embedder

    def __enter__(self) -> ScratchTenant:
        self._store.create_tenant(self._name, analyzer=self._analyzer)
        self._store.embedder = self._embedder
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.embedder = self._stores_own
        # After a failure the connection may be unusable too, and the failure is what must be seen.
        with contextlib.suppress(*(() if error is None else (PgsiftError, psycopg.Error))):
            self._store.drop_tenant(self._name)

    @property
    def name(self) -> str:
        """The name of the tenant."""
        return self._name

    def put(self, documents: Sequence[CollectionDocument], progress: Callable[[int, int], None]) -> None:
        """Store documents of title and text, with vectors if there is an embedder."""
        for start in range(0, len(documents), _BATCH):
            batch = documents[start : start + _BATCH]
            self._store.put_documents(
                self._name,
                [self._document(document) for document in batch],
                chunker=self._chunker,
                context_prefix=self._context_prefix,
            )
            progress(start + len(batch), len(documents))
        self._store.fold_statistics(self._name)

    def size(self) -> tuple[int, float]:
        """Number of chunks that are ranked, and their mean number of tokens."""
        statistics = self._store.stats(self._name)
        return statistics.indexed_chunks, statistics.average_length

    def _document(self, document: CollectionDocument) -> Document:
        title = document.title or None
        if self._split and document.text.strip():
            return Document(
                key=document.key,
                title=title,
                text=document.text,
                format=document.format,
                acl=self.principals,
            )
        return Document(
            key=document.key, title=title, acl=self.principals, chunks=(Chunk(body=document.text),)
        )

    def search(
        self, query: str, *, k: int, mode: str, vector: Any, per_document: int | None = 1, **options: Any
    ) -> Sequence[Hit]:
        """The hits, best first; with ``per_document`` 1 they are ``k`` documents, by the best hit of each.
        ``options`` are those of ``Store.search``."""
        return self._store.search(
            self._name,
            query,
            k=k,
            mode=mode,
            principals=self.principals,
            query_embedding=vector,
            model=self._embedder.name if self._embedder is not None and mode != "lexical" else None,
            collapse=False,
            per_document=per_document,
            snippet_width=None,
            **options,
        )
