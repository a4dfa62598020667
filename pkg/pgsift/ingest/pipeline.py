"""From documents to the JSON that ``sift.put_documents`` takes: everything of an ingest that needs no
database.

A :class:`Preparer` holds what one run needs to know (analyzer, chunker, whether titles are indexed). For an
item it gives the content hash, which decides whether the document has changed, and, if it has, a
:class:`Prepared`: parsed, cleaned, cut and tokenized.

The content hash is a sha256 over the content as read and over everything else that what is stored depends
on: title, metadata, licence, language, dates and version as given, chunks and vectors made by the caller,
format, and the versions of parser, cleaning, chunker and analyzer. It leaves out the source URI and
``observed_at``, so that a folder that was moved is not ingested anew, and the access list, which is compared
and changed by itself (:func:`has_access`).
"""

from __future__ import annotations

import builtins
import copy
import hashlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from pgsift.domain.analyzer import Analyzer
from pgsift.errors import InvalidDocument, PgsiftError
from pgsift.ingest import formats
from pgsift.ingest.checking import FORMATS, checked_key
from pgsift.ingest.chunker import Span
from pgsift.ingest.chunkers import TextChunker
from pgsift.ingest.cleaning import CLEANING_VERSION, clean_json, clean_text
from pgsift.ingest.cutting import (
    PREFIX_VERSION,
    headings_above,
    placed,
    prefix_text,
    repeated_tokens,
    table_headers,
)
from pgsift.ingest.formats.pool import pool
from pgsift.ingest.formats.pool import workers as pool_workers
from pgsift.ingest.languages import detect, normalized
from pgsift.ingest.parsers import Format, Parsed, limits_of, one_line, parse, parser_name
from pgsift.ingest.sources import Broken, Found, Item, Skipped, Unread
from pgsift.models import (
    Acl,
    BibliographyReport,
    Chunk,
    Document,
    DocumentState,
    Failure,
    IngestReport,
    PutResult,
)
from pgsift.vectors import as_floats

#: Documents of which the states are asked, and which are prepared, together; four times as many where nothing
#: is embedded.
GROUP_DOCUMENTS = 500
GROUP_BYTES = 4 * 1024 * 1024
#: Size of one call of ``sift.put_documents``; one document is never divided. The more chunks come together,
#: the fewer rows their packed postings take.
BATCH_CHUNKS = 2000
BATCH_BYTES = 8 * 1024 * 1024
#: Chunks that are embedded, and then stored, together: what an interruption costs.
EMBED_CHUNKS = 512
#: What was prepared is stored after so many seconds, although it is less than that.
PORTION_SECONDS = 10.0
#: Failures listed in a report; all of them are in the dead letters.
REPORTED_FAILURES = 100
# Members of a front matter that say who may see a file.
_ACCESS = re.compile(
    r"_*(acls?|access([_-]?(list|control))?|allow(ed)?|den(y|ied)|principals?|permissions?|visible([_-]?to)?|"
    r"visibility|readers?)",
    re.IGNORECASE,
)
_DATES = ("observed_at", "valid_from", "valid_to", "retain_until")
#: Media types of kept sources by format.
MEDIA_TYPES: Mapping[Format, str] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    **{name: formats.FORMATS[name].media_type for name in get_args(Format) if name in formats.FORMATS},
}

# Encoders are made once; json.dumps makes one for each call with options.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_identity = json.JSONEncoder(sort_keys=True, default=str).encode


@dataclass(slots=True)
class Prepared:
    """A document ready to be stored. ``texts`` are the texts to embed, one per chunk, empty where a chunk
    has no vector to be computed; ``vectors`` and ``hashes`` are filled in by whoever embeds."""

    key: str
    record: dict[str, Any]
    bytes: int
    chunks: int
    tokens: int
    terms_cut: int
    cleaned: int
    source_uri: str | None
    texts: list[str] = field(default_factory=list)
    #: Media type and bytes of the source, where they are kept.
    source: tuple[str, builtins.bytes] | None = None
    #: Whether the text was kept from a remote embedder.
    withheld: bool = False
    origin: Mapping[str, str] | None = None
    mark: str | None = None
    #: Whether the front matter names an access list, which the one given overrides.
    acl_ignored: bool = False
    #: Chunks that are bibliography.
    references: int = 0

    def encode(self) -> str:
        """The record as JSON. Raises :class:`~pgsift.errors.InvalidDocument` when it has no JSON form."""
        try:
            return _encode(self.record)
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidDocument(f"the document has no JSON form: {error}") from None


