"""The store, asynchronously. :mod:`pgsift.store` is generated from this module and does the same without
``await``."""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from pgsift import _calls, _doctor
from pgsift._calls import Call
from pgsift._concurrency import run_in_thread
from pgsift._ingest_async import AsyncIngest, Paths, made_options
from pgsift._models_async import BACKFILL_CHUNKS, AsyncBackfill, AsyncTenantEmbedder
from pgsift._queries_async import NO_EMBEDDER, AsyncReplay, settings_of
from pgsift._rebuild_async import AsyncRebuild
from pgsift._rerank_async import embed_tokens, reranked
from pgsift._sync_async import AsyncSync
from pgsift._terms_async import AsyncTermFitting
from pgsift.domain.query import parse_query
from pgsift.embed import Embedder, is_embeddable, reads
from pgsift.errors import (
    InvalidArgument,
    ModelUnavailable,
    PgsiftError,
    SchemaVersionMismatch,
    UnknownTenant,
    connection_failed,
    translated,
)
from pgsift.ingest import retrying
from pgsift.ingest import sources as reading
from pgsift.ingest.chunkers import TextChunker, load_chunker
from pgsift.ingest.formats import Limits
from pgsift.ingest.sources import Source
from pgsift.models import (
    AccessCheck,
    AccessEntry,
    AccessResult,
    Acronym,
    AuditFinding,
    BackfillProgress,
    BackfillReport,
    Citation,
    Claim,
    ClusterMember,
    DeadLetter,
    DeleteResult,
    DistinctSource,
    DoctorReport,
    Document,
    DocumentInfo,
    DocumentSource,
    DocumentState,
    DocumentText,
    DocumentTopic,
    DocumentVersion,
    DuplicatesReport,
    EntityChunk,
    Evidence,
    Explanation,
    Facet,
    Finding,
    FoldResult,
    Hit,
    IngestReport,
    Judgment,
    LoggedQuery,
    Manifest,
    ManifestChange,
    ManifestDocument,
    MatchCount,
    Member,
    Mended,
    Model,
    MoveResult,
    NearDuplicate,
    PackResult,
    PrincipalReplaced,
    Progress,
    PurgeResult,
    PutClaim,
    PutResult,
    QueryTerm,
    QueryVectorTerm,
    Reason,
    RebuildReport,
    Related,
    RepairResult,
    ReplayReport,
    RetryReport,
    SearchResult,
    Stats,
    Strategy,
    SyncReport,
    SyncSource,
    Tenant,
    TenantModel,
    TermFit,
    TermFitReport,
    TokenModel,
    Topic,
    TopicRun,
    TopicsReport,
    UnrankedDocument,
)
from pgsift.rerank import Reranker, TokenEmbedder

T = TypeVar("T")

#: The tenant that is made on the embedded server, whose documents are for everybody there.
DEFAULT_TENANT = "default"


