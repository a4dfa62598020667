"""What the library takes and gives: frozen dataclasses, each with ``to_dict()`` that is ready for JSON.

Rows of SQL functions have the names and the order of the function's columns; :mod:`pgsift._calls` builds the
column lists of its statements from them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, overload

from pgsift.domain.drift import STATUSES, Drift

Mode = Literal["hybrid", "lexical", "dense"]
Status = Literal["created", "replaced", "updated", "unchanged"]
Strategy = Literal["merged", "chunks", "claims", "mixed"]
Severity = Literal["error", "warning", "info"]
#: Who may see a document: principals, or ``{"allow": principals, "deny": principals}``.
Acl = Sequence[str] | Mapping[str, Sequence[str]]


class Record:
    """Base of the dataclasses below."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, with dates in ISO 8601, sequences as lists and nested records as
        dictionaries."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Record | SearchResult):
        return value.to_dict()
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


# What goes in


@dataclass(frozen=True, slots=True)
class Chunk(Record):
    """A chunk made by the caller. ``start`` and ``end`` count characters of the document's text; left out,
    the chunk is taken to start at 0. ``overlap_tokens``: how many tokens at its head repeat the end of the
    chunk before, which a search for documents counts once; left out, those where the two spans overlap.
    ``page`` is the one ``body`` begins on; ``page_breaks`` are pairs of the character of ``body``, from 0, at
    which another page begins, and that page, in the order of the text."""

    body: str
    kind: str = "text"
    section: Sequence[str] = ()
    page: int | None = None
    start: int | None = None
    end: int | None = None
    #: A vector of the model named in the call: numbers, a numpy array, or a type of the package pgvector.
    embedding: Any = None
    entities: Sequence[str] = ()
    overlap_tokens: int | None = None
    page_breaks: Sequence[Sequence[int]] = ()
    #: What is indexed and embedded in front of the body and is no part of the text, such as title and section.
    prefix: str | None = None
    #: The characters of the document's text that are shown where the chunk is found.
    context: tuple[int, int] | None = None
    #: Of a claim: the chunks of this document that bear it out, counted from 0; a verbatim quotation of one of
    #: them; and what it says in numbers (docs/claims.md).
    supports: Sequence[int] | None = None
    evidence_span: str | None = None
    effect: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Document(Record):
    """A document to ingest: its stable key, its content, and what is known about it.

    ``text`` is parsed as ``format`` says (``text``, ``markdown`` or ``html``; bytes are decoded) and cut by
    the chunker, unless ``chunks`` are given. ``acl`` lists the principals who may see it, or says
    ``{"allow": […], "deny": […]}``; ``None`` leaves a stored document's access as it is and gives a new one
    that of the longest prefix of its key that has a rule, else the tenant's default; ``()`` is nobody but
    writers.
    """

    key: str
    text: str | bytes = ""
    format: str = "text"
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    acl: Acl | None = None
    source_uri: str | None = None
    source_version: str | None = None
    language: str | None = None
    license: str | None = None
    classification: str | None = None
    observed_at: datetime.datetime | str | None = None
    valid_from: datetime.datetime | str | None = None
    valid_to: datetime.datetime | str | None = None
    retain_until: datetime.datetime | str | None = None
    chunks: Sequence[Chunk] | None = None


# What comes out


@dataclass(frozen=True, slots=True)
class Hit(Record):
    """One row of a search, with every raw number. ``section`` is the path of headings; ``char_start`` and
    ``char_end`` are where ``body`` stands in the document's text; ``duplicates`` counts the identical texts
    it stands for.

    A hit that was reranked has a ``rerank_score`` and a ``former_rank``, the place it had before; one that was
    not judged has the rank alone. ``may_be_sent`` tells whether the tenant's options let the text be sent to a
    model on another machine."""

    rank: int
    score: float
    lexical_rank: int | None
    lexical_score: float | None
    dense_rank: int | None
    distance: float | None
    chunk_id: int
    document_id: int
    key: str
    title: str | None
    kind: str
    section: str | None
    page: int | None
    char_start: int
    char_end: int
    document_version: int
    body: str
    metadata: Mapping[str, Any]
    duplicates: int
    legs: str
    dense_path: str | None
    rerank_score: float | None = None
    former_rank: int | None = None
    may_be_sent: bool = True
    #: The passage of ``body`` that holds most of the query's terms, from character ``snippet_start`` on, and
    #: spans ``[start, end)`` of it to highlight; ``None`` where no snippet was asked for.
    snippet: str | None = None
    snippet_start: int | None = None
    highlights: Sequence[Sequence[int]] | None = None
    #: Of a claim that was checked: ``source_level``, ``evidence_span``, ``effect``, and ``sources``, the chunks
    #: that support it; ``None`` for any other hit.
    claim: Mapping[str, Any] | None = None
    #: The page of the first of the words that the snippet was chosen for; ``page`` is the one ``body`` begins on.
    snippet_page: int | None = None
    #: The wider passage that is shown for a chunk of a chunker that has one (docs/chunkers.md), from character
    #: ``context_start`` of the document's text on, and the page it begins on; ``None``: the body is all. Where a
    #: better hit of the same result shows the body already, ``context_of`` is its rank, and there is no context.
    context: str | None = None
    context_start: int | None = None
    context_page: int | None = None
    context_of: int | None = None
    #: Where the query vector of the dense leg comes from: ``given``, ``cached`` for the text, or ``approximated``
    #: by the vectors of its terms; ``None`` where there was none.
    query_vector: str | None = None


