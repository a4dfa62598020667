"""An ingest as the store runs it: what :mod:`pgsift.ingest` prepares goes to the database here.

``_ingest.py`` is generated from this module. The order of work for one group of documents: read and hash; ask
which are known; prepare the changed ones, while the database stores the group before; ask which vectors are
known and compute the others; store.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import psycopg

from pgsift import _calls
from pgsift._concurrency import AsyncTasks, run_in_thread
from pgsift.domain.analyzer import get_analyzer
from pgsift.embed import Embedder, embedding_text
from pgsift.errors import (
    AlreadyExists,
    AnalyzerMismatch,
    InvalidArgument,
    InvalidDocument,
    InvalidVector,
    PgsiftError,
    QueryCancelled,
    ServerUnavailable,
)
from pgsift.ingest import pipeline, sources
from pgsift.ingest.checking import checked_acl
from pgsift.ingest.chunker import Chunker
from pgsift.ingest.pipeline import Batch, Hashed, Prepared, Preparer, Tally
from pgsift.ingest.sources import Broken, Item, Options, Source
from pgsift.models import Document, IngestReport, Progress, PutResult
from pgsift.vectors import as_floats

if TYPE_CHECKING:
    from pgsift.store_async import AsyncStore

#: Texts of one call of the embedder.
EMBED_TEXTS = 64
#: Chunks stored before the first maintenance of a run; the next follows after four times as many, up to the
#: second number. Into an empty store the first comes early: plans made for empty tables must not last.
FIRST_MAINTAIN_CHUNKS = 1_000
MAINTAIN_CHUNKS = 50_000
#: How many make a folding of the statistics worth while.
FOLD_CHUNKS = 500
_RETRIED = frozenset({"40001", "40P01"})
_ATTEMPTS = 5


class AsyncIngest:
    """One ingest into one tenant."""

    def __init__(
        self,
        store: AsyncStore,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        model: str | None = None,
        chunk_size: int | None = None,
        keep_source: bool = False,
    ) -> None:
        self.store = store
        self.keep_source = keep_source
        self.tenant = tenant
        self.embedder = embedder
        self.model = embedder.name if embedder is not None else model
        if embedder is not None and model is not None and model != embedder.name:
            raise InvalidArgument(
                f"the embedder's model is {embedder.name!r}, not {model!r}", hint="Leave model out."
            )
        try:
            self.chunker = Chunker(chunk_size) if chunk_size is not None else Chunker()
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
        self.run_id: int | None = None
        self.maintain_after = FIRST_MAINTAIN_CHUNKS
        self.tally = Tally()
        self.progress: Callable[[Progress], None] | None = None
        self.total_bytes: int | None = None
        self.preparer: Preparer
        self.missing_vectors = False
        self.stopping = False
        #: The connection a batch is being stored on.
        self.storing: Any = None

    # Entry points

    async def run(
        self,
        given: Source | Iterable[Source],
        *,
        acl: Iterable[str] | None,
        classification: str | None = None,
        prefix: str,
        format: str | None,
        key: str | None,
        sync: bool,
        progress: Callable[[Progress], None] | None,
    ) -> IngestReport:
        """Ingest sources; see :meth:`pgsift.AsyncStore.ingest`."""
        sources.check(given)
        options = Options(
            prefix=prefix,
            format=format,
            key=key,
            acl=None if acl is None else checked_acl(acl),
            classification=classification,
        )
        folders = sources.roots(given)
        if sync and not folders:
            raise InvalidArgument(
                "only folders can be synchronized", hint="Leave sync out, or pass a folder."
            )
        self.progress = progress
        await self._begin()
        if progress is not None:
            self.total_bytes = await run_in_thread(sources.total_bytes, given)
        self.run_id = await self.store._one(
            _calls.start_run(self.tenant, sources.describe(given), self._parameters(options, sync))
        )
        tasks = AsyncTasks(inline=not self.store.owns_transactions)
        try:
            try:
                await self._stream(sources.read(given, options), tasks)
            except BaseException as error:
                self.stopping = True
                if not isinstance(error, Exception):  # Ctrl-C, or the task is cancelled
                    await tasks.abandon(self._cancel)
                raise
            finally:
                await tasks.close()
            if self.missing_vectors:
                await self.embed_missing(progress, begun=True)
            if sync:
                for folder in folders:
                    await self._delete_gone(folder.absolute().as_uri(), options.prefix)
            await self._maintain(last=True)
        except BaseException as error:
            await self._leave(error)
            raise
        report = self.tally.report(self.tenant, self.run_id)
        await self.store._one(_calls.finish_run(self.tenant, self.run_id, report.to_dict()))
        return report

    async def _cancel(self) -> None:
        """Cancel the statement that stores a batch, if there is one."""
        connection = self.storing
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.cancel_safe(timeout=5)

    async def _leave(self, error: BaseException) -> None:
        """Tell what was done before an error ended the run: the caller with the exception
        (:func:`pgsift.errors.report_of`), and the record of the run while there is a server to write it."""
        report = self.tally.report(self.tenant, self.run_id)
        error.ingest_report = report  # type: ignore[attr-defined]
        if self.run_id is None or not self.store.owns_transactions or isinstance(error, ServerUnavailable):
            return
        summary = report.to_dict() | {"interrupted": pipeline.reason(error)}
        with contextlib.suppress(Exception):
            await self.store._one(_calls.finish_run(self.tenant, self.run_id, summary))

    async def put(
        self,
        documents: Document | Mapping[str, Any] | Iterable[Document | Mapping[str, Any]],
        run_id: int | None,
    ) -> list[PutResult]:
        """Store documents, all or none; see :meth:`pgsift.AsyncStore.put_documents`."""
        await self._begin()
        self.run_id = run_id
        hashed: list[Hashed] = []
        keys: list[str] = []
        for found in sources.read(documents, Options()):
            if isinstance(found, Broken):
                place = "" if found.key is None else f"document {found.key[:200]!r}: "
                raise InvalidDocument(f"{place}{found.reason}", hint=found.hint)
            if isinstance(found, Item):
                hashed.append(Hashed(found, self.preparer.content_hash(found)))
                keys.append(found.document.key)
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InvalidDocument(
                f"the key {twice[:200]!r} is given twice", hint="Put the two versions in two calls."
            )
        changed = await self._changed(hashed)
        unchanged = {item.item.document.key for item in hashed} - {item.item.document.key for item in changed}
        prepared = [
            await run_in_thread(_prepare_one, self.preparer, item, self.embedder is not None)
            for item in changed
        ]
        await self._embed(prepared)
        results: dict[str, PutResult] = {}
        failed = Tally()
        batches = list(pipeline.batches(prepared, failed))
        if failed.failures:
            raise InvalidDocument(f"document {failed.failures[0].key!r}: {failed.failures[0].reason}")
        async with self.store._transaction() as connection:
            for batch in batches:
                for result in await self._call(connection, batch):
                    results[result.key] = result
        if unchanged:
            states = await self.store.document_states(self.tenant, sorted(unchanged))
            for state in states:
                results[state.key] = PutResult(state.key, "unchanged", None, state.version, state.chunks)
        return [results[key] for key in keys if key in results]

    async def embed_missing(self, progress: Callable[[Progress], None] | None, *, begun: bool = False) -> int:
        """Vectors for chunks that have none; their number."""
        self.progress = progress
        if self.embedder is None:
            raise InvalidArgument("there is no embedder", hint="Pass embedder=, or make the store with one.")
        if not begun:
            await self._begin()
        assert self.model is not None
        after = done = 0
        while True:
            page = await self.store._all(
                _calls.chunks_without_embedding(
                    self.tenant, self.model, pipeline.BATCH_CHUNKS, after, self._remote()
                )
            )
            if not page:
                return done
            after = page[-1].chunk_id
            texts = [embedding_text(chunk.title, chunk.body) for chunk in page]
            vectors = await self._vectors(texts)
            wanted = [
                (chunk.chunk_id, text) for chunk, text in zip(page, texts, strict=True) if text in vectors
            ]
            if wanted:
                async with self.store._transaction() as connection:
                    await _execute(
                        connection,
                        _calls.put_embeddings(
                            self.tenant,
                            self.model,
                            [chunk_id for chunk_id, _ in wanted],
                            [vectors[text] for _, text in wanted],
                            [_hash(text) for _, text in wanted],
                        ),
                    )
            done += len(wanted)
            self._report("embed")

    # Steps

    async def _begin(self) -> None:
        """Read what must be known of the tenant, and register the embedder's model."""
        tenant = await self.store.tenant(self.tenant)
        analyzer = get_analyzer(tenant.analyzer)
        if analyzer.fingerprint != tenant.analyzer_fingerprint:
            raise AnalyzerMismatch(
                f"this client's analyzer {analyzer.name} has the fingerprint {analyzer.fingerprint}, "
                f"the tenant {self.tenant!r} was made with {tenant.analyzer_fingerprint}",
                hint="Use the client version the tenant was made with, or ingest into a new tenant.",
            )
        dimensions = None
        if self.embedder is not None:
            dimensions = self.embedder.dimensions
            await self._register(self.embedder)
        elif self.model is not None:
            dimensions = next(
                (model.dimensions for model in await self.store.models() if model.model == self.model), None
            )
        self.preparer = Preparer(
            analyzer,
            self.chunker,
            index_title=tenant.index_title == "first",
            model=self.model,
            dimensions=dimensions,
            keep_source=self.keep_source,
            remote=pipeline.RemotePolicy(tenant.remote_classifications, tenant.remote_retained)
            if self._remote()
            else None,
        )

    def _remote(self) -> bool:
        """Whether texts leave for another machine; an embedder that does not say so keeps them here."""
        return bool(getattr(self.embedder, "remote", False))

    async def _register(self, embedder: Embedder) -> None:
        for known in await self.store.models():
            if known.model == embedder.name:
                pairs = (
                    ("revision", known.revision, embedder.revision),
                    ("dimensions", known.dimensions, embedder.dimensions),
                    ("metric", known.metric, embedder.metric),
                    ("query_prefix", known.query_prefix, embedder.query_prefix),
                    ("document_prefix", known.document_prefix, embedder.document_prefix),
                )
                for name, stored, ours in pairs:
                    if stored != ours:
                        raise AlreadyExists(
                            f"the model {embedder.name!r} is registered with {name} {stored!r}, "
                            f"the embedder has {ours!r}",
                            hint="Vectors of different making are not mixed: name the embedder differently.",
                        )
                return
        await self.store.register_model(
            embedder.name,
            embedder.dimensions,
            revision=embedder.revision,
            metric=embedder.metric,
            query_prefix=embedder.query_prefix,
            document_prefix=embedder.document_prefix,
            lexical_weight=float(getattr(embedder, "lexical_weight", 1.0)),
            dense_weight=float(getattr(embedder, "dense_weight", 1.0)),
        )

    def _parameters(self, options: Options, sync: bool) -> dict[str, Any]:
        return {
            "analyzer": self.preparer.analyzer.name,
            "chunker": self.chunker.name,
            "model": self.model,
            "prefix": options.prefix,
            "format": options.format,
            "acl": options.acl,
            "classification": options.classification,
            "keep_source": self.keep_source,
            "sync": sync,
        }

    async def _stream(self, stream: Any, tasks: AsyncTasks) -> None:
        groups = pipeline.groups(stream, self.tally, factor=1 if self.embedder is not None else 4)
        hashed = await self._next(groups)
        changed = await self._changed(hashed) if hashed else []
        while hashed is not None:
            # What is prepared here overlaps with what is being stored in the background.
            prepared = await run_in_thread(
                _prepare, self.preparer, changed, self.tally, self.embedder is not None
            )
            following = await self._next(groups)
            await tasks.wait()
            await self._embed(prepared)
            changed = await self._changed(following) if following else []
            await self._bury()
            await tasks.start(self._store, prepared)
            hashed = following
        await tasks.wait()
        await self._bury()

    async def _next(self, groups: Any) -> list[Hashed] | None:
        """The next group, read and hashed; ``None`` at the end."""
        return await run_in_thread(_read_group, groups, self.preparer, self.tally)

    async def _changed(self, hashed: list[Hashed]) -> list[Hashed]:
        """Those of a group that are not stored as they are."""
        if not hashed:
            return []
        states = pipeline.states_by_key(
            await self.store.document_states(
                self.tenant, [one.item.document.key for one in hashed], self.model
            )
        )
        changed = []
        for one in hashed:
            state = states.get(one.item.document.key)
            if state is not None and state.content_hash == one.content_hash:
                self.tally.unchanged(one.item)
                if self.embedder is not None and state.missing_vectors:
                    self.missing_vectors = True
            else:
                changed.append(one)
        return changed

    async def _embed(self, documents: list[Prepared]) -> None:
        """Fill in the vectors of prepared documents."""
        if self.embedder is None:
            return
        for start in range(0, len(documents), 100):
            part = documents[start : start + 100]
            try:
                vectors = await self._vectors([text for document in part for text in document.texts])
            except (InvalidVector, InvalidArgument):
                # One text the model cannot take; find it.
                vectors = {}
                for document in list(part):
                    try:
                        vectors |= await self._vectors(document.texts)
                    except (InvalidVector, InvalidArgument) as error:
                        self.tally.fail(
                            document.key, document.source_uri, "embed", pipeline.reason(error), document.bytes
                        )
                        documents.remove(document)
                        part.remove(document)
            for document in part:
                for chunk, text in zip(document.record["chunks"], document.texts, strict=True):
                    if text in vectors:
                        chunk["embedding"] = vectors[text]
                        chunk["embedding_hash"] = _hash(text).hex()
            self._report("embed")

    async def _vectors(self, texts: Iterable[str]) -> dict[str, list[float]]:
        """Vectors by text: those stored for the same text, and for the rest new ones. Blank texts have
        none."""
        assert self.embedder is not None and self.model is not None
        wanted = {text: _hash(text) for text in texts if text}
        vectors: dict[str, list[float]] = {}
        if not wanted:
            return vectors
        known = dict(
            await self.store._all(
                _calls.known_embeddings(self.tenant, self.model, list(set(wanted.values())))
            )
        )
        missing = []
        for text, digest in wanted.items():
            if digest in known:
                vectors[text] = known[digest]
            else:
                missing.append(text)
        self.tally.vectors_reused += len(vectors)
        for start in range(0, len(missing), EMBED_TEXTS):
            part = missing[start : start + EMBED_TEXTS]
            rows = await run_in_thread(self.embedder.embed_documents, part)
            for text, row in zip(part, rows, strict=True):
                vectors[text] = as_floats(row, dimensions=self.embedder.dimensions)
            self.tally.vectors_computed += len(part)
            self._report("embed")
        return vectors

    async def _store(self, documents: list[Prepared]) -> None:
        for batch in pipeline.batches(documents, self.tally):
            if self.stopping:
                return
            await self._put(batch)
            self._report("store")
            await self._maintain()

    async def _put(self, batch: Batch) -> None:
        """Store a batch in one transaction; when its data is refused or its time is up, in halves, down to
        the document that is to blame."""
        attempt = 1
        while True:
            try:
                async with self.store._transaction() as connection:
                    self.storing = connection
                    try:
                        results = await self._call(connection, batch)
                    finally:
                        self.storing = None
                self.tally.stored(batch.documents, results)
                return
            except (PgsiftError, psycopg.Error) as error:
                state = getattr(error, "sqlstate", None)
                if state in _RETRIED and self.store.owns_transactions and attempt < _ATTEMPTS:
                    attempt += 1
                    continue
                if not _is_about_data(error) and not (_is_timeout(error) and len(batch.documents) > 1):
                    raise
                if len(batch.documents) == 1:
                    document = batch.documents[0]
                    self.tally.fail(
                        document.key, document.source_uri, "store", pipeline.reason(error), document.bytes
                    )
                    return
                break
        for half in batch.halves():
            await self._put(half)

    async def _call(self, connection: Any, batch: Batch) -> list[PutResult]:
        call = _calls.put_documents(
            self.tenant,
            batch.json,
            fingerprint=self.preparer.analyzer.fingerprint,
            model=self.model,
            run_id=self.run_id,
        )
        results: list[PutResult] = await _execute(connection, call)
        by_key = {document.key: document.source for document in batch.documents}
        kept = [
            (result.key, *source)
            for result in results
            if result.status in ("created", "replaced") and (source := by_key.get(result.key)) is not None
        ]
        if kept:
            await _execute(connection, _calls.put_sources(self.tenant, kept))
        return results

    async def _bury(self) -> None:
        """Write the failures noted so far to the dead letters."""
        pending, self.tally.pending = self.tally.pending, []
        if not pending:
            return
        async with self.store._transaction() as connection:
            for failure in pending:
                await _execute(
                    connection,
                    _calls.add_dead_letter(
                        self.tenant,
                        failure.stage,
                        failure.reason,
                        key=failure.key,
                        source_uri=failure.source_uri,
                        run_id=self.run_id,
                    ),
                )
        self._report("read")

    async def _delete_gone(self, root: str, prefix: str) -> None:
        """Delete documents whose source was a file under the folder and was not met in this run."""
        folder = root.rstrip("/") + "/"
        after = None
        while True:
            page = await self.store.documents(
                self.tenant, principals=["sift:writer"], key_prefix=prefix or None, k=1000, after=after
            )
            gone = [
                document.key
                for document in page
                if document.key not in self.tally.keys and self._is_gone(document.source_uri or "", folder)
            ]
            if gone:
                deleted = await self.store.delete(self.tenant, gone, "gone from its folder")
                self.tally.counts["deleted"] += sum(result.deleted for result in deleted)
            if len(page) < 1000:
                return
            after = page[-1].key

    def _is_gone(self, uri: str, root: str) -> bool:
        """Whether a source not met is gone: it was under the root, not where something was unreadable."""
        if not uri.startswith(root):
            return False
        return not any(
            uri == unread or uri.startswith(unread.rstrip("/") + "/") for unread in self.tally.unread
        )

    async def _maintain(self, *, last: bool = False) -> None:
        """Fold statistics and pack postings when enough was stored since the last time.

        A fold reads the statistics of the whole tenant, so a run that stored little leaves it to every
        twentieth such run; packing finds out by itself, at little cost, whether there is enough to pack.
        """
        stored = self.tally.stored_chunks
        if not stored or (stored < self.maintain_after and not last):
            return
        self.maintain_after = min(4 * self.maintain_after, MAINTAIN_CHUNKS)
        self.tally.stored_chunks = 0
        await self.store.pack_postings(self.tenant)
        if stored >= FOLD_CHUNKS or (self.run_id or 0) % 20 == 0:
            await self.store.fold_statistics(self.tenant)
        self._report("fold")

    def _report(self, phase: str) -> None:
        if self.progress is not None:
            tally = self.tally
            self.progress(
                Progress(
                    phase,
                    tally.documents,
                    tally.chunks,
                    tally.bytes,
                    self.total_bytes,
                    tally.counts["failed"],
                )
            )


