"""The SQL of the library: one pure function per function of the schema, giving statement, parameters and row
type.

Nothing here touches a connection. Every statement calls functions of the schema ``sift`` with named
arguments, typed placeholders and an explicit list of columns; a column that a later version adds does no
harm.
"""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from pgsift.domain.filters import to_json
from pgsift.errors import InvalidArgument, InvalidFilter
from pgsift.ingest.cleaning import checked_name, clean_json, clean_text
from pgsift.models import (
    AccessCheck,
    AccessEntry,
    AccessResult,
    Acronym,
    AuditFinding,
    ChunkText,
    Citation,
    Claim,
    ClusterMember,
    DeadLetter,
    DeleteResult,
    DistinctSource,
    DocumentInfo,
    DocumentSource,
    DocumentState,
    DocumentText,
    DocumentTopic,
    DocumentVersion,
    EntityChunk,
    Evidence,
    ExplainedPart,
    Facet,
    Finding,
    FoldResult,
    Hit,
    Judgment,
    KeptDocument,
    LoggedQuery,
    Manifest,
    ManifestChange,
    ManifestDocument,
    MatchCount,
    Member,
    Model,
    MoveResult,
    NearDuplicate,
    PackResult,
    PrincipalReplaced,
    PurgeResult,
    PutClaim,
    PutResult,
    QueryTerm,
    QueryVectorTerm,
    Reason,
    Record,
    Related,
    Stats,
    SyncItem,
    SyncSource,
    Tenant,
    TenantModel,
    TermFit,
    TokenModel,
    Topic,
    TopicRun,
    UnrankedDocument,
)
from pgsift.vectors import as_floats, as_matrix, matrix_text, vector_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement with its parameters, and what makes a result of each row."""

    statement: str
    parameters: tuple[Any, ...]
    row: Callable[..., T]


def _first(value: Any) -> Any:
    return value


def _columns(record: type[Record]) -> str:
    return ", ".join(f'"{item.name}"' for item in fields(record))  # type: ignore[arg-type]


def _call(
    function: str, result: type[Record] | str | None, row: Callable[..., T], **arguments: tuple[str, Any]
) -> Call[T]:
    """A call with named, typed arguments: ``name=(type, value)``; of a scalar function when there are no
    columns."""
    listed = ", ".join(f'"{name}" => %s::{kind}' for name, (kind, _) in arguments.items())
    if result is None:
        statement = f"SELECT sift.{function}({listed})"
    else:
        columns = result if isinstance(result, str) else _columns(result)
        statement = f"SELECT {columns} FROM sift.{function}({listed})"
    return Call(statement, tuple(value for _, value in arguments.values()), row)


def text(value: str | None, name: str = "a text") -> str | None:
    """A text as the database can hold it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a string, not {type(value).__name__}")
    return clean_text(value)[0]


def name(value: str | None, what: str) -> str | None:
    """A name, which is never altered: one that the database cannot hold is refused."""
    return None if value is None else checked_name(value, what)


def names(values: Iterable[str] | None, what: str) -> list[str] | None:
    """Names as a list; a single string is refused, since its letters were hardly meant."""
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(
            f"{what} must be a list of strings, not {type(values).__name__}", hint=f"Write [{values!r}]."
        )
    return [checked_name(value, f"a value of {what}") for value in values]


def moment(value: datetime.datetime | str | None, what: str) -> datetime.datetime | None:
    """A point in time; in ISO 8601 where it is a text. Without an offset it is taken as UTC."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidArgument(
                f"{what} must be a time, not {value!r}",
                hint='Write "2024-05-31", "2024-05-31T16:30:00Z" or "2024-05-31T16:30:00+02:00".',
            ) from None
    if value is not None and not isinstance(value, datetime.datetime):
        raise InvalidArgument(f"{what} must be a time, not {type(value).__name__}")
    if value is not None and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value


def integer(value: int | None, name: str) -> int | None:
    """An integer, numpy's included, that fits the type ``integer``."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgument(f"{name} must be an integer, not {value!r}")
    number = value.__index__()
    if not -(2**31) <= number < 2**31:
        raise InvalidArgument(f"{name} is out of range: {number}")
    return number


def number(value: float | None, name: str) -> float | None:
    """A number, numpy's and integers included, as float."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} must be a number, not {value!r}") from None


def filter_json(filter: Mapping[str, Any] | str | None) -> str | None:
    """A filter, as a mapping or as an expression in SQL syntax, in the JSON the database compiles."""
    if filter is None:
        return None
    if isinstance(filter, str):
        if not filter.strip():
            raise InvalidFilter("the filter is empty", hint="Leave it out where everything may be found.")
        from pgsift.filters import parse_filter

        filter = parse_filter(filter)
    return to_json(filter)


def json_text(value: Any) -> str:
    """A value as JSON that ``jsonb`` takes."""
    return json.dumps(clean_json(value)[0], ensure_ascii=False, allow_nan=False)


# Schema and tenants


def schema_installed() -> Call[bool]:
    """Whether the schema is there at all; asked first, so that the answer no breaks nobody's transaction."""
    return Call("SELECT pg_catalog.to_regprocedure(%s::text) IS NOT NULL", ("sift.schema_version()",), _first)


def schema_version() -> Call[str | None]:
    """The revision of the schema."""
    return _call("schema_version", None, _first)


def create_tenant(
    tenant: str,
    *,
    analyzer: str,
    k1: float,
    b: float,
    default_principals: Iterable[str] | None,
    index_title: str,
    exist_ok: bool,
    keep_history: bool | None = None,
) -> Call[int]:
    """Makes a tenant."""
    return _call(
        "create_tenant",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        analyzer=("text", name(analyzer, "analyzer")),
        k1=("double precision", number(k1, "k1")),
        b=("double precision", number(b, "b")),
        default_principals=("text[]", names(default_principals, "default_principals")),
        index_title=("text", name(index_title, "index_title")),
        exist_ok=("boolean", bool(exist_ok)),
        keep_history=("boolean", None if keep_history is None else bool(keep_history)),
    )


def drop_tenant(tenant: str) -> Call[bool]:
    """Removes a tenant."""
    return _call("drop_tenant", None, _first, tenant=("text", name(tenant, "tenant")))


def list_tenants() -> Call[Tenant]:
    """The tenants."""
    return _call("list_tenants", Tenant, Tenant)


def set_tenant(tenant: str, options: Mapping[str, Any]) -> Call[None]:
    """Changes options of a tenant."""
    return _call(
        "set_tenant",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        options=("jsonb", json_text(dict(options))),
    )


def set_default_access(
    tenant: str, principals: Iterable[str] | None, denied: Iterable[str] | None
) -> Call[None]:
    """Who sees documents that come without an access list."""
    return _call(
        "set_default_access",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        principals=("text[]", names(principals, "principals")),
        denied=("text[]", names(denied, "denied")),
    )


def map_role(tenant: str, role_name: str, principals: Iterable[str] | None) -> Call[None]:
    """The principals a database role stands for."""
    return _call(
        "map_role",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        role_name=("name", name(role_name, "role_name")),
        principals=("text[]", names(principals, "principals")),
    )


