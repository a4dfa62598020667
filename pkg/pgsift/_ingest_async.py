"""An ingest as the store runs it: what :mod:`pgsift.ingest` prepares goes to the database here.

``_ingest.py`` is generated from this module. Three pieces of work overlap, each at most one portion ahead of the
next, so that what is held does not grow with the number of sources: documents are read, hashed, parsed and
tokenized (:class:`pgsift.ingest.pipeline.Preparing`); the caller's thread asks which are known, and embeds; the
database stores.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import psycopg

from pgsift import _calls
from pgsift._concurrency import AsyncLock, AsyncTasks, run_in_thread
from pgsift._models_async import AsyncBackfill, AsyncTenantEmbedder, each, text_hash
from pgsift.domain.analyzer import get_analyzer
from pgsift.embed import Embedder
from pgsift.errors import (
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
from pgsift.ingest.chunkers import TextChunker, chosen_chunker
from pgsift.ingest.formats import Limits
from pgsift.ingest.pipeline import Batch, Hashed, Prepared, Preparer, Preparing, Tally
from pgsift.ingest.retrying import Task
from pgsift.ingest.sources import Broken, Found, Item, Options, Source
from pgsift.ingest.syncing import SyncTarget
from pgsift.models import AccessEntry, Acl, Document, DocumentState, IngestReport, Progress, PutResult, Status

if TYPE_CHECKING:
    from pgsift.ingest.bibliography import Assignment
    from pgsift.store_async import AsyncStore

#: One or more bibliographies.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

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
        embedder: Embedder | Sequence[Embedder] | None = None,
        model: str | None = None,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
        keep_source: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.store = store
        self.keep_source = keep_source
        self.limits = limits or Limits()
        self.tenant = tenant
        self.embedders = [AsyncTenantEmbedder(store, tenant, one) for one in each(embedder)]
        names = [one.name for one in self.embedders]
        #: The model of vectors that documents bring; of what is embedded, that of the first embedder.
        self.model = model if model is not None else next(iter(names), None)
        if names and self.model not in names:
            raise InvalidArgument(
                f"the embedder's model is {names[0]!r}, not {model!r}", hint="Leave model out."
            )
        # What the run says; the tenant is asked when it begins.
        self._chunker = chosen_chunker(chunker, chunk_size) if (chunker, chunk_size) != (None, None) else None
        self._context_prefix = context_prefix
        self.run_id: int | None = None
        #: The source that is synchronized in this run, if one is.
        self.sync: SyncTarget | None = None
        #: Whether there were dead letters when the run began.
        self.letters = False
        self.maintain_after = FIRST_MAINTAIN_CHUNKS
        self.tally = Tally()
        self.progress: Callable[[Progress], None] | None = None
        self.total_bytes: int | None = None
        self.preparer: Preparer
        self.missing_vectors = False
        #: Models the tenant keeps current, of which no vectors are made here.
        self.models_left: tuple[str, ...] = ()
        self.stopping = False
        #: The connection a batch is being stored on.
        self.storing: Any = None
        #: Two pieces of work at a time use the database, and a store may have one connection only.
        self.turn = AsyncLock()
        for one in self.embedders:
            one.turn = self.turn
        #: Whether sources may be read by another thread: those that the caller's code makes may not.
        self.reads_apart = True
        self.found: pipeline.Step | None = None

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
        progress: Callable[[Progress], None] | None,
        language: str | None = None,
        bibliography: Paths | None = None,
    ) -> IngestReport:
        """Ingest sources; see :meth:`pgsift.AsyncStore.ingest`."""
        sources.check(given)
        options = made_options(
            prefix=prefix,
            format=format,
            key=key,
            acl=acl,
            classification=classification,
            limits=self.limits,
            language=language,
        )
        if key is not None and not sources.is_standard_input(given):
            raise InvalidArgument(
                "key names the document on standard input",
                hint="Files have their paths for keys; see prefix.",
            )
        self.progress = progress
        await self._begin()
        options = await self._with_bibliography(options, bibliography, given)
        if progress is not None:
            self.total_bytes = await run_in_thread(sources.total_bytes, given)
        await self.start(sources.describe(given), self.parameters(options))
        read = sources.given_roots(given)
        self.reads_apart = sources.are_paths(given)
        return await self.ingest(sources.read(given, options), roots=read, prefix=prefix)

    async def retry(self, task: Task, progress: Callable[[Progress], None] | None) -> IngestReport:
        """Read again what failed; see :meth:`pgsift.AsyncStore.retry_dead_letters`."""
        self.progress = progress
        await self._begin()
        roots = list(dict.fromkeys(str(root) for _, root in task.paths))
        task.options = await self._with_bibliography(task.options, task.bibliography, roots)
        names = ", ".join(str(path) for path, _ in task.paths[:20])
        await self.start(sources.printable(names)[:1000], self.parameters(task.options))
        return await self.ingest(task.read())

    async def _with_bibliography(self, options: Options, paths: Paths | None, given: Any) -> Options:
        """Find the files of the entries of bibliographies, before anything is read for good."""
        if paths is None:
            return options
        found = await run_in_thread(_find_files, paths, given, options)
        keys = found.keys(options.prefix) if options.acl is None else []
        if keys:
            # Rules go by the path, and an entry's key leads out of it.
            access = await self.store._all(_calls.show_access(self.tenant, None, None))
            both = [key for pair in keys for key in pair]
            access += await self.store._all(_calls.show_access(self.tenant, both, None))
            found.keep_paths(_seen_by_others(keys, access))
        self.tally.bibliography = found.report
        return replace(options, bibliography=found)

    async def start(self, described: str, parameters: Mapping[str, Any]) -> None:
        """Open the record of the run."""
        self.run_id = await self.store._one(_calls.start_run(self.tenant, described, parameters))
        self.letters = bool(await self.store._all(_calls.list_dead_letters(self.tenant, 1, None)))

    async def ingest(
        self,
        stream: Iterator[Found],
        *,
        roots: Sequence[str] = (),
        prefix: str = "",
    ) -> IngestReport:
        """Store what a stream holds. ``roots`` are what it reads as a whole, so that dead letters of these
        that did not fail again are over."""
        preparing = Preparing(self.preparer, stream, self.tally, embed=bool(self.embedders))
        reading = AsyncTasks(inline=not self.reads_apart)
        storing = AsyncTasks(inline=not self.store.owns_transactions)
        try:
            try:
                await self._work(preparing, reading, storing)
            except BaseException as error:
                self.stopping = True
                preparing.close()
                if not isinstance(error, Exception):  # Ctrl-C, or the task is cancelled
                    await storing.abandon(self._cancel)
                raise
            finally:
                preparing.close()
                await reading.close()
                await storing.close()
            if self.missing_vectors:
                await self.embed_missing(self.progress, begun=True)
            await self._after()
            if self.letters:
                for root in roots:
                    await self.store._one(
                        _calls.clear_dead_letters(
                            self.tenant, root=root, prefix=prefix, before_run=self.run_id
                        )
                    )
            await self._maintain(last=True)
        except BaseException as error:
            await self._leave(error)
            raise
        report = self.report()
        assert self.run_id is not None
        await self.store._one(_calls.finish_run(self.tenant, self.run_id, report.to_dict()))
        return report

    def report(self) -> IngestReport:
        """What was done so far."""
        return replace(self.tally.report(self.tenant, self.run_id), models_left=self.models_left)

    async def _after(self) -> None:
        """What a synchronization does when all is stored."""

    async def _cancel(self) -> None:
        """Cancel the statement that stores a batch, if there is one."""
        connection = self.storing
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.cancel_safe(timeout=5)

    async def _leave(self, error: BaseException) -> None:
        """Tell what was done before an error ended the run: the caller with the exception
        (:func:`pgsift.errors.report_of`), and the record of the run while there is a server to write it."""
        report = self.report()
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
        changed, relisted, states = await self._compared(hashed)
        unchanged = {item.item.document.key for item in hashed} - {item.item.document.key for item in changed}
        prepared = [
            await run_in_thread(_prepare_one, self.preparer, item, bool(self.embedders))
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
            for acl, items in _by_access(relisted):
                await _execute(connection, self._access(acl, items))
            if unchanged and run_id is None:
                await _execute(connection, _calls.clear_dead_letters(self.tenant, keys=sorted(unchanged)))
        updated = {one.item.document.key for one in relisted}
        for key in unchanged:
            if key in states:
                state = states[key]
                status: Status = "updated" if key in updated else "unchanged"
                results[key] = PutResult(key, status, None, state.version, state.chunks)
        return [results[key] for key in keys if key in results]

    async def embed_missing(self, progress: Callable[[Progress], None] | None, *, begun: bool = False) -> int:
        """Vectors for chunks that have none; their number."""
        self.progress = progress
        if not self.embedders:
            raise InvalidArgument("there is no embedder", hint="Pass embedder=, or make the store with one.")
        if not begun:
            await self._begin()
        first = self.embedders[0]
        backfill = AsyncBackfill(first, batch=pipeline.BATCH_CHUNKS, step=lambda: self._embedded(first))
        return await backfill.chunks()

    # Steps

    async def _begin(self) -> None:
        """Read what must be known of the tenant, and register the embedder's model."""
        if self.limits.ocr != "off":
            await run_in_thread(_check_ocr, self.limits)
        tenant = await self.store.tenant(self.tenant)
        analyzer = get_analyzer(tenant.analyzer)
        if analyzer.fingerprint != tenant.analyzer_fingerprint:
            raise AnalyzerMismatch(
                f"this client's analyzer {analyzer.name} has the fingerprint {analyzer.fingerprint}, "
                f"the tenant {self.tenant!r} was made with {tenant.analyzer_fingerprint}",
                hint="Use the client version the tenant was made with, or ingest into a new tenant.",
            )
        dimensions = None
        self.models_left = tuple(name for name in tenant.kept_models if name not in self._names())
        for one in self.embedders:
            await one.register()
        if self.model in self._names():
            dimensions = self.embedders[self._names().index(self.model)].embedder.dimensions
        elif self.model is not None:
            dimensions = next(
                (model.dimensions for model in await self.store.models() if model.model == self.model), None
            )
        self.preparer = Preparer(
            analyzer,
            self._chunker or chosen_chunker(tenant.chunker),
            context_prefix=tenant.context_prefix if self._context_prefix is None else self._context_prefix,
            index_title=tenant.index_title == "first",
            min_chunk_tokens=tenant.min_chunk_tokens,
            model=self.model,
            dimensions=dimensions,
            keep_source=self.keep_source,
            limits=self.limits,
            remote=pipeline.RemotePolicy(tenant.remote_classifications, tenant.remote_retained)
            if any(one.remote for one in self.embedders)
            else None,
        )

    def _names(self) -> list[str]:
        """The models whose vectors are made here."""
        return [one.name for one in self.embedders]

    def _embedded(self, one: AsyncTenantEmbedder) -> None:
        """Count what an embedder has done."""
        self.tally.vectors_computed += one.computed
        self.tally.vectors_reused += one.reused
        one.computed = one.reused = 0
        self._report("embed")

    def parameters(self, options: Options) -> dict[str, Any]:
        """What a run was told, for its record, and for those who retry what failed in it."""
        return {
            "analyzer": self.preparer.analyzer.name,
            "chunker": self.preparer.chunker_name,
            "model": self.model,
            "prefix": options.prefix,
            "format": options.format,
            "acl": options.acl,
            "classification": options.classification,
            "language": options.language,
            "bibliography": None if options.bibliography is None else options.bibliography.paths,
            "keep_source": self.keep_source,
            "chunking": {"chunker": self.preparer.chunker.spec, "context_prefix": self.preparer.context_prefix},
            "sync": None if self.sync is None else self.sync.name,
            "limits": None if self.limits == Limits() else asdict(self.limits),
        }

    async def _work(self, preparing: Preparing, reading: AsyncTasks, storing: AsyncTasks) -> None:
        await reading.start(self._read, preparing)
        while True:
            await reading.wait()
            found = self.found
            await self._bury()
            if found is None:
                break
            if found.group:
                preparing.add(await self._changed(found.group))
            # The next is read and prepared while this is embedded, and while what was before is stored; but what
            # is at hand does not wait for a source that does.
            if self.reads_apart:
                await reading.start(self._read, preparing)
            if found.prepared:
                for one in self.embedders:
                    one.next_portion()
                await self._embed(found.prepared)
                await storing.start(self._store, found.prepared)
            if not self.reads_apart:
                await reading.start(self._read, preparing)
        await storing.wait()
        await self._bury()
        for one in self.embedders:
            one.forget()

    async def _read(self, preparing: Preparing) -> None:
        self.found = await run_in_thread(preparing.step)

    async def _changed(self, hashed: list[Hashed]) -> list[Hashed]:
        """Those of a group whose text is not stored as it is; of the others the access is changed where
        another was given."""
        async with self.turn:
            return await self._asked(hashed)

    async def _asked(self, hashed: list[Hashed]) -> list[Hashed]:
        if self.sync is not None:
            hashed = await self._own(hashed)
        changed, relisted, states = await self._compared(hashed)
        moved: set[str] = set()
        if self.sync is not None and changed:
            moved = await self._move(changed, states)
            if moved:
                again = [one for one in changed if one.item.document.key in moved]
                changed = [one for one in changed if one.item.document.key not in moved]
                _, more, others = await self._compared(again)
                relisted, states = relisted + more, {**states, **others}
        refused = await self._relist(relisted)
        skip = {one.item.document.key for one in changed} | refused
        updated = {one.item.document.key for one in relisted}
        known = []
        for one in hashed:
            key = one.item.document.key
            if key in skip:
                continue
            status = "moved" if key in moved else "updated" if key in updated else "unchanged"
            self.tally.known(one.item, status)
            known.append(one.item)
            if self.embedders and states[key].missing_vectors:
                self.missing_vectors = True
        if known and self.letters:
            await self.store._one(
                _calls.clear_dead_letters(
                    self.tenant, keys=[item.document.key for item in known], before_run=self.run_id
                )
            )
        if known and self.sync is not None:
            marks = [(item.document.key, item.mark) for item in known]
            news = [pair for pair in marks if self.sync.is_news(*pair)]
            if news:
                await self.store._all(_calls.put_sync_items(self.tenant, self.sync.source_id, news))
        return changed

    async def _compared(
        self, hashed: list[Hashed]
    ) -> tuple[list[Hashed], list[Hashed], Mapping[str, DocumentState]]:
        """Those whose text is not stored as it is, those whose text is and whose access is another, and what
        is stored."""
        if not hashed:
            return [], [], {}
        states = pipeline.states_by_key(
            await self.store.document_states(
                self.tenant, [one.item.document.key for one in hashed], self.model
            )
        )
        changed, relisted = [], []
        for one in hashed:
            document = one.item.document
            state = states.get(document.key)
            if state is None or state.content_hash != one.content_hash:
                changed.append(one)
            elif not pipeline.has_access(document.acl, state):
                relisted.append(one)
        return changed, relisted, states

    def _access(self, acl: Acl, items: Sequence[Hashed]) -> _calls.Call[Any]:
        allowed, denied = pipeline.access_sets(acl)
        return _calls.set_access(
            self.tenant, [one.item.document.key for one in items], sorted(allowed), sorted(denied), None
        )

    async def _relist(self, relisted: Sequence[Hashed]) -> set[str]:
        """Change the access of documents whose text stays; the keys of those that are refused."""
        refused: set[str] = set()
        for acl, items in _by_access(relisted):
            try:
                await self.store._all(self._access(acl, items))
            except (InvalidArgument, InvalidDocument) as error:
                for one in items:
                    document = one.item.document
                    self.tally.fail(
                        document.key,
                        document.source_uri,
                        "store",
                        pipeline.reason(error),
                        one.item.bytes,
                        one.item.origin,
                    )
                    refused.add(document.key)
        return refused

    async def _own(self, hashed: list[Hashed]) -> list[Hashed]:
        """Without those whose key is another synchronized source's, which are failures."""
        assert self.sync is not None
        new = [one.item.document.key for one in hashed if one.item.document.key not in self.sync.members]
        if not new:
            return hashed
        owners = dict(await self.store._all(_calls.sync_owners(self.tenant, self.sync.source_id, new)))
        if not owners:
            return hashed
        for one in hashed:
            document = one.item.document
            if document.key in owners:
                self.tally.fail(
                    document.key,
                    document.source_uri,
                    "store",
                    f"the key is that of a document of another synchronized source, {owners[document.key]}. "
                    "Give one of the two another prefix.",
                    one.item.bytes,
                    one.item.origin,
                )
        return [one for one in hashed if one.item.document.key not in owners]

    async def _move(self, changed: list[Hashed], states: Mapping[str, DocumentState]) -> set[str]:
        """Give documents that are gone from the source, and are there under a new key, that key; the new
        keys."""
        assert self.sync is not None
        pairs = [
            (old, one.item.document)
            for one in changed
            if one.item.document.key not in states
            and (old := self.sync.take_moved(one.item.document.key, one.content_hash)) is not None
        ]
        if not pairs:
            return set()
        results = await self.store._all(
            _calls.move_documents(
                self.tenant,
                [old for old, _ in pairs],
                [document.key for _, document in pairs],
                [document.source_uri for _, document in pairs],
                self.run_id,
            )
        )
        self.sync.moves.update((result.to_key, result.from_key) for result in results if result.moved)
        return {result.to_key for result in results if result.moved}

    async def _embed(self, documents: list[Prepared]) -> None:
        """Fill in the vectors of prepared documents."""
        for one in self.embedders:
            waiting = list(documents)
            for start in range(0, len(waiting), 100):
                await self._embed_part(one, documents, waiting[start : start + 100])

    async def _embed_part(
        self, one: AsyncTenantEmbedder, documents: list[Prepared], part: list[Prepared]
    ) -> None:
        """Fill in the vectors of one model; a document that it does not take is a failure, and taken out of
        ``documents``."""
        if one.remote:
            part = [document for document in part if not document.withheld]
        try:
            vectors = await one.vectors(
                (text for document in part for text in document.texts), lambda: self._embedded(one)
            )
        except (InvalidVector, InvalidArgument):
            # One text the model cannot take; find it.
            vectors = {}
            for document in list(part):
                try:
                    vectors |= await one.vectors(document.texts)
                except (InvalidVector, InvalidArgument) as error:
                    self.tally.fail(
                        document.key,
                        document.source_uri,
                        "embed",
                        pipeline.reason(error),
                        document.bytes,
                        document.origin,
                    )
                    documents.remove(document)
                    part.remove(document)
        for document in part:
            for chunk, text in zip(document.record["chunks"], document.texts, strict=True):
                if text not in vectors:
                    continue
                if one.name == self.model:
                    chunk["embedding"] = vectors[text]
                else:
                    chunk.setdefault("embeddings", {})[one.name] = vectors[text]
                chunk["embedding_hash"] = text_hash(text).hex()
        self._embedded(one)

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
                async with self.turn, self.store._transaction() as connection:
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
                        document.key,
                        document.source_uri,
                        "store",
                        pipeline.reason(error),
                        document.bytes,
                        document.origin,
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
        if self.sync is not None:
            marks = [(document.key, document.mark) for document in batch.documents]
            await _execute(connection, _calls.put_sync_items(self.tenant, self.sync.source_id, marks))
        return results

    async def _bury(self) -> None:
        """Write the failures noted so far to the dead letters."""
        pending = self.tally.take_pending()
        if not pending:
            return
        async with self.turn, self.store._transaction() as connection:
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
                        origin=failure.origin,
                    ),
                )
        self._report("read")

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
        async with self.turn:
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


