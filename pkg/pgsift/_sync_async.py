"""A synchronization as the store runs it: an ingest of one source that also moves and deletes, keeps account
of what belongs to the source, and says whether that adds up.

``_sync.py`` is generated from this module. The order of work: what the store has of the source; what the
source holds; then the ingest, in which documents that are gone give their place to those that have their
content under a new key; then what is gone is deleted; then the store is asked again, and counted. Every step
is repeated by the next run where this one was interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pgsift import _calls
from pgsift._concurrency import run_in_thread
from pgsift._ingest_async import AsyncIngest, Paths
from pgsift.embed import Embedder
from pgsift.errors import InvalidArgument
from pgsift.ingest import pipeline, sources, syncing
from pgsift.ingest.chunkers import TextChunker
from pgsift.ingest.parsers import Format, parser_name
from pgsift.ingest.sources import Options
from pgsift.ingest.syncing import Listing, SyncTarget
from pgsift.models import IngestReport, PlannedChange, Progress, SyncReport

if TYPE_CHECKING:
    from pgsift.store_async import AsyncStore

_PAGE = 2000


class AsyncSync(AsyncIngest):
    """One synchronization of one source with one tenant."""

    def __init__(
        self,
        store: AsyncStore,
        tenant: str,
        path: str | os.PathLike[str],
        options: Options,
        *,
        name: str | None = None,
        watermark: bool = False,
        allow_empty: bool = False,
        dry_run: bool = False,
        embedder: Embedder | Sequence[Embedder] | None = None,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
        keep_source: bool = False,
        bibliography: Paths | None = None,
    ) -> None:
        super().__init__(
            store,
            tenant,
            embedder=None if dry_run else embedder,
            chunker=chunker,
            chunk_size=chunk_size,
            context_prefix=context_prefix,
            keep_source=keep_source,
            limits=options.limits,
        )
        if os.fspath(path) == sources.STDIN or os.fspath(path) == "-":
            raise InvalidArgument(
                "standard input cannot be synchronized: it is read once, and then gone",
                hint="Write it into a file, or ingest it.",
            )
        sources.check(path)
        self.path = Path(path)
        self.options = options
        self.bibliography = bibliography
        self.kind = syncing.kind_of(self.path, options)
        self.location = syncing.location_of(self.path)
        self.name = name or self.location
        self.watermark = watermark
        self.allow_empty = allow_empty
        self.dry_run = dry_run
        self.notes: list[str] = []
        self.planned: list[PlannedChange] = []
        self.listing = Listing(self.kind)
        self.target = SyncTarget(0, self.name)
        self.kept: set[str] = set()

    async def synchronize(self, progress: Callable[[Progress], None] | None) -> SyncReport:
        """Do it; see :meth:`pgsift.AsyncStore.sync`."""
        self.progress = progress
        await self._begin()
        self.options = await self._with_bibliography(self.options, self.bibliography, [self.path])
        if progress is not None:
            self.total_bytes = await run_in_thread(sources.total_bytes, self.path)
        self.sync = self.target
        await self.start(sources.describe(self.path), self.parameters(self.options))
        row = await self.store._one(
            _calls.start_sync(
                self.tenant,
                self.name,
                kind=self.kind,
                location=self.location,
                prefix=self.options.prefix,
                run_id=self.run_id,
            )
        )
        self.target.source_id, known, location_before, transformation, options, _, _ = row
        by_mark = self.watermark and self._same(known, transformation, options)
        if known and location_before != self.location:
            self.notes.append(f"the source was at {location_before} before")
        try:
            await self._members()
            self.listing = await run_in_thread(syncing.list_source, self.path, self.options)
            self._find_gone()
        except BaseException as error:
            await self._leave(error)
            raise
        marks = None
        if by_mark or (self.watermark and self.kind == "feed"):
            marks = {key: mark for key, (_, mark) in self.target.members.items()}
        stream = syncing.read_listed(self.path, self.options, self.listing, marks, anew=not by_mark)
        if self.dry_run:
            return await self._plan(stream, by_mark)
        report = await self.ingest(stream, roots=[self.location], prefix=self.options.prefix)
        return await self._reconciled(report, by_mark)

    def _same(self, known: bool, transformation: str, options: Mapping[str, Any]) -> bool:
        """Whether marks tell what is unchanged; they do not where the last run made something else of it."""
        if not known:
            return False
        if transformation != self._transformation():
            self.notes.append(
                "everything is read: cleaning, parsers, chunker, analyzer or model are not those of the last run"
            )
            return False
        if dict(options) != self._told():
            changed = sorted(name for name, value in self._told().items() if options.get(name) != value)
            self.notes.append(f"everything is read: other than in the last run are {', '.join(changed)}")
            return False
        return True

    def _transformation(self) -> str:
        return "\n".join(
            (
                self.preparer.transformation,
                *(parser_name(kind, self.limits) for kind in get_args(Format)),
                ",".join(str(getattr(one.embedder, "identity", one.name)) for one in self.embedders),
            )
        )

    def _told(self) -> dict[str, Any]:
        """The options that decide what is stored, beside the source."""
        acl = self.options.acl
        return {
            "acl": None if acl is None else [sorted(names) for names in pipeline.access_sets(acl)],
            "classification": self.options.classification,
            "format": self.options.format,
            "keep_source": self.keep_source,
            "language": self.options.language,
            "bibliography": None
            if self.options.bibliography is None
            else self.options.bibliography.bibliography.fingerprint,
        }

    async def _members(self) -> None:
        """What the store has of the source. Asked before the source is listed: what another run stores
        meanwhile is not taken for gone."""
        after: str | None = None
        while True:
            page = await self.store._all(
                _calls.list_sync_items(self.tenant, self.target.source_id, _PAGE, after, self.model)
            )
            for item in page:
                self.target.members[item.key] = (item.content_hash, item.mark)
            if len(page) < _PAGE:
                return
            after = page[-1].key

    def _find_gone(self) -> None:
        listing, members = self.listing, self.target.members
        missing = members.keys() - listing.keys - listing.deleted.keys()
        deleted = listing.deleted.keys() & members.keys()
        if self.kind == "feed" and self.watermark:
            # A feed of changes does not name what did not change, and may bring an old deletion late.
            late = {key for key in deleted if syncing.is_older(listing.deleted[key], members[key][1])}
            deleted -= late
            self.kept = missing | late
        else:
            self.kept = {key for key in missing if listing.is_unsure(key)}
        missing -= self.kept
        if missing and not listing.keys and not self.allow_empty:
            raise InvalidArgument(
                f"the source {self.name} holds no document, and the store has {len(members):,} of it",
                hint="Where that is right, and all are to be deleted, pass --allow-empty (in Python "
                "allow_empty=True). A file system that is not mounted looks like that.",
            )
        self.target.set_gone(missing | deleted)

    async def _after(self) -> None:
        """Delete what is gone, unless it was moved."""
        gone = sorted(self.target.gone)
        for start in range(0, len(gone), 1000):
            part = gone[start : start + 1000]
            for reason, keys in (
                (f"deleted in {self.name}", [key for key in part if key in self.listing.deleted]),
                (f"gone from {self.name}", [key for key in part if key not in self.listing.deleted]),
            ):
                if keys:
                    results = await self.store.delete(self.tenant, keys, reason[:1000])
                    self.tally.counts["deleted"] += sum(result.deleted for result in results)
            if self.letters:
                await self.store._one(
                    _calls.clear_dead_letters(self.tenant, keys=part, before_run=self.run_id)
                )
            self._report("store")

    async def _plan(self, stream: Any, by_mark: bool) -> SyncReport:
        """What would be done. The caller undoes what was noted on the way."""
        preparing = pipeline.Preparing(self.preparer, stream, self.tally, embed=False)
        # Nothing is given back to it to be prepared, so that groups are all that comes.
        while (found := await run_in_thread(preparing.step)) is not None:
            changed, relisted, states = await self._compared(await self._own(found.group))
            for one in changed:
                key = one.item.document.key
                old = None if key in states else self.target.take_moved(key, one.content_hash)
                if old is not None:
                    self.planned.append(PlannedChange("move", key, old))
                else:
                    self.planned.append(PlannedChange("change" if key in states else "create", key))
            self.planned += [PlannedChange("change", one.item.document.key) for one in relisted]
        self.planned += [PlannedChange("delete", key) for key in sorted(self.target.gone)]
        report = self.tally.report(self.tenant, None)
        return self._sync_report(report, by_mark, len(self.listing.keys - self.tally.failed_keys), True)

    async def _reconciled(self, report: IngestReport, by_mark: bool) -> SyncReport:
        """Count what the store has now, and compare it with what the source holds."""
        self.target.members.clear()
        await self._members()
        there = self.target.members.keys()
        expected = self.listing.keys - self.tally.failed_keys
        stored = len(expected & there)
        others = there - expected - self.kept - self.tally.failed_keys
        result = self._sync_report(report, by_mark, stored, False, others=len(others))
        await self.store._one(
            _calls.finish_sync(
                self.tenant,
                self.target.source_id,
                transformation=self._transformation(),
                options=self._told(),
                watermark=self.listing.watermark,
                counts={
                    name: getattr(result, name)
                    for name in ("entries", "stored", "failed", "skipped", "kept", "unread", "reconciled")
                },
            )
        )
        return result

    def _sync_report(
        self, report: IngestReport, by_mark: bool, stored: int, dry_run: bool, *, others: int = 0
    ) -> SyncReport:
        skipped = sum(report.skipped.values())
        failed = report.failed
        reconciled = self.listing.entries == stored + failed + skipped and others == 0
        if not reconciled:
            self.notes.append(
                f"the source has {self.listing.entries:,} entries, and {stored:,} stored, {failed:,} failed and "
                f"{skipped:,} skipped make {stored + failed + skipped:,}"
                + (f"; the store has {others:,} documents of it that it does not hold" if others else "")
                + ". Source or store changed meanwhile; synchronize again."
            )
        mode: Literal["full", "watermark"] = "watermark" if self.watermark else "full"
        if self.watermark and not by_mark and not self.notes:
            self.notes.append("everything is read: there is no complete run before this one")
        return SyncReport(
            tenant=self.tenant,
            source=self.name,
            kind=self.kind,
            prefix=self.options.prefix,
            mode=mode,
            watermark=self.listing.watermark,
            entries=self.listing.entries,
            stored=stored,
            failed=failed,
            skipped=skipped,
            kept=len(self.kept),
            unread=self.tally.unread,
            deletions=len(self.listing.deleted),
            reconciled=reconciled,
            dry_run=dry_run,
            notes=tuple(self.notes),
            planned=tuple(self.planned),
            ingest=report,
        )