def replace_principal(tenant: str, old_principal: str, new_principal: str) -> Call[PrincipalReplaced]:
    """Puts one principal in the place of another."""
    return _call(
        "replace_principal",
        PrincipalReplaced,
        PrincipalReplaced,
        tenant=("text", name(tenant, "tenant")),
        old_principal=("text", name(old_principal, "old_principal")),
        new_principal=("text", name(new_principal, "new_principal")),
    )


def set_access(
    tenant: str,
    keys: Iterable[str] | None,
    principals: Iterable[str] | None,
    denied: Iterable[str] | None,
    key_prefix: str | None,
) -> Call[AccessResult]:
    """Who may see some documents, from now on."""
    return _call(
        "set_access",
        AccessResult,
        AccessResult,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        principals=("text[]", names(principals, "principals")),
        denied=("text[]", names(denied, "denied")),
        key_prefix=("text", name(key_prefix, "key_prefix")),
    )


def grant_access(
    tenant: str,
    keys: Iterable[str] | None,
    principals: Iterable[str] | None,
    denied: Iterable[str] | None,
    key_prefix: str | None,
    on_default: bool,
) -> Call[AccessResult]:
    """Who else may, or may not, see some documents."""
    return _call(
        "grant_access",
        AccessResult,
        AccessResult,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        principals=("text[]", names(principals, "principals")),
        denied=("text[]", names(denied, "denied")),
        key_prefix=("text", name(key_prefix, "key_prefix")),
        on_default=("boolean", bool(on_default)),
    )


def revoke_access(
    tenant: str,
    keys: Iterable[str] | None,
    principals: Iterable[str] | None,
    denied: Iterable[str] | None,
    key_prefix: str | None,
    on_default: bool,
) -> Call[AccessResult]:
    """Who may, or may not, see some documents no longer."""
    return _call(
        "revoke_access",
        AccessResult,
        AccessResult,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        principals=("text[]", names(principals, "principals")),
        denied=("text[]", names(denied, "denied")),
        key_prefix=("text", name(key_prefix, "key_prefix")),
        on_default=("boolean", bool(on_default)),
    )


def show_access(tenant: str, keys: Iterable[str] | None, key_prefix: str | None) -> Call[AccessEntry]:
    """Who may see some documents, and what rules there are."""
    return _call(
        "show_access",
        AccessEntry,
        AccessEntry,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        key_prefix=("text", name(key_prefix, "key_prefix")),
    )


def check_access(tenant: str, key: str, principals: Iterable[str] | None) -> Call[AccessCheck]:
    """Whether somebody may see a document, and why."""
    return _call(
        "check_access",
        AccessCheck,
        AccessCheck,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        principals=("text[]", names(principals, "principals")),
    )


def add_members(tenant: str, group_name: str, members: Iterable[str]) -> Call[int]:
    """Puts principals into a group."""
    return _call(
        "add_members",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        group_name=("text", name(group_name, "group_name")),
        members=("text[]", names(members, "members")),
    )


def remove_members(tenant: str, group_name: str, members: Iterable[str]) -> Call[int]:
    """Takes principals out of a group."""
    return _call(
        "remove_members",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        group_name=("text", name(group_name, "group_name")),
        members=("text[]", names(members, "members")),
    )


def list_members(tenant: str, group_name: str | None) -> Call[Member]:
    """The members of a group, or of all."""
    return _call(
        "list_members",
        Member,
        Member,
        tenant=("text", name(tenant, "tenant")),
        group_name=("text", name(group_name, "group_name")),
    )


# Documents


def put_documents(
    tenant: str, documents: str, *, fingerprint: str | None, model: str | None, run_id: int | None
) -> Call[PutResult]:
    """Stores a JSON array of documents."""
    return _call(
        "put_documents",
        PutResult,
        PutResult,
        tenant=("text", name(tenant, "tenant")),
        documents=("jsonb", documents),
        fingerprint=("text", fingerprint),
        model=("text", name(model, "model")),
        run_id=("bigint", run_id),
    )


def delete_documents(
    tenant: str, keys: Iterable[str], reason: str | None, purge: bool = False
) -> Call[DeleteResult]:
    """Deletes documents."""
    return _call(
        "delete_documents",
        DeleteResult,
        DeleteResult,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        reason=("text", text(reason)),
        purge=("boolean", bool(purge)),
    )


def purge_documents(tenant: str, keys: Iterable[str], reason: str | None) -> Call[PurgeResult]:
    """Deletes documents with their history."""
    return _call(
        "purge_documents",
        PurgeResult,
        PurgeResult,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        reason=("text", text(reason)),
    )


def audit_deletion(tenant: str, key: str) -> Call[AuditFinding]:
    """What is left of a deleted document."""
    return _call(
        "audit_deletion",
        AuditFinding,
        AuditFinding,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
    )


def document_at(
    tenant: str, key: str, at: datetime.datetime | str | None, principals: Iterable[str] | None
) -> Call[DocumentText]:
    """A document as it was."""
    return _call(
        "document_at",
        DocumentText,
        DocumentText,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        at=("timestamptz", moment(at, "at")),
        principals=("text[]", names(principals, "principals")),
    )


def document_history(tenant: str, key: str, principals: Iterable[str] | None) -> Call[DocumentVersion]:
    """The versions of a document."""
    return _call(
        "document_history",
        DocumentVersion,
        DocumentVersion,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        principals=("text[]", names(principals, "principals")),
    )


def put_sources(tenant: str, sources: Sequence[tuple[str, str, bytes]]) -> Call[int]:
    """Keeps the bytes of documents: key, media type and content of each."""
    return _call(
        "put_sources",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", [key for key, _, _ in sources]),
        media_types=("text[]", [media_type for _, media_type, _ in sources]),
        contents=("bytea[]", [zlib.compress(content) for _, _, content in sources]),
        lengths=("bigint[]", [len(content) for _, _, content in sources]),
        compression=("text", "zlib"),
    )


def document_source(
    tenant: str, key: str, at: datetime.datetime | str | None, principals: Iterable[str] | None
) -> Call[DocumentSource]:
    """The bytes a document was made of."""
    return _call(
        "document_source",
        '"version", "media_type", "compression", "content"',
        _source,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        at=("timestamptz", moment(at, "at")),
        principals=("text[]", names(principals, "principals")),
    )


def _source(version: int, media_type: str, compression: str, content: bytes) -> DocumentSource:
    return DocumentSource(
        version, media_type, zlib.decompress(content) if compression == "zlib" else bytes(content)
    )


def documents_to_rebuild(
    tenant: str, keys: Iterable[str] | None, k: int, after: str | None
) -> Call[KeptDocument]:
    """The next documents with the bytes they were made of."""
    return _call(
        "documents_to_rebuild",
        '"key", "version", title, source_uri, source_version, metadata, language, license, classification, '
        "observed_at, valid_from, valid_to, retain_until, parser, chunker, content_hash, media_type, "
        '"length", compression, content, total_bytes',
        _kept_document,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        k=("integer", integer(k, "k")),
        after=("text", after),
    )


def _kept_document(*row: Any) -> KeptDocument:
    *known, compression, content, total_bytes = row
    if content is not None:
        content = zlib.decompress(content) if compression == "zlib" else bytes(content)
    values = (*known, content, total_bytes)
    return KeptDocument(*values)