def made_options(
    *,
    prefix: str,
    format: str | None,
    key: str | None,
    acl: Any,
    classification: str | None,
    limits: Limits | None = None,
    language: str | None = None,
) -> Options:
    """The options of an ingest, checked before anything starts."""
    if acl is not None:
        acl = checked_acl(acl)
        allowed, denied = pipeline.access_sets(acl)
        if "" in allowed | denied:
            raise InvalidArgument(
                "a principal is empty",
                hint="Leave acl out for the default; an empty list is nobody but writers.",
            )
    return Options(
        prefix=prefix,
        format=format,
        key=key,
        acl=acl,
        classification=classification,
        limits=limits or Limits(),
        language=language,
    )


def _check_ocr(limits: Limits) -> None:
    from pgsift.ingest.formats.ocr import check

    check(limits)


def _find_files(paths: Paths, given: Any, options: Options) -> Assignment:
    from pgsift.ingest.bibliography import find_files, read_bibliographies

    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    return find_files(read_bibliographies(paths), given, options)


def _seen_by_others(keys: Iterable[tuple[str, str]], access: Iterable[AccessEntry]) -> list[str]:
    from pgsift.ingest.bibliography import seen_by_others

    return seen_by_others(keys, access)


def _by_access(items: Iterable[Hashed]) -> list[tuple[Acl, list[Hashed]]]:
    """Documents by the access list they bring."""
    groups: dict[Any, tuple[Acl, list[Hashed]]] = {}
    for one in items:
        acl = one.item.document.acl
        assert acl is not None
        groups.setdefault(pipeline.access_sets(acl), (acl, []))[1].append(one)
    return list(groups.values())


async def _execute(connection: Any, call: _calls.Call[Any]) -> list[Any]:
    from pgsift.store_async import _fetch

    return await _fetch(connection, call)


def _prepare_one(preparer: Preparer, hashed: Hashed, embed: bool) -> Prepared:
    return preparer.prepare(hashed, embed=embed)


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