@dataclass(frozen=True, slots=True)
class Hashed:
    """An item and its content hash in hexadecimal."""

    item: Item
    content_hash: str


_UNRANKED = ("title", "section_header", "reference")
_IS_TITLE = "is title"
# What is noted with a chunk until it is tokenized: headings for its prefix, and how many characters it repeats.
_ABOVE = "above"
_HEADER = "header of its table"
_REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """Which documents may be sent to a remote embedder: those with one of the ``classifications`` (``None``:
    all), and those with a ``retain_until`` only where ``retained``."""

    classifications: Sequence[str] | None
    retained: bool

    def allows(self, record: Mapping[str, Any]) -> bool:
        """Whether a document, as ``sift.put_documents`` takes it, may be sent."""
        if self.classifications is not None and record.get("classification") not in self.classifications:
            return False
        return self.retained or record.get("retain_until") is None


class Preparer:
    """Prepares documents for one tenant. ``model`` names the model of vectors given by the caller,
    ``dimensions`` is their length where known."""

    def __init__(
        self,
        analyzer: Analyzer,
        chunker: TextChunker,
        *,
        context_prefix: bool = False,
        index_title: bool = True,
        model: str | None = None,
        dimensions: int | None = None,
        keep_source: bool = False,
        remote: RemotePolicy | None = None,
        min_chunk_tokens: int = 1,
        limits: formats.Limits | None = None,
    ) -> None:
        self.min_chunk_tokens = min_chunk_tokens
        self.limits = limits or formats.Limits()
        self.keep_source = keep_source
        self.remote = remote
        self.analyzer = analyzer
        self.chunker = chunker
        self.context_prefix = context_prefix
        #: Name of the chunker with what is put in front of its chunks.
        self.chunker_name = f"{chunker.name} {PREFIX_VERSION}" if context_prefix else chunker.name
        self.index_title = index_title
        self.model = model
        self.dimensions = dimensions
        #: What decides, beside the source, what is stored of a document.
        self.transformation = self._transformation(self.chunker_name)

    def _transformation(self, chunker: str) -> str:
        return "\n".join((CLEANING_VERSION, chunker, self.analyzer.fingerprint, str(self.index_title)))

    def content_hash(self, item: Item, *, parser: str | None = None, chunker: str | None = None) -> str:
        """The content hash of an item, in hexadecimal; or what it was with another parser and chunker, by
        their names. Raises what :meth:`prepare` raises for values without JSON form."""
        document = item.document
        given: list[Any] = [
            document.title,
            item.language if document.language is None else document.language,
            document.license,
            item.classification if document.classification is None else document.classification,
            _when(document.retain_until),
            document.source_version,
            _when(document.valid_from),
            _when(document.valid_to),
            clean_json(document.metadata)[0] if document.metadata else {},
        ]
        if document.chunks is None:
            given.append(parser or parser_name(_format(document), self.limits))
        else:
            given.append([_chunk_identity(chunk) for chunk in document.chunks])
        transformation = self.transformation if chunker is None else self._transformation(chunker)
        digest = hashlib.sha256(transformation.encode())
        digest.update(_encode_identity(given).encode())
        digest.update(b"\0")
        text = document.text
        digest.update(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def prepare(self, hashed: Hashed, *, embed: bool = False, parsed: Parsed | None = None) -> Prepared:
        """Parse (unless it is ``parsed``), clean, cut and tokenize. With ``embed`` the texts to embed are
        noted.

        Raises a :class:`~pgsift.errors.PgsiftError` when the document cannot be ingested as it is.
        """
        item, document = hashed.item, hashed.item.document
        checked_key(document.key)
        title, cleaned = clean_text(document.title or "")
        title = one_line(title) or ""
        cleaned += item.cleaned
        record: dict[str, Any] = {"key": document.key, "content_hash": hashed.content_hash}
        metadata, changes = clean_json(document.metadata) if document.metadata else ({}, 0)
        cleaned += changes
        language, license = normalized(document.language) or document.language, document.license
        classification = document.classification
        dates = {name: _when(getattr(document, name)) for name in _DATES}
        acl_ignored = False
        chunks: list[dict[str, Any]]
        if document.chunks is None:
            kind = _format(document)
            parsed = parsed or item.parsed or self.parse(document)
            cleaned += parsed.cleaned
            title = title or parsed.title or ""
            named = next((name for name in parsed.metadata if _ACCESS.fullmatch(name)), None)
            if named is not None:
                if document.acl is None:
                    raise InvalidDocument(
                        f"the front matter says who may see the file ({named[:100]}), which is not heeded: "
                        "whoever can write a file must not be able to publish it",
                        hint="Give the list with --acl (in Python acl=), which wins, or take it out of the file.",
                    )
                acl_ignored = True
            if parsed.metadata:
                found, changes = clean_json(parsed.metadata)
                metadata, cleaned = {**found, **metadata}, cleaned + changes
            language = language or normalized(parsed.language) or item.language
            language = language or detect(parsed.text, parsed.blocks)
            license = license or parsed.license
            if None not in (classification, parsed.classification) and classification != parsed.classification:
                raise InvalidDocument(
                    f"the classification is {classification[:100]!r}, "  # type: ignore[index]
                    f"and {parsed.classification[:100]!r} in the front matter",  # type: ignore[index]
                    hint="Nobody can tell which of them holds: make them the same, or leave one out.",
                )
            classification = parsed.classification if classification is None else classification
            for name, when in dates.items():
                dates[name] = getattr(parsed, name) if when is None else when
            record["parser"] = parser_name(kind, self.limits)
            record["chunker"] = self.chunker_name
            record["length"] = len(parsed.text)
            chunks = self._cut(parsed, title)
        else:
            chunks, changes = self._given(document.chunks)
            cleaned += changes
            language = language or item.language or detect("\n\n".join(chunk["body"] for chunk in chunks))
            record["length"] = max((chunk["end"] for chunk in chunks), default=0)
        if title:
            record["title"] = title
        if metadata:
            record["metadata"] = metadata
        if document.acl is not None:
            record["acl"] = (
                {part: list(names) for part, names in document.acl.items()}
                if isinstance(document.acl, Mapping)
                else list(document.acl)
            )
        for name, value in (
            ("source_uri", document.source_uri),
            ("source_version", document.source_version),
            ("language", language),
            ("license", license),
            ("classification", item.classification if classification is None else classification),
            *dates.items(),
        ):
            if value is not None:
                record[name], changes = clean_text(value)
                cleaned += changes
        record["chunks"] = chunks
        tokens, cuts = self._tokenize(chunks, title)
        prepared = Prepared(
            document.key, record, item.bytes, len(chunks), tokens, cuts, cleaned, record.get("source_uri"),
            references=sum(chunk.get("kind") == "reference" for chunk in chunks),
        )
        if self.keep_source and item.line is not None:
            prepared.source = ("application/json", item.line)
        elif self.keep_source and document.chunks is None:
            source = document.text
            content = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
            prepared.source = (MEDIA_TYPES[_format(document)], content)
        prepared.origin, prepared.mark, prepared.acl_ignored = item.origin, item.mark, acl_ignored
        prepared.withheld = embed and self.remote is not None and not self.remote.allows(record)
        if embed:
            prepared.texts = [
                ""
                if "embedding" in chunk or not self._is_ranked(chunk)
                else _embedding_text(title, chunk["body"], chunk.get("prefix"))
                for chunk in chunks
            ]
        return prepared

    def _is_ranked(self, chunk: Mapping[str, Any]) -> bool:
        """Whether the database will rank a chunk, and keep a vector of it."""
        kind = chunk.get("kind", "text")
        if kind in _UNRANKED or kind in ("table", "figure", "claim") or self.min_chunk_tokens == 1:
            return kind not in _UNRANKED
        tokens = str(chunk["tokens"]).split()
        in_front = int(chunk.get("title_tokens", 0)) + int(chunk.get("prefix_tokens", 0))
        return len(tokens) - in_front >= self.min_chunk_tokens

    def reading_as(self, parser: str | None) -> Preparer:
        """One that reads as this does, and recognizes what a document's parser did, by its name."""
        limits = limits_of(parser, self.limits)
        if limits == self.limits:
            return self
        other = copy.copy(self)
        other.limits = limits
        return other

    def parse(self, document: Document) -> Parsed:
        """What a document holds. Raises a :class:`~pgsift.errors.PgsiftError` where it cannot be read."""
        return parse(document.text, _format(document), self.limits)

    def _cut(self, parsed: Parsed, title: str) -> list[dict[str, Any]]:
        text = parsed.text
        spans = self.chunker.chunk(text, parsed.blocks, parsed.pages)
        is_title = not spans and bool(title)
        if is_title:
            # A title and nothing else: it is found by its title, whose line is the body where it stands in
            # the text.
            block = next((block for block in parsed.blocks if block.kind == "title"), None)
            spans = [
                Span(block.start, block.start + len(text[block.start : block.end].rstrip()))
                if block
                else Span(0, 0)
            ]
        elif all(span.kind == "section_header" for span in spans):
            # Headings and nothing else: they are the text.
            spans = [replace(span, kind="text") for span in spans]
        chunks = []
        above = headings_above(parsed.blocks, spans) if self.context_prefix else [()] * len(spans)
        headers = table_headers(text, parsed.blocks, spans)
        for span, names, header, (members, repeated) in zip(
            spans, above, headers, placed(text, spans), strict=True
        ):
            chunk: dict[str, Any] = {
                "body": text[span.start : span.end],
                "start": span.start,
                "end": span.end,
            }
            if span.kind != "text":
                chunk["kind"] = span.kind
            if span.section:
                chunk["section"] = list(span.section)
            page = parsed.page(span.start)
            if page is not None:
                chunk["page"] = page
                breaks = parsed.page_breaks(span.start, span.end)
                if breaks:
                    chunk["page_breaks"] = breaks
            chunk |= members
            if repeated:
                chunk[_REPEATED] = repeated
            if self.context_prefix and not is_title:
                chunk[_ABOVE] = names
            if header:
                chunk[_HEADER] = header
            chunks.append(chunk)
        if is_title:
            chunks[0][_IS_TITLE] = True
        return chunks

    def _given(self, given: Sequence[Chunk]) -> tuple[list[dict[str, Any]], int]:
        chunks: list[dict[str, Any]] = []
        cleaned = 0
        for number, source in enumerate(given):
            body, changes = clean_text(source.body)
            cleaned += changes
            start = source.start or 0
            end = source.end if source.end is not None else start + len(body)
            if end < start:
                raise InvalidDocument(f"chunk {number} spans the characters {start} to {end}")
            chunk: dict[str, Any] = {"body": body, "kind": source.kind, "start": start, "end": end}
            for name, values in (("section", source.section), ("entities", source.entities)):
                if values:
                    pairs = [clean_text(value) for value in values]
                    chunk[name] = [value for value, _ in pairs]
                    cleaned += sum(changes for _, changes in pairs)
            if source.page is not None:
                chunk["page"] = source.page
            if source.page_breaks:
                chunk["page_breaks"] = [list(pair) for pair in source.page_breaks]
            if source.supports is not None:
                chunk["supports"] = list(source.supports)
            if source.evidence_span is not None:
                # Cleaned as the bodies are that it quotes.
                chunk["evidence_span"], changes = clean_text(source.evidence_span)
                cleaned += changes
            if source.effect is not None:
                chunk["effect"] = dict(source.effect)
            if source.overlap_tokens is not None:
                chunk["overlap_tokens"] = source.overlap_tokens
            elif source.start is not None and chunks and source.kind != "claim":
                repeated = chunks[-1]["end"] - start if chunks[-1]["start"] < start else 0
                if repeated > 0:
                    chunk[_REPEATED] = repeated
            if source.prefix:
                chunk["prefix"], changes = clean_text(source.prefix)
                cleaned += changes
            if source.context is not None:
                chunk["context_start"], chunk["context_end"] = source.context
            if source.embedding is not None:
                if self.model is None:
                    raise InvalidDocument(
                        "a chunk brings a vector, and no model is named",
                        hint="Pass model=, the name the model is registered under.",
                    )
                chunk["embedding"] = as_floats(source.embedding, dimensions=self.dimensions)
            chunks.append(chunk)
        return chunks, cleaned

    def _tokenize(self, chunks: list[dict[str, Any]], title: str) -> tuple[int, int]:
        """Fill in the tokens of each chunk; the number of all tokens, and of those cut."""
        analyze = self.analyzer.analyze
        total = cuts = 0
        in_title = False
        for chunk in chunks:
            analysis = analyze(chunk["body"])
            total += len(analysis.tokens)
            cuts += analysis.cuts
            repeated = chunk.pop(_REPEATED, 0)
            if repeated:
                head = chunk["body"][:repeated]
                chunk["overlap_tokens"] = repeated_tokens(lambda text: analyze(text).tokens, analysis.tokens, head)
            chunk["tokens"] = " ".join(analysis.tokens)
            above = chunk.pop(_ABOVE, None)
            header = chunk.pop(_HEADER, "")
            if above is not None and self._is_ranked(chunk):
                # The first of them has the title in front already.
                prefix = prefix_text("" if self.index_title and not in_title else title, above)
                in_title = True
                if prefix:
                    chunk["prefix"] = prefix
            if header and self._is_ranked(chunk):
                chunk["prefix"] = f"{chunk['prefix']}\n{header}" if "prefix" in chunk else header
            if "prefix" in chunk:
                front = analyze(chunk["prefix"])
                cuts += front.cuts
                total += len(front.tokens)
                chunk["prefix_tokens"] = len(front.tokens)
                chunk["tokens"] = " ".join(front.tokens + analysis.tokens)
        if chunks:
            # The database puts them in front of the first chunk that is ranked.
            first = chunks[0]
            is_title = first.pop(_IS_TITLE, False)
            first["title_tokens"] = 0
            if title and self.index_title:
                analysis = analyze(title)
                cuts += analysis.cuts
                first["title_tokens"] = len(analysis.tokens)
                if is_title:
                    total -= len(first["tokens"].split())
                    first["tokens"] = " ".join(analysis.tokens)
                else:
                    first["tokens"] = " ".join([*analysis.tokens, *first["tokens"].split()])
                total += len(analysis.tokens)
        return total, cuts


def _format(document: Document) -> Format:
    if document.format not in FORMATS:
        raise InvalidDocument(
            f"unknown format {document.format!r}", hint=f"Use {', '.join(get_args(Format))}."
        )
    return document.format  # type: ignore[return-value]


def _is_apart(document: Document) -> bool:
    return document.chunks is None and document.format in formats.FORMATS


def access_sets(acl: Acl) -> tuple[frozenset[str], frozenset[str]]:
    """Who may see, and who may not, of an access list in either of its forms."""
    if isinstance(acl, Mapping):
        return frozenset(acl.get("allow", ())), frozenset(acl.get("deny", ()))
    return frozenset(acl), frozenset()


def has_access(acl: Acl | None, state: DocumentState) -> bool:
    """Whether a stored document has this access list already; without one it keeps what it has."""
    return acl is None or access_sets(acl) == (frozenset(state.principals), frozenset(state.denied))


def _when(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value.isoformat())


def _chunk_identity(chunk: Chunk) -> list[Any]:
    vector = (
        None
        if chunk.embedding is None
        else hashlib.sha256(repr(as_floats(chunk.embedding)).encode()).hexdigest()
    )
    return [
        chunk.body,
        chunk.kind,
        list(chunk.section),
        chunk.page,
        chunk.start,
        chunk.end,
        vector,
        sorted(chunk.entities),
        *(() if chunk.overlap_tokens is None else (chunk.overlap_tokens,)),
        *(([list(pair) for pair in chunk.page_breaks],) if chunk.page_breaks else ()),
        *((chunk.prefix or "", chunk.context) if chunk.prefix or chunk.context else ()),
        *(() if chunk.supports is None else (list(chunk.supports), chunk.evidence_span, chunk.effect)),
    ]


def _embedding_text(title: str, body: str, prefix: str | None = None) -> str:
    from pgsift.embed import embedding_text

    return embedding_text(title or None, body, prefix)


def groups(stream: Iterator[Found], tally: Tally, *, factor: int = 1) -> Iterator[list[Item]]:
    """Items in groups of bounded size. Broken sources, repeated keys and skipped files are noted in the
    tally as they come; a group may be empty, so that what was noted is dealt with in time. ``factor``
    multiplies the number of documents of a group."""
    group: list[Item] = []
    size = 0
    for found in stream:
        if isinstance(found, Skipped):
            tally.skipped[found.reason] = tally.skipped.get(found.reason, 0) + 1
            continue
        if isinstance(found, Unread):
            tally.unread_by_mark(found.key)
            continue
        if isinstance(found, Broken):
            why = f"{found.reason}. {found.hint}" if found.hint else found.reason
            tally.fail(found.key, found.source_uri, found.stage, why, found.bytes, found.origin)
            if found.document_key is not None:
                tally.failed_keys.add(found.document_key)
            if len(tally.pending) >= GROUP_DOCUMENTS:
                yield group
                group, size = [], 0
            continue
        document = found.document
        if document.key in tally.keys:
            tally.fail(
                document.key,
                document.source_uri,
                "read",
                "the key occurs twice in this run; the first document was kept",
                found.bytes,
                found.origin,
                again=True,
            )
            continue
        tally.keys.add(document.key)
        group.append(found)
        size += found.bytes
        if len(group) >= factor * GROUP_DOCUMENTS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    yield group


def hash_group(preparer: Preparer, group: Iterable[Item], tally: Tally) -> list[Hashed]:
    """The content hash of each item; items that have none are noted as failures."""
    hashed = []
    for item in group:
        try:
            hashed.append(Hashed(item, preparer.content_hash(item)))
        except (PgsiftError, RecursionError) as error:
            tally.fail(
                item.document.key, item.document.source_uri, "parse", reason(error), item.bytes, item.origin
            )
    return hashed


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next: a group of documents with their hashes, of which those that changed are to be given to
    :meth:`Preparing.add`, or documents that are prepared. Where both are empty, what failed may be dealt with."""

    group: list[Hashed] = field(default_factory=list)
    prepared: list[Prepared] = field(default_factory=list)


class Preparing:
    """Sources on their way to the embedder and the database: read, hashed and, where the caller says that they
    changed, prepared. Documents that are parsed in processes of their own are begun ahead, several at a time
    and across groups; what leaves has the order in which it came. Nothing here uses the database.

    What is held at a time does not depend on how many sources there are: one group being compared, a few
    documents being parsed, and one portion. :meth:`step` and :meth:`add` take turns; :meth:`close` may come
    from another thread.
    """

    def __init__(self, preparer: Preparer, stream: Iterator[Found], tally: Tally, *, embed: bool) -> None:
        self._preparer, self._tally, self._embed = preparer, tally, embed
        self._groups = groups(stream, tally, factor=1 if embed else 4)
        self._limit = min(BATCH_CHUNKS, EMBED_CHUNKS) if embed else BATCH_CHUNKS
        self._reading = True
        self._closed = False
        self._workers = pool_workers(preparer.limits)
        self._waiting: deque[Hashed] = deque()
        self._to_parse: deque[Hashed] = deque()
        self._parsing: dict[int, Future[Parsed]] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._threads: set[int] = set()
        self._portion: list[Prepared] = []
        self._chunks = self._length = self._bytes = 0
        self._began = 0.0

    def step(self) -> Step | None:
        """The next group, or the next portion of prepared documents; ``None`` at the end."""
        self._threads.add(threading.get_ident())
        while not self._closed:
            if self._reading and self._is_hungry():
                group = next(self._groups, None)
                if group is not None:
                    return Step(group=hash_group(self._preparer, group, self._tally))
                self._reading = False
            if not self._waiting:
                return self._take() if self._portion else None
            one = self._waiting.popleft()
            self._bytes -= one.item.bytes
            self._prepare(one)
            if (
                self._chunks >= self._limit
                or self._length >= BATCH_BYTES // 2
                or (self._portion and time.monotonic() - self._began > PORTION_SECONDS)
            ):
                return self._take()
        return None

    def add(self, changed: Iterable[Hashed]) -> None:
        """Let documents be prepared."""
        for one in changed:
            self._waiting.append(one)
            self._bytes += one.item.bytes
            if _is_apart(one.item.document) and one.item.parsed is None:
                self._to_parse.append(one)
        self._begin()

    def close(self) -> None:
        """End what is under way, whose results are wanted no more."""
        self._closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        pool().abandon(self._threads)

    def _is_hungry(self) -> bool:
        """Whether the workers may run out of documents before the next group is read."""
        count = len(self._waiting)
        return count <= self._workers or (count < 2 * self._workers and self._bytes < GROUP_BYTES)

    def _begin(self) -> None:
        """Have documents parsed ahead: a few more than are at work, since what is parsed waits in memory."""
        if self._workers < 2:
            return
        while self._to_parse and len(self._parsing) < 2 * self._workers:
            one = self._to_parse.popleft()
            if self._executor is None:
                self._executor = ThreadPoolExecutor(
                    self._workers,
                    thread_name_prefix="pgsift-parse",
                    initializer=lambda: self._threads.add(threading.get_ident()),
                )
            self._parsing[id(one)] = self._executor.submit(self._preparer.parse, one.item.document)

    def _prepare(self, hashed: Hashed) -> None:
        future = self._parsing.pop(id(hashed), None)
        try:
            parsed = None if future is None else future.result()
            self._begin()
            document = self._preparer.prepare(hashed, embed=self._embed, parsed=parsed)
        except (PgsiftError, RecursionError) as error:
            if self._closed:
                return
            item, given = hashed.item, hashed.item.document
            self._tally.fail(given.key, given.source_uri, "parse", reason(error), item.bytes, item.origin)
            return
        if not self._portion:
            self._began = time.monotonic()
        self._portion.append(document)
        self._chunks += document.chunks
        self._length += document.record["length"]

    def _take(self) -> Step:
        portion, self._portion = self._portion, []
        self._chunks = self._length = 0
        return Step(prepared=portion)


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of one call of ``sift.put_documents``, with their JSON."""

    documents: list[Prepared]
    encoded: list[str]

    @property
    def json(self) -> str:
        """The JSON array of all documents."""
        return "[" + ",".join(self.encoded) + "]"

    def halves(self) -> Iterator[Batch]:
        """The same documents in two batches."""
        middle = len(self.documents) // 2
        yield Batch(self.documents[:middle], self.encoded[:middle])
        yield Batch(self.documents[middle:], self.encoded[middle:])


def batches(documents: Iterable[Prepared], tally: Tally) -> Iterator[Batch]:
    """Batches of bounded size; a document that cannot be encoded is noted as a failure."""
    batch = Batch([], [])
    chunks = size = 0
    for document in documents:
        try:
            text = document.encode()
        except PgsiftError as error:
            tally.fail(
                document.key, document.source_uri, "store", reason(error), document.bytes, document.origin
            )
            continue
        if batch.documents and (chunks + document.chunks > BATCH_CHUNKS or size + len(text) > BATCH_BYTES):
            yield batch
            batch = Batch([], [])
            chunks = size = 0
        batch.documents.append(document)
        batch.encoded.append(text)
        chunks += document.chunks
        size += len(text)
    if batch.documents:
        yield batch


# What sift.put_documents advises where it was given several, and an ingest has done by then.
_ONE_BY_ONE = re.compile(r"Put the documents one by one[^.]*\. ?")


def reason(error: BaseException) -> str:
    """One line on why a source failed."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, PgsiftError):
        hint = _ONE_BY_ONE.sub("", error.hint or "").strip()
        return clean_text(f"{error.message}. {hint}" if hint else error.message)[0]
    return clean_text(f"{type(error).__name__}: {error}")[0]


class Tally:
    """What a run has done so far, noted from several threads. ``pending`` are failures not yet in the dead
    letters; ``keys`` are all keys met, ``failed_keys`` those of which nothing could be stored."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.counts = dict.fromkeys(
            ("created", "replaced", "updated", "unchanged", "moved", "failed", "deleted", "empty"), 0
        )
        self.acl_ignored = 0
        #: Entries that were taken to be unchanged by their marks.
        self.unread = 0
        self.reasons: dict[str, int] = {}
        self.failed_keys: set[str] = set()
        self.skipped: dict[str, int] = {}
        self.keys: set[str] = set()
        self._lock = threading.Lock()
        self.pending: list[Failure] = []
        self.failures: list[Failure] = []
        self.chunks = self.references = self.tokens = self.terms_cut = self.cleaned = 0
        self.vectors_computed = self.vectors_reused = 0
        #: Keys of documents that were kept from a remote embedder.
        self.withheld: list[str] = []
        self.bytes = 0
        self.stored_chunks = 0
        #: How many documents were stored by language; ``und`` are those of which it is not known.
        self.languages: dict[str, int] = {}
        self.bibliography: BibliographyReport | None = None

    def take_pending(self) -> list[Failure]:
        """The failures noted since the last time."""
        with self._lock:
            pending, self.pending = self.pending, []
        return pending

    @property
    def documents(self) -> int:
        """Documents dealt with, failures included."""
        return sum(
            self.counts[name] for name in ("created", "replaced", "updated", "unchanged", "moved", "failed")
        )

    def fail(
        self,
        key: str | None,
        source_uri: str | None,
        stage: str,
        why: str,
        size: int = 0,
        origin: Mapping[str, str] | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Note a source that could not be ingested; with ``again`` one whose key has a document."""
        failure = Failure(None if key is None else clean_text(key)[0], source_uri, stage, why, origin)
        with self._lock:
            if key is not None and not again:
                self.failed_keys.add(key)
            if why in self.reasons or len(self.reasons) < REPORTED_FAILURES:
                self.reasons[why] = self.reasons.get(why, 0) + 1
            self.pending.append(failure)
            self.counts["failed"] += 1
            self.bytes += size
            if len(self.failures) < REPORTED_FAILURES:
                self.failures.append(failure)

    def known(self, item: Item, status: str = "unchanged") -> None:
        """Note a document whose text is stored: it is as it was, or ``updated``, or ``moved``."""
        with self._lock:
            self.counts[status] += 1
            self.bytes += item.bytes

    def unread_by_mark(self, key: str) -> None:
        """Note a document that was not read, since its mark is the same."""
        with self._lock:
            self.keys.add(key)
            self.unread += 1
            self.counts["unchanged"] += 1

    def stored(self, documents: Sequence[Prepared], results: Sequence[PutResult]) -> None:
        """Note what became of a batch."""
        by_key = {document.key: document for document in documents}
        with self._lock:
            for result in results:
                document = by_key[result.key]
                self.counts[result.status] += 1
                self.bytes += document.bytes
                if result.status in ("created", "replaced"):
                    self.chunks += document.chunks
                    self.references += document.references
                    self.stored_chunks += document.chunks
                    self.tokens += document.tokens
                    self.terms_cut += document.terms_cut
                    self.cleaned += document.cleaned
                    self.acl_ignored += document.acl_ignored
                    language = document.record.get("language") or "und"
                    self.languages[language] = self.languages.get(language, 0) + 1
                    if document.withheld:
                        self.withheld.append(document.key)
                    self.counts["empty"] += document.chunks == 0

    def report(self, tenant: str, run_id: int | None) -> IngestReport:
        """The report of the run so far."""
        return IngestReport(
            tenant,
            run_id,
            **self.counts,  # type: ignore[arg-type]
            acl_ignored=self.acl_ignored,
            skipped=dict(sorted(self.skipped.items())),
            chunks=self.chunks,
            references=self.references,
            tokens=self.tokens,
            terms_cut=self.terms_cut,
            characters_cleaned=self.cleaned,
            vectors_computed=self.vectors_computed,
            vectors_reused=self.vectors_reused,
            withheld=len(self.withheld),
            withheld_keys=tuple(self.withheld[:REPORTED_FAILURES]),
            bytes=self.bytes,
            seconds=time.monotonic() - self.started,
            failures=tuple(self.failures),
            reasons=dict(self.reasons),
            languages=dict(sorted(self.languages.items(), key=lambda pair: (-pair[1], pair[0]))),
            bibliography=self.bibliography,
        )


def states_by_key(states: Iterable[Any]) -> Mapping[str, Any]:
    """Document states by their key."""
    return {state.key: state for state in states}