def hold_documents(tenant: str, keys: Sequence[str], versions: Sequence[int]) -> Call[str]:
    """Locks documents; the keys of those that are of the version named."""
    return _call(
        "hold_documents",
        "hold_documents",
        _first,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", list(keys)),
        versions=("integer[]", list(versions)),
    )


def document_states(tenant: str, keys: Iterable[str], model: str | None) -> Call[DocumentState]:
    """What is stored of some documents."""
    return _call(
        "document_states",
        DocumentState,
        DocumentState,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        model=("text", name(model, "model")),
    )


def list_documents(
    tenant: str, *, principals: Iterable[str] | None, key_prefix: str | None, k: int, after: str | None
) -> Call[DocumentInfo]:
    """One page of the documents the caller may see."""
    return _call(
        "list_documents",
        DocumentInfo,
        DocumentInfo,
        tenant=("text", name(tenant, "tenant")),
        principals=("text[]", names(principals, "principals")),
        key_prefix=("text", name(key_prefix, "key_prefix")),
        k=("integer", integer(k, "k")),
        after=("text", name(after, "after")),
    )


def unranked_documents(
    tenant: str, principals: Iterable[str] | None, k: int, after: str | None
) -> Call[UnrankedDocument]:
    """One page of the documents without a chunk that is ranked."""
    return _call(
        "unranked_documents",
        UnrankedDocument,
        UnrankedDocument,
        tenant=("text", name(tenant, "tenant")),
        principals=("text[]", names(principals, "principals")),
        k=("integer", integer(k, "k")),
        after=("text", name(after, "after")),
    )


def corpus_statistics(tenant: str) -> Call[Stats]:
    """The size of a corpus."""
    return _call("corpus_statistics", Stats, Stats, tenant=("text", name(tenant, "tenant")))


# Runs


def start_run(tenant: str, source: str | None, parameters: Mapping[str, Any]) -> Call[int]:
    """Opens the record of an ingest."""
    return _call(
        "start_run",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        source=("text", text(source)),
        parameters=("jsonb", json_text(parameters)),
    )


def finish_run(tenant: str, run_id: int, summary: Mapping[str, Any]) -> Call[None]:
    """Closes the record of an ingest."""
    return _call(
        "finish_run",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        run_id=("bigint", run_id),
        summary=("jsonb", json_text(summary)),
    )


def add_dead_letter(
    tenant: str,
    stage: str,
    reason: str,
    *,
    key: str | None,
    source_uri: str | None,
    run_id: int | None,
    origin: Mapping[str, str] | None = None,
) -> Call[int]:
    """Records a source that could not be ingested."""
    return _call(
        "add_dead_letter",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        stage=("text", name(stage, "stage")),
        reason=("text", text(reason)),
        key=("text", text(key)),
        source_uri=("text", text(source_uri)),
        run_id=("bigint", run_id),
        origin=("jsonb", None if origin is None else json_text(dict(origin))),
    )


def list_dead_letters(
    tenant: str, k: int, of_run: int | None, ids: Sequence[int] | None = None
) -> Call[DeadLetter]:
    """What could not be ingested."""
    return _call(
        "list_dead_letters",
        DeadLetter,
        DeadLetter,
        tenant=("text", name(tenant, "tenant")),
        k=("integer", integer(k, "k")),
        of_run=("bigint", of_run),
        ids=("bigint[]", None if ids is None else list(ids)),
    )


def clear_dead_letters(
    tenant: str,
    *,
    ids: Sequence[int] | None = None,
    keys: Iterable[str] | None = None,
    root: str | None = None,
    prefix: str | None = None,
    before_run: int | None = None,
) -> Call[int]:
    """Removes dead letters."""
    return _call(
        "clear_dead_letters",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        ids=("bigint[]", None if ids is None else list(ids)),
        keys=("text[]", names(keys, "keys")),
        root=("text", text(root)),
        prefix=("text", text(prefix)),
        before_run=("bigint", before_run),
    )


# Synchronizing


def log_query(
    tenant: str,
    query: str | None,
    *,
    principals: Iterable[str] | None,
    settings: Mapping[str, Any],
    query_embedding: Any,
    hits: Iterable[Hit],
    milliseconds: float | None,
) -> Call[int]:
    """Records a query and what it found; of the texts the sizes alone are sent."""
    found = list(hits)
    kept = ("rank", "chunk_id", "document_id", "key", "document_version")
    scores = ("score", "lexical_score", "distance", "rerank_score")
    rows = [
        {name: getattr(hit, name) for name in kept}
        | {name: getattr(hit, name) for name in scores if getattr(hit, name) is not None}
        for hit in found
    ]
    return _call(
        "log_query",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        principals=("text[]", names(principals, "principals")),
        settings=("jsonb", json_text(dict(settings))),
        query_embedding=("real[]", None if query_embedding is None else as_floats(query_embedding)),
        hits=("jsonb", json_text(rows)),
        payload_bytes=("bigint", sum(len(hit.body.encode("utf-8", "surrogatepass")) for hit in found)),
        payload_characters=("bigint", sum(len(hit.body) for hit in found)),
        milliseconds=("double precision", number(milliseconds, "milliseconds")),
    )


def list_queries(
    tenant: str,
    *,
    k: int,
    ids: Iterable[int] | None,
    since: datetime.datetime | str | None,
    before: datetime.datetime | str | None,
    below: int | None,
) -> Call[LoggedQuery]:
    """Recorded queries, the last first."""
    return _call(
        "list_queries",
        LoggedQuery,
        LoggedQuery,
        tenant=("text", name(tenant, "tenant")),
        k=("integer", integer(k, "k")),
        ids=("bigint[]", None if ids is None else list(ids)),
        since=("timestamptz", moment(since, "since")),
        before=("timestamptz", moment(before, "before")),
        below=("bigint", below),
    )


def purge_queries(
    tenant: str, before: datetime.datetime | str | None, ids: Iterable[int] | None
) -> Call[int]:
    """Removes recorded queries."""
    return _call(
        "purge_queries",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        before=("timestamptz", moment(before, "before")),
        ids=("bigint[]", None if ids is None else list(ids)),
    )


def judge(
    tenant: str,
    query: str,
    key: str,
    grade: int,
    chunk: int | None,
    principals: Iterable[str] | None,
    judged_by: str | None,
    note: str | None,
) -> Call[int]:
    """Records how well something answers a query."""
    return _call(
        "judge",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        key=("text", name(key, "key")),
        grade=("integer", integer(grade, "grade")),
        chunk=("bigint", chunk),
        principals=("text[]", names(principals, "principals")),
        judged_by=("text", name(judged_by, "judged_by")),
        note=("text", text(note, "note")),
    )


def list_judgments(
    tenant: str,
    *,
    principals: Iterable[str] | None,
    query: str | None,
    key: str | None,
    judged_by: str | None,
    k: int,
    below: int | None,
) -> Call[Judgment]:
    """Judgments, the last first."""
    return _call(
        "list_judgments",
        Judgment,
        Judgment,
        tenant=("text", name(tenant, "tenant")),
        principals=("text[]", names(principals, "principals")),
        of_query=("text", text(query, "query")),
        of_key=("text", name(key, "key")),
        of_judge=("text", name(judged_by, "judged_by")),
        k=("integer", integer(k, "k")),
        below=("bigint", below),
    )