@dataclass(frozen=True, slots=True)
class Related(Record):
    """A chunk that lies near a document or a chunk. ``lexical_rank`` and ``dense_rank`` are its ranks by rare
    terms and by vectors, ``shared_terms`` the rare terms it holds, rarest first; the rest as in :class:`Hit`."""

    rank: int
    score: float
    lexical_rank: int | None
    lexical_score: float | None
    dense_rank: int | None
    distance: float | None
    chunk_id: int
    document_id: int
    key: str
    title: str | None
    kind: str
    section: str | None
    page: int | None
    char_start: int
    char_end: int
    document_version: int
    body: str
    metadata: Mapping[str, Any]
    shared_terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExplainedPart(Record):
    """One row of an explanation. ``part`` is ``term`` (``value`` is its contribution to the lexical score),
    ``leg`` (``value`` is the lexical score or the distance, ``rank`` where the chunk stands), ``fusion``
    (``value`` is ``weight / (constant + rank)``, 0 for a leg that does not count), ``score`` (``None`` where it
    is in no result) or ``setting``. ``df`` and ``idf`` are ``None`` for readers who may not know them."""

    place: int
    part: str
    name: str
    chunk_id: int
    tf: float | None
    df: int | None
    doc_length: int | None
    idf: float | None
    rank: int | None
    weight: float | None
    constant: float | None
    value: float | None
    detail: str | None


class Explanation(tuple[ExplainedPart, ...]):
    """The parts of the score of a chunk, in order; empty where there is no such chunk that may be seen."""

    __slots__ = ()

    def of(self, part: str) -> list[ExplainedPart]:
        """The rows of one kind: ``term``, ``leg``, ``fusion``, ``score`` or ``setting``."""
        return [row for row in self if row.part == part]

    @property
    def chunk_id(self) -> int | None:
        """The chunk that is explained."""
        return self[0].chunk_id if self else None

    @property
    def score(self) -> float | None:
        """The score that a search gives the chunk; ``None`` where it is in no result."""
        return next((row.value for row in self if row.part == "score"), None)


@dataclass(frozen=True, slots=True)
class Reason(Record):
    """Why a document or a chunk is not among the hits: ``reason`` in a word (``found`` where it is among
    them), ``sentence`` for people. ``rank`` is its rank, or, of one that was collapsed or capped, the place where
    it would have come; ``other_key`` and ``other_chunk_id`` name what stands for it. Unknown is ``None``."""

    reason: str
    sentence: str
    document_key: str | None
    chunk_id: int | None
    rank: int | None
    score: float | None
    lexical_rank: int | None
    lexical_score: float | None
    dense_rank: int | None
    distance: float | None
    other_key: str | None
    other_chunk_id: int | None


@dataclass(frozen=True, slots=True)
class MatchCount(Record):
    """How many chunks, and documents, a query matches."""

    chunks: int
    documents: int


@dataclass(frozen=True, slots=True)
class Facet(Record):
    """A value of a field among what a query matches; ``None`` for what has none."""

    value: str | None
    chunks: int
    documents: int


@dataclass(frozen=True, slots=True)
class Citation(Record):
    """A document as a record of CSL-JSON. ``page`` is where the best passage for a query stands, for a citation
    to point at; ``None`` without a query, a passage or pages."""

    key: str
    csl: Mapping[str, Any]
    page: int | None = None



