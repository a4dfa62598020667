"""pgsift: a retrieval store in PostgreSQL. Exact BM25, vector search and their fusion as SQL functions, with
permissions.

::

    import pgsift

    with pgsift.Store() as store:                      # an embedded server; Store(dsn) for one of yours
        store.ingest("default", "docs/")
        for hit in store.search("default", "failure modes", principals=["public"]):
            print(hit.rank, hit.key, hit.body)

:class:`AsyncStore` has the same methods, to be awaited. Errors are in :mod:`pgsift.errors`, results in
:mod:`pgsift.models`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgsift.embed import load_embedder as load_embedder
    from pgsift.errors import PgsiftError as PgsiftError
    from pgsift.models import Chunk as Chunk
    from pgsift.models import Document as Document
    from pgsift.models import Hit as Hit
    from pgsift.models import IngestReport as IngestReport
    from pgsift.models import SearchResult as SearchResult
    from pgsift.rerank import load_reranker as load_reranker
    from pgsift.rerank import load_token_embedder as load_token_embedder
    from pgsift.store import Store as Store
    from pgsift.store_async import AsyncStore as AsyncStore

# Imported when first used: the CLI's --help should not wait for psycopg.
_HOME = {
    "AsyncStore": "pgsift.store_async",
    "Chunk": "pgsift.models",
    "Document": "pgsift.models",
    "Hit": "pgsift.models",
    "IngestReport": "pgsift.models",
    "PgsiftError": "pgsift.errors",
    "SearchResult": "pgsift.models",
    "Store": "pgsift.store",
    "load_embedder": "pgsift.embed",
    "load_reranker": "pgsift.rerank",
    "load_token_embedder": "pgsift.rerank",
}

__all__ = [
    "AsyncStore",
    "Chunk",
    "Document",
    "Hit",
    "IngestReport",
    "PgsiftError",
    "SearchResult",
    "Store",
    "__version__",
    "load_embedder",
    "load_reranker",
    "load_token_embedder",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("pgsift")
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