def remove_judgment(tenant: str, judgment_id: int, principals: Iterable[str] | None) -> Call[bool]:
    """Takes a judgment back."""
    return _call(
        "remove_judgment",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        judgment=("bigint", judgment_id),
        principals=("text[]", names(principals, "principals")),
    )


def start_sync(
    tenant: str, source: str, *, kind: str, location: str, prefix: str, run_id: int | None
) -> Call[tuple[int, bool, str, str, dict[str, Any], str | None, dict[str, Any] | None]]:
    """Begins to synchronize a source: number, whether it is known, and how it was left."""
    return _call(
        "start_sync",
        "sync_source_id, known, location_before, transformation, options, watermark, counts",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        name=("text", name(source, "name")),
        kind=("text", kind),
        location=("text", text(location)),
        prefix=("text", name(prefix, "prefix")),
        run_id=("bigint", run_id),
    )


def finish_sync(
    tenant: str,
    sync_source_id: int,
    *,
    transformation: str,
    options: Mapping[str, Any],
    watermark: str | None,
    counts: Mapping[str, Any],
) -> Call[None]:
    """Records that a synchronization was complete."""
    return _call(
        "finish_sync",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        sync_source_id=("bigint", sync_source_id),
        transformation=("text", text(transformation)),
        options=("jsonb", json_text(options)),
        watermark=("text", text(watermark)),
        counts=("jsonb", json_text(counts)),
    )


def end_sync(tenant: str, source: str) -> Call[bool]:
    """Forgets that a source is synchronized."""
    return _call(
        "end_sync",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        name=("text", name(source, "name")),
    )


def list_sync_sources(tenant: str) -> Call[SyncSource]:
    """What is synchronized."""
    return _call("list_sync_sources", SyncSource, SyncSource, tenant=("text", name(tenant, "tenant")))


def list_sync_items(
    tenant: str, sync_source_id: int, k: int, after: str | None, model: str | None
) -> Call[SyncItem]:
    """One page of the documents of a synchronized source."""
    return _call(
        "list_sync_items",
        SyncItem,
        SyncItem,
        tenant=("text", name(tenant, "tenant")),
        sync_source_id=("bigint", sync_source_id),
        k=("integer", integer(k, "k")),
        after=("text", name(after, "after")),
        model=("text", name(model, "model")),
    )


def put_sync_items(
    tenant: str, sync_source_id: int, items: Sequence[tuple[str, str | None]]
) -> Call[tuple[str, str]]:
    """Notes the documents of a source with their marks; those that are another's, and whose."""
    return _call(
        "put_sync_items",
        "key, owner",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        sync_source_id=("bigint", sync_source_id),
        keys=("text[]", [key for key, _ in items]),
        marks=("text[]", [mark for _, mark in items]),
    )


def sync_owners(tenant: str, sync_source_id: int | None, keys: Iterable[str]) -> Call[tuple[str, str]]:
    """Those of the keys that are another source's, and whose."""
    return _call(
        "sync_owners",
        "key, owner",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        sync_source_id=("bigint", sync_source_id),
        keys=("text[]", names(keys, "keys")),
    )


def move_documents(
    tenant: str,
    from_keys: Iterable[str],
    to_keys: Iterable[str],
    source_uris: Sequence[str | None] | None = None,
    run_id: int | None = None,
) -> Call[MoveResult]:
    """Gives documents other keys."""
    return _call(
        "move_documents",
        MoveResult,
        MoveResult,
        tenant=("text", name(tenant, "tenant")),
        from_keys=("text[]", names(from_keys, "from_keys")),
        to_keys=("text[]", names(to_keys, "to_keys")),
        source_uris=("text[]", None if source_uris is None else [text(uri) for uri in source_uris]),
        run_id=("bigint", run_id),
    )


# Manifests


def create_manifest(
    tenant: str, manifest: str | None, parent: str | None, package_version: str | None
) -> Call[Manifest]:
    """Records what a corpus is made of."""
    return _call(
        "create_manifest",
        Manifest,
        Manifest,
        tenant=("text", name(tenant, "tenant")),
        name=("text", name(manifest, "name")),
        parent=("text", name(parent, "parent")),
        package_version=("text", text(package_version)),
    )


def list_manifests(tenant: str) -> Call[Manifest]:
    """The manifests of a tenant."""
    return _call("list_manifests", Manifest, Manifest, tenant=("text", name(tenant, "tenant")))


def manifest_documents(tenant: str, manifest: str, k: int, after: str | None) -> Call[ManifestDocument]:
    """One page of the documents a manifest lists."""
    return _call(
        "manifest_documents",
        ManifestDocument,
        ManifestDocument,
        tenant=("text", name(tenant, "tenant")),
        name=("text", name(manifest, "name")),
        k=("integer", integer(k, "k")),
        after=("text", name(after, "after")),
    )


def compare_manifests(tenant: str, a: str, b: str) -> Call[ManifestChange]:
    """What changed between two manifests."""
    return _call(
        "compare_manifests",
        ManifestChange,
        ManifestChange,
        tenant=("text", name(tenant, "tenant")),
        a=("text", name(a, "a")),
        b=("text", name(b, "b")),
    )


def drop_manifest(tenant: str, manifest: str) -> Call[bool]:
    """Removes a manifest."""
    return _call(
        "drop_manifest",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        name=("text", name(manifest, "name")),
    )


# Upkeep


def fold_statistics(tenant: str | None) -> Call[FoldResult]:
    """Folds the statistics of a tenant, or of all."""
    return _call("fold_statistics", FoldResult, FoldResult, tenant=("text", name(tenant, "tenant")))


def pack_postings(tenant: str | None, purge: bool, steps: int | None) -> Call[PackResult]:
    """Packs the postings of a tenant, or of all."""
    return _call(
        "pack_postings",
        PackResult,
        PackResult,
        tenant=("text", name(tenant, "tenant")),
        purge=("boolean", bool(purge)),
        steps=("integer", integer(steps, "steps")),
    )


def doctor(tenant: str | None, sample: int | None) -> Call[Finding]:
    """Looks a store over, or one tenant of it."""
    return _call(
        "doctor",
        Finding,
        Finding,
        tenant=("text", name(tenant, "tenant")),
        sample=("integer", integer(sample, "sample")),
    )


def repair(tenant: str, resume: str | None) -> Call[tuple[str, str | None, str | None, str | None]]:
    """One step of a repair: what was mended, and in the last row where to go on."""
    return _call(
        "repair",
        "step, object, mended, next_step",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        steps=("integer", 1),
        resume=("text", resume),
    )


# Topics


def documents_with_vectors(
    tenant: str, model: str, k: int, after: int
) -> Call[tuple[int, int, str, bytes]]:
    """The next documents that have vectors: number, version, key and hash of what was embedded."""
    return _call(
        "documents_with_vectors",
        "document_id, version, key, text_hash",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
    )


def document_vectors(tenant: str, ids: Sequence[int], model: str) -> Call[tuple[bytes, list[float]]]:
    """The means of the vectors of documents, with the hash of what was embedded."""
    return _call(
        "document_vectors",
        "text_hash, embedding",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        document_ids=("bigint[]", list(ids)),
        model=("text", name(model, "model")),
    )