class SearchResult(Sequence[Hit]):
    """The hits of a search, best first, and how they were found.

    ``legs`` names the rankings that took part, joined by ``+`` as the database gives them (``None`` when
    there is no hit); ``dense_path`` says how the dense leg ran (``exact``, ``hnsw``, ``hnsw+exact``);
    ``warnings`` are sentences for people: terms that were dropped, a leg that did not run. ``sources`` tells
    of the documents of the hits, best first, which count as one source; ``None`` where it was not asked for.
    ``query_id`` is the number under which the search was recorded, ``None`` where it was not.
    """

    __slots__ = ("dense_path", "hits", "legs", "mode", "query", "query_id", "sources", "warnings")

    def __init__(
        self,
        hits: Sequence[Hit],
        *,
        query: str | None = None,
        mode: str = "hybrid",
        warnings: Sequence[str] = (),
        sources: Sequence[DistinctSource] | None = None,
    ) -> None:
        self.hits = tuple(hits)
        self.sources = None if sources is None else tuple(sources)
        self.query_id: int | None = None
        self.query = query
        self.mode = mode
        self.legs = self.hits[0].legs if self.hits else None
        self.dense_path = self.hits[0].dense_path if self.hits else None
        self.warnings = tuple(warnings)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchResult):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SearchResult of {len(self.hits)} hits, legs {self.legs}>"

    @property
    def distinct_sources(self) -> int | None:
        """How many independent sources the documents of the hits are; ``None`` where it was not asked for."""
        return None if self.sources is None else max((item.source for item in self.sources), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Query, mode, legs, path, warnings and hits, ready for JSON."""
        return {
            "query": self.query,
            "mode": self.mode,
            "legs": self.legs,
            "dense_path": self.dense_path,
            "warnings": list(self.warnings),
            "hits": [hit.to_dict() for hit in self.hits],
        } | (
            {}
            if self.sources is None
            else {
                "distinct_sources": self.distinct_sources,
                "sources": [item.to_dict() for item in self.sources],
            }
        ) | ({} if self.query_id is None else {"query_id": self.query_id})


@dataclass(frozen=True, slots=True)
class Tenant(Record):
    """A tenant with its analyzer, ranking defaults, default principals and active embedding model, ``model``;
    ``kept_models`` are those whose vectors ingest keeps current, the active one first."""

    tenant: str
    analyzer: str
    analyzer_fingerprint: str
    k1: float
    b: float
    rrf_k: float
    depth: int
    index_title: str
    default_principals: Sequence[str] | None
    model: str | None
    keep_history: bool
    remote_classifications: Sequence[str] | None
    remote_retained: bool
    statistics: str
    strip_questions: bool
    expand: bool
    title_weight: float
    abstract_weight: float
    min_chunk_tokens: int
    kept_models: Sequence[str]
    created_at: datetime.datetime
    #: What cuts documents that are ingested, ``None``: ``structure``; and whether title and section are
    #: indexed with every chunk of them.
    chunker: str | None = None
    context_prefix: bool = False


@dataclass(frozen=True, slots=True)
class PutResult(Record):
    """What became of one document of a batch. ``document_id`` is not looked up for one that was unchanged."""

    key: str
    status: Status
    document_id: int | None
    version: int
    chunks: int


@dataclass(frozen=True, slots=True)
class DeleteResult(Record):
    """Whether there was a document of this key to delete."""

    key: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class PurgeResult(Record):
    """Whether there was anything of this key to purge: a document, or the history of one."""

    key: str
    purged: bool


@dataclass(frozen=True, slots=True)
class DocumentText(Record):
    """A document as it was: put together from its chunks, so that the spans of hits hold in ``text``; what
    lay between chunks is blank. ``text`` is ``None`` where its chunks were not kept. ``current_to`` is
    ``None`` while it is current."""

    title: str | None
    version: int
    text: str | None
    metadata: Mapping[str, Any]
    source_uri: str | None
    source_version: str | None
    content_hash: str | None
    current_from: datetime.datetime
    current_to: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Claim(Record):
    """A claim of a document: ``sources`` are the chunks that support it, each with its ``chunk_id``, ``ordinal``,
    ``kind``, ``section``, ``page``, ``char_start``, ``char_end`` and ``body``; ``source_level`` is ``abstract``,
    ``fulltext`` or ``mixed``. A claim that was stored without sources has ``None`` there."""

    chunk_id: int
    ordinal: int
    body: str
    source_level: str | None
    evidence_span: str | None
    effect: Mapping[str, Any] | None
    sources: Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True, slots=True)
class PutClaim(Record):
    """What became of the ``claim_ordinal``-th claim of a call, counted from 1: ``created`` or ``unchanged``."""

    claim_ordinal: int
    status: str
    chunk_id: int
    source_level: str


@dataclass(frozen=True, slots=True)
class EntityChunk(Record):
    """A chunk that mentions an entity."""

    chunk_id: int
    document_id: int
    key: str
    title: str | None
    ordinal: int
    kind: str
    section_path: Sequence[str]
    page: int | None
    char_start: int
    char_end: int
    document_version: int
    body: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence(Record):
    """A passage of a document that answers a query: ``text`` stands at ``char_start`` to ``char_end`` of the
    document's text. ``page``, ``section`` and ``chunk_id`` are those of the first of the words it was chosen for,
    ``page_end`` is the page of the last word found; ``highlights`` are spans ``[start, end)`` of ``text``;
    ``terms`` are the terms of the query that occur in it."""

    text: str
    char_start: int
    char_end: int
    page: int | None
    section: str | None
    chunk_id: int
    highlights: Sequence[Sequence[int]]
    terms: Sequence[str]
    title: str | None
    document_version: int
    page_end: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentVersion(Record):
    """What held of a document from ``current_from`` to ``current_to``; ``event`` says how it came: created,
    replaced (a new text), updated (something else about the same text), moved (another key: ``key_then``),
    deleted or purged. ``content_hash`` is hexadecimal. ``run_id``,
    ``changed_by``, ``reason`` and other keys than the one asked for are told to applications and writers
    only."""

    version: int
    revision: int
    event: str
    current_from: datetime.datetime
    current_to: datetime.datetime | None
    title: str | None
    source_uri: str | None
    source_version: str | None
    metadata: Mapping[str, Any] | None
    content_hash: str | None
    length: int | None
    parser: str | None
    chunker: str | None
    analyzer_fingerprint: str | None
    models: Sequence[str] | None
    language: str | None
    license: str | None
    classification: str | None
    observed_at: datetime.datetime | None
    valid_from: datetime.datetime | None
    valid_to: datetime.datetime | None
    retain_until: datetime.datetime | None
    run_id: int | None
    changed_by: str | None
    reason: str | None
    key_then: str | None


@dataclass(frozen=True, slots=True)
class AuditFinding(Record):
    """How much of a deleted document was found in one place. ``kind`` is ``search`` (a search could still
    draw from it), ``history`` (kept until a purge), ``record`` (the tombstone, and settings that
    name the key and that a purge leaves to people: ``note`` says what to do) or ``copy`` (the same text under
    other keys, which ``note`` names)."""

    place: str
    kind: str
    found: int
    note: str | None


@dataclass(frozen=True, slots=True)
class DocumentSource(Record):
    """The bytes a version was made of."""

    version: int
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class AccessResult(Record):
    """Whether the access of this document became another."""

    key: str
    changed: bool


@dataclass(frozen=True, slots=True)
class AccessEntry(Record):
    """Who may see a document (``kind`` is ``document``, ``name`` its key), or what one gets that is ingested
    without an access list: by the ``prefix`` of its key, else by ``default``. ``denied`` beats
    ``principals``. ``origin`` of a document is the rule it agrees with (``prefix hr/``, ``default``), or
    ``document`` where its list is its own."""

    kind: Literal["document", "prefix", "default"]
    name: str
    principals: Sequence[str]
    denied: Sequence[str]
    origin: str


@dataclass(frozen=True, slots=True)
class AccessCheck(Record):
    """Whether somebody may see a document, and by which entries of its access list. ``reason`` is
    ``granted``, ``denied``, ``not granted``, ``writer`` or ``no such document``; applications are told
    ``granted`` or ``not visible``."""

    visible: bool
    reason: str
    granted_by: Sequence[str]
    denied_by: Sequence[str]


@dataclass(frozen=True, slots=True)
class Member(Record):
    """A member of a group; one that belongs to it through other groups is not ``direct``."""

    of_group: str
    member: str
    direct: bool


@dataclass(frozen=True, slots=True)
class PrincipalReplaced(Record):
    """How many access lists, memberships of groups and mapped database roles had a principal that was
    replaced."""

    lists: int
    memberships: int
    roles: int


@dataclass(frozen=True, slots=True)
class NearDuplicate(Record):
    """A visible document that has the text of another (``relation`` is ``copy``), or nearly: another state
    of the same source (``revision``), or the text of another source (``syndicated``). ``similarity`` is the
    Jaccard similarity of their runs of five tokens. Or it ``contains`` the whole text of the other and much
    besides, or is ``contained`` in it; ``similarity`` is then the share of the shorter text's runs."""

    other_key: str
    title: str | None
    source_uri: str | None
    observed_at: datetime.datetime
    version: int
    relation: Literal["copy", "revision", "syndicated", "contains", "contained"]
    similarity: float


@dataclass(frozen=True, slots=True)
class DistinctSource(Record):
    """A document of a result, and the number of its ``source``, from 1: documents that repeat each other, or
    stand in one another, have the same. ``counts_with`` is the longest of them, ``relation`` and
    ``similarity`` are to it (``None`` for that one itself)."""

    key: str
    source: int
    counts_with: str | None
    relation: Literal["copy", "revision", "syndicated", "contained"] | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class ClusterMember(Record):
    """A document in a cluster of near-duplicates. ``cluster_id`` is the ``document_id`` of its
    representative, which has no ``relation``; the others have theirs, and their similarity, to it."""

    cluster_id: int
    document_id: int
    key: str
    title: str | None
    source_uri: str | None
    observed_at: datetime.datetime
    representative: bool
    relation: Literal["copy", "revision", "syndicated"] | None
    similarity: float


@dataclass(frozen=True, slots=True)
class DuplicatesReport(Record):
    """What a search for near-duplicates did (``signed`` documents were new or changed, ``compared`` pairs of
    texts shared a band, ``resembling`` of them reach the threshold), and what there is now: ``clusters``,
    and their members beside the representatives by relation. ``changed`` counts documents whose place in a
    cluster changed."""

    threshold: float
    documents: int
    signed: int
    compared: int
    resembling: int
    clusters: int
    copies: int
    revisions: int
    syndicated: int
    changed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Topic(Record):
    """A topic among the documents somebody may see: how many of these it holds, and which share of those that
    were placed. ``terms`` are those of greatest class-based tf-idf with their ``weights``; ``keys`` and ``titles``
    are of the documents nearest to its centre. Topic -1 are the outliers."""

    topic: int
    documents: int
    share: float
    terms: Sequence[str]
    weights: Sequence[float]
    keys: Sequence[str]
    titles: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class DocumentTopic(Record):
    """A document and its topic; -1 where it is an outlier. ``strength`` is how firmly it belongs there,
    ``distance`` that to the topic's centre, ``x`` and ``y`` where it lies in the picture; all ``None`` for
    logins that may only read."""

    topic: int
    key: str
    title: str | None
    document_id: int
    observed_at: datetime.datetime
    strength: float | None
    distance: float | None
    x: float | None
    y: float | None


@dataclass(frozen=True, slots=True)
class TopicRun(Record):
    """The last run of topics. ``documents`` were placed, ``outliers`` of them in no topic; ``unplaced`` have no
    place: they were stored since, or have no vector."""

    run: int
    made_at: datetime.datetime
    made_by: str
    model: str
    parameters: Mapping[str, Any]
    documents: int
    topics: int
    outliers: int
    unplaced: int


@dataclass(frozen=True, slots=True)
class TopicsReport(Record):
    """What a run of topics found. ``without_vector`` documents were left out, and ``left_out`` more because they
    were replaced meanwhile; the vectors of ``cached`` came from the cache."""

    run: TopicRun
    topics: Sequence[Topic]
    documents: Sequence[DocumentTopic]
    without_vector: int
    left_out: int
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DocumentState(Record):
    """What is stored of a document: ``content_hash`` in hexadecimal, chunks, chunks without a vector of the
    model, and who may see it (``denied`` beats ``principals``)."""

    key: str
    content_hash: str
    version: int
    chunks: int
    missing_vectors: int
    principals: Sequence[str]
    denied: Sequence[str]


@dataclass(frozen=True, slots=True)
class DocumentInfo(Record):
    """A stored document. ``length`` counts characters; ``visible_to`` is told to applications and writers
    only."""

    key: str
    title: str | None
    version: int
    chunks: int
    length: int
    source_uri: str | None
    source_version: str | None
    language: str | None
    license: str | None
    classification: str | None
    metadata: Mapping[str, Any]
    observed_at: datetime.datetime
    retain_until: datetime.datetime | None
    updated_at: datetime.datetime
    visible_to: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class KeptDocument(Record):
    """A document as it is stored, and the bytes it was made of, uncompressed, where they were kept."""

    key: str
    version: int
    title: str | None
    source_uri: str | None
    source_version: str | None
    metadata: Mapping[str, Any]
    language: str | None
    license: str | None
    classification: str | None
    observed_at: datetime.datetime
    valid_from: datetime.datetime | None
    valid_to: datetime.datetime | None
    retain_until: datetime.datetime | None
    parser: str | None
    chunker: str | None
    content_hash: str
    media_type: str | None
    length: int | None
    content: bytes | None
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class RebuildReport(Record):
    """What a rebuilding did: of ``documents`` looked at, ``rebuilt`` have a new version, ``unchanged`` are
    what they would be today, of ``without_source`` nothing was kept to make them of (the first 1000 are
    named), ``superseded`` were changed by another writer meanwhile and left alone, ``failed`` stay as they
    were (the first 100 are in ``failures``). ``absent`` are keys asked for that no document has. ``chunks``
    and ``tokens`` are those of the rebuilt. ``chunker`` is the one of this run; parser and chunker of each
    version are in its history."""

    tenant: str
    run_id: int | None
    documents: int = 0
    rebuilt: int = 0
    unchanged: int = 0
    without_source: int = 0
    without_source_keys: Sequence[str] = ()
    superseded: Sequence[str] = ()
    absent: Sequence[str] = ()
    failed: int = 0
    failures: Sequence[Failure] = ()
    chunks: int = 0
    tokens: int = 0
    vectors_computed: int = 0
    vectors_reused: int = 0
    withheld: int = 0
    chunker: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DeadLetter(Record):
    """A source that could not be ingested and is missing: the stage that failed (read, parse, chunk, embed,
    store), why, how often (``failures``), and when first and last. ``origin`` says where it is read again;
    ``parameters`` are those of the run it failed in last."""

    dead_letter_id: int
    run_id: int | None
    key: str | None
    source_uri: str | None
    stage: str
    reason: str
    failures: int
    created_at: datetime.datetime
    failed_at: datetime.datetime
    origin: Mapping[str, str] | None
    parameters: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class LoggedQuery(Record):
    """A recorded query. ``settings`` are the arguments of the search that were given, ``defaults`` what held
    for the others; ``hits`` what came back, best first: rank, chunk_id, document_id, key, document_version and
    scores, of a purged document rank and ``purged`` alone. ``payload_bytes`` and ``payload_characters`` are the
    size of the texts that came back, ``milliseconds`` how long it took, as measured by whoever asked."""

    query_id: int
    asked_at: datetime.datetime
    asked_by: str
    query: str | None
    principals: Sequence[str] | None
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]
    query_embedding: Sequence[float] | None
    hits: Sequence[Mapping[str, Any]]
    payload_bytes: int | None
    payload_characters: int | None
    milliseconds: float | None