async def _execute(connection: Any, call: _calls.Call[Any]) -> list[Any]:
    from pgsift.store_async import _fetch

    return await _fetch(connection, call)


def _read_group(groups: Any, preparer: Preparer, tally: Tally) -> list[Hashed] | None:
    group = next(groups, None)
    return None if group is None else pipeline.hash_group(preparer, group, tally)


def _prepare(preparer: Preparer, changed: list[Hashed], tally: Tally, embed: bool) -> list[Prepared]:
    return pipeline.prepare_group(preparer, changed, tally, embed=embed)


def _prepare_one(preparer: Preparer, hashed: Hashed, embed: bool) -> Prepared:
    return preparer.prepare(hashed, embed=embed)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_timeout(error: Exception) -> bool:
    """Whether the server gave up for want of time, and not because somebody cancelled the statement: both
    have one SQLSTATE."""
    return isinstance(error, QueryCancelled) and "timeout" in error.message


def _is_about_data(error: Exception) -> bool:
    """Whether another document would have been stored where this one was refused."""
    if isinstance(
        error, InvalidDocument | InvalidVector | InvalidArgument | psycopg.DataError | psycopg.IntegrityError
    ):
        return True
    state = getattr(error, "sqlstate", None) or ""
    return state.startswith(("22", "23", "54"))