def put_topics(
    tenant: str,
    ids: Sequence[int],
    versions: Sequence[int],
    labels: Sequence[int],
    strengths: Sequence[float],
    distances: Sequence[float | None],
    positions: Sequence[Sequence[float]],
    model: str,
    parameters: Mapping[str, Any],
) -> Call[int]:
    """Stores a run of topics: the number of documents left out."""
    return _call(
        "put_topics",
        "left_out",
        _first,
        tenant=("text", name(tenant, "tenant")),
        document_ids=("bigint[]", list(ids)),
        versions=("integer[]", list(versions)),
        labels=("integer[]", list(labels)),
        strengths=("double precision[]", list(strengths)),
        distances=("double precision[]", list(distances)),
        xs=("double precision[]", [x for x, _ in positions]),
        ys=("double precision[]", [y for _, y in positions]),
        model=("text", name(model, "model")),
        parameters=("jsonb", json.dumps(parameters)),
    )


def topic_run(tenant: str) -> Call[TopicRun]:
    """The last run of topics."""
    return _call("topic_run", TopicRun, TopicRun, tenant=("text", name(tenant, "tenant")))


def list_topics(
    tenant: str, principals: Iterable[str] | None, terms_k: int, keys_k: int, sample: int | None
) -> Call[Topic]:
    """The topics of visible documents."""
    return _call(
        "list_topics",
        Topic,
        Topic,
        tenant=("text", name(tenant, "tenant")),
        principals=("text[]", names(principals, "principals")),
        terms_k=("integer", integer(terms_k, "terms")),
        keys_k=("integer", integer(keys_k, "documents")),
        sample=("integer", None if sample is None else integer(sample, "sample")),
    )


def document_topics(
    tenant: str, topic: int | None, k: int | None, principals: Iterable[str] | None
) -> Call[DocumentTopic]:
    """Visible documents with their topics."""
    return _call(
        "document_topics",
        DocumentTopic,
        DocumentTopic,
        tenant=("text", name(tenant, "tenant")),
        of_topic=("integer", None if topic is None else integer(topic, "topic")),
        k=("integer", None if k is None else integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
    )


def vector_schema() -> Call[str]:
    """The schema pgvector lives in."""
    return Call(
        "SELECT n.nspname::text FROM pg_catalog.pg_extension AS e"
        " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
        " WHERE e.extname OPERATOR(pg_catalog.=) 'vector'::pg_catalog.name",
        (),
        _first,
    )


# Near-duplicates


def start_signatures(tenant: str, threshold: float, scheme: str) -> Call[tuple[int, int]]:
    """Begins a search for near-duplicates: how many documents there are, and how many lack a signature."""
    return _call(
        "start_signatures",
        "documents, pending",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        threshold=("double precision", number(threshold, "threshold")),
        scheme=("text", scheme),
    )


def documents_without_signature(tenant: str, k: int, after: int) -> Call[tuple[int, int, list[str]]]:
    """The next documents that lack a signature: number, version and tokens."""
    return _call(
        "documents_without_signature",
        "document_id, version, tokens",
        lambda document_id, version, tokens: (document_id, version, tokens.split(" ") if tokens else []),
        tenant=("text", name(tenant, "tenant")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
    )


def put_signatures(
    tenant: str, scheme: str, signatures: Sequence[Mapping[str, Any]]
) -> Call[tuple[int, int, int]]:
    """Stores signatures and compares: numbers of documents, of pairs compared, of pairs that resemble each
    other."""
    return _call(
        "put_signatures",
        "stored, compared, resembling",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
        scheme=("text", scheme),
        signatures=("jsonb", json.dumps(signatures)),
    )


def cluster_documents(tenant: str) -> Call[tuple[int, int, int, int, int]]:
    """Puts near-duplicates into clusters: numbers of clusters, copies, revisions, syndicated, changed."""
    return _call(
        "cluster_documents",
        "clusters, copies, revisions, syndicated, changed",
        lambda *row: row,
        tenant=("text", name(tenant, "tenant")),
    )


def list_clusters(tenant: str, k: int, after: int) -> Call[ClusterMember]:
    """The members of the next clusters."""
    return _call(
        "list_clusters",
        ClusterMember,
        ClusterMember,
        tenant=("text", name(tenant, "tenant")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
    )


def distinct_sources(
    tenant: str, keys: Iterable[str], principals: Iterable[str] | None
) -> Call[DistinctSource]:
    """Which visible documents count as one source."""
    return _call(
        "distinct_sources",
        DistinctSource,
        DistinctSource,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        principals=("text[]", names(principals, "principals")),
    )


def near_duplicates(tenant: str, key: str, principals: Iterable[str] | None) -> Call[NearDuplicate]:
    """Visible documents that have nearly the text of a visible one."""
    return _call(
        "near_duplicates",
        NearDuplicate,
        NearDuplicate,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        principals=("text[]", names(principals, "principals")),
    )


# Models and vectors


def register_model(
    model: str,
    dimensions: int,
    *,
    revision: str,
    metric: str,
    precision: str | None,
    query_prefix: str,
    document_prefix: str,
    lexical_weight: float,
    dense_weight: float,
    pooling: str,
    normalized: bool | None,
    quantization: str,
    embedder: str | None,
) -> Call[int]:
    """Registers an embedding model."""
    return _call(
        "register_model",
        None,
        _first,
        model=("text", name(model, "model")),
        dimensions=("integer", integer(dimensions, "dimensions")),
        revision=("text", name(revision, "revision")),
        metric=("text", name(metric, "metric")),
        vector_type=("text", name(precision, "precision")),
        query_prefix=("text", text(query_prefix)),
        document_prefix=("text", text(document_prefix)),
        lexical_weight=("double precision", number(lexical_weight, "lexical_weight")),
        dense_weight=("double precision", number(dense_weight, "dense_weight")),
        pooling=("text", text(pooling, "pooling")),
        normalized=("boolean", normalized),
        quantization=("text", name(quantization, "quantization")),
        embedder=("text", name(embedder, "embedder")),
    )


def list_models() -> Call[Model]:
    """The embedding models."""
    return _call("list_models", Model, Model)


def show_models(tenant: str, model: str | None = None) -> Call[TenantModel]:
    """The models of a tenant, or how it stands with one."""
    return _call(
        "show_models",
        TenantModel,
        TenantModel,
        tenant=("text", name(tenant, "tenant")),
        of_model=("text", name(model, "model")),
    )


def keep_model(tenant: str, model: str, kept: bool) -> Call[None]:
    """Has ingest keep a model current, or no longer."""
    return _call(
        "keep_model",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        kept=("boolean", kept),
    )


def activate_model(tenant: str, model: str, allow_missing: bool) -> Call[str | None]:
    """Makes a model the one that searches use."""
    return _call(
        "activate_model",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        allow_missing=("boolean", allow_missing),
    )


def drop_model(model: str) -> Call[bool]:
    """Removes a model with its vectors."""
    return _call("drop_model", None, _first, model=("text", name(model, "model")))


def queries_without_embedding(tenant: str, model: str, k: int, after: str) -> Call[str]:
    """The next queries cached for other models only."""
    return _call(
        "queries_without_embedding",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        k=("integer", integer(k, "k")),
        after=("text", after),
    )


def known_embeddings(tenant: str, model: str, hashes: Sequence[bytes]) -> Call[tuple[bytes, list[float]]]:
    """Stored vectors by the hash of the text they were made of."""
    return _call(
        "known_embeddings",
        '"hash", "embedding"',
        lambda hash, embedding: (bytes(hash), embedding),
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        hashes=("bytea[]", list(hashes)),
    )


def chunks_without_embedding(
    tenant: str, model: str | None, k: int, after: int, remote: bool = False
) -> Call[ChunkText]:
    """The next chunks that lack a vector."""
    return _call(
        "chunks_without_embedding",
        ChunkText,
        ChunkText,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
        remote=("boolean", remote),
    )


def put_embeddings(
    tenant: str,
    model: str,
    chunk_ids: Sequence[int],
    embeddings: Sequence[Any],
    hashes: Sequence[bytes] | None,
) -> Call[int]:
    """Stores vectors of chunks that are there already."""
    return _call(
        "put_embeddings",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        chunk_ids=("bigint[]", [int(chunk_id) for chunk_id in chunk_ids]),
        embeddings=("text[]", [vector_text(embedding) for embedding in embeddings]),
        hashes=("bytea[]", None if hashes is None else list(hashes)),
    )


def cache_query_embedding(tenant: str, query: str, embedding: Any, model: str | None) -> Call[None]:
    """Keeps the vector of a query."""
    return _call(
        "cache_query_embedding",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query)),
        embedding=("real[]", as_floats(embedding)),
        model=("text", name(model, "model")),
    )


def chunks_to_fit(tenant: str, k: int, after: int, remote: bool = False) -> Call[ChunkText]:
    """The next chunks whose terms are to get vectors."""
    return _call(
        "chunks_to_fit",
        ChunkText,
        ChunkText,
        tenant=("text", name(tenant, "tenant")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
        remote=("boolean", remote),
    )


def terms_without_embedding(tenant: str, model: str, terms: Sequence[str]) -> Call[str]:
    """Those terms that have no vector of a model."""
    return _call(
        "terms_without_embedding",
        '"term"',
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        terms=("text[]", list(terms)),
    )


def put_term_embeddings(
    tenant: str,
    model: str,
    terms: Sequence[str],
    embeddings: Sequence[Any],
    fitted_to: int | None,
    forms: str,
) -> Call[int]:
    """Stores vectors of terms, and how far terms have them."""
    return _call(
        "put_term_embeddings",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        terms=("text[]", list(terms)),
        embeddings=("text[]", [vector_text(embedding) for embedding in embeddings]),
        fitted_to=("bigint", fitted_to),
        forms=("text", forms),
    )


def drop_term_embeddings(tenant: str, model: str) -> Call[int]:
    """Removes the vectors of terms."""
    return _call(
        "drop_term_embeddings",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
    )


def show_term_fits(tenant: str, model: str | None = None) -> Call[TermFit]:
    """Of which models terms have vectors."""
    return _call(
        "show_term_fits",
        TermFit,
        TermFit,
        tenant=("text", name(tenant, "tenant")),
        of_model=("text", name(model, "model")),
    )


def embed_query(
    tenant: str, query: str, model: str | None, principals: Iterable[str] | None
) -> Call[list[float] | None]:
    """The vector of a query, approximated in the database."""
    return _call(
        "embed_query",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query)),
        model=("text", name(model, "model")),
        principals=("text[]", names(principals, "principals")),
    )