@dataclass(frozen=True, slots=True)
class Judgment(Record):
    """How well a passage answers a query, as somebody judged it: ``grade`` 0 not relevant, 1 related, 2
    relevant, 3 answers it. ``place`` tells what became of it: ``document`` (the document as a whole was
    judged), ``passage`` (it is there, word for word), ``text`` (the document is as it was and cut otherwise:
    ``chunk_id`` holds most of the passage), ``changed``, or ``gone`` with its document. ``char_start`` and
    ``char_end`` are the span of the passage, ``page`` that of the chunk."""

    judgment_id: int
    query: str
    key: str
    title: str | None
    grade: int
    judged_by: str
    judged_at: datetime.datetime
    note: str | None
    place: str
    chunk_id: int | None
    char_start: int | None
    char_end: int | None
    page: int | None


@dataclass(frozen=True, slots=True)
class QueryDrift(Record):
    """What a recorded query finds now, beside what it found. ``drift`` is ``None``, and ``problem`` says why,
    where it could not be asked again."""

    query_id: int
    query: str | None
    asked_at: datetime.datetime
    drift: Drift | None = None
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the numbers, and the hits with what became of each."""
        out: dict[str, Any] = {
            "query_id": self.query_id,
            "query": self.query,
            "asked_at": _plain(self.asked_at),
            "problem": self.problem,
        }
        if self.drift is not None:
            out |= {status: self.drift.count(status) for status in STATUSES}
            out |= {
                "rescored": self.drift.rescored,
                "jaccard": self.drift.jaccard,
                "overlap": self.drift.overlap,
                "hits": [
                    {
                        "status": hit.status,
                        "key": hit.key,
                        "rank_then": hit.rank_then,
                        "rank_now": hit.rank_now,
                        "chunk_then": hit.chunk_then,
                        "chunk_now": hit.chunk_now,
                        "scores_then": dict(hit.scores_then),
                        "scores_now": dict(hit.scores_now),
                    }
                    for hit in self.drift.hits
                ],
            }
        return out


@dataclass(frozen=True, slots=True)
class ReplayReport(Record):
    """Recorded queries asked again, the first to be asked first."""

    queries: Sequence[QueryDrift]

    @property
    def drifted(self) -> int:
        """How many found something else, or in another order."""
        return sum(1 for one in self.queries if one.drift is not None and not one.drift.same)

    @property
    def failed(self) -> int:
        """How many could not be asked again."""
        return sum(1 for one in self.queries if one.drift is None)

    @property
    def overlap(self) -> float | None:
        """The mean of the rank-biased overlaps of then and now; ``None`` where nothing was asked again."""
        values = [one.drift.overlap for one in self.queries if one.drift is not None]
        return sum(values) / len(values) if values else None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "replayed": len(self.queries) - self.failed,
            "drifted": self.drifted,
            "failed": self.failed,
            "overlap": self.overlap,
            "queries": [one.to_dict() for one in self.queries],
        }


@dataclass(frozen=True, slots=True)
class UnrankedDocument(Record):
    """A document of which no chunk is ranked: how many ``chunks`` it has, how many are references, and their
    kinds."""

    key: str
    title: str | None
    chunks: int
    reference_chunks: int
    kinds: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """The size of a tenant's corpus. ``indexed_chunks`` is N of BM25, ``average_length`` its avgdl, in
    tokens. ``unranked_chunks`` and ``reference_chunks`` are stored and not ranked; ``unranked_documents`` have
    no chunk that is. ``vectors`` counts vectors by model; ``pending_rows`` counts rows of corpus statistics
    waiting to be folded."""

    documents: int
    chunks: int
    indexed_chunks: int
    unranked_chunks: int
    reference_chunks: int
    unranked_documents: int
    total_length: int
    average_length: float
    access_lists: int
    dead_letters: int
    vectors: Mapping[str, int]
    pending_rows: int


@dataclass(frozen=True, slots=True)
class Failure(Record):
    """A source that was not ingested, as recorded in the dead letters. ``origin`` says where to read it
    again."""

    key: str | None
    source_uri: str | None
    stage: str
    reason: str
    origin: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Progress(Record):
    """How far an ingest is. ``phase`` is ``read``, ``embed``, ``store`` or ``fold``; ``documents``,
    ``chunks`` and ``bytes`` count what is done; ``total_bytes`` is known for files and folders only."""

    phase: str
    documents: int
    chunks: int
    bytes: int
    total_bytes: int | None
    failed: int


@dataclass(frozen=True, slots=True)
class BibliographyReport(Record):
    """What came of a sidecar bibliography (docs/formats.md). Of its ``entries`` some are those of the ``matched``
    files, and ``entries_without_file`` of none; ``files_without_entry`` kept their own keys. ``files`` and
    ``citekeys`` are the first 100 of these two. ``ambiguous`` are sentences on what fits several and was not
    guessed, ``problems`` on entries that are broken or there twice, and on files that kept their
    paths since others may see what comes under the citekey; the first 100 of each."""

    entries: int = 0
    matched: int = 0
    files_without_entry: int = 0
    entries_without_file: int = 0
    files: Sequence[str] = ()
    citekeys: Sequence[str] = ()
    ambiguous: Sequence[str] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IngestReport(Record):
    """What an ingest did.

    Documents: ``created``, ``replaced``, ``updated``, ``unchanged``, ``moved`` (another key, the same
    document), ``failed`` (see ``failures``: the first 100 of them; ``reasons`` counts them all), ``deleted``
    (gone from a synchronized source), ``empty`` (stored without a chunk). ``skipped`` counts what was left
    alone, by reason: ``hidden``, ``symlink`` (a link that leaves the folder given), ``empty``, or the
    extension. ``acl_ignored`` counts files whose front matter names an access list, which the one given
    overrode. ``chunks``
    and ``tokens`` are those of created and replaced documents; ``references`` counts the chunks among them
    that are bibliography, which is kept and not ranked. ``terms_cut`` counts tokens cut at 256
    bytes, ``characters_cleaned`` characters and numbers PostgreSQL cannot hold, which were replaced. Of the
    vectors needed, ``vectors_computed`` were computed, ``vectors_reused`` known. ``withheld``
    documents were stored without vectors, since the tenant keeps their texts from a remote embedder;
    ``withheld_keys`` are the first 100. ``models_left`` are models that the tenant keeps current and of which
    this run made no vectors; a backfill makes them. ``languages`` counts created and replaced documents by their
    language, most first; ``und`` are those of which it is not known. ``bibliography`` is what came of one that was
    given.
    """

    tenant: str
    run_id: int | None
    created: int = 0
    replaced: int = 0
    updated: int = 0
    unchanged: int = 0
    moved: int = 0
    failed: int = 0
    deleted: int = 0
    empty: int = 0
    acl_ignored: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    references: int = 0
    tokens: int = 0
    terms_cut: int = 0
    characters_cleaned: int = 0
    vectors_computed: int = 0
    vectors_reused: int = 0
    withheld: int = 0
    withheld_keys: Sequence[str] = ()
    models_left: Sequence[str] = ()
    bytes: int = 0
    seconds: float = 0.0
    failures: Sequence[Failure] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    bibliography: BibliographyReport | None = None

    @property
    def documents(self) -> int:
        """Documents that are stored now: created, replaced, updated, unchanged and moved."""
        return self.created + self.replaced + self.updated + self.unchanged + self.moved


@dataclass(frozen=True, slots=True)
class PlannedChange(Record):
    """What a synchronization would do with a key; ``from_key`` is where a moved document is now."""

    change: Literal["create", "change", "move", "delete"]
    key: str
    from_key: str | None = None


@dataclass(frozen=True, slots=True)
class SyncReport(Record):
    """What a synchronization did with one source, and whether it adds up.

    ``entries`` were found in the source: files, or records (of a key that occurs more than once, its latest).
    Each is ``stored`` (counted in the database when all was done), or ``failed`` and in the dead letters, or
    ``skipped`` and not meant to be stored; ``reconciled`` says that ``entries`` is their sum, and that the
    store holds nothing else of this source but ``kept``: documents whose entry was not met because something
    could not be read. ``deletions`` counts records of a feed that say ``"deleted": true``. ``mode`` is
    ``full`` or ``watermark``; with a watermark, ``unread`` entries were taken to be unchanged by their mark.
    ``notes`` are sentences for people. ``ingest`` has the numbers of documents created, replaced, moved,
    deleted. With ``dry_run`` nothing was changed, and ``planned`` lists what would be: ``create``, ``change``,
    ``move``, ``delete`` with the keys.
    """

    tenant: str
    source: str
    kind: Literal["folder", "feed"]
    prefix: str
    mode: Literal["full", "watermark"]
    watermark: str | None
    entries: int
    stored: int
    failed: int
    skipped: int
    kept: int
    unread: int
    deletions: int
    reconciled: bool
    dry_run: bool
    notes: Sequence[str]
    planned: Sequence[PlannedChange]
    ingest: IngestReport


@dataclass(frozen=True, slots=True)
class SyncSource(Record):
    """A folder or feed that is synchronized. ``watermark`` and ``counts`` are those of the last complete run,
    which ended at ``finished_at``."""

    name: str
    kind: Literal["folder", "feed"]
    location: str
    prefix: str
    documents: int
    watermark: str | None
    run_id: int | None
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    counts: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class SyncItem(Record):
    """A document of a synchronized source, and the mark by which a change of it is seen without reading."""

    key: str
    content_hash: str
    mark: str | None


@dataclass(frozen=True, slots=True)
class MoveResult(Record):
    """Whether a document was given its new key."""

    from_key: str
    to_key: str
    document_id: int | None
    moved: bool


@dataclass(frozen=True, slots=True)
class Manifest(Record):
    """What a corpus was made of. ``summary`` holds ``counts``, ``digests`` (of ``documents``, ``texts``,
    ``access``), ``models``, ``settings``, and the versions of ``schema`` and ``package``."""

    manifest_name: str
    parent_name: str | None
    created_by: str
    created_at: datetime.datetime
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ManifestDocument(Record):
    """A document a manifest lists, with hashes in hexadecimal; ``None`` after a purge."""

    key: str
    document_id: int | None
    version: int
    content_hash: str | None
    access_hash: str | None


@dataclass(frozen=True, slots=True)
class ManifestChange(Record):
    """One difference of two manifests. Documents are ``added``, ``removed``, ``changed``, ``moved`` (``name``
    is the new key) or under other ``access``; a ``setting`` or model is ``changed``."""

    kind: Literal["document", "setting"]
    change: Literal["added", "removed", "changed", "moved", "access"]
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RetryReport(Record):
    """What a retry of dead letters did: ``mended`` letters are gone, ``failed`` ones failed again,
    ``not_retried`` came from no file that could be read again (standard input, a program), by number."""

    retried: int
    mended: int
    failed: int
    not_retried: Sequence[int]
    reports: Sequence[IngestReport]


@dataclass(frozen=True, slots=True)
class RepairResult(Record):
    """One thing a repair mended."""

    step: str
    object: str
    mended: str


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """One thing the doctor found: an ``error`` makes results wrong, or will; a ``warning`` is to be acted
    upon soon; an ``info`` is good to know. ``tenant_name`` is ``None`` for what concerns the whole store.
    ``remedy`` is the command that mends it; one that is a ``safe_fix`` loses nothing and may be run at any
    time."""

    check_name: str
    severity: Severity
    tenant_name: str | None
    object: str
    finding: str
    remedy: str
    safe_fix: bool


@dataclass(frozen=True, slots=True)
class Mended(Record):
    """One thing the doctor did: what it ran, and what went wrong where it could not be done."""

    check_name: str
    object: str
    action: str
    failure: str | None


@dataclass(frozen=True, slots=True)
class DoctorReport(Record):
    """What the doctor found, worst first, after what it did (``mended``), if it was asked to."""

    findings: Sequence[Finding]
    mended: Sequence[Mended]

    @property
    def healthy(self) -> bool:
        """Whether nothing is worse than an ``info``."""
        return all(finding.severity == "info" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Model(Record):
    """A registered embedding model. ``lexical_weight`` and ``dense_weight`` are its weights in fusion, unless
    tenant or call says otherwise. ``pooling`` is empty, and ``normalized`` ``None``, where nobody said.
    ``precision`` is how vectors are stored, ``quantization`` how they are indexed. ``embedder`` is what
    :func:`~pgsift.embed.load_embedder` loads it by."""

    model: str
    revision: str
    dimensions: int
    metric: str
    precision: str
    query_prefix: str
    document_prefix: str
    lexical_weight: float
    dense_weight: float
    pooling: str
    normalized: bool | None
    quantization: str
    embedder: str


@dataclass(frozen=True, slots=True)
class TenantModel(Record):
    """A model of a tenant. ``state`` is ``active`` (searches use it), ``kept`` (ingest keeps it current
    too) ``retired`` (its vectors stay as they are) or ``unused`` (it has none). Of the chunks that could
    have a vector ``missing`` have none, and ``withheld`` more, which are kept from remote embedders.
    ``cached_queries`` query vectors are cached, and ``missing_queries`` of those cached for the active
    model are not. Sizes are those of all tenants together."""

    model: str
    state: str
    vectors: int
    missing: int
    withheld: int
    cached_queries: int
    missing_queries: int
    kept_since: datetime.datetime | None
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True, slots=True)
class BackfillProgress(Record):
    """How far a backfill is. ``done`` of the ``total`` chunks that lacked a vector when it began are through,
    at ``rate`` chunks a second; ``seconds_left`` is ``None`` before that can be told."""

    tenant: str
    model: str
    done: int
    total: int
    rate: float
    seconds_left: float | None

    @classmethod
    def after(cls, seconds: float, tenant: str, model: str, done: int, total: int) -> BackfillProgress:
        """What ``done`` of ``total`` after so many seconds say of the rate and the time left."""
        rate = done / seconds if seconds > 0 else 0.0
        left = max(total - done, 0) / rate if rate > 0 else None
        return cls(tenant, model, done, total, rate, left)


@dataclass(frozen=True, slots=True)
class BackfillReport(Record):
    """What a backfill did. ``stored`` vectors were stored, of which ``computed`` texts were embedded and
    ``reused`` had a vector already, of this model or of one made the same way; ``queries`` cached queries got
    a vector. ``gone`` chunks were deleted or replaced meanwhile. ``failed`` chunks the embedder did not take,
    the first hundred reasons in ``failures``. ``missing`` chunks have no vector still, and ``withheld`` more,
    which are kept from remote embedders."""

    tenant: str
    model: str
    stored: int
    computed: int
    reused: int
    queries: int
    gone: int
    failed: int
    failures: Sequence[str]
    missing: int
    withheld: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TermFitReport(Record):
    """What making the vectors of terms did. ``chunks`` were looked at, ``stored`` terms got a vector; ``unread``
    ones are of a script that the model does not read, ``failed`` ones the embedder gave no vector. ``terms`` have
    one now. ``forms`` says of which words: ``frequent``, the most frequent form of each term in the corpus, or
    ``neutral``, one that the corpus has no say in."""

    tenant: str
    model: str
    forms: str
    chunks: int
    stored: int
    unread: int
    failed: int
    terms: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TermFit(Record):
    """How many terms of a tenant have a vector of a model, of which ``forms``, and up to which chunk their words
    were looked at; ``later_chunks`` of the ranked ``chunks`` came later."""

    model: str
    forms: str | None
    terms: int
    fitted_to: int
    fitted_at: datetime.datetime | None
    chunks: int
    later_chunks: int


@dataclass(frozen=True, slots=True)
class QueryVectorTerm(Record):
    """A term of a query that is embedded in the database: whether it has a vector (``fitted``), and the
    ``weight`` it counts with, which is not told to readers where it speaks of hidden documents."""

    term: str
    fitted: bool
    weight: float | None


@dataclass(frozen=True, slots=True)
class TokenModel(Record):
    """A model that gives one vector per token."""

    model: str
    revision: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class QueryTerm(Record):
    """A term of a query, or a word of it that was left out (``kept`` is false) for a ``reason``.

    Of a term that is kept, ``reason`` tells where it comes from when it is no plain word: ``added``, ``phrase``,
    ``required``, ``prefix``; ``origin`` is then the acronym, phrase, term or prefix as it was typed.
    """

    term: str
    kept: bool
    reason: str | None
    origin: str | None


@dataclass(frozen=True, slots=True)
class Acronym(Record):
    """An acronym of a tenant's vocabulary, as it is written in queries, and a text it stands for."""

    acronym: str
    expansion: str


@dataclass(frozen=True, slots=True)
class ChunkText(Record):
    """A chunk that has no vector of a model yet, with what is embedded of it."""

    chunk_id: int
    title: str | None
    body: str
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class FoldResult(Record):
    """Rows of statistics of a tenant before and after they were folded."""

    tenant_name: str
    rows_before: int
    rows_after: int


@dataclass(frozen=True, slots=True)
class PackResult(Record):
    """What packing did to the postings of a tenant: chunks packed, blocks merged, postings of deleted chunks
    dropped."""

    tenant_name: str
    packed: int
    merged: int
    purged: int