class AsyncStore:
    """A pgsift store: on a DSN, on the application's own connection or pool, or on the embedded server.

    ``AsyncStore(dsn)`` opens one connection when it is first needed, and again when it was lost; every call
    is a transaction of its own. Without ``dsn`` the environment variable ``PGSIFT_DSN`` is read, and without
    that the embedded server of ``home`` is started, its schema upgraded, and a tenant ``default`` made whose
    documents are visible to ``public``.

    ``AsyncStore(connection=c)`` works on a connection of the caller's, within the caller's transaction: it
    never commits, never rolls back what it did not begin, and leaves no setting behind.
    ``AsyncStore(pool=p)`` takes a connection from the pool for each call, and is the one to share between
    tasks or threads.

    Only functions of the schema ``sift`` are called, without session state or prepared statements, so a
    connection pooler in transaction mode may stand in between. ``embedder`` is used by :meth:`search`,
    :meth:`ingest` and
    :meth:`put_documents` unless they are given another.

    The schema must be of the version this package was written for; otherwise the first call raises
    :class:`~pgsift.errors.SchemaVersionMismatch`, whose hint is the command to run.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        connection: AsyncConnection[Any] | None = None,
        pool: AsyncConnectionPool[Any] | None = None,
        home: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        if sum(given is not None for given in (dsn, connection, pool)) > 1:
            raise InvalidArgument(
                "dsn, connection and pool exclude each other", hint="Pass one of them, or none."
            )
        if connection is not None and not isinstance(connection, AsyncConnection):
            raise InvalidArgument(
                f"connection must be a psycopg.AsyncConnection, not {type(connection).__name__}",
                hint="Store takes psycopg.Connection, AsyncStore takes psycopg.AsyncConnection.",
            )
        if pool is not None and not isinstance(pool, AsyncConnectionPool):
            raise InvalidArgument(
                f"pool must be a psycopg_pool.AsyncConnectionPool, not {type(pool).__name__}"
            )
        if dsn is None and connection is None and pool is None and home is None:
            dsn = os.environ.get("PGSIFT_DSN") or None
        self.embedder = embedder
        self._dsn = dsn
        self._home = home
        self._embedded = dsn is None and connection is None and pool is None
        self._borrowed = connection
        self._pool = pool
        self._own: AsyncConnection[Any] | None = None
        self._checked = False

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        if self._borrowed is not None:
            return "<AsyncStore on a connection>"
        if self._pool is not None:
            return "<AsyncStore on a pool>"
        return "<AsyncStore on the embedded server>" if self._embedded else "<AsyncStore on a DSN>"

    async def close(self) -> None:
        """Close the store's own connection; one that was passed in stays as it is."""
        own, self._own = self._own, None
        if own is not None:
            await own.close()

    @property
    def owns_transactions(self) -> bool:
        """Whether the store commits its calls itself; false on the caller's connection."""
        return self._borrowed is None

    # Connections

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection to call on, with database errors of the block translated."""
        with translated():
            if self._borrowed is not None:
                await self._check(self._borrowed)
                yield self._borrowed
            elif self._pool is not None:
                async with self._pool.connection() as connection:
                    await self._check(connection)
                    yield connection
            else:
                connection = await self._opened()
                await self._check(connection)
                yield connection

    async def _opened(self) -> AsyncConnection[Any]:
        if self._own is not None and not self._own.closed and not self._own.broken:
            return self._own
        if self._embedded:
            self._dsn = await run_in_thread(_start_embedded, self._home)
        assert self._dsn is not None
        try:
            parameters = conninfo_to_dict(self._dsn)
        except psycopg.ProgrammingError as error:
            raise InvalidArgument(
                f"not a connection string: {error}", hint="For example postgresql://user@host/database."
            ) from None
        parameters.setdefault("fallback_application_name", "pgsift")
        try:
            self._own = await AsyncConnection.connect(
                make_conninfo("", **parameters), autocommit=True, prepare_threshold=None
            )
        except psycopg.OperationalError as error:
            raise connection_failed(error) from error
        return self._own

    async def _check(self, connection: AsyncConnection[Any]) -> None:
        """Refuse a schema of another version, once per store; on the embedded server make the default
        tenant."""
        if self._checked:
            return
        from pgsift.schema import expected_version

        expected = expected_version()
        installed = (await _fetch(connection, _calls.schema_installed()))[0]
        present = (await _fetch(connection, _calls.schema_version()))[0] if installed else None
        if present != expected:
            dsn = connection.info.dsn  # has no password in it
            if present is not None and present > expected:
                raise SchemaVersionMismatch(
                    f"the schema is at revision {present}, later than {expected}, "
                    "which this version of pgsift works with",
                    hint="Run: pip install --upgrade pgsift",
                )
            raise SchemaVersionMismatch(
                f"the schema is at revision {present}, this version of pgsift needs {expected}"
                if present
                else "pgsift is not installed in this database",
                hint=f"Run: pgsift db upgrade --dsn {_shell_quoted(dsn)}",
            )
        if self._embedded:
            tenants = await _fetch(connection, _calls.list_tenants())
            if not any(tenant.tenant == DEFAULT_TENANT for tenant in tenants):
                # Another process may be doing the same.
                await _fetch(
                    connection,
                    _calls.create_tenant(
                        DEFAULT_TENANT,
                        analyzer="english",
                        k1=1.2,
                        b=0.75,
                        default_principals=["public"],
                        index_title="first",
                        exist_ok=True,
                    ),
                )
        self._checked = True

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection within a transaction of its own, or within a savepoint of the caller's transaction."""
        async with self._connection() as connection:
            if not connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
                # Begins the transaction as any statement of the caller's would: what follows is a savepoint
                # in it, and the caller commits.
                await _fetch(connection, _calls.schema_version())
            async with connection.transaction():
                yield connection

    async def _all(self, call: Call[T]) -> list[T]:
        async with self._connection() as connection:
            return await _fetch(connection, call)

    async def _one(self, call: Call[T]) -> T:
        return (await self._all(call))[0]

    # Tenants

    async def create_tenant(
        self,
        tenant: str,
        *,
        analyzer: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        default_principals: Iterable[str] | None = None,
        index_title: str = "first",
        exist_ok: bool = False,
        keep_history: bool | None = None,
    ) -> int:
        """Make a tenant and return its number.

        ``analyzer`` is ``english``, ``standard`` or ``identifiers``. ``default_principals`` see documents
        ingested without an access list; ``None`` is nobody but writers. With ``exist_ok`` a tenant of this
        name is left as it is, if it has these settings. Superseded and deleted versions are kept for searches
        of the past, unless ``keep_history`` is false.
        """
        return await self._one(
            _calls.create_tenant(
                tenant,
                analyzer=analyzer,
                k1=k1,
                b=b,
                default_principals=default_principals,
                index_title=index_title,
                exist_ok=exist_ok,
                keep_history=keep_history,
            )
        )

    async def tenants(self) -> list[Tenant]:
        """The tenants, by name."""
        return await self._all(_calls.list_tenants())

    async def tenant(self, tenant: str) -> Tenant:
        """One tenant, or :class:`~pgsift.errors.UnknownTenant`."""
        for found in await self.tenants():
            if found.tenant == tenant:
                return found
        raise UnknownTenant(
            f"there is no tenant {tenant!r}",
            hint="Make it with create_tenant; tenants() lists those there are.",
        )

    async def drop_tenant(self, tenant: str) -> bool:
        """Remove a tenant and all that is its own; false when there is none of this name."""
        return await self._one(_calls.drop_tenant(tenant))

    async def set_tenant(self, tenant: str, **options: Any) -> None:
        """Change options of a tenant, those named alone.

        ``keep_history``: whether superseded and deleted versions are kept. ``remote_classifications``:
        classifications of documents whose text may be sent to a remote embedder; ``None`` for all documents.
        ``remote_retained``: whether the text of documents with a ``retain_until`` may. ``statistics``: whose N,
        df and avgdl score a search, ``tenant`` or ``visible`` (those of the chunks the caller may see; slower).
        ``k1``, ``b``, ``title_weight``, ``abstract_weight``: of BM25, for searches that name no others.
        ``min_chunk_tokens``: chunks with fewer tokens are not ranked; refused where it would change chunks that
        are stored.
        ``strip_questions``: whether questions are searched for without their interrogatives and auxiliaries.
        ``expand``: whether the words an acronym stands for are searched for too (:meth:`set_acronyms`).
        ``chunker``, ``context_prefix``: what cuts the documents that are ingested from now on, ``None`` for
        ``structure``, and whether title and section are indexed with every chunk (docs/chunkers.md); raises
        :class:`~pgsift.errors.InvalidArgument` for a chunker that is not known here.
        """
        if isinstance(options.get("chunker"), str):
            load_chunker(options["chunker"])
        await self._one(_calls.set_tenant(tenant, options))

    async def set_default_access(
        self, tenant: str, principals: Iterable[str] | None, *, denied: Iterable[str] | None = None
    ) -> None:
        """Set who sees documents ingested from now on without an access list, under no prefix with a rule."""
        await self._one(_calls.set_default_access(tenant, principals, denied))

    async def map_role(self, tenant: str, role_name: str, principals: Iterable[str] | None) -> None:
        """Set the principals a database role stands for in a tenant."""
        await self._one(_calls.map_role(tenant, role_name, principals))

    async def replace_principal(
        self, tenant: str, old_principal: str, new_principal: str
    ) -> PrincipalReplaced:
        """Put one principal in the place of another in all access lists, rules, groups and mappings of database
        roles of a tenant. It holds from the commit on and costs a row for each; one that exists already gets
        what the other had beside its own."""
        return await self._one(_calls.replace_principal(tenant, old_principal, new_principal))

    # Documents

    async def put_documents(
        self,
        tenant: str,
        documents: Document | Mapping[str, Any] | Iterable[Document | Mapping[str, Any]],
        *,
        embedder: Embedder | Sequence[Embedder] | None = None,
        model: str | None = None,
        run_id: int | None = None,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
    ) -> list[PutResult]:
        """Store documents, all of them or, when one is refused, none.

        Each is a :class:`~pgsift.models.Document` or a mapping of its fields. Unchanged ones cost no work.
        ``model`` names the model of vectors that the documents bring with their chunks; with an ``embedder``
        the vectors are computed.
        """
        ingest = AsyncIngest(
            self,
            tenant,
            embedder=embedder or self.embedder,
            model=model,
            chunker=chunker,
            chunk_size=chunk_size,
            context_prefix=context_prefix,
        )
        return await ingest.put(documents, run_id)

    async def ingest(
        self,
        tenant: str,
        sources: Source | Iterable[Source],
        *,
        embedder: Embedder | Sequence[Embedder] | None = None,
        model: str | None = None,
        acl: Iterable[str] | None = None,
        classification: str | None = None,
        prefix: str = "",
        format: str | None = None,
        key: str | None = None,
        sync: bool = False,
        keep_source: bool = False,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
        progress: Callable[[Progress], None] | None = None,
        token_embedder: TokenEmbedder | None = None,
        limits: Limits | None = None,
        language: str | None = None,
        bibliography: Paths | None = None,
    ) -> IngestReport:
        """Ingest files, folders, JSON lines, standard input (``"-"``) or documents, and report what was done.

        What cannot be ingested goes to the dead letters with its reason and does not stop the rest. What has
        not changed since it was stored costs no tokenization and no embedding. Every batch is one transaction
        (on the caller's connection, one savepoint), so an interrupted run leaves whole documents and can be
        run again.

        ``acl`` is for documents that bring no access list; without it a new document gets what the prefix of
        its key or the tenant gives, and a known one keeps what it has. The access list is no part of the
        content: where it alone is another, the document is ``updated``. ``prefix`` stands before keys. ``format``
        (``text``, ``pdf``, ``jsonl``, …: docs/formats.md) overrides what content and extension say and tells
        what standard input is; ``key`` names the document read there. With ``sync`` the folders among the sources
        are synchronized as :meth:`sync` does it. With ``keep_source`` the bytes of what is parsed are
        kept, compressed, and :meth:`document_source` gives them back; of a JSON line the whole line, which
        readers are not given. ``classification`` is for documents that bring none, in their front matter
        or their record; the tenant's options say which may be sent to a remote embedder, and the others are
        stored without vectors and named in the report. ``chunker`` (``"window"``,
        ``"window:words=150,overlap=30"``; :mod:`pgsift.ingest.chunkers`, docs/chunkers.md) cuts the texts, by
        default the tenant's; ``chunk_size`` is the target of ``structure`` in units. ``context_prefix`` has title
        and section indexed and embedded with every chunk, by default as the tenant says. What was cut otherwise is
        cut anew. ``progress`` is called after every step. ``token_embedder``
        stores token vectors of the chunks that have none, when all else is stored (:meth:`embed_tokens`).
        ``limits`` (:class:`pgsift.ingest.formats.Limits`) is what the parser of one file may cost in time and
        memory, how many run at a time, and what an archive may hold; and whether scanned pages are recognized.

        ``bibliography`` names files of BibTeX or CSL-JSON: where a file has an entry, the entry's citekey is its
        key, and what the entry says wins over what the file says (docs/formats.md). ``language``, a BCP 47 tag,
        is for documents that do not say theirs; without it the language is detected where the extra
        ``language`` is installed.
        """
        if sync:
            folders, rest = reading.folders_and_rest(sources)
            if not folders:
                raise InvalidArgument(
                    "only folders can be synchronized",
                    hint="Leave sync out, or pass a folder; a feed of JSON lines is synchronized by Store.sync.",
                )
            if key is not None:
                raise InvalidArgument("key names the document on standard input", hint="Leave it out.")
            reports = [
                (
                    await self.sync(
                        tenant,
                        folder,
                        prefix=prefix,
                        acl=acl,
                        classification=classification,
                        format=format,
                        embedder=embedder,
                        keep_source=keep_source,
                        chunker=chunker,
                        chunk_size=chunk_size,
                        context_prefix=context_prefix,
                        progress=progress,
                        limits=limits,
                        language=language,
                        bibliography=bibliography,
                    )
                ).ingest
                for folder in folders
            ]
            if not rest:
                if token_embedder is not None:
                    await self.embed_tokens(tenant, token_embedder)
                return retrying.merged(reports)
            sources = rest
        ingest = AsyncIngest(
            self,
            tenant,
            embedder=embedder or self.embedder,
            model=model,
            chunker=chunker,
            chunk_size=chunk_size,
            context_prefix=context_prefix,
            keep_source=keep_source,
            limits=limits,
        )
        report = await ingest.run(
            sources,
            acl=acl,
            classification=classification,
            prefix=prefix,
            format=format,
            key=key,
            progress=progress,
            language=language,
            bibliography=bibliography,
        )
        if token_embedder is not None:
            await self.embed_tokens(tenant, token_embedder)
        return retrying.merged([*reports, report]) if sync else report

    async def sync(
        self,
        tenant: str,
        source: str | os.PathLike[str],
        *,
        name: str | None = None,
        prefix: str = "",
        watermark: bool = False,
        allow_empty: bool = False,
        dry_run: bool = False,
        acl: Iterable[str] | None = None,
        classification: str | None = None,
        format: str | None = None,
        embedder: Embedder | Sequence[Embedder] | None = None,
        keep_source: bool = False,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
        progress: Callable[[Progress], None] | None = None,
        limits: Limits | None = None,
        language: str | None = None,
        bibliography: Paths | None = None,
    ) -> SyncReport:
        """Make the store hold what a folder, or a feed of JSON lines, holds, and report whether that adds up.

        What is new or changed is ingested as by :meth:`ingest`. What is gone is deleted, and a tombstone says
        why; but not where something could not be read that it may be in. What is there under a new key, with
        the content of something that is gone, keeps its number, history and vectors. All is read; with
        ``watermark`` only files whose size or time is another than when they were stored, and records whose
        ``version`` or ``updated_at`` is later (:mod:`pgsift.ingest.syncing`); a feed then names changes alone,
        and deletes by ``"deleted": true``. Where cleaning, parsers, chunker, analyzer, model or options are
        not those of the last run, all is read.

        A source is known by its ``name``, by default its address. Under another prefix it is refused
        (:class:`~pgsift.errors.AlreadyExists`), and so is a source that holds nothing while the store has
        something of it, unless ``allow_empty``. An interrupted run is simply run again. With ``dry_run``
        nothing is changed, and the report lists what would be.
        """
        options = made_options(
            prefix=prefix,
            format=format,
            key=None,
            acl=acl,
            classification=classification,
            limits=limits,
            language=language,
        )
        if not dry_run:
            return await AsyncSync(
                self,
                tenant,
                source,
                options,
                name=name,
                watermark=watermark,
                allow_empty=allow_empty,
                embedder=embedder or self.embedder,
                chunker=chunker,
                chunk_size=chunk_size,
                context_prefix=context_prefix,
                keep_source=keep_source,
                bibliography=bibliography,
            ).synchronize(progress)
        async with self._transaction() as connection, connection.transaction(force_rollback=True):
            return await AsyncSync(
                AsyncStore(connection=connection),
                tenant,
                source,
                options,
                name=name,
                watermark=watermark,
                allow_empty=allow_empty,
                dry_run=True,
                chunker=chunker,
                chunk_size=chunk_size,
                context_prefix=context_prefix,
                keep_source=keep_source,
                bibliography=bibliography,
            ).synchronize(progress)

    async def sync_sources(self, tenant: str) -> list[SyncSource]:
        """The folders and feeds that are synchronized."""
        return await self._all(_calls.list_sync_sources(tenant))

    async def end_sync(self, tenant: str, name: str) -> bool:
        """Forget that a source is synchronized; its documents stay. False when there is none of this name."""
        return await self._one(_calls.end_sync(tenant, name))

    async def move(self, tenant: str, from_keys: Iterable[str], to_keys: Iterable[str]) -> list[MoveResult]:
        """Give documents other keys, in one transaction. They keep number, history and vectors; one whose
        access is what the prefix of its key gives gets what the new prefix gives."""
        return await self._all(_calls.move_documents(tenant, from_keys, to_keys))

    async def rebuild(
        self,
        tenant: str,
        keys: Iterable[str] | None = None,
        *,
        embedder: Embedder | Sequence[Embedder] | None = None,
        chunker: str | TextChunker | None = None,
        chunk_size: int | None = None,
        context_prefix: bool | None = None,
        limits: Limits | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RebuildReport:
        """Make anew, from the bytes that :meth:`ingest` kept (``keep_source``), what is derived from documents:
        their text, chunks, tokens and vectors, with the parsers, the chunker (as in :meth:`ingest`) and the
        embedder of today. Of all documents, or of those of the ``keys``.

        What would come out as it is stored is left alone, so a second run changes nothing, and one that was
        interrupted is simply run again. A document made anew is a new version, whose history says which
        parser and chunker made it; it keeps its key, access list, metadata, source and dates. One of which no
        bytes were kept, or that fails, stays as it was; the report names it. With an embedder chunks that have
        no vector of its model get one, of documents without kept bytes too; without one, chunks that are new
        have none, and :meth:`embed_missing` makes them. ``limits`` are as in :meth:`ingest`: what was read with
        others than the default (more time, recognized pages) needs them again.
        """
        rebuild = AsyncRebuild(
            self,
            tenant,
            embedder=embedder or self.embedder,
            chunker=chunker,
            chunk_size=chunk_size,
            context_prefix=context_prefix,
            limits=limits,
        )
        return await rebuild.rebuild(keys, progress)

    async def embed_missing(
        self,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> int:
        """Compute and store the vectors of all chunks of a tenant that have none of the embedder's model;
        their number."""
        return await AsyncIngest(self, tenant, embedder=embedder or self.embedder).embed_missing(progress)

    async def delete(
        self, tenant: str, keys: Iterable[str], reason: str | None = None, *, purge: bool = False
    ) -> list[DeleteResult]:
        """Delete documents by key, in one transaction; tombstones with the reason stay, and, where the tenant
        keeps it, the history. With ``purge`` that goes too, as :meth:`purge` does it."""
        return await self._all(_calls.delete_documents(tenant, keys, reason, purge))

    async def purge(self, tenant: str, keys: Iterable[str], reason: str | None = None) -> list[PurgeResult]:
        """Delete documents, also those deleted earlier, with everything kept of them; a hash of the key, who,
        when and why stay."""
        return await self._all(_calls.purge_documents(tenant, keys, reason))

    async def audit_deletion(self, tenant: str, key: str) -> list[AuditFinding]:
        """What is left of a deleted document, place by place."""
        return await self._all(_calls.audit_deletion(tenant, key))

    async def document_at(
        self,
        tenant: str,
        key: str,
        at: datetime.datetime | str | None = None,
        *,
        principals: Iterable[str] | None = None,
    ) -> DocumentText | None:
        """A document as it was at a time (``None``: as it is), for today's permissions; ``None`` where it was
        not there or the principals may not see it. A time without an offset is UTC."""
        return next(iter(await self._all(_calls.document_at(tenant, key, at, principals))), None)

    async def document_history(
        self, tenant: str, key: str, *, principals: Iterable[str] | None = None
    ) -> list[DocumentVersion]:
        """The versions of a document and its tombstones, oldest first; a writer who passes ``sift:writer``
        sees those of every document."""
        return await self._all(_calls.document_history(tenant, key, principals))

    async def document_source(
        self,
        tenant: str,
        key: str,
        at: datetime.datetime | str | None = None,
        *,
        principals: Iterable[str] | None = None,
    ) -> DocumentSource | None:
        """The bytes a document was made of, where the ingest was told to keep them; else as
        :meth:`document_at`."""
        return next(iter(await self._all(_calls.document_source(tenant, key, at, principals))), None)

    async def set_access(
        self,
        tenant: str,
        keys: Iterable[str] | None = None,
        principals: Iterable[str] | None = None,
        *,
        denied: Iterable[str] | None = None,
        key_prefix: str | None = None,
    ) -> list[AccessResult]:
        """Set who may see documents: exactly these principals, without those denied.

        The documents are those of the ``keys``, or all whose key begins with ``key_prefix``; then those that
        are ingested later without an access list get the same, and rules of longer prefixes are dropped.
        """
        return await self._all(_calls.set_access(tenant, keys, principals, denied, key_prefix))

    async def grant_access(
        self,
        tenant: str,
        keys: Iterable[str] | None = None,
        principals: Iterable[str] | None = None,
        *,
        denied: Iterable[str] | None = None,
        key_prefix: str | None = None,
        on_default: bool = False,
    ) -> list[AccessResult]:
        """Add principals to those who may see documents, and ``denied`` to those who may not.

        The documents are those of the ``keys``, or everything under ``key_prefix``, or, with ``on_default``,
        those ingested later without an access list. A deny beats every grant.
        """
        return await self._all(_calls.grant_access(tenant, keys, principals, denied, key_prefix, on_default))

    async def revoke_access(
        self,
        tenant: str,
        keys: Iterable[str] | None = None,
        principals: Iterable[str] | None = None,
        *,
        denied: Iterable[str] | None = None,
        key_prefix: str | None = None,
        on_default: bool = False,
    ) -> list[AccessResult]:
        """Take principals off those who may see documents, and ``denied`` off those who may not; the
        documents are named as for :meth:`grant_access`. Who sees through a group still does."""
        return await self._all(_calls.revoke_access(tenant, keys, principals, denied, key_prefix, on_default))

    async def show_access(
        self, tenant: str, keys: Iterable[str] | None = None, *, key_prefix: str | None = None
    ) -> list[AccessEntry]:
        """Who may see documents and what says so; without ``keys`` and ``key_prefix`` the rules alone."""
        return await self._all(_calls.show_access(tenant, keys, key_prefix))

    async def check_access(self, tenant: str, key: str, principals: Iterable[str] | None) -> AccessCheck:
        """Whether these principals may see the document of the key, and by which entries of its list."""
        return await self._one(_calls.check_access(tenant, key, principals))

    async def add_members(self, tenant: str, group_name: str, members: Iterable[str]) -> int:
        """Make principals, groups among them, members of a group; how many were not yet."""
        return await self._one(_calls.add_members(tenant, group_name, members))

    async def remove_members(self, tenant: str, group_name: str, members: Iterable[str]) -> int:
        """Take principals out of a group; how many were in it."""
        return await self._one(_calls.remove_members(tenant, group_name, members))

    async def members(self, tenant: str, group_name: str | None = None) -> list[Member]:
        """The members of a group, those through other groups included, or the direct ones of all groups."""
        return await self._all(_calls.list_members(tenant, group_name))

    async def documents(
        self,
        tenant: str,
        *,
        principals: Iterable[str] | None = None,
        key_prefix: str | None = None,
        k: int = 100,
        after: str | None = None,
    ) -> list[DocumentInfo]:
        """One page of the documents the principals may see, by key; the next page begins ``after`` the last
        key of this one."""
        return await self._all(
            _calls.list_documents(tenant, principals=principals, key_prefix=key_prefix, k=k, after=after)
        )

    async def document_states(
        self, tenant: str, keys: Iterable[str], model: str | None = None
    ) -> list[DocumentState]:
        """Content hash, version and number of chunks of those keys that are stored."""
        return await self._all(_calls.document_states(tenant, keys, model))

    async def dead_letters(
        self, tenant: str, *, k: int = 100, run_id: int | None = None, ids: Sequence[int] | None = None
    ) -> list[DeadLetter]:
        """Sources that could not be ingested and are missing, the last to fail first: one letter each, however
        often they failed. A letter goes when its source is ingested."""
        return await self._all(_calls.list_dead_letters(tenant, k, run_id, ids))

    async def clear_dead_letters(self, tenant: str, ids: Sequence[int]) -> int:
        """Remove dead letters by number; how many there were."""
        return await self._one(_calls.clear_dead_letters(tenant, ids=ids))

    async def retry_dead_letters(
        self,
        tenant: str,
        ids: Sequence[int] | None = None,
        *,
        embedder: Embedder | Sequence[Embedder] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RetryReport:
        """Read the sources of dead letters again, of all or of those of the numbers, each with the prefix,
        access list and other options of the run it failed in. A letter whose source is ingested now goes, one
        that fails again is counted up. Of a file of JSON lines all lines are read again."""
        letters = await self.dead_letters(tenant, k=2**31 - 1, ids=ids)
        tasks, not_retried = retrying.tasks(letters)
        reports: list[IngestReport] = []
        mended = failed = 0
        for task in tasks:
            wanted = (embedder or self.embedder) if task.model is not None else None
            if task.feed:
                report = (
                    await self.sync(
                        tenant,
                        task.paths[0][0],
                        name=task.sync,
                        watermark=True,
                        prefix=task.options.prefix,
                        format=task.options.format,
                        acl=task.options.acl,
                        classification=task.options.classification,
                        embedder=wanted,
                        keep_source=task.keep_source,
                        chunker=task.chunker,
                        context_prefix=task.context_prefix,
                        progress=progress,
                        limits=task.options.limits,
                    )
                ).ingest
            else:
                ingest = AsyncIngest(
                    self,
                    tenant,
                    embedder=wanted,
                    chunker=task.chunker,
                    context_prefix=task.context_prefix,
                    keep_source=task.keep_source,
                    limits=task.options.limits,
                )
                report = await ingest.retry(task, progress)
            reports.append(report)
            left = {
                letter.dead_letter_id
                for letter in await self.dead_letters(tenant, k=2**31 - 1, ids=task.ids)
                if letter.run_id == report.run_id
            }
            over = [number for number in task.ids if number not in left]
            if over:
                await self._one(_calls.clear_dead_letters(tenant, ids=over, before_run=report.run_id))
            mended += len(over)
            failed += len(left)
        return RetryReport(mended + failed, mended, failed, tuple(not_retried), tuple(reports))

    # Manifests

    async def create_manifest(
        self, tenant: str, name: str | None = None, *, parent: str | None = None
    ) -> Manifest:
        """Record what the corpus is made of: counts, digests of documents, texts and access lists, models,
        settings, versions, and each document with its hashes.

        ``name`` is the time when it is left out; ``parent`` the latest manifest, and ``""`` none. The same
        corpus has the same digests, also after dump and restore.
        """
        from importlib.metadata import version

        return await self._one(_calls.create_manifest(tenant, name, parent, version("pgsift")))

    async def manifests(self, tenant: str) -> list[Manifest]:
        """The manifests of a tenant, the latest first."""
        return await self._all(_calls.list_manifests(tenant))

    async def manifest_documents(
        self, tenant: str, name: str, *, k: int = 1000, after: str | None = None
    ) -> list[ManifestDocument]:
        """One page of the documents a manifest lists, by key; of ``now``, those there are."""
        return await self._all(_calls.manifest_documents(tenant, name, k, after))

    async def all_manifest_documents(self, tenant: str, name: str) -> list[ManifestDocument]:
        """All documents a manifest lists, by key."""
        found: list[ManifestDocument] = []
        while True:
            page = await self.manifest_documents(
                tenant, name, k=10_000, after=found[-1].key if found else None
            )
            found += page
            if len(page) < 10_000:
                return found

    async def current_manifest(self, tenant: str, *, documents: bool = False) -> dict[str, Any]:
        """The manifest of the corpus as it is, not recorded: what :meth:`create_manifest` would record, named
        ``now``, with the documents it would list."""
        from importlib.metadata import version

        async with self._transaction() as connection, connection.transaction(force_rollback=True):
            made = (
                await _fetch(connection, _calls.create_manifest(tenant, None, None, version("pgsift")))
            )[0]
            result: dict[str, Any] = made.to_dict() | {"manifest_name": "now"}
            if documents:
                call = _calls.manifest_documents(tenant, made.manifest_name, 2**31 - 1, None)
                result["documents"] = [
                    document.to_dict() for document in await _fetch(connection, call)
                ]
        return result

    async def compare_manifests(self, tenant: str, a: str, b: str = "now") -> list[ManifestChange]:
        """What changed from one manifest to another, or to the corpus as it is (``now``)."""
        return await self._all(_calls.compare_manifests(tenant, a, b))

    async def drop_manifest(self, tenant: str, name: str) -> bool:
        """Remove a manifest; false when there is none of this name."""
        return await self._one(_calls.drop_manifest(tenant, name))

    async def stats(self, tenant: str) -> Stats:
        """The size of a tenant's corpus."""
        return await self._one(_calls.corpus_statistics(tenant))

    async def unranked_documents(
        self,
        tenant: str,
        *,
        principals: Iterable[str] | None = None,
        k: int = 100,
        after: str | None = None,
    ) -> list[UnrankedDocument]:
        """One page of the documents the principals may see of which no chunk is ranked: empty ones, and those
        of nothing but titles, headings, references and chunks under the tenant's ``min_chunk_tokens``."""
        return await self._all(_calls.unranked_documents(tenant, principals, k, after))

    async def fold_statistics(self, tenant: str | None = None) -> list[FoldResult]:
        """Fold the statistics that writers left as deltas, of one tenant or of all; changes no result."""
        return await self._all(_calls.fold_statistics(tenant))

    async def pack_postings(
        self, tenant: str | None = None, *, purge: bool = False, steps: int | None = None
    ) -> list[PackResult]:
        """Pack postings, of one tenant or of all: smaller and faster, the same results. ``purge`` leaves no
        trace of deleted chunks; ``steps`` bounds the work of one call."""
        return await self._all(_calls.pack_postings(tenant, purge, steps))

    # Health

    async def doctor(
        self, tenant: str | None = None, *, sample: int | None = 1000, fix: bool = False
    ) -> DoctorReport:
        """Look over the whole store, or one tenant and what all share: statistics, postings, references,
        indexes, rights, server.

        About ``sample`` chunks of each tenant are looked at; with ``None`` everything is counted, which takes
        about a millisecond a chunk. ``fix`` mends what is safe to mend, then looks again; that takes a
        store on a DSN, since some of it cannot run within a transaction, and the rights of an owner for some.
        """
        if fix and (self._borrowed is not None or self._pool is not None):
            raise InvalidArgument(
                "mending needs a connection of the store's own", hint="Make the store with a DSN."
            )
        mended: list[Mended] = []
        try:
            findings = await self._examined(tenant, sample)
            done: set[str] = set()
            while fix:
                actions = await self._planned(findings, done)
                if not actions:
                    break
                for action in actions:
                    mended.append(await self._mend(action))
                    done.add(action.text)
                findings = await self._examined(tenant, sample)
        except SchemaVersionMismatch as error:
            if not (await self._installed()):
                raise
            findings = [_doctor.schema_version(error.message, error.hint)]
        order = {"error": 0, "warning": 1, "info": 2}
        findings.sort(key=lambda found: (order[found.severity], found.check_name))
        return DoctorReport(tuple(findings), tuple(mended))

    async def repair(self, tenant: str) -> list[RepairResult]:
        """Mend what is derived in a tenant (postings, statistics, references, copies of access lists), from
        its documents and the tokens of their chunks; returns what was mended.

        Each step is a transaction of its own, unless the connection is the caller's; killed half-way, it can
        be run again. Readers and writers go on meanwhile.
        """
        found: list[RepairResult] = []
        resume: str | None = "references"
        while resume is not None:
            rows = await self._all(_calls.repair(tenant, resume))
            resume = None
            for step, thing, what, following in rows:
                if following is not None:
                    resume = following
                else:
                    found.append(RepairResult(step, thing or "", what or ""))
        return found

    async def _examined(self, tenant: str | None, sample: int | None) -> list[Finding]:
        findings = await self._all(_calls.doctor(tenant, sample))
        installed = await self._all(_doctor.functions())
        tenants: list[Tenant] = []
        if any(function.name == "list_tenants" for function in installed):
            tenants = [t for t in await self.tenants() if tenant is None or t.tenant == tenant]
        return findings + _doctor.compared(installed, await self._all(_doctor.relations()), tenants)

    async def _planned(self, findings: list[Finding], done: set[str]) -> list[_doctor.Action]:
        installed = await self._all(_doctor.functions())
        listed = any(function.name == "list_models" for function in installed)
        return _doctor.plan(
            findings,
            installed,
            await self._all(_doctor.relations()),
            await self.models() if listed else [],
            next(iter(await self._all(_calls.vector_schema())), None),
            done,
        )

    async def _installed(self) -> bool:
        connection = await self._opened() if self._borrowed is None and self._pool is None else self._borrowed
        return connection is not None and (await _fetch(connection, _calls.schema_installed()))[0]

    async def _mend(self, action: _doctor.Action) -> Mended:
        """Do what mends a finding; what fails is told, and the rest goes on."""
        complaints: list[str] = []

        def heard(diagnostic: psycopg.errors.Diagnostic) -> None:
            if diagnostic.severity_nonlocalized == "WARNING":
                complaints.append(diagnostic.message_primary or "")

        try:
            if action.function == "repair":
                await self.repair(action.tenant or "")
            elif action.function == "fold_statistics":
                await self.fold_statistics(action.tenant)
            elif action.function in ("pack_postings", "purge_postings"):
                await self.pack_postings(action.tenant, purge=action.function == "purge_postings")
            else:
                async with self._connection() as connection:
                    connection.add_notice_handler(heard)
                    try:
                        for statement in action.statements:
                            await connection.execute(statement, prepare=False)
                        if action.files:
                            async with connection.transaction():
                                await connection.execute(_doctor.INSTALLING_PATH)
                                for file in action.files:
                                    await connection.execute(_doctor.file_text(file).encode(), prepare=False)
                    finally:
                        connection.remove_notice_handler(heard)
        except (PgsiftError, psycopg.Error) as error:
            diagnostic = error.diag.message_primary if isinstance(error, psycopg.Error) else error.message
            complaints.append(diagnostic or str(error))
        return Mended(action.check_name, action.object, action.text, "; ".join(complaints) or None)

    # Topics

    async def find_topics(
        self,
        tenant: str,
        *,
        seed: int = 42,
        neighbors: int | None = None,
        min_size: int | None = None,
        cache: bool | str | os.PathLike[str] = True,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> TopicsReport:
        """Find the topics of a tenant's documents by the vectors of its active model, and store them in place of
        those of the last run, in one transaction.

        How, and what ``seed`` fixes, says :mod:`pgsift.topics`. ``neighbors`` is how many neighbours of a document
        UMAP looks at, ``min_size`` how many documents make a topic; left out, each is the greater the more
        documents there are, up to 15. ``cache`` is where the documents' vectors are kept between runs, all that
        is: the user's cache directory, a folder, or with ``False`` nowhere. ``progress`` is called with
        ``"read"``, ``"cluster"`` or ``"store"``, the documents done and those to be done.

        :class:`~pgsift.errors.InvalidArgument` for fewer than two documents with vectors,
        :class:`~pgsift.errors.ModelUnavailable` where the tenant has no model. Needs the extra ``topics``.
        """
        from pgsift import topics

        began = time.perf_counter()
        topics.check(seed=seed, neighbors=neighbors, min_size=min_size)
        model = (await self.tenant(tenant)).model
        if model is None:
            raise ModelUnavailable(
                f"tenant {tenant!r} has no embedding model, and topics are found by vectors",
                hint="Ingest with an embedder.",
            )
        described = next(found for found in await self.models() if found.model == model)
        await run_in_thread(topics.load_libraries)
        import numpy as np

        found: list[tuple[int, int, str, bytes]] = []
        while batch := await self._all(
            _calls.documents_with_vectors(tenant, model, 1000, found[-1][0] if found else 0)
        ):
            found += batch
        # In the order of keys: the numbers of documents depend on the order in which they came.
        found.sort(key=lambda row: row[2])
        kept = None
        if cache is not False:
            folder = topics.default_cache() if cache is True else Path(cache)
            kept = topics.VectorCache(folder, tenant, described)
        known = {} if kept is None else await run_in_thread(kept.read)
        missing = [row[0] for row in found if row[3] not in known]
        cached = len(found) - len(missing)
        for ids in topics.batches(missing, 500):
            if progress is not None:
                progress("read", cached, len(found))
            for text_hash, vector in await self._all(_calls.document_vectors(tenant, ids, model)):
                known[text_hash] = np.asarray(vector, dtype=np.float32)
            cached += len(ids)
        cached = len(found) - len(missing)
        # Not what was replaced while its vector was read.
        found = [row for row in found if row[3] in known]
        if kept is not None and found:
            await run_in_thread(kept.write, {row[3]: known[row[3]] for row in found})
        if not found:
            raise topics.too_few(0)
        vectors, directed = topics.unit(np.stack([known[row[3]] for row in found]))
        found = [row for row, has_direction in zip(found, directed, strict=True) if has_direction]
        if progress is not None:
            progress("cluster", 0, len(found))
        size = topics.default_min_size(len(found)) if min_size is None else min_size
        near = topics.default_neighbors(len(found)) if neighbors is None else neighbors
        made = await run_in_thread(
            lambda: topics.cluster(vectors[directed], seed=seed, neighbors=near, min_size=size)
        )
        if progress is not None:
            progress("store", len(found), len(found))
        left_out = await self._one(
            _calls.put_topics(
                tenant,
                [row[0] for row in found],
                [row[1] for row in found],
                made.labels.tolist(),
                made.strengths.tolist(),
                [None if math.isnan(far) else far for far in made.distances.tolist()],
                made.positions.tolist(),
                model,
                topics.parameters(seed=seed, neighbors=near, min_size=size),
            )
        )
        everybody = ("sift:writer",)
        run = await self._one(_calls.topic_run(tenant))
        return TopicsReport(
            run,
            await self._all(_calls.list_topics(tenant, everybody, 10, 3, None)),
            await self._all(_calls.document_topics(tenant, None, None, everybody)),
            run.unplaced,
            left_out,
            cached,
            time.perf_counter() - began,
        )

    async def topics(
        self,
        tenant: str,
        *,
        principals: Iterable[str] | None = None,
        terms: int = 10,
        documents: int = 3,
        sample: int | None = 50,
    ) -> list[Topic]:
        """The topics of the documents these principals may see, as the last run found them, the outliers last.

        The terms are counted in the ``sample`` visible documents of each topic that are nearest to its centre,
        in all where it is ``None``: topics of many long documents then take their time."""
        return await self._all(_calls.list_topics(tenant, principals, terms, documents, sample))

    async def document_topics(
        self,
        tenant: str,
        *,
        topic: int | None = None,
        k: int | None = None,
        principals: Iterable[str] | None = None,
    ) -> list[DocumentTopic]:
        """The documents these principals may see with their topics, or those of one, the nearest to its centre
        first."""
        return await self._all(_calls.document_topics(tenant, topic, k, principals))

    async def topic_run(self, tenant: str) -> TopicRun | None:
        """The last run of topics; ``None`` where there was none."""
        found = await self._all(_calls.topic_run(tenant))
        return found[0] if found else None

    # Near-duplicates

    async def find_duplicates(
        self,
        tenant: str,
        *,
        threshold: float = 0.8,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> DuplicatesReport:
        """Look for near-duplicates among the documents of a tenant, and put them into clusters.

        Only what is new or was changed since the last run is looked at, unless ``threshold`` is another: the
        Jaccard similarity of two texts' runs of five tokens from which on they are near-duplicates. The
        result is that of a run from the beginning. Batches of 200 documents are a transaction each, unless
        the connection is the caller's; interrupted, it goes on where it was. ``progress`` is called with
        ``"sign"`` or ``"cluster"``, the documents done and those to be done. Needs the extra ``dedup``.
        """
        from pgsift import duplicates

        began = time.perf_counter()
        made_by = await run_in_thread(duplicates.scheme, threshold)
        documents, pending = await self._one(_calls.start_signatures(tenant, threshold, made_by.name))
        signed = compared = resembling = last = 0
        while True:
            if progress is not None:
                progress("sign", signed, pending)
            batch = await self._all(_calls.documents_without_signature(tenant, 200, last))
            if not batch:
                break
            last = batch[-1][0]
            signatures = await run_in_thread(duplicates.signatures, batch, made_by)
            counts = await self._one(_calls.put_signatures(tenant, made_by.name, signatures))
            signed, compared, resembling = signed + counts[0], compared + counts[1], resembling + counts[2]
        if progress is not None:
            progress("cluster", signed, pending)
        clusters, copies, revisions, syndicated, changed = await self._one(_calls.cluster_documents(tenant))
        return DuplicatesReport(
            threshold, documents, signed, compared, resembling, clusters, copies, revisions, syndicated,
            changed, time.perf_counter() - began,
        )  # fmt: skip

    async def near_duplicates(
        self, tenant: str, key: str, *, principals: Iterable[str] | None = None
    ) -> list[NearDuplicate]:
        """The documents the principals may see that have the text of this one, or nearly, as of the last
        :meth:`find_duplicates`; none for a key they may not see."""
        return await self._all(_calls.near_duplicates(tenant, key, principals))

    async def distinct_sources(
        self, tenant: str, keys: Iterable[str], *, principals: Iterable[str] | None = None
    ) -> list[DistinctSource]:
        """Of the documents named that the principals may see, in their order, which count as one source,
        because one repeats the other or stands whole in it. Their texts are compared as they are now; no
        :meth:`find_duplicates` is needed. At most 1000."""
        return await self._all(_calls.distinct_sources(tenant, keys, principals))

    async def clusters(self, tenant: str, *, k: int = 100, after: int = 0) -> list[ClusterMember]:
        """The members of ``k`` clusters of near-duplicates, whoever may see them, each representative first;
        the next page begins ``after`` the last ``cluster_id`` of this one."""
        return await self._all(_calls.list_clusters(tenant, k, after))

    # Models

    async def token_models(self) -> list[TokenModel]:
        """The registered models that give one vector per token."""
        return await self._all(_calls.list_token_models())

    async def embed_tokens(self, tenant: str, embedder: TokenEmbedder) -> int:
        """Compute and store token vectors of all chunks of a tenant that have none of the embedder's model; the
        number of chunks."""
        return await embed_tokens(self, tenant, embedder)

    async def models(self) -> list[Model]:
        """The registered embedding models."""
        return await self._all(_calls.list_models())

    async def register_model(
        self,
        model: str,
        dimensions: int,
        *,
        revision: str = "",
        metric: str = "cosine",
        precision: str | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        lexical_weight: float = 1.0,
        dense_weight: float = 1.0,
        pooling: str = "",
        normalized: bool | None = None,
        quantization: str = "none",
        embedder: str | None = None,
    ) -> int:
        """Register an embedding model and return its number; the same again is harmless, other properties
        are refused. ``precision`` is ``vector`` or ``halfvec``; with ``quantization`` ``binary`` the index
        holds signs, and what it finds is ranked by the vectors. ``embedder`` is what
        :func:`~pgsift.embed.load_embedder` loads, where that is not the model's name."""
        return await self._one(
            _calls.register_model(
                model,
                dimensions,
                revision=revision,
                metric=metric,
                precision=precision,
                query_prefix=query_prefix,
                document_prefix=document_prefix,
                lexical_weight=lexical_weight,
                dense_weight=dense_weight,
                pooling=pooling,
                normalized=normalized,
                quantization=quantization,
                embedder=embedder,
            )
        )

    async def tenant_models(self, tenant: str, model: str | None = None) -> list[TenantModel]:
        """The models of a tenant: which its searches use, which ingest keeps current, what is missing; or how
        it stands with one."""
        return await self._all(_calls.show_models(tenant, model))

    async def keep_model(self, tenant: str, model: str, kept: bool = True) -> None:
        """Have ingest keep the vectors of a model current beside those of the active one; or no longer, which
        retires it: its vectors stay, new documents get none."""
        await self._one(_calls.keep_model(tenant, model, kept))

    async def backfill(
        self,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        keep: bool = True,
        queries: bool = True,
        rate: float | None = None,
        batch: int = BACKFILL_CHUNKS,
        progress: Callable[[BackfillProgress], None] | None = None,
    ) -> BackfillReport:
        """Make the vectors of the embedder's model for all chunks of a tenant that have none.

        It may be interrupted at any time and run again: what was stored stays, ``batch`` chunks in each
        transaction, and nothing is embedded twice. Texts whose vector is known, of this model or of one made
        the same way, are not embedded. Documents may be stored, replaced and deleted meanwhile. With ``keep``
        ingest keeps the model current from now on; with ``queries`` the queries whose vectors are cached for
        searches by text alone get one of this model too. ``rate`` is how many texts are embedded a second at
        most. What the tenant keeps from remote embedders (:meth:`set_tenant`) is not sent to one.

        ``progress`` is called after every transaction. A run that ends with an exception leaves its report in
        the attribute ``backfill_report`` of that.
        """
        chosen = embedder or self.embedder
        if chosen is None:
            raise InvalidArgument("there is no embedder", hint="Pass embedder=, or make the store with one.")
        model = AsyncTenantEmbedder(self, tenant, chosen)
        backfill = AsyncBackfill(model, rate=rate, batch=batch, progress=progress)
        await self.tenant(tenant)  # before a model is registered for it
        await model.register()
        return await backfill.run(keep=keep, queries=queries)

    async def activate_model(
        self, tenant: str, model: str, *, allow_missing: bool = False
    ) -> str | None:
        """Make a model the one that searches of the tenant use unless they name another; the name of the one
        before, which stays kept, so that activating it again is the way back.

        Raises :class:`~pgsift.errors.ModelUnavailable` while chunks lack a vector of the model, unless
        ``allow_missing``.
        """
        return await self._one(_calls.activate_model(tenant, model, allow_missing))

    async def drop_model(self, model: str) -> bool:
        """Remove a model with all its vectors, of all tenants; ``False`` when there is none of this name.

        Raises :class:`~pgsift.errors.AlreadyExists` while it is the active one of a tenant.
        """
        return await self._one(_calls.drop_model(model))

    async def fit_terms(
        self,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        forms: str | None = None,
        anew: bool = False,
        whole: bool = False,
        progress: Callable[[BackfillProgress], None] | None = None,
    ) -> TermFitReport:
        """Make the vectors of the terms of a tenant that have none of the embedder's model, so that the database
        itself can make the vector of a query: :meth:`embed_query`, and searches by text alone.

        Looked at are the chunks that came since the last time; all of them with ``whole``, and with ``anew`` all
        vectors are removed and made again. It may be interrupted and run again: what was stored stays. ``forms``
        says which word is embedded for a term: ``frequent``, its most frequent form in the corpus, the default;
        or ``neutral``, one the corpus has no say in, the default for a tenant whose statistics are ``visible``.
        The model is registered if it is not. ``progress`` is called for every few hundred terms.

        Raises :class:`~pgsift.errors.InvalidArgument` for forms other than those stored, unless ``anew``.
        """
        chosen = embedder or self.embedder
        if chosen is None:
            raise InvalidArgument("there is no embedder", hint="Pass embedder=, or make the store with one.")
        model = AsyncTenantEmbedder(self, tenant, chosen)
        fit = AsyncTermFitting(model, forms=forms, progress=progress)
        await self.tenant(tenant)  # before a model is registered for it
        await model.register()
        return await fit.run(anew=anew, whole=whole)

    async def term_fits(self, tenant: str, model: str | None = None) -> list[TermFit]:
        """The models of which the terms of a tenant have vectors, or the one named."""
        return await self._all(_calls.show_term_fits(tenant, model))

    async def drop_term_embeddings(self, tenant: str, model: str) -> int:
        """Remove the vectors of the terms of a tenant, of one model; how many there were."""
        return await self._one(_calls.drop_term_embeddings(tenant, model))

    async def embed_query(
        self, tenant: str, query: str, *, model: str | None = None, principals: Iterable[str] | None = None
    ) -> list[float] | None:
        """The vector of a query as the database makes it of the vectors of its terms: of length one, shape
        ``(dimensions,)``; ``None`` where none of its terms has one. Words that only documents hold which the
        principals may not see have none.

        Raises :class:`~pgsift.errors.ModelUnavailable` where the terms were not fitted (:meth:`fit_terms`).
        """
        return await self._one(_calls.embed_query(tenant, query, model, principals))

    async def query_vector_terms(
        self, tenant: str, query: str, *, model: str | None = None, principals: Iterable[str] | None = None
    ) -> list[QueryVectorTerm]:
        """The terms that :meth:`embed_query` makes the vector of a query of, and those that have no vector."""
        return await self._all(_calls.query_vector_terms(tenant, query, model, principals))

    async def cache_query_embedding(
        self,
        tenant: str,
        query: str,
        embedding: Any = None,
        *,
        model: str | None = None,
        embedder: Embedder | None = None,
        plain: bool = False,
    ) -> None:
        """Keep the vector of a query, so that callers with nothing but its text search by vectors too.

        Without ``embedding`` the embedder computes it, of the text without operators, and that is the text it
        is kept for: searches look for the vector of that. With ``plain`` all of it is words.
        """
        chosen = embedder or self.embedder
        if embedding is None:
            if chosen is None:
                raise InvalidArgument(
                    "there is neither an embedding nor an embedder", hint="Pass one of them."
                )
            query = parse_query(_calls.text(query) or "", plain=plain).plain
            embedding = await run_in_thread(chosen.embed_query, query)
            model = model or chosen.name
        await self._one(_calls.cache_query_embedding(tenant, query, embedding, model))

    # Search

    async def search(
        self,
        tenant: str,
        query: str | None = None,
        *,
        k: int = 10,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        query_embedding: Any = None,
        mode: str = "hybrid",
        model: str | None = None,
        embedder: Embedder | None = None,
        depth: int | None = None,
        rrf_k: float | None = None,
        weights: Sequence[float] | None = None,
        per_document: int | None = 3,
        collapse: bool = True,
        min_score: float | None = None,
        max_distance: float | None = None,
        as_of: datetime.datetime | str | None = None,
        collapse_clusters: bool = False,
        report_terms: bool = False,
        skip: int = 0,
        mmr: float | None = None,
        token_budget: int | None = None,
        rerank: Reranker | None = None,
        rerank_depth: int | None = None,
        token_embedder: TokenEmbedder | None = None,
        query_token_embeddings: Any = None,
        token_model: str | None = None,
        sources: bool = False,
        plain: bool = False,
        strip_questions: bool | None = None,
        expand: bool | None = None,
        snippet_width: int | None = 300,
        unit: str = "chunk",
        k1: float | None = None,
        b: float | None = None,
        title_weight: float | None = None,
        abstract_weight: float | None = None,
        strategy: Strategy = "merged",
        claims_k: int | None = 3,
        log: bool = False,
    ) -> SearchResult:
        """The ``k`` best chunks the principals may see, by exact BM25 and vectors fused (``hybrid``), or by
        one of them.

        ``principals`` are the names the person has (``user:1042``, ``group:hr``, ``public``), exactly as
        given; none sees nothing, and a database role that is mapped to principals leaves them out. ``filter``
        is a mapping (``{"metadata.year": {"$gte": 2020}}``) or an expression in SQL syntax (``"metadata.year
        >= 2020"``). The query's vector is ``query_embedding``, else computed by the embedder (where its
        model reads the query's script), else taken from the database's cache; without one the text alone is
        searched, and ``warnings`` say so. With ``report_terms``, or where nothing was found, the warnings
        also name the words that were left out of the query and those added to it, at the price of a second
        call. ``as_of`` searches
        what was stored at that time (UTC, unless it says otherwise), for today's permissions.
        With ``collapse_clusters``, of documents that are near-duplicates (:meth:`find_duplicates`) the one
        with the best hit stays. With ``sources``, a second call tells how many independent sources the
        documents of the hits are (:meth:`distinct_sources`). ``skip`` leaves out as many of the best hits:
        pages taken so are those of one long page.

        Of one document at most ``per_document`` hits are shown (``None``: no cap), and the next best of
        others move up. ``mmr`` between 0 and 1 trades relevance for difference: each next hit is the best by
        ``mmr`` times its relevance less ``1 - mmr`` times its likeness to one before it. ``token_budget``
        bounds the texts of all hits together, counted as one token for every four bytes; a text that does
        not fit is passed over. ``rerank`` has a model (:func:`pgsift.rerank.load_reranker`) judge the ``body``
        of the first ``rerank_depth`` hits (50) before cap, ``mmr`` and ``token_budget``; the others follow in
        their order. ``token_embedder`` (or ``query_token_embeddings`` with ``token_model``) reranks in the
        database, by the token vectors stored for chunks (:meth:`embed_tokens`). See docs/reranking.md.

        In the query ``"a phrase"``, ``+word``, ``-word`` and ``pre*`` are operators (docs/queries.md); with
        ``plain`` all of it is words. ``strip_questions`` leaves out the words that make a question one, and
        ``expand`` adds what acronyms stand for (:meth:`set_acronyms`); left out, both are as the tenant says.

        Every hit has a ``snippet``: of its text the window of ``snippet_width`` characters (20 to 4,000) with
        the most terms of the query, and where these stand in it; ``None`` makes none and saves the time.

        With ``unit="document"`` every hit is a document, scored by exact BM25 over all of it and by its nearest
        vector, with the chunk that tells most of it (docs/ranking.md). ``k1`` and ``b`` are those of BM25,
        ``title_weight`` and ``abstract_weight`` what an occurrence of a word in the title or in an abstract
        counts as; left out, the tenant's (:meth:`set_tenant`).

        ``strategy`` says what becomes of claims (docs/claims.md): ``merged``, at most ``claims_k`` hits are
        claims, and each carries the chunks that support it (``claim``) and stands for them; ``mixed``, both
        side by side; ``chunks``, no claims; ``claims``, nothing else.

        With ``log`` the query, its settings and what it found are recorded by a second call (:meth:`log_query`),
        which needs a login that may write or is an application's; ``query_id`` of the result is its number.
        """
        arguments = dict(locals())
        started = time.perf_counter()
        if sources and as_of is not None:
            raise InvalidArgument(
                "sources does not go with as_of", hint="Texts are compared as they are now; leave one out."
            )
        chosen = None if embedder is NO_EMBEDDER else embedder or self.embedder
        asked = parse_query(_calls.text(query, "query") or "", plain=plain).plain
        unread = mode == "hybrid" and bool(asked) and not reads(chosen, asked)
        if (
            query_embedding is None
            and chosen is not None
            and mode != "lexical"
            and is_embeddable(asked)
            and not unread
        ):
            query_embedding = await run_in_thread(chosen.embed_query, asked)
            model = model or chosen.name
        if token_embedder is not None and query_token_embeddings is None and is_embeddable(asked):
            query_token_embeddings = await run_in_thread(token_embedder.embed_query_tokens, asked)
            token_model = token_model or token_embedder.name
        settings: dict[str, Any] = {
            "filter": filter,
            "query_embedding": query_embedding,
            "mode": mode,
            "rrf_k": rrf_k,
            "weights": weights,
            "collapse": collapse,
            "min_score": min_score,
            "max_distance": max_distance,
            "collapse_clusters": collapse_clusters,
            "query_token_embeddings": query_token_embeddings,
            "token_model": token_model,
            "plain": plain,
            "strip_questions": strip_questions,
            "expand": expand,
            "strategy": strategy,
            "claims_k": claims_k,
            "snippet_width": snippet_width,
        }
        hits: list[Hit] | None = None
        notes: list[str] = []
        if rerank is not None:
            hits, notes = await reranked(
                self,
                tenant,
                query,
                asked,
                reranker=rerank,
                rerank_depth=rerank_depth,
                k=k,
                skip=skip,
                depth=depth,
                principals=principals,
                per_document=per_document,
                mmr=mmr,
                token_budget=token_budget,
                model=model,
                as_of=as_of,
                settings=settings,
            )
        call = _calls.search(
            tenant,
            query,
            k=k,
            skip=skip,
            depth=depth,
            principals=principals,
            per_document=per_document,
            mmr=mmr,
            token_budget=token_budget,
            model=model,
            as_of=as_of,
            **settings,
            unit=unit,
            k1=k1,
            b=b,
            title_weight=title_weight,
            abstract_weight=abstract_weight,
        )
        terms = _calls.query_terms(
            tenant,
            query or "",
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
            principals=principals,
        )
        result = await self._search(call, query, mode, terms, report_terms, unread, hits)
        result.warnings += tuple(notes)
        if sources:
            keys = dict.fromkeys(hit.key for hit in result)
            result.sources = tuple(await self.distinct_sources(tenant, keys, principals=principals))
        if log:
            result.query_id = await self.log_query(
                tenant,
                query,
                result,
                principals=principals,
                settings=settings_of(arguments | {"model": model}, self.search),
                query_embedding=query_embedding,
                milliseconds=1000 * (time.perf_counter() - started),
            )
        return result

    async def log_query(
        self,
        tenant: str,
        query: str | None,
        hits: Iterable[Hit] = (),
        *,
        principals: Iterable[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        query_embedding: Any = None,
        milliseconds: float | None = None,
    ) -> int:
        """Record a query and what it found; the number of the entry. ``settings`` are arguments of
        :meth:`search` by their names. Of the hits, ranks, numbers, keys, versions and scores are kept and the
        size of their texts, not the texts. For applications and writers; what is recorded, writers alone read."""
        return await self._one(
            _calls.log_query(
                tenant,
                query,
                principals=principals,
                settings=settings or {},
                query_embedding=query_embedding,
                hits=hits,
                milliseconds=milliseconds,
            )
        )

    async def queries(
        self,
        tenant: str,
        *,
        k: int = 100,
        ids: Iterable[int] | None = None,
        since: datetime.datetime | str | None = None,
        before: datetime.datetime | str | None = None,
        below: int | None = None,
    ) -> list[LoggedQuery]:
        """Recorded queries, the last first: those with some numbers, or asked since and before a time; with
        ``below`` only such as have a lower number, for the next page."""
        call = _calls.list_queries(tenant, k=k, ids=ids, since=since, before=before, below=below)
        return await self._all(call)

    async def purge_queries(
        self,
        tenant: str,
        *,
        before: datetime.datetime | str | None = None,
        ids: Iterable[int] | None = None,
    ) -> int:
        """Remove recorded queries asked before a time, or of some numbers; how many there were."""
        return await self._one(_calls.purge_queries(tenant, before, ids))

    async def judge(
        self,
        tenant: str,
        query: str,
        key: str,
        grade: int,
        *,
        chunk: int | None = None,
        principals: Iterable[str] | None = None,
        judged_by: str | None = None,
        note: str | None = None,
    ) -> int:
        """Record how well a passage (``chunk``, its number), or the document of a key as a whole, answers a
        query: ``grade`` 0 not relevant, 1 related, 2 relevant, 3 answers it. The number of the judgment. Each
        judge has one of a passage for a query, the last; ``judged_by`` is the database role where it is left
        out. For applications and writers; the document must be visible to the principals."""
        return await self._one(_calls.judge(tenant, query, key, grade, chunk, principals, judged_by, note))

    async def judgments(
        self,
        tenant: str,
        *,
        principals: Iterable[str] | None = None,
        query: str | None = None,
        key: str | None = None,
        judged_by: str | None = None,
        k: int = 100,
        below: int | None = None,
    ) -> list[Judgment]:
        """Judgments of visible documents, the last first: those for a query, of a document, or of a judge; with
        ``below`` only such as have a lower number, for the next page."""
        call = _calls.list_judgments(
            tenant, principals=principals, query=query, key=key, judged_by=judged_by, k=k, below=below
        )
        return await self._all(call)

    async def remove_judgment(
        self, tenant: str, judgment_id: int, *, principals: Iterable[str] | None = None
    ) -> bool:
        """Take a judgment back; false where there is none of this number that the principals may see."""
        return await self._one(_calls.remove_judgment(tenant, judgment_id, principals))

    async def replay_queries(
        self,
        tenant: str,
        *,
        k: int = 100,
        ids: Iterable[int] | None = None,
        since: datetime.datetime | str | None = None,
        before: datetime.datetime | str | None = None,
        principals: Iterable[str] | None = None,
        current_settings: bool = False,
        rerank: Reranker | None = None,
        token_embedder: TokenEmbedder | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReplayReport:
        """Ask recorded queries again, the ``k`` last of those that :meth:`queries` names, and tell what drifted.

        Asked is with the settings, the vector and the principals of then; what the search left to the tenant is
        taken as it was then too, or with ``current_settings`` as it is now. ``principals`` asks for somebody
        else. What was reranked by a model needs that model (``rerank``, ``token_embedder``). A query that cannot
        be asked again is in the report with its ``problem``, and the others go on.
        """
        entries = await self.queries(tenant, k=k, ids=ids, since=since, before=before)
        replay = AsyncReplay(
            self,
            tenant,
            principals=_calls.names(principals, "principals"),
            current_settings=current_settings,
            rerank=rerank,
            token_embedder=token_embedder,
        )
        return await replay.run(entries[::-1], progress)

    async def explain(
        self,
        tenant: str,
        query: str | None = None,
        chunk: int | None = None,
        *,
        key: str | None = None,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        query_embedding: Any = None,
        mode: str = "hybrid",
        model: str | None = None,
        embedder: Embedder | None = None,
        depth: int | None = None,
        rrf_k: float | None = None,
        weights: Sequence[float] | None = None,
        min_score: float | None = None,
        max_distance: float | None = None,
        as_of: datetime.datetime | str | None = None,
        plain: bool = False,
        strip_questions: bool | None = None,
        expand: bool | None = None,
        unit: str = "chunk",
        k1: float | None = None,
        b: float | None = None,
        title_weight: float | None = None,
        abstract_weight: float | None = None,
        strategy: Strategy = "merged",
    ) -> Explanation:
        """Why a chunk, named by its number, or the best chunk of a document, named by its ``key``, has the score
        that :meth:`search` gives it with the same arguments: what every term contributes, its rank in each
        leg, the arithmetic of fusion. Empty for what is not there or not visible. See docs/explaining.md."""
        settings: dict[str, Any] = {
            "principals": principals,
            "filter": filter,
            "mode": mode,
            "depth": depth,
            "rrf_k": rrf_k,
            "weights": weights,
            "min_score": min_score,
            "max_distance": max_distance,
            "as_of": as_of,
            "plain": plain,
            "strip_questions": strip_questions,
            "expand": expand,
            "unit": unit,
            "k1": k1,
            "b": b,
            "title_weight": title_weight,
            "abstract_weight": abstract_weight,
            "strategy": strategy,
        }
        settings["query_embedding"], settings["model"] = await self._query_vector(
            query, query_embedding, mode, model, embedder, plain
        )
        return Explanation(await self._all(_calls.explain(tenant, query, chunk, key, settings)))

    async def why_not(
        self,
        tenant: str,
        query: str | None = None,
        key: str | None = None,
        *,
        chunk: int | None = None,
        k: int = 10,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        query_embedding: Any = None,
        mode: str = "hybrid",
        model: str | None = None,
        embedder: Embedder | None = None,
        depth: int | None = None,
        rrf_k: float | None = None,
        weights: Sequence[float] | None = None,
        per_document: int | None = 3,
        collapse: bool = True,
        min_score: float | None = None,
        max_distance: float | None = None,
        as_of: datetime.datetime | str | None = None,
        collapse_clusters: bool = False,
        skip: int = 0,
        mmr: float | None = None,
        token_budget: int | None = None,
        token_embedder: TokenEmbedder | None = None,
        query_token_embeddings: Any = None,
        token_model: str | None = None,
        plain: bool = False,
        strip_questions: bool | None = None,
        expand: bool | None = None,
        unit: str = "chunk",
        k1: float | None = None,
        b: float | None = None,
        title_weight: float | None = None,
        abstract_weight: float | None = None,
        strategy: Strategy = "merged",
        claims_k: int | None = 3,
    ) -> Reason:
        """The first reason why a document, named by its key, or one chunk is not among the hits of :meth:`search`
        with the same arguments (without ``rerank``); that it is there, where it is. What is not there and what may
        not be seen are ``absent`` alike. See docs/explaining.md."""
        asked = parse_query(_calls.text(query, "query") or "", plain=plain).plain
        if token_embedder is not None and query_token_embeddings is None and is_embeddable(asked):
            query_token_embeddings = await run_in_thread(token_embedder.embed_query_tokens, asked)
            token_model = token_model or token_embedder.name
        settings: dict[str, Any] = {
            "k": k,
            "principals": principals,
            "filter": filter,
            "mode": mode,
            "depth": depth,
            "rrf_k": rrf_k,
            "weights": weights,
            "per_document": per_document,
            "collapse": collapse,
            "min_score": min_score,
            "max_distance": max_distance,
            "as_of": as_of,
            "collapse_clusters": collapse_clusters,
            "skip": skip,
            "mmr": mmr,
            "token_budget": token_budget,
            "query_token_embeddings": query_token_embeddings,
            "token_model": token_model,
            "plain": plain,
            "strip_questions": strip_questions,
            "expand": expand,
            "unit": unit,
            "k1": k1,
            "b": b,
            "title_weight": title_weight,
            "abstract_weight": abstract_weight,
            "strategy": strategy,
            "claims_k": claims_k,
        }
        settings["query_embedding"], settings["model"] = await self._query_vector(
            query, query_embedding, mode, model, embedder, plain
        )
        (reason,) = await self._all(_calls.why_not(tenant, query, key, chunk, settings))
        return reason

    async def _query_vector(
        self,
        query: str | None,
        query_embedding: Any,
        mode: str,
        model: str | None,
        embedder: Embedder | None,
        plain: bool,
    ) -> tuple[Any, str | None]:
        """The vector that :meth:`search` searches for, and its model."""
        chosen = embedder or self.embedder
        asked = parse_query(_calls.text(query, "query") or "", plain=plain).plain
        unread = mode == "hybrid" and bool(asked) and not reads(chosen, asked)
        if (
            query_embedding is None
            and chosen is not None
            and mode != "lexical"
            and is_embeddable(asked)
            and not unread
        ):
            return await run_in_thread(chosen.embed_query, asked), model or chosen.name
        return query_embedding, model

    async def related(
        self,
        tenant: str,
        document: str | None = None,
        *,
        chunk: int | None = None,
        k: int = 10,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        mode: str = "hybrid",
        model: str | None = None,
        per_document: int | None = 1,
        terms: int = 16,
    ) -> list[Related]:
        """The chunks nearest to a document, named by its key, or to one chunk, named by its number: by the mean
        of its vectors and by its ``terms`` rarest terms. Empty for what is not there or not visible."""
        return await self._all(
            _calls.related(
                tenant,
                document,
                chunk,
                k=k,
                principals=principals,
                filter=filter,
                mode=mode,
                model=model,
                per_document=per_document,
                terms=terms,
            )
        )

    async def count_matches(
        self,
        tenant: str,
        query: str | None = None,
        *,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        plain: bool = False,
    ) -> MatchCount:
        """How many chunks and documents hold a term of the query, exactly; without a query, how many there
        are."""
        return (await self._all(_calls.count_matches(tenant, query, principals, filter, plain)))[0]

    async def facets(
        self,
        tenant: str,
        field: str,
        query: str | None = None,
        *,
        k: int | None = 20,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        bucket: str | None = None,
        plain: bool = False,
    ) -> list[Facet]:
        """The values of a field (``kind``, ``metadata.department``) among what :meth:`count_matches` counts, most
        documents first. ``bucket`` is ``day``, ``week``, ``month``, ``quarter`` or ``year``, for a field of
        time."""
        call = _calls.facets(
            tenant, field, query, k=k, principals=principals, filter=filter, bucket=bucket, plain=plain
        )
        return await self._all(call)

    async def cite(
        self,
        tenant: str,
        keys: Iterable[str],
        *,
        principals: Iterable[str] | None = None,
        query: str | None = None,
    ) -> list[Citation]:
        """The visible documents of these keys as CSL-JSON, each once, in this order;
        :func:`pgsift.citations.bibtex` makes BibTeX of it. With a ``query`` each tells the page of its best
        passage, as :meth:`evidence` chooses it."""
        return await self._all(_calls.cite(tenant, keys, principals, query))

    async def lexical_search(
        self,
        tenant: str,
        query: str,
        *,
        k: int = 10,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        per_document: int | None = None,
        collapse: bool = False,
        min_score: float | None = None,
        as_of: datetime.datetime | str | None = None,
        report_terms: bool = False,
        skip: int = 0,
        plain: bool = False,
        strip_questions: bool | None = None,
        expand: bool | None = None,
        snippet_width: int | None = 300,
        unit: str = "chunk",
        k1: float | None = None,
        b: float | None = None,
        title_weight: float | None = None,
        abstract_weight: float | None = None,
    ) -> SearchResult:
        """The ``k`` best chunks by exact BM25; ``score`` is the BM25 score."""
        call = _calls.lexical_search(
            tenant,
            query,
            k=k,
            principals=principals,
            filter=filter,
            per_document=per_document,
            collapse=collapse,
            min_score=min_score,
            as_of=as_of,
            skip=skip,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
            snippet_width=snippet_width,
            unit=unit,
            k1=k1,
            b=b,
            title_weight=title_weight,
            abstract_weight=abstract_weight,
        )
        terms = _calls.query_terms(
            tenant,
            query,
            plain=plain,
            strip_questions=strip_questions,
            expand=expand,
            principals=principals,
        )
        return await self._search(call, query, "lexical", terms, report_terms)

    async def dense_search(
        self,
        tenant: str,
        query_embedding: Any = None,
        *,
        query: str | None = None,
        k: int = 10,
        principals: Iterable[str] | None = None,
        filter: Mapping[str, Any] | str | None = None,
        model: str | None = None,
        embedder: Embedder | None = None,
        per_document: int | None = None,
        collapse: bool = False,
        max_distance: float | None = None,
        as_of: datetime.datetime | str | None = None,
        skip: int = 0,
        snippet_width: int | None = 300,
    ) -> SearchResult:
        """The ``k`` chunks nearest to a vector, or to the embedder's vector of ``query``; ``score`` is the
        distance negated."""
        chosen = embedder or self.embedder
        if query_embedding is None and query is not None and chosen is not None:
            query_embedding = await run_in_thread(chosen.embed_query, _calls.text(query))
            model = model or chosen.name
        call = _calls.dense_search(
            tenant,
            query_embedding,
            k=k,
            principals=principals,
            filter=filter,
            model=model,
            per_document=per_document,
            collapse=collapse,
            max_distance=max_distance,
            as_of=as_of,
            skip=skip,
            snippet_width=snippet_width,
        )
        return await self._search(call, query, "dense", None)

    async def evidence(
        self,
        tenant: str,
        key: str,
        query: str,
        *,
        windows: int = 2,
        width: int = 600,
        principals: Iterable[str] | None = None,
        as_of: datetime.datetime | str | None = None,
    ) -> list[Evidence]:
        """The passages of one document that answer a query, in the order of its text: at most ``windows`` (1
        to 50) of about ``width`` characters (20 to 4,000), those with the most terms of the query; a table
        that one touches is given whole, up to 4,000 characters. Where no word of the query occurs, the
        beginning of the text. None at all where the document is not there or the principals may not see
        it."""
        return await self._all(_calls.evidence(tenant, key, query, windows, width, principals, as_of))

    async def put_claims(
        self, tenant: str, key: str, claims: Iterable[Mapping[str, Any]]
    ) -> list[PutClaim]:
        """Add claims to a stored document, checked like those that come with one (docs/claims.md).

        Each is a mapping with ``body`` and ``supports``, the chunks of the document that bear it out, counted
        from 0, and perhaps ``evidence_span``, ``effect``, ``section``, ``page`` and ``entities``. All are
        stored or none; one that is there already is left alone. Raises
        :class:`~pgsift.errors.InvalidDocument` naming the claim and what its sources do not say.
        """
        return await self._all(_calls.put_claims(tenant, key, claims))

    async def claims(
        self, tenant: str, key: str, *, principals: Iterable[str] | None = None
    ) -> list[Claim]:
        """The claims of a document with their sources, in its order; none where the document is not there or
        the principals may not see it."""
        return await self._all(_calls.list_claims(tenant, key, principals))

    async def put_entities(self, tenant: str, key: str, mentions: Iterable[Mapping[str, Any]]) -> int:
        """Add mentions of entities to chunks of a stored document, ``{"ordinal": 0, "entities": ["pump"]}`` each;
        how many there were not before."""
        return await self._one(_calls.put_entities(tenant, key, mentions))

    async def remove_entities(
        self, tenant: str, key: str, mentions: Iterable[Mapping[str, Any]] | None = None
    ) -> int:
        """Take mentions of entities away from a document, all of them where none are named; how many there
        were."""
        return await self._one(_calls.remove_entities(tenant, key, mentions))

    async def chunks_by_entity(
        self, tenant: str, entity: str, *, k: int | None = None, principals: Iterable[str] | None = None
    ) -> list[EntityChunk]:
        """The chunks that mention an entity, in the order of keys and of the text; ``k`` of them at most."""
        return await self._all(_calls.chunks_by_entity(tenant, entity, principals, k))

    async def query_terms(
        self,
        tenant: str,
        query: str,
        *,
        plain: bool = False,
        strip_questions: bool | None = None,
        expand: bool | None = None,
        principals: Iterable[str] | None = None,
    ) -> list[QueryTerm]:
        """The terms a query searches for, those that were added included, and the words left out of it with the
        reason. A prefix is told to stand for terms that the principals may see."""
        return await self._all(
            _calls.query_terms(
                tenant,
                query,
                plain=plain,
                strip_questions=strip_questions,
                expand=expand,
                principals=principals,
            )
        )

    # Vocabulary

    async def set_acronyms(
        self, tenant: str, vocabulary: Mapping[str, str | Sequence[str]], *, replace: bool = False
    ) -> int:
        """Tell what acronyms stand for, each a text or several; how many there are. What they stood for before is
        replaced, and with ``replace`` the whole vocabulary. The words are added to queries that hold the acronym
        as it is written here, capitals included; nothing is indexed anew."""
        return await self._one(_calls.set_acronyms(tenant, vocabulary, replace))

    async def acronyms(self, tenant: str) -> list[Acronym]:
        """What the acronyms of a tenant stand for."""
        return await self._all(_calls.list_acronyms(tenant))

    async def remove_acronyms(self, tenant: str, acronyms: Iterable[str]) -> int:
        """Take acronyms out of the vocabulary; how many were in it."""
        return await self._one(_calls.remove_acronyms(tenant, acronyms))

    async def _search(
        self,
        call: Call[Hit],
        query: str | None,
        mode: str,
        terms: Call[QueryTerm] | None,
        report_terms: bool = False,
        unread: bool = False,
        hits: list[Hit] | None = None,
    ) -> SearchResult:
        if hits is None:
            hits = await self._all(call)
        warnings = []
        if mode == "hybrid" and hits and hits[0].legs == "lexical":
            reason = "the model does not read its script" if unread else "neither given nor cached"
            warnings.append(f"searched by words alone: the query has no vector, {reason}")
        if hits and hits[0].query_vector == "approximated":
            warnings.append("the query's vector is approximated by its words")
        if mode == "hybrid" and hits and hits[0].legs == "dense":
            warnings.append("searched by vectors alone: no word of the query can be searched for")
        if query and mode != "dense" and terms is not None and (report_terms or not hits):
            added: dict[str | None, list[str]] = {}
            for term in await self._all(terms):
                if term.reason == "added":
                    added.setdefault(term.origin, []).append(term.term)
                elif not term.kept and term.reason not in ("repeated", "excluded"):
                    warnings.append(f"left out of the query: {term.term} ({term.reason})")
            for acronym, words in added.items():
                warnings.append(f"added to the query for {acronym}: {', '.join(words)}")
        return SearchResult(hits, query=query, mode=mode, warnings=warnings)


async def _fetch(connection: AsyncConnection[Any], call: Call[T]) -> list[T]:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        # Never prepared, whatever the connection's threshold: behind a pooler in transaction mode the next
        # transaction may meet another server session, which does not know the statement.
        await cursor.execute(call.statement.encode(), call.parameters, prepare=False)
        return [call.row(*row) for row in await cursor.fetchall()]


def _start_embedded(home: str | os.PathLike[str] | None) -> str:
    """Start the embedded server, bring its schema up to date, and return its DSN."""
    from pgsift import schema, server

    dsn = server.ensure_running(home)
    if schema.current(dsn) != schema.expected_version():
        schema.upgrade(dsn)
    return dsn


def _shell_quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
