"""What the pages are made of: a search with its rankings side by side, the evidence of a hit, and what people
judge of it, as the database gives them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from pgsift import Store
from pgsift.browse._params import Params, as_far, read, whole
from pgsift.errors import (
    InvalidArgument,
    InvalidFilter,
    NothingToSearch,
    NotPermitted,
    PgsiftError,
    ServerUnavailable,
    UnknownTenant,
    translated,
)
from pgsift.models import DocumentText, Evidence, Explanation, Hit, Judgment, Reason, SearchResult

if TYPE_CHECKING:
    from pgsift.embed import Embedder

#: Characters of the document on either side of a passage.
AROUND = 700
# An embedder for queries in a tenant, and a sentence where there is none that could be had.
EmbedderOf = Callable[[Store, str], "tuple[Embedder | None, str | None]"]


@dataclass(frozen=True)
class Settings:
    """What the page works with. ``principals`` are those it begins with, ``None`` for those the database login
    is mapped to. ``judged_by`` stands beside every judgment; left out, the login does."""

    dsn: str
    tenant: str = "default"
    principals: Sequence[str] | None = ("public",)
    judged_by: str | None = None
    read_only: bool = False
    embedder_of: EmbedderOf | None = None
    #: Connections at most, and seconds to wait for one.
    connections: int = 4
    wait: float = 10


@dataclass(frozen=True)
class Column:
    """One ranking of a search: its hits, or why there are none."""

    name: str
    title: str
    hits: Sequence[Hit] = ()
    more: bool = False
    note: str | None = None


@dataclass(frozen=True)
class Part:
    """What one ranking adds to a fused score: ``weight / (constant + rank)``."""

    leg: str
    rank: int | None
    weight: float
    constant: float

    @property
    def value(self) -> float:
        """The addend; 0 where the hit has no rank."""
        return 0.0 if self.rank is None else self.weight / (self.constant + self.rank)


@dataclass(frozen=True)
class Rights:
    """What the database lets this login do now."""

    login: str
    standby: bool
    may_judge: bool


@dataclass
class View:
    """What a page shows beside its parameters."""

    params: Params
    rights: Rights | None = None
    tenants: Sequence[str] = ()
    result: SearchResult | None = None
    columns: Sequence[Column] = ()
    legs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    marks: Mapping[int, Sequence[Judgment]] = field(default_factory=dict)
    error: PgsiftError | None = None
    notes: list[str] = field(default_factory=list)
    more: bool = False
    why_key: str = ""
    why: Reason | None = None
    key: str = ""
    chunk: int | None = None
    document: DocumentText | None = None
    passages: Sequence[Passage] = ()
    explanation: Explanation = Explanation()  # noqa: RUF009

    @property
    def status(self) -> int:
        """The status of the answer."""
        if self.error is None:
            return 200
        if isinstance(self.error, ServerUnavailable):
            return 503
        if isinstance(self.error, NotPermitted):
            return 403
        if isinstance(self.error, UnknownTenant):
            return 404
        return 500 if type(self.error) is PgsiftError else 400

    def parts(self, hit: Hit) -> list[Part]:
        """What the rankings add to the score of a hit; empty where they do not make it up."""
        ranks = {"lexical": hit.lexical_rank, "dense": hit.dense_rank}
        parts = [Part(leg, ranks.get(leg), weight, constant) for leg, (weight, constant) in self.legs.items()]
        return parts if parts and abs(sum(part.value for part in parts) - hit.score) < 1e-9 else []

    def places(self) -> dict[int, int]:
        """Rank among the fused hits of this page, by the number of the chunk."""
        return {hit.chunk_id: hit.rank for hit in self.result or ()}

    def ranked(self) -> dict[str, set[int]]:
        """The chunks that the columns show, by column."""
        return {column.name: {hit.chunk_id for hit in column.hits} for column in self.columns}


@dataclass(frozen=True)
class Passage:
    """A passage with what stands before and after it in the document."""

    title: str
    text: str
    spans: Sequence[tuple[int, int]]
    before: str
    spans_before: Sequence[tuple[int, int]]
    after: str
    spans_after: Sequence[tuple[int, int]]
    page: int | None
    page_end: int | None
    section: str | None
    char_start: int
    char_end: int
    terms: Sequence[str] = ()


class Pages:
    """The pages, over a pool of connections that is opened at the first request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.default = Params(
            tenant=settings.tenant,
            principals=None if settings.principals is None else tuple(settings.principals),
        )
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Any] | None = None
        self._queries: dict[str, Embedder] = {}

    @property
    def pool(self) -> ConnectionPool[Any]:
        """The connections."""
        with self._lock:
            if self._pool is None:
                given = conninfo_to_dict(self.settings.dsn)
                given.setdefault("fallback_application_name", "pgsift browse")
                self._pool = ConnectionPool(
                    make_conninfo("", **given),
                    min_size=0,
                    max_size=self.settings.connections,
                    timeout=self.settings.wait,
                    reconnect_timeout=5,
                    kwargs={"autocommit": True, "prepare_threshold": None},
                    check=ConnectionPool.check_connection,
                    open=True,
                    name="pgsift-browse",
                )
            return self._pool

    def close(self) -> None:
        """Give the connections back."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def rights(self) -> Rights:
        """Who the login is, whether the server takes writes, and whether the login may judge."""
        with translated(), self.pool.connection() as connection:
            row = connection.execute(
                "SELECT session_user::text, pg_catalog.pg_is_in_recovery()"
                " OR pg_catalog.current_setting('transaction_read_only')::boolean,"
                " coalesce((SELECT bool_and(pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))"
                " FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace"
                " WHERE n.nspname = 'sift' AND p.proname IN ('judge', 'list_judgments')), false)"
            ).fetchone()
        assert row is not None
        return Rights(*row)

    def embedder(self, store: Store, view: View) -> Embedder | None:
        """What embeds the query, remembering the last ones: one page asks several times."""
        if self.settings.embedder_of is None or view.params.mode == "lexical":
            return None
        embedder, note = self.settings.embedder_of(store, view.params.tenant)
        if note is not None:
            view.notes.append(note)
        if embedder is None:
            return None
        with self._lock:
            known = self._queries.get(embedder.identity)
            if known is None:
                known = self._queries[embedder.identity] = _remembering(embedder)
        return known

    def judge_name(self, rights: Rights) -> str:
        """Under whose name judgments are recorded."""
        return self.settings.judged_by or rights.login

    def may_mark(self, rights: Rights | None) -> bool:
        """Whether the page lets one judge."""
        return rights is not None and not self.settings.read_only and not rights.standby and rights.may_judge

    def _begin(self, view: View, store: Store, given: Sequence[tuple[str, str]]) -> None:
        try:
            view.params = read(given, self.default)
        except PgsiftError as error:
            view.error = error
            view.params = as_far(given, self.default)
        view.rights = self.rights()
        try:
            view.tenants = [tenant.tenant for tenant in store.tenants()]
        except NotPermitted:
            view.tenants = ()

    def _guarded(self, given: Sequence[tuple[str, str]], fill: Callable[[View, Store], None]) -> View:
        """A view, filled as far as the database lets it."""
        view = View(self.default)
        try:
            store = Store(pool=self.pool)
            self._begin(view, store, given)
            if view.error is None:
                fill(view, store)
        except PgsiftError as error:
            view.error = error
        except psycopg.Error as error:
            view.error = PgsiftError(error.diag.message_primary or type(error).__name__, sqlstate=error.sqlstate)
        return view

    def _marks(self, view: View, store: Store) -> None:
        """What was judged for the query, where the login may know."""
        if view.rights is None or not view.rights.may_judge:
            return
        marks: dict[int, list[Judgment]] = {}
        found = store.judgments(
            view.params.tenant, principals=view.params.principals, query=view.params.query, k=1000
        )
        for judgment in found:
            if judgment.chunk_id is not None:
                marks.setdefault(judgment.chunk_id, []).append(judgment)
        view.marks = marks

    def search(self, given: Sequence[tuple[str, str]]) -> View:
        """The search that an address names, with both rankings beside the fusion."""
        return self._guarded(given, partial(self._search, dict(reversed(given))))

    def _search(self, named: Mapping[str, str], view: View, store: Store) -> None:
        params = view.params
        if not params.query.strip():
            return
        conditions = params.conditions()
        embedder = self.embedder(store, view)
        cap = params.per_document or None
        find = partial(
            store.search,
            params.tenant,
            params.query,
            principals=params.principals,
            filter=conditions,
            embedder=embedder,
            skip=params.skip,
            k=params.k + 1,
        )
        found = find(mode=params.mode, per_document=cap, report_terms=True)
        view.more = len(found) > params.k
        view.result = SearchResult(
            found.hits[: params.k], query=params.query, mode=params.mode, warnings=found.warnings
        )
        view.notes += found.warnings
        legs = (found.legs or "").split("+")
        view.columns = [
            self._column("lexical", "By words", params, found, legs, find),
            self._column("dense", "By vectors", params, found, legs, find),
        ]
        if found.hits:
            explained = store.explain(
                params.tenant,
                params.query,
                found.hits[0].chunk_id,
                principals=params.principals,
                filter=conditions,
                mode=params.mode,
                embedder=embedder,
            )
            view.legs = {
                part.name: (part.weight, part.constant)
                for part in explained.of("fusion")
                if part.weight is not None and part.constant is not None
            }
        self._marks(view, store)
        view.why_key = named.get("why", "")
        if view.why_key:
            view.why = store.why_not(
                params.tenant,
                params.query,
                view.why_key,
                principals=params.principals,
                filter=conditions,
                embedder=embedder,
                mode=params.mode,
                per_document=cap,
                skip=params.skip,
                k=params.k,
            )

    def _column(
        self,
        name: str,
        title: str,
        params: Params,
        found: SearchResult,
        legs: Sequence[str],
        find: Callable[..., SearchResult],
    ) -> Column:
        """One ranking by itself: what the fusion is made of, before copies collapse and caps count."""
        if params.mode not in ("hybrid", name):
            return Column(name, title, note=f"Does not take part: the mode is {params.mode}.")
        if found.hits and name not in legs:
            note = next((text for text in found.warnings if text.startswith("searched by")), None)
            return Column(name, title, note=f"Does not take part: {note or 'it found nothing'}.")
        try:
            hits = find(mode=name, per_document=None, collapse=False, strategy="mixed", claims_k=None).hits
        except (NothingToSearch, InvalidArgument) as error:
            return Column(name, title, note=error.message)
        return Column(name, title, hits[: params.k], len(hits) > params.k)

    def evidence(self, given: Sequence[tuple[str, str]]) -> View:
        """One hit: its passages, what stands around them, and where its score comes from."""
        return self._guarded(given, partial(self._evidence, dict(reversed(given))))

    def _evidence(self, named: Mapping[str, str], view: View, store: Store) -> None:
        params = view.params
        view.key = named.get("key", "")
        view.chunk = whole(named, "chunk")
        start, end = whole(named, "from"), whole(named, "to")
        document = store.document_at(params.tenant, view.key, principals=params.principals)
        if document is None:
            raise InvalidArgument(
                "there is no document of this key that these principals may see",
                hint="It may have been deleted or moved since the search; go back and search again.",
            )
        view.document = document
        passages = store.evidence(
            params.tenant, view.key, params.query, windows=3, width=600, principals=params.principals
        )
        view.passages = _passages(document, passages, start, end)
        if params.query.strip() and view.chunk is not None:
            view.explanation = store.explain(
                params.tenant,
                params.query,
                view.chunk,
                principals=params.principals,
                filter=params.conditions(),
                mode=params.mode,
                embedder=self.embedder(store, view),
            )
            self._marks(view, store)

    def judge(self, given: Sequence[tuple[str, str]]) -> tuple[View, int | None]:
        """Record a judgment, or take back the one of this judge; the view has the error where that failed."""
        made: list[int | None] = []
        named = dict(reversed(given))
        view = self._guarded(given, lambda view, store: made.append(self._judge(named, view, store)))
        return view, made[0] if made else None

    def _judge(self, named: Mapping[str, str], view: View, store: Store) -> int | None:
        params = view.params
        assert view.rights is not None
        if not self.may_mark(view.rights):
            raise NotPermitted(
                "nothing is judged here: this page, the server or the login only reads",
                hint="Judging needs a login with sift_app or sift_writer, on the primary, without --read-only.",
            )
        view.key, view.chunk = named.get("key", ""), whole(named, "chunk")
        name = self.judge_name(view.rights)
        if named.get("grade") == "none":
            for judgment in store.judgments(
                params.tenant,
                principals=params.principals,
                query=params.query,
                key=view.key,
                judged_by=name,
                k=1000,
            ):
                if judgment.chunk_id == view.chunk:
                    store.remove_judgment(params.tenant, judgment.judgment_id, principals=params.principals)
            return None
        grade = whole(named, "grade")
        if grade is None:
            raise InvalidArgument("no grade was given", hint="Choose one of the buttons.")
        return store.judge(
            params.tenant,
            params.query,
            view.key,
            grade,
            chunk=view.chunk,
            principals=params.principals,
            judged_by=name,
        )


def _remembering(embedder: Embedder) -> Embedder:
    """The embedder, with the last queries remembered."""

    class Remembering:
        def __getattr__(self, name: str) -> Any:
            return getattr(embedder, name)

        @staticmethod
        @lru_cache(maxsize=64)
        def embed_query(text: str) -> Any:
            return embedder.embed_query(text)

    return Remembering()


def _passages(
    document: DocumentText, found: Sequence[Evidence], start: int | None, end: int | None
) -> list[Passage]:
    """The passages that answer the query, and the chunk that was ranked where its span is known."""
    text = document.text or ""
    spans = [
        (one.char_start + int(span[0]), one.char_start + int(span[1])) for one in found for span in one.highlights
    ]

    def within(first: int, last: int) -> list[tuple[int, int]]:
        return [(a - first, b - first) for a, b in spans if a >= first and b <= last]

    def cut(title: str, start: int, end: int, one: Evidence | None) -> Passage:
        before, after = max(0, start - AROUND), min(len(text), end + AROUND)
        if not text[before:start].strip():
            before = start  # what stood there is in no chunk, and blank here
        return Passage(
            title=title,
            text=text[start:end],
            spans=within(start, end),
            before=text[before:start],
            spans_before=within(before, start),
            after=text[end:after],
            spans_after=within(end, after),
            page=one.page if one is not None else None,
            page_end=one.page_end if one is not None else None,
            section=one.section if one is not None else None,
            char_start=start,
            char_end=end,
            terms=one.terms if one is not None else (),
        )

    passages = [
        cut(f"Passage {n}" if len(found) > 1 else "The passage", one.char_start, one.char_end, one)
        for n, one in enumerate(found, start=1)
    ]
    if start is not None and end is not None and start < end <= len(text):
        passages.append(cut("The chunk that was ranked", start, end, None))
    return passages


def advice(error: PgsiftError | None) -> str | None:
    """What to do about an error, in the words of the page."""
    if isinstance(error, NothingToSearch):
        return "Add a word that can be searched for, or rank by vectors, where the tenant has an embedding model."
    if isinstance(error, InvalidFilter):
        return "Mend the filter, or empty it to search everything."
    if isinstance(error, UnknownTenant):
        return "Choose another tenant."
    if error is not None and error.sqlstate == "PS008" and "principals" in error.message:
        return "Tick “as the database login is mapped”: this login may not choose whom to search as."
    return error.hint if error is not None else None