def query_vector_terms(
    tenant: str, query: str, model: str | None, principals: Iterable[str] | None
) -> Call[QueryVectorTerm]:
    """The terms that the vector of a query is approximated by."""
    return _call(
        "query_vector_terms",
        QueryVectorTerm,
        QueryVectorTerm,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query)),
        model=("text", name(model, "model")),
        principals=("text[]", names(principals, "principals")),
    )


# Search


def query_terms(
    tenant: str,
    query: str,
    *,
    plain: bool = False,
    strip_questions: bool | None = None,
    expand: bool | None = None,
    principals: Iterable[str] | None = None,
) -> Call[QueryTerm]:
    """What a query searches for, what of it is left out, and what is added."""
    return _call(
        "query_terms",
        QueryTerm,
        QueryTerm,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query)),
        plain=("boolean", bool(plain)),
        strip_questions=("boolean", None if strip_questions is None else bool(strip_questions)),
        expand=("boolean", None if expand is None else bool(expand)),
        principals=("text[]", names(principals, "principals")),
    )


def set_acronyms(
    tenant: str, vocabulary: Mapping[str, str | Sequence[str]], replace: bool = False
) -> Call[int]:
    """Tells what acronyms stand for."""
    if not isinstance(vocabulary, Mapping):
        raise InvalidArgument(
            f"a vocabulary is a mapping of acronyms to texts, not {type(vocabulary).__name__}",
            hint='For example {"MRI": "magnetic resonance imaging"}.',
        )
    return _call(
        "set_acronyms",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        vocabulary=("jsonb", json_text(dict(vocabulary))),
        replace=("boolean", bool(replace)),
    )


# Claims and entities


def put_claims(tenant: str, key: str, claims: Iterable[Mapping[str, Any]]) -> Call[PutClaim]:
    """Adds claims to a stored document."""
    return _call(
        "put_claims",
        PutClaim,
        PutClaim,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        claims=("jsonb", json_text(_objects(claims, "claims"))),
    )


def list_claims(tenant: str, key: str, principals: Iterable[str] | None) -> Call[Claim]:
    """The claims of a document."""
    return _call(
        "list_claims",
        Claim,
        Claim,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        principals=("text[]", names(principals, "principals")),
    )


def put_entities(tenant: str, key: str, mentions: Iterable[Mapping[str, Any]]) -> Call[int]:
    """Adds mentions of entities to chunks of a stored document."""
    return _call(
        "put_entities",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        mentions=("jsonb", json_text(_objects(mentions, "mentions"))),
    )


def remove_entities(tenant: str, key: str, mentions: Iterable[Mapping[str, Any]] | None) -> Call[int]:
    """Takes mentions of entities away."""
    return _call(
        "remove_entities",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        mentions=("jsonb", None if mentions is None else json_text(_objects(mentions, "mentions"))),
    )


def chunks_by_entity(
    tenant: str, entity: str, principals: Iterable[str] | None, k: int | None
) -> Call[EntityChunk]:
    """Visible chunks that mention an entity."""
    return _call(
        "chunks_by_entity",
        EntityChunk,
        EntityChunk,
        tenant=("text", name(tenant, "tenant")),
        entity=("text", text(entity, "entity")),
        principals=("text[]", names(principals, "principals")),
        k=("integer", integer(k, "k")),
    )


def _objects(values: Iterable[Mapping[str, Any]], what: str) -> list[dict[str, Any]]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{what} must be a list of objects, not {type(values).__name__}")
    objects = list(values)
    for value in objects:
        if not isinstance(value, Mapping):
            raise InvalidArgument(f"{what} must be a list of objects, but holds {type(value).__name__}")
    return [dict(value) for value in objects]


def list_acronyms(tenant: str) -> Call[Acronym]:
    """What the acronyms of a tenant stand for."""
    return _call("list_acronyms", Acronym, Acronym, tenant=("text", name(tenant, "tenant")))


