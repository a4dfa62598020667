"""What is derived from documents (text, chunks, tokens, vectors) made anew from the bytes that were kept of them.

``_rebuild.py`` is generated from this module. A document is made as an ingest of its source would make it
today; where that is what is stored, it is left alone. So a run that was interrupted is simply run again. Who
may see a document, its key, its metadata and where it came from stay as they are, and what another writer
stores meanwhile is not replaced.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pgsift import _calls
from pgsift._concurrency import run_in_thread
from pgsift._ingest_async import AsyncIngest, _execute
from pgsift.errors import InvalidDocument, PgsiftError, ServerUnavailable
from pgsift.ingest import pipeline
from pgsift.ingest.bibliography import said as said_by_entry
from pgsift.ingest.formats import Limits
from pgsift.ingest.parsers import Format, one_line, parse
from pgsift.ingest.pipeline import Batch, Hashed, Prepared, Preparer
from pgsift.ingest.sources import Broken, Item, Options, parse_line, read_record
from pgsift.models import Document, KeptDocument, Progress, PutResult, RebuildReport

#: Documents read at a time.
PAGE = 50
#: Keys named in a report.
NAMED = 1000

_FORMATS: Mapping[str, Format] = {media: format for format, media in pipeline.MEDIA_TYPES.items()}
#: What stays of a document whatever its source says: it may have been given from elsewhere.
_KEPT = ("source_uri", "source_version", "metadata", "language", "license", "classification")
_DATES = ("observed_at", "valid_from", "valid_to", "retain_until")


class AsyncRebuild(AsyncIngest):
    """One rebuilding of the documents of a tenant, or of some of them."""

    async def rebuild(
        self, keys: Iterable[str] | None, progress: Callable[[Progress], None] | None
    ) -> RebuildReport:
        """Make anew what is derived; see :meth:`pgsift.AsyncStore.rebuild`."""
        wanted = None if keys is None else list(dict.fromkeys(keys))
        self.progress = progress
        self.keep_source = True
        self.began = time.monotonic()
        self.versions: dict[str, int] = {}
        self.met: set[str] = set()
        self.without_source: list[str] = []
        self.without_count = 0
        self.superseded: list[str] = []
        await self._begin()
        await self.start("rebuild", self.parameters(Options()))
        after: str | None = None
        try:
            while True:
                page = await self.store._all(_calls.documents_to_rebuild(self.tenant, wanted, PAGE, after))
                if not page:
                    break
                if after is None:
                    self.total_bytes = page[0].total_bytes
                after = page[-1].key
                if wanted is not None:
                    self.met.update(row.key for row in page)
                await self._page(page)
                self.tally.pending.clear()  # a document that fails is not missing: it stays as it was
            # Vectors are of chunks, whether or not a source was kept.
            if self.embedders and (wanted is None or self.missing_vectors):
                await self.embed_missing(progress, begun=True)
            await self._maintain(last=True)
        except BaseException as error:
            report = self._rebuilt(wanted)
            error.rebuild_report = report  # type: ignore[attr-defined]
            if self.store.owns_transactions and not isinstance(error, ServerUnavailable):
                summary = report.to_dict() | {"interrupted": pipeline.reason(error)}
                with contextlib.suppress(Exception):
                    await self.store._one(_calls.finish_run(self.tenant, self.run_id or 0, summary))
            raise
        report = self._rebuilt(wanted)
        await self.store._one(_calls.finish_run(self.tenant, self.run_id or 0, report.to_dict()))
        return report

    async def _page(self, page: list[KeptDocument]) -> None:
        kept = [row for row in page if row.content is not None]
        self.without_count += len(page) - len(kept)
        for row in page:
            if row.content is None and len(self.without_source) < NAMED:
                self.without_source.append(row.key)
        made, unchanged = await run_in_thread(_made, self.preparer, kept, self.tally, bool(self.embedders))
        if unchanged and self.embedders:
            states = await self.store.document_states(self.tenant, unchanged, self.model)
            self.missing_vectors = self.missing_vectors or any(state.missing_vectors for state in states)
        if made:
            self.versions = {row.key: row.version for row in kept}
            await self._embed(made)
            await self._store(made)
        self._report("read")

    async def _call(self, connection: Any, batch: Batch) -> list[PutResult]:
        held = set(
            await _execute(
                connection,
                _calls.hold_documents(
                    self.tenant,
                    [document.key for document in batch.documents],
                    [self.versions[document.key] for document in batch.documents],
                ),
            )
        )
        pairs = [
            pair for pair in zip(batch.documents, batch.encoded, strict=True) if pair[0].key in held
        ]
        self.superseded += [document.key for document in batch.documents if document.key not in held]
        if not pairs:
            return []
        return await super()._call(connection, Batch([one for one, _ in pairs], [text for _, text in pairs]))

    def _rebuilt(self, wanted: list[str] | None) -> RebuildReport:
        counts, tally = self.tally.counts, self.tally
        return RebuildReport(
            self.tenant,
            self.run_id,
            documents=tally.documents + self.without_count + len(set(self.superseded)),
            rebuilt=counts["replaced"],
            unchanged=counts["unchanged"] + counts["updated"],
            without_source=self.without_count,
            without_source_keys=tuple(self.without_source),
            superseded=tuple(dict.fromkeys(self.superseded)),
            absent=() if wanted is None else tuple(key for key in wanted if key not in self.met),
            failed=counts["failed"],
            failures=tuple(tally.failures),
            chunks=tally.chunks,
            tokens=tally.tokens,
            vectors_computed=tally.vectors_computed,
            vectors_reused=tally.vectors_reused,
            withheld=len(tally.withheld),
            chunker=self.preparer.chunker_name,
            seconds=time.monotonic() - self.began,
        )


def _made(
    everyone: Preparer, rows: Iterable[KeptDocument], tally: pipeline.Tally, embed: bool
) -> tuple[list[Prepared], list[str]]:
    """The documents that are not stored as they would be today, prepared, and the keys of the others."""
    made: list[Prepared] = []
    unchanged: list[str] = []
    for row in rows:
        size = row.length or 0
        try:
            preparer = everyone.reading_as(row.parser)
            item = _item(preparer, row)
            digest = preparer.content_hash(item)
            if digest == row.content_hash:
                tally.known(item)
                unchanged.append(row.key)
                continue
            prepared = preparer.prepare(Hashed(item, digest), embed=embed)
            record = prepared.record
            record.pop("acl", None)  # who may see it is not for the source to say
            for name in _KEPT:
                if name == "language" and row.language is None:
                    continue  # it may be found now
                record.pop(name, None)
                if (value := getattr(row, name)) not in (None, {}):
                    record[name] = value
            for name in _DATES:
                record.pop(name, None)
                if (when := _utc(getattr(row, name))) is not None:
                    record[name] = when
            prepared.withheld = embed and preparer.remote is not None and not preparer.remote.allows(record)
            # What is kept is what was kept, byte for byte.
            assert row.content is not None and row.media_type is not None
            prepared.source = (row.media_type, row.content)
            made.append(prepared)
        except (PgsiftError, RecursionError, ValueError) as error:
            tally.fail(row.key, row.source_uri, "parse", pipeline.reason(error), size)
    return made, unchanged


def _item(preparer: Preparer, row: KeptDocument) -> Item:
    """What an ingest of the source would read. What the document was given beside its bytes is found out by
    its content hash: with the right guess that of the parser and chunker of then comes out."""
    assert row.content is not None
    if row.media_type == "application/json":
        return _of_line(row)
    kind = _FORMATS.get(row.media_type or "")
    if kind is None:
        raise InvalidDocument(f"the kept source is of an unknown kind: {row.media_type!r}")
    for item in _ways(row, kind, preparer.limits):
        if preparer.content_hash(item, parser=row.parser, chunker=row.chunker) == row.content_hash:
            return item
    # Stored by another version of the cleaning: what the source does not say itself was given.
    return item


def _ways(row: KeptDocument, kind: Format, limits: Limits) -> Iterator[Item]:
    assert row.content is not None
    size = len(row.content)
    bare = Document(
        row.key,
        row.content,
        kind,
        acl=(),
        source_uri=row.source_uri,
        source_version=row.source_version,
        observed_at=_utc(row.observed_at),
    )
    # Of a language it is not known whether it was given or found.
    for classification in dict.fromkeys((None, row.classification)):
        for language in dict.fromkeys((None, row.language)):
            item = Item(bare, size, classification=classification, language=language)
            yield item
            if isinstance(row.metadata.get("csl"), dict) and isinstance(row.metadata.get("citekey"), str):
                entry = said_by_entry(row.metadata["citekey"], row.metadata["csl"])
                yield replace(item, document=replace(bare, **entry))
    parsed = parse(row.content, kind, limits)
    found = parsed.metadata or {}
    for short, language in ((True, None), (False, None), (True, row.language), (False, row.language)):
        dates = {name: _utc(getattr(row, name), short=short) for name in _DATES}
        everything: dict[str, Any] = {
            "title": row.title, "metadata": row.metadata, "language": language, "license": row.license,
            "classification": row.classification, **dates,
        }  # fmt: skip
        yield Item(replace(bare, **everything), size)
        said: dict[str, Any] = {
            "title": one_line(parsed.title), "language": parsed.language, "license": parsed.license,
            "classification": parsed.classification, **{name: getattr(parsed, name) for name in _DATES},
        }  # fmt: skip
        given = {
            name: value
            for name, value in everything.items()
            if name != "metadata" and value is not None and said[name] != value
        }
        given["metadata"] = {
            name: value for name, value in row.metadata.items() if name not in found or found[name] != value
        }
        yield Item(replace(bare, **given), size)


def _of_line(row: KeptDocument) -> Item:
    assert row.content is not None
    key, record = parse_line(row.content)
    found = next(
        read_record(key, record, row.key, row.content, len(row.content), row.source_uri, Options(), None)
    )
    if isinstance(found, Broken):
        raise InvalidDocument(found.reason, hint=found.hint)
    document = replace(
        found.document, key=row.key, acl=(), source_uri=row.source_uri, observed_at=_utc(row.observed_at)
    )
    classification = row.classification if document.classification is None else None
    return replace(found, document=document, classification=classification)


def _utc(when: datetime.datetime | None, *, short: bool = False) -> str | None:
    """In UTC, whatever the session's time zone; with ``short`` a day without its midnight."""
    if when is None:
        return None
    there = when.astimezone(datetime.UTC)
    return there.date().isoformat() if short and there.time() == datetime.time() else there.isoformat()
