"""Embedders at work for a tenant, and the backfill that makes the vectors of a model for what is stored.

``_models.py`` is generated from this module.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pgsift import _calls
from pgsift._concurrency import AsyncLock, run_in_thread
from pgsift.embed import Embedder, embedding_text, is_embeddable, properties_of
from pgsift.errors import AlreadyExists, Conflict, InvalidArgument, InvalidVector
from pgsift.models import BackfillProgress, BackfillReport, ChunkText, Model
from pgsift.vectors import as_floats

if TYPE_CHECKING:
    from pgsift.store_async import AsyncStore

#: Texts of one call of the embedder.
EMBED_TEXTS = 64
#: Chunks whose vectors a backfill stores in one transaction: what is lost when it is interrupted.
BACKFILL_CHUNKS = 256
#: Queries read, embedded and stored together. Few: what is forgotten meanwhile must not come back.
_QUERIES = 10
_ATTEMPTS = 5
_FAILURES = 100


def each(embedders: Embedder | Sequence[Embedder] | None) -> list[Embedder]:
    """The embedders given, one or several, of different names."""
    if embedders is None:
        return []
    given = list(embedders) if isinstance(embedders, Sequence) else [embedders]
    names = [embedder.name for embedder in given]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f"two embedders have the name {twice!r}", hint="Pass each model once.")
    return given


class AsyncTenantEmbedder:
    """The model of an embedder in one tenant."""

    def __init__(self, store: AsyncStore, tenant: str, embedder: Embedder) -> None:
        self.store = store
        self.tenant = tenant
        self.embedder = embedder
        self.name = embedder.name
        #: Texts that were embedded, and those of which a vector was known.
        self.computed = self.reused = 0
        self._twins: list[str] = []
        #: Held while the database is asked.
        self.turn = AsyncLock()
        # Vectors made for the portion of an ingest that is being stored, and for the one after it.
        self._recent: dict[bytes, list[float]] = {}
        self._fresh: dict[bytes, list[float]] | None = None

    @property
    def remote(self) -> bool:
        """Whether texts leave for another machine; an embedder that does not say so keeps them here."""
        return bool(getattr(self.embedder, "remote", False))

    async def register(self) -> None:
        """Register the model, or see that it is registered with the embedder's properties."""
        embedder = self.embedder
        known = {model.model: model for model in await self.store.models()}
        ours = known.get(self.name)
        properties = await run_in_thread(properties_of, embedder)
        if ours is None:
            await self.store.register_model(
                self.name,
                **properties,
                lexical_weight=float(getattr(embedder, "lexical_weight", 1.0)),
                dense_weight=float(getattr(embedder, "dense_weight", 1.0)),
                embedder=getattr(embedder, "embedder", None),
            )
            return
        for name, value in properties.items():
            stored = getattr(ours, name)
            unsaid = name in ("pooling", "normalized") and (stored in ("", None) or value in ("", None))
            if stored != value and not unsaid:
                raise AlreadyExists(
                    f"the model {self.name!r} is registered with {name} {stored!r}, the embedder has {value!r}",
                    hint="Vectors of different making are not mixed: name the embedder differently.",
                )
        self._twins = [model.model for model in known.values() if _is_twin(ours, model)]

    def next_portion(self) -> None:
        """Remember what is embedded from now on until it is called twice more: the database does not know it
        before it is stored."""
        self._recent, self._fresh = self._fresh or {}, {}

    def forget(self) -> None:
        """Remember nothing any more."""
        self._recent, self._fresh = {}, None

    async def vectors(
        self, texts: Iterable[str], report: Callable[[], None] | None = None
    ) -> dict[str, list[float]]:
        """Vectors by text: those stored for the same text, under this model or one made the same way, and for
        the rest new ones. Blank texts have none."""
        wanted = {text: text_hash(text) for text in texts if text}
        vectors = {text: self._recent[digest] for text, digest in wanted.items() if digest in self._recent}
        for model in (self.name, *self._twins):
            missing = {digest for text, digest in wanted.items() if text not in vectors}
            if not missing:
                break
            async with self.turn:
                known = dict(await self.store._all(_calls.known_embeddings(self.tenant, model, list(missing))))
            vectors |= {text: known[digest] for text, digest in wanted.items() if digest in known}
        self.reused += len(vectors)
        unknown = [text for text in wanted if text not in vectors]
        for start in range(0, len(unknown), EMBED_TEXTS):
            part = unknown[start : start + EMBED_TEXTS]
            rows = await run_in_thread(self.embedder.embed_documents, part)
            for text, row in zip(part, rows, strict=True):
                vectors[text] = as_floats(row, dimensions=self.embedder.dimensions)
                if self._fresh is not None:
                    self._fresh[wanted[text]] = vectors[text]
            self.computed += len(part)
            if report is not None:
                report()
        return vectors