def remove_acronyms(tenant: str, acronyms: Iterable[str]) -> Call[int]:
    """Takes acronyms out of the vocabulary."""
    return _call(
        "remove_acronyms",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        acronyms=("text[]", names(acronyms, "acronyms")),
    )


def search(
    tenant: str,
    query: str | None,
    *,
    k: int,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    query_embedding: Any,
    mode: str,
    model: str | None,
    depth: int | None,
    rrf_k: float | None,
    weights: Sequence[float] | None,
    per_document: int | None,
    collapse: bool,
    min_score: float | None,
    max_distance: float | None,
    as_of: datetime.datetime | str | None = None,
    collapse_clusters: bool = False,
    skip: int = 0,
    mmr: float | None = None,
    token_budget: int | None = None,
    query_token_embeddings: Any = None,
    token_model: str | None = None,
    plain: bool = False,
    strip_questions: bool | None = None,
    expand: bool | None = None,
    snippet_width: int | None = None,
    unit: str = "chunk",
    k1: float | None = None,
    b: float | None = None,
    title_weight: float | None = None,
    abstract_weight: float | None = None,
    strategy: str = "merged",
    claims_k: int | None = 3,
) -> Call[Hit]:
    """Hybrid search."""
    if weights is not None:
        try:
            weights = [float(weight) for weight in weights]
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"weights must be two numbers, lexical and dense, not {weights!r}",
                hint="For example weights=(1, 0.5).",
            ) from None
    return _call(
        "search",
        Hit,
        Hit,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        query_embedding=("real[]", None if query_embedding is None else as_floats(query_embedding)),
        mode=("text", name(mode, "mode")),
        model=("text", name(model, "model")),
        depth=("integer", integer(depth, "depth")),
        rrf_k=("double precision", number(rrf_k, "rrf_k")),
        weights=("double precision[]", weights),
        per_document=("integer", integer(per_document, "per_document")),
        collapse=("boolean", bool(collapse)),
        min_score=("double precision", number(min_score, "min_score")),
        max_distance=("double precision", number(max_distance, "max_distance")),
        as_of=("timestamptz", moment(as_of, "as_of")),
        collapse_clusters=("boolean", bool(collapse_clusters)),
        skip=("integer", integer(skip, "skip")),
        mmr=("double precision", number(mmr, "mmr")),
        token_budget=("integer", integer(token_budget, "token_budget")),
        query_token_embeddings=(
            "real[]",
            None if query_token_embeddings is None else as_matrix(query_token_embeddings),
        ),
        token_model=("text", name(token_model, "token_model")),
        plain=("boolean", bool(plain)),
        strip_questions=("boolean", None if strip_questions is None else bool(strip_questions)),
        expand=("boolean", None if expand is None else bool(expand)),
        snippet_width=("integer", integer(snippet_width, "snippet_width")),
        unit=("text", name(unit, "unit")),
        k1=("double precision", number(k1, "k1")),
        b=("double precision", number(b, "b")),
        title_weight=("double precision", number(title_weight, "title_weight")),
        abstract_weight=("double precision", number(abstract_weight, "abstract_weight")),
        strategy=("text", name(strategy, "strategy")),
        claims_k=("integer", integer(claims_k, "claims_k")),
    )


def evidence(
    tenant: str,
    key: str,
    query: str,
    windows: int,
    width: int,
    principals: Iterable[str] | None,
    as_of: datetime.datetime | str | None,
) -> Call[Evidence]:
    """Passages of a document."""
    return _call(
        "evidence",
        Evidence,
        Evidence,
        tenant=("text", name(tenant, "tenant")),
        key=("text", name(key, "key")),
        query=("text", text(query, "query")),
        windows=("integer", integer(windows, "windows")),
        width=("integer", integer(width, "width")),
        principals=("text[]", names(principals, "principals")),
        as_of=("timestamptz", moment(as_of, "as_of")),
    )


@dataclass(frozen=True, slots=True)
class Page:
    """What is asked for of a ranking: ``rows`` of it, of which the first ``skip`` are left out."""

    rows: int
    skip: int


def checked_page(
    k: int, skip: int, per_document: int | None, mmr: float | None, token_budget: int | None
) -> Page:
    """What the database checks of a page that is chosen outside of it."""
    count, left_out = integer(k, "k"), integer(skip, "skip")
    cap, budget = integer(per_document, "per_document"), integer(token_budget, "token_budget")
    share = number(mmr, "mmr")
    if count is None or left_out is None or count < 0 or left_out < 0:
        raise InvalidArgument(f"k and skip must not be negative, not {k} and {skip}")
    if cap is not None and cap < 1:
        raise InvalidArgument(f"per_document must be at least 1, not {cap}", hint="None is no cap.")
    if share is not None and not 0 <= share <= 1:
        raise InvalidArgument(
            f"mmr must lie between 0 and 1, not {share}", hint="1 is relevance alone, 0 difference alone."
        )
    if budget is not None and budget < 1:
        raise InvalidArgument(
            f"token_budget must be at least 1, not {budget}", hint="A text has a token for every four bytes."
        )
    return Page(count + left_out, left_out)


def choose_chunks(
    tenant: str,
    chunk_ids: Sequence[int],
    scores: Sequence[float | None],
    *,
    k: int,
    principals: Iterable[str] | None,
    per_document: int | None,
    mmr: float | None,
    token_budget: int | None,
    model: str | None,
) -> Call[int]:
    """Chooses a page among chunks by scores of one's own; their numbers in order."""
    return _call(
        "choose_chunks",
        "chunk_id",
        _first,
        tenant=("text", name(tenant, "tenant")),
        chunk_ids=("bigint[]", [int(chunk_id) for chunk_id in chunk_ids]),
        scores=("double precision[]", [number(score, "a score") for score in scores]),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        per_document=("integer", integer(per_document, "per_document")),
        mmr=("double precision", number(mmr, "mmr")),
        token_budget=("integer", integer(token_budget, "token_budget")),
        model=("text", name(model, "model")),
    )


def register_token_model(model: str, dimensions: int, revision: str) -> Call[int]:
    """Registers a model that gives one vector per token."""
    return _call(
        "register_token_model",
        None,
        _first,
        model=("text", name(model, "model")),
        dimensions=("integer", integer(dimensions, "dimensions")),
        revision=("text", name(revision, "revision")),
    )


def list_token_models() -> Call[TokenModel]:
    """The models that give one vector per token."""
    return _call("list_token_models", TokenModel, TokenModel)


def chunks_without_token_embedding(
    tenant: str, model: str | None, k: int, after: int, remote: bool = False
) -> Call[ChunkText]:
    """The next chunks that lack token vectors."""
    return _call(
        "chunks_without_token_embedding",
        ChunkText,
        ChunkText,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        k=("integer", integer(k, "k")),
        after=("bigint", after),
        remote=("boolean", remote),
    )


def put_token_embeddings(
    tenant: str, model: str, chunk_ids: Sequence[int], embeddings: Sequence[Any]
) -> Call[int]:
    """Stores the token vectors of chunks."""
    return _call(
        "put_token_embeddings",
        None,
        _first,
        tenant=("text", name(tenant, "tenant")),
        model=("text", name(model, "model")),
        chunk_ids=("bigint[]", [int(chunk_id) for chunk_id in chunk_ids]),
        embeddings=("text[]", [matrix_text(embedding) for embedding in embeddings]),
    )