class AsyncBackfill:
    """The vectors of one model for the chunks of a tenant that have none.

    Chunks are never changed: a text that changes is a new chunk, and the old one is gone when its vector
    comes, which is then left out. So a backfill needs no lock, and one that was interrupted goes on where it
    was.
    """

    def __init__(
        self,
        model: AsyncTenantEmbedder,
        *,
        rate: float | None = None,
        batch: int = BACKFILL_CHUNKS,
        progress: Callable[[BackfillProgress], None] | None = None,
        step: Callable[[], None] | None = None,
    ) -> None:
        if rate is not None and not (rate > 0 and math.isfinite(rate)):
            raise InvalidArgument(f"rate is {rate}, must be a number above 0", hint="It is in chunks a second.")
        if batch < 1:
            raise InvalidArgument(f"batch is {batch}, must be at least 1", hint="It is a number of chunks.")
        self.model = model
        self.store = model.store
        self.tenant = model.tenant
        self.rate = rate
        # No more than some seconds of the rate at once: it is a rate for the embedder, too.
        self.batch = batch if rate is None else min(batch, max(1, math.ceil(2 * rate)))
        self.progress = progress
        self.step = step
        self.stored = self.gone = self.done = self.total = self.queries = 0
        #: Chunks the embedder did not take, and why.
        self.failed: dict[int, str] = {}
        self._begun = time.monotonic()

    async def run(self, *, keep: bool = True, queries: bool = True) -> BackfillReport:
        """Make the vectors. With ``keep`` ingest keeps the model current from now on, first of all, so that
        nothing is stored meanwhile that lacks one; with ``queries`` those whose vectors are cached get one of
        this model too."""
        store, name = self.store, self.model.name
        try:
            if keep:
                await store._one(_calls.keep_model(self.tenant, name, True))
            (state,) = await store._all(_calls.show_models(self.tenant, name))
            self.total = state.missing + (0 if self.model.remote else state.withheld)
            self._show()
            await self.chunks()
            if queries and not self.model.remote:
                await self._queries()
        except BaseException as error:
            error.backfill_report = self._report(None, None)  # type: ignore[attr-defined]
            raise
        (state,) = await store._all(_calls.show_models(self.tenant, name))
        return self._report(state.missing, state.withheld)

    def _report(self, missing: int | None, withheld: int | None) -> BackfillReport:
        return BackfillReport(
            self.tenant,
            self.model.name,
            self.stored,
            self.model.computed,
            self.model.reused,
            self.queries,
            self.gone,
            len(self.failed),
            tuple(list(self.failed.values())[:_FAILURES]),
            max(self.total - self.done, 0) if missing is None else missing,
            0 if withheld is None else withheld,
            round(time.monotonic() - self._begun, 3),
        )

    async def chunks(self) -> int:
        """Vectors for chunks that have none, until a look at all of them finds no more; their number. One look
        does not do: numbers of chunks are given out before they are committed."""
        while await self._pass():
            pass
        return self.stored

    async def _pass(self) -> bool:
        """One look at all chunks; whether something was stored."""
        before, after = self.stored, 0
        while True:
            page = await self.store._all(
                _calls.chunks_without_embedding(self.tenant, self.model.name, self.batch, after, self.model.remote)
            )
            if not page:
                return self.stored > before
            after = page[-1].chunk_id
            began, computed = time.monotonic(), self.model.computed
            await self._embed(page)
            if self.step is not None:
                self.step()
            self._show()
            if self.rate is not None:
                due = (self.model.computed - computed) / self.rate - (time.monotonic() - began)
                if due > 0:
                    await run_in_thread(time.sleep, due)

    async def _embed(self, page: Sequence[ChunkText]) -> None:
        wanted = [
            (chunk.chunk_id, text)
            for chunk in page
            if chunk.chunk_id not in self.failed
            and is_embeddable(text := embedding_text(chunk.title, chunk.body, chunk.prefix))
        ]
        try:
            vectors = await self.model.vectors([text for _, text in wanted], self.step)
        except (InvalidArgument, InvalidVector):
            # One text the embedder does not take; the others get theirs.
            vectors = {}
            for chunk_id, text in wanted:
                try:
                    vectors |= await self.model.vectors([text])
                except (InvalidArgument, InvalidVector) as error:
                    self.failed[chunk_id] = f"chunk {chunk_id}: {error.message}"
            wanted = [(chunk_id, text) for chunk_id, text in wanted if text in vectors]
        if wanted:
            stored = await self._put(
                _calls.put_embeddings(
                    self.tenant,
                    self.model.name,
                    [chunk_id for chunk_id, _ in wanted],
                    [vectors[text] for _, text in wanted],
                    [text_hash(text) for _, text in wanted],
                )
            )
            self.stored += stored
            self.gone += len(wanted) - stored
        self.done += len(wanted)

    async def _put(self, call: _calls.Call[int]) -> int:
        attempt = 1
        while True:
            try:
                async with self.store._transaction() as connection:
                    stored: int = (await _fetched(connection, call))[0]
                    return stored
            except Conflict:
                if attempt == _ATTEMPTS or not self.store.owns_transactions:
                    raise
                attempt += 1

    async def _queries(self) -> None:
        """Vectors of the queries that others are cached of."""
        after = ""
        while True:
            page = await self.store._all(
                _calls.queries_without_embedding(self.tenant, self.model.name, _QUERIES, after)
            )
            if not page:
                return
            after = page[-1]
            for query in page:
                if not is_embeddable(query):
                    continue
                try:
                    vector = await run_in_thread(self.model.embedder.embed_query, query)
                except (InvalidArgument, InvalidVector):
                    continue  # searched by its words, as before
                await self.store._one(_calls.cache_query_embedding(self.tenant, query, vector, self.model.name))
                self.queries += 1

    def _show(self) -> None:
        if self.progress is None:
            return
        seconds = time.monotonic() - self._begun
        self.progress(BackfillProgress.after(seconds, self.tenant, self.model.name, self.done, self.total))


def text_hash(text: str) -> bytes:
    """What tells that two texts have the same vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_twin(ours: Model, other: Model) -> bool:
    """Whether the vectors of another model are what this one's would be, in no less precision."""
    names = (
        "embedder", "revision", "dimensions", "metric", "query_prefix", "document_prefix", "pooling", "normalized",
    )  # fmt: skip
    return (
        ours.model != other.model
        and other.precision in ("vector", ours.precision)
        and all(getattr(ours, name) == getattr(other, name) for name in names)
    )


async def _fetched(connection: Any, call: _calls.Call[Any]) -> list[Any]:
    from pgsift.store_async import _fetch

    return await _fetch(connection, call)