def related(
    tenant: str,
    document: str | None,
    chunk: int | None,
    *,
    k: int,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    mode: str,
    model: str | None,
    per_document: int | None,
    terms: int,
) -> Call[Related]:
    """What lies near a document or a chunk."""
    return _call(
        "related",
        Related,
        Related,
        tenant=("text", name(tenant, "tenant")),
        document=("text", name(document, "document")),
        chunk=("bigint", integer(chunk, "chunk")),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        mode=("text", name(mode, "mode")),
        model=("text", name(model, "model")),
        per_document=("integer", integer(per_document, "per_document")),
        terms=("integer", integer(terms, "terms")),
    )


def _pair(value: Sequence[float] | None, what: str) -> list[float] | None:
    try:
        return None if value is None else [float(item) for item in value]
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{what} must be two numbers, lexical and dense, not {value!r}",
            hint=f"For example {what}=(1, 0.5).",
        ) from None


def _unless_none(make: Callable[[Any], Any]) -> Callable[[Any, str], Any]:
    return lambda value, _: None if value is None else make(value)


_FLAG = ("boolean", _unless_none(bool))

# The arguments of a search that explanations take too: type in the database, and what makes it of the caller's.
_RANKING: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "k": ("integer", integer),
    "principals": ("text[]", names),
    "filter": ("jsonb", lambda value, _: filter_json(value)),
    "query_embedding": ("real[]", _unless_none(as_floats)),
    "mode": ("text", name),
    "model": ("text", name),
    "depth": ("integer", integer),
    "rrf_k": ("double precision", number),
    "weights": ("double precision[]", _pair),
    "per_document": ("integer", integer),
    "collapse": _FLAG,
    "min_score": ("double precision", number),
    "max_distance": ("double precision", number),
    "as_of": ("timestamptz", moment),
    "collapse_clusters": _FLAG,
    "skip": ("integer", integer),
    "mmr": ("double precision", number),
    "token_budget": ("integer", integer),
    "query_token_embeddings": ("real[]", _unless_none(as_matrix)),
    "token_model": ("text", name),
    "plain": _FLAG,
    "strip_questions": _FLAG,
    "expand": _FLAG,
    "unit": ("text", name),
    "k1": ("double precision", number),
    "b": ("double precision", number),
    "title_weight": ("double precision", number),
    "abstract_weight": ("double precision", number),
    "strategy": ("text", name),
    "claims_k": ("integer", integer),
}


def _ranking(settings: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    return {what: (_RANKING[what][0], _RANKING[what][1](value, what)) for what, value in settings.items()}


def explain(
    tenant: str, query: str | None, chunk: int | None, key: str | None, settings: Mapping[str, Any]
) -> Call[ExplainedPart]:
    """Why a chunk has its score."""
    return _call(
        "explain",
        ExplainedPart,
        ExplainedPart,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        chunk=("bigint", integer(chunk, "chunk")),
        key=("text", name(key, "key")),
        **_ranking(settings),
    )


def why_not(
    tenant: str, query: str | None, key: str | None, chunk: int | None, settings: Mapping[str, Any]
) -> Call[Reason]:
    """Why something is not among the hits."""
    return _call(
        "why_not",
        Reason,
        Reason,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        key=("text", name(key, "key")),
        chunk=("bigint", integer(chunk, "chunk")),
        **_ranking(settings),
    )


def count_matches(
    tenant: str,
    query: str | None,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    plain: bool,
) -> Call[MatchCount]:
    """How much a query matches."""
    return _call(
        "count_matches",
        MatchCount,
        MatchCount,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        plain=("boolean", bool(plain)),
    )


def facets(
    tenant: str,
    field: str,
    query: str | None,
    *,
    k: int | None,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    bucket: str | None,
    plain: bool,
) -> Call[Facet]:
    """Values of a field among what a query matches."""
    return _call(
        "facets",
        Facet,
        Facet,
        tenant=("text", name(tenant, "tenant")),
        field=("text", name(field, "field")),
        query=("text", text(query, "query")),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        bucket=("text", name(bucket, "bucket")),
        plain=("boolean", bool(plain)),
    )


def cite(
    tenant: str, keys: Iterable[str], principals: Iterable[str] | None, query: str | None = None
) -> Call[Citation]:
    """Documents as CSL-JSON."""
    return _call(
        "cite",
        Citation,
        Citation,
        tenant=("text", name(tenant, "tenant")),
        keys=("text[]", names(keys, "keys")),
        principals=("text[]", names(principals, "principals")),
        query=("text", None if query is None else text(query, "query")),
    )


def lexical_search(
    tenant: str,
    query: str,
    *,
    k: int,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    per_document: int | None,
    collapse: bool,
    min_score: float | None,
    as_of: datetime.datetime | str | None = None,
    skip: int = 0,
    plain: bool = False,
    strip_questions: bool | None = None,
    expand: bool | None = None,
    snippet_width: int | None = None,
    unit: str = "chunk",
    k1: float | None = None,
    b: float | None = None,
    title_weight: float | None = None,
    abstract_weight: float | None = None,
) -> Call[Hit]:
    """Exact BM25 alone."""
    return _call(
        "lexical_search",
        Hit,
        Hit,
        tenant=("text", name(tenant, "tenant")),
        query=("text", text(query, "query")),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        per_document=("integer", integer(per_document, "per_document")),
        collapse=("boolean", bool(collapse)),
        min_score=("double precision", number(min_score, "min_score")),
        as_of=("timestamptz", moment(as_of, "as_of")),
        skip=("integer", integer(skip, "skip")),
        plain=("boolean", bool(plain)),
        strip_questions=("boolean", None if strip_questions is None else bool(strip_questions)),
        expand=("boolean", None if expand is None else bool(expand)),
        snippet_width=("integer", integer(snippet_width, "snippet_width")),
        unit=("text", name(unit, "unit")),
        k1=("double precision", number(k1, "k1")),
        b=("double precision", number(b, "b")),
        title_weight=("double precision", number(title_weight, "title_weight")),
        abstract_weight=("double precision", number(abstract_weight, "abstract_weight")),
    )


def dense_search(
    tenant: str,
    query_embedding: Any,
    *,
    k: int,
    principals: Iterable[str] | None,
    filter: Mapping[str, Any] | str | None,
    model: str | None,
    per_document: int | None,
    collapse: bool,
    max_distance: float | None,
    as_of: datetime.datetime | str | None = None,
    skip: int = 0,
    snippet_width: int | None = None,
) -> Call[Hit]:
    """Nearest vectors alone."""
    return _call(
        "dense_search",
        Hit,
        Hit,
        tenant=("text", name(tenant, "tenant")),
        query_embedding=("real[]", None if query_embedding is None else as_floats(query_embedding)),
        k=("integer", integer(k, "k")),
        principals=("text[]", names(principals, "principals")),
        filter=("jsonb", filter_json(filter)),
        model=("text", name(model, "model")),
        per_document=("integer", integer(per_document, "per_document")),
        collapse=("boolean", bool(collapse)),
        max_distance=("double precision", number(max_distance, "max_distance")),
        as_of=("timestamptz", moment(as_of, "as_of")),
        skip=("integer", integer(skip, "skip")),
        snippet_width=("integer", integer(snippet_width, "snippet_width")),
    )
