"""Plays the attacker through every function and view that a reader or an application may reach, found in the catalogs.

The store holds what the attacker may see, and beside it hidden things: documents of his tenant, documents and vectors of another, access
lists, groups, cached queries. Each attack is a statement with one value in it that names something hidden; the same statement with a value
that names nothing must be answered alike, to the byte: rows, error, detail, hint, context, messages, number and shape of rows. And no
answer holds a word of what is hidden.

A function or view that is granted to readers or applications and has no attack here fails test_everything_reachable_is_attacked.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

# Words of hidden documents, keys, titles, metadata, groups: none may come out.
HIDDEN = ("zzsalary", "zzmerger", "zzmemo", "zzowner", "zzaside")
VECTOR = "{1,0,0}"


@dataclass
class World:
    """A database and its attackers: DSNs by name."""

    admin: psycopg.Connection
    logins: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


CORPUS: dict[str, list[dict[str, Any]]] = {
    "a": [
        {"key": "note/1", "title": "Note", "acl": ["public"], "metadata": {"year": 2020},
         "chunks": [{"body": "The pump of pier 2 is back.", "embedding": [1, 0, 0], "entities": ["pump"]},
                    {"body": "Seals were changed.", "embedding": [0.9, 0.1, 0], "entities": ["seal"]}]},
        {"key": "note/2", "title": "Note", "acl": ["group:staff"], "metadata": {"year": 2021},
         "chunks": [{"body": "The crane of pier 2 stands still.", "embedding": [0, 1, 0], "entities": ["crane"]}]},
        # Hidden: a list of others, nobody's, and one that denies.
        {"key": "hr/zzsalary", "title": "zzowner", "acl": ["group:zzhr"], "metadata": {"zzmemo": "zzmemo", "year": 1990}, "source_uri": "zzmemo",
         "chunks": [{"body": "The zzsalary of the pump is 90210 dollars", "embedding": [1, 0, 0.001], "entities": ["zzowner", "pump"]}]},
        {"key": "note/zzaside", "title": "zzaside", "acl": [],
         "chunks": [{"body": "A zzaside about the pump", "embedding": [0.99, 0, 0], "entities": ["zzowner"]}]},
        {"key": "note/zzmemo", "title": "zzmemo", "acl": {"allow": ["public"], "deny": ["user:7", "group:staff"]},
         "chunks": [{"body": "A zzmemo about the pump", "embedding": [1, 0, 0], "entities": ["zzowner"]}]},
    ],
    "zzb": [
        {"key": "b/zzmerger", "title": "zzmerger", "acl": ["public"],
         "chunks": [{"body": "The zzmerger of the pump at 42 per share", "embedding": [1, 0, 0], "entities": ["zzowner"]}]},
    ],
}


@pytest.fixture(scope="module")
def world(server_dsn: str, _template: str) -> Iterator[World]:
    database = f"sift_attack_{uuid.uuid4().hex[:12]}"
    roles: list[str] = []
    with psycopg.connect(server_dsn, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(database), sql.Identifier(_template)))
        try:
            with psycopg.connect(make_conninfo(server_dsn, dbname=database), autocommit=True) as admin:
                world = World(admin)
                admin.execute("SELECT sift.create_tenant('a', 'standard'), sift.create_tenant('zzb', 'identifiers')")
                admin.execute("SELECT sift.register_model('m3', 3), sift.register_token_model('t2', 2)")
                admin.execute("SELECT sift.add_members('a', 'group:staff', '{user:7}')")
                for tenant, documents in CORPUS.items():
                    admin.execute("SELECT sift.put_documents(%s, %s::jsonb, model => 'm3')", (tenant, json.dumps(documents)))
                # Packed postings, and rows beside them; every table has something in it.
                admin.execute("SELECT sift.pack_postings('a', purge => true), sift.fold_statistics('a'), sift.fold_statistics('zzb')")
                admin.execute(
                    "SELECT sift.put_token_embeddings(x.name, 't2', array_agg(c.chunk_id), array_agg('[[1,0],[0.5,' || x.tenant_id || ']]'))"
                    " FROM sift.chunks AS c JOIN sift.tenants AS x USING (tenant_id) GROUP BY x.name"
                )
                admin.execute("SELECT sift.set_access('a', NULL, '{group:zzhr}', key_prefix => 'hr/')")
                admin.execute("SELECT sift.add_dead_letter('zzb', 'read', 'zzmemo')")
                # A past of the hidden ones: a version superseded, and a document deleted.
                again = [dict(document, title="zzowner") for document in CORPUS["a"][2:4]]
                admin.execute("SELECT sift.put_documents('a', %s::jsonb, model => 'm3')", (json.dumps(again),))
                gone = dict(CORPUS["a"][2], key="hr/zzmemo")
                admin.execute("SELECT sift.put_documents('a', %s::jsonb, model => 'm3')", (json.dumps([gone]),))
                admin.execute("SELECT sift.delete_documents('a', '{hr/zzmemo}', 'zzmemo')")
                admin.execute(
                    "INSERT INTO sift.document_sources (tenant_id, document_id, version, media_type, compression, length, content)"
                    " SELECT d.tenant_id, d.document_id, d.version, 'text/plain', 'none', 6, 'zzmemo' FROM sift.documents AS d"
                    " WHERE d.key <> 'note/1'"
                )
                # Claims of hidden documents, and of one that is seen.
                for tenant, key in (("a", "hr/zzsalary"), ("a", "note/zzaside"), ("zzb", "b/zzmerger"), ("a", "note/1")):
                    admin.execute("SELECT sift.put_claims(%s, %s, %s)", (tenant, key, json.dumps(
                        [{"body": f"A pump, as {key.rstrip('/1')} says", "supports": [0], "effect": {"of": "zzmemo" if "zz" in key else "pier"}, "entities": ["zzowner"] * ("zz" in key)}])))
                # Seen and hidden ones in one topic, and a topic of hidden ones alone.
                for tenant in ("a", "zzb"):
                    admin.execute(
                        "SELECT sift.put_topics(%(t)s, array_agg(d.document_id), array_agg(d.version), array_agg((d.key LIKE '%%zzaside')::integer),"
                        " array_agg(1::float8), array_agg(0.5::float8), array_agg(0::float8), array_agg(0::float8), 'm3')"
                        " FROM sift.documents AS d JOIN sift.tenants AS x USING (tenant_id) WHERE x.name = %(t)s", {"t": tenant})
                admin.execute("SELECT sift.set_acronyms('zzb', '{\"ZZM\": \"zzmerger\"}')")
                admin.execute("SELECT sift.cache_query_embedding('zzb', 'takeover of zzmerger', '{1,0,0}', 'm3')")
                # Vectors of all words, those of hidden documents included.
                admin.execute(
                    "SELECT sift.put_term_embeddings(x.name, 'm3', array_agg(t.term), array_agg(format('[1,%s,0.5]', t.n)), max(t.last), 'frequent')"
                    " FROM (SELECT u.tenant_id, u.term, row_number() OVER (PARTITION BY u.tenant_id ORDER BY u.term) AS n, max(u.chunk_id) OVER () AS last"
                    "       FROM (SELECT DISTINCT ON (c.tenant_id, s.term) c.tenant_id, s.term, c.chunk_id"
                    "             FROM sift.chunks AS c CROSS JOIN LATERAL string_to_table(c.tokens, ' ') AS s (term)"
                    "             ORDER BY c.tenant_id, s.term, c.chunk_id DESC) AS u) AS t"
                    " JOIN sift.tenants AS x USING (tenant_id) GROUP BY x.name"
                )
                admin.execute("SELECT sift.log_query('zzb', 'takeover of zzmerger'), sift.log_query('a', 'zzmemo')")
                admin.execute("SELECT sift.judge(x.tenant, 'zzmemo', x.key, 2, judged_by => 'zzowner', note => 'zzmemo', principals => '{sift:writer}')"
                              " FROM (VALUES ('a', 'hr/zzsalary'), ('a', 'note/zzaside'), ('zzb', 'b/zzmerger')) AS x (tenant, key)")
                for who, granted in {
                    "reader": "sift_reader", "stranger": "sift_reader", "app": "sift_app", "both": "sift_app", "nobody": None,
                }.items():
                    name, password = f"{who}_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
                    admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password)))
                    roles.append(name)
                    if granted:
                        admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(granted), sql.Identifier(name)))
                    world.names[who] = name
                    world.logins[who] = make_conninfo(server_dsn, dbname=database, user=name, password=password)
                    admin.execute(sql.SQL("CREATE SCHEMA {0} AUTHORIZATION {0}").format(sql.Identifier(name)))
                admin.execute("SELECT sift.map_role('a', %s, '{user:7,public}')", (world.names["reader"],))
                yield world
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            for name in roles:
                server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@contextlib.contextmanager
def session(world: World, who: str) -> Iterator[tuple[psycopg.Connection, list[str]]]:
    """A connection of *who*, and all messages the server sends it."""
    heard: list[str] = []
    with psycopg.connect(world.logins[who], autocommit=True) as connection:
        connection.add_notice_handler(
            lambda d: heard.append(f"{d.severity} {d.message_primary} {d.message_detail} {d.message_hint} {d.context}")
        )
        yield connection, heard


def answer(connection: psycopg.Connection, heard: list[str], statement: str) -> str:
    """Everything that comes back, as text."""
    heard.clear()
    try:
        with connection.transaction():
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
            told = repr((cursor.statusmessage, [(c.name, c.type_code) for c in cursor.description or ()], rows))
    except psycopg.Error as error:
        d = error.diag
        told = repr((error.sqlstate, d.message_primary, d.message_detail, d.message_hint, d.context, d.schema_name, d.table_name,
                     d.column_name, d.datatype_name, d.constraint_name, d.internal_query, d.statement_position, d.source_file,
                     d.source_line, d.source_function))
    return told + repr(heard)


# {p} is the principals argument of an application, {x} the value that names something hidden or nothing. The kinds say which pairs
# are tried: (hidden, absent) of the same length, so that even positions in errors agree.
PAIRS: dict[str, list[tuple[str, str]]] = {
    "key": [("hr/zzsalary", "hr/qqsalary"), ("note/zzaside", "note/qqaside"), ("note/zzmemo", "note/qqmemo"), ("b/zzmerger", "b/qqmerger"),
            ("hr/zzmemo", "hr/qqmemo")],
    "prefix": [("hr/", "hq/"), ("note/z", "note/q"), ("b/", "q/")],
    "tenant": [("zzb", "qqb"), ("ZZB", "QQB")],
    "word": [("zzsalary", "qqsalary"), ("zzaside", "qqaside"), ("zzmemo", "qqmemo"), ("zzmerger", "qqmerger"), ("dollars", "qollars")],
    "entity": [("zzowner", "qqowner")],
    "title": [("zzowner", "qqowner"), ("zzaside", "qqaside"), ("zzmerger", "qqmerger")],
    "year": [("1990", "1991")],
    "cached": [("takeover of zzmerger", "takeover of qqmerger")],
    # Chunks are numbered from 1 in the order of keys: 2 to 4 are those of note/1 and note/2, the others hidden, replaced or of the other tenant.
    "chunk": [(f"{number:06}", "999999") for number in (1, *range(5, 11))],
}
PAST = "'2999-01-01'"


@dataclass(frozen=True)
class Attack:
    """A statement, and the kind of value that goes where {x} stands. *by*: who tries it besides."""

    statement: str
    kind: str
    by: tuple[str, ...] = ("reader", "app")


def searches(name: str, text: str) -> list[Attack]:
    """The attacks on a search function whose call begins with *text* ({q} the query or vector)."""
    call = f"SELECT * FROM sift.{name}('a', {text}, 50, principals => {{p}}"
    return [
        *(Attack(call.replace("{q}", "pump {x}") + f"{more})", "word") for more in ("", ", collapse => false", f", as_of => {PAST}") if "{q}" in text),
        *(Attack(call.replace("{q}", "pump") + ", filter => '{{\"" + f + "\": \"{x}\"}}')", kind) for f, kind in (
            ("title", "title"), ("key", "key"), ("metadata.zzmemo", "word"))),
        Attack(call.replace("{q}", "pump") + ", filter => '{{\"metadata.year\": {x}}}')", "year"),
        Attack(call.replace("{q}", "pump") + ", filter => '{{\"{x}\": 1}}')", "word"),
        Attack(f"SELECT * FROM sift.{name}('{{x}}', {text.replace('{q}', 'pump')}, 50, principals => {{p}})", "tenant", by=("reader",)),
        Attack(f"SELECT * FROM sift.{name}('{{x}}', {text.replace('{q}', 'pump')})", "tenant", by=("reader", "stranger")),
        Attack(f"SELECT * FROM sift.{name}('{{x}}', {text.replace('{q}', 'pump')}, -1)", "tenant", by=("reader", "stranger")),
        Attack(f"EXPLAIN (ANALYZE, VERBOSE, COSTS, BUFFERS OFF, TIMING OFF, SUMMARY OFF) {call.replace('{q}', 'pump {x}')})", "word")
        if "{q}" in text else
        Attack(f"EXPLAIN (ANALYZE, VERBOSE, COSTS, BUFFERS OFF, TIMING OFF, SUMMARY OFF) {call}, filter => '{{{{\"title\": \"{{x}}\"}}}}')", "title"),
    ]


# BUFFERS OFF: the pages a call read are told by design and cannot be revoked (docs/security.md), as the row counters are. They differ by what
# is hidden, and from run to run; everything else a plan says is held to the promise.
ATTACKS: dict[str, list[Attack]] = {
    "search": [
        *searches("search", "'{q}'"),
        *(Attack(f"SELECT * FROM sift.search('a', 'pump says', principals => {{p}}, {more}, filter => '{{{{\"entity\": {{{{\"$in\": [\"{{x}}\", \"pump\"]}}}}}}}}')",
                 "entity") for more in ("strategy => 'claims'", "strategy => 'mixed', claims_k => NULL", "per_document => NULL", "title_weight => 2")),
        *(Attack(f"SELECT * FROM sift.search('a', 'pump {{x}}', principals => {{p}}, strategy => '{name}')", "word") for name in ("claims", "chunks", "mixed")),
        Attack("SELECT * FROM sift.search('a', '{x}', mode => 'dense', model => 'm3', principals => {p})", "word"),
        Attack("SELECT * FROM sift.search('a', 'pump {x}*', mode => 'lexical', principals => {p})", "word"),
        Attack("SELECT * FROM sift.search('a', 'pump {x} {x}*', mode => 'lexical', principals => {p}, snippet_width => 20)", "word"),
        Attack("SELECT * FROM sift.search('a', 'pump -\"{x}\" -{x}*', mode => 'lexical', principals => {p}, unit => 'document')", "word"),
        Attack("SELECT * FROM sift.search('a', 'pump +\"{x}\"', mode => 'lexical', principals => {p})", "word"),
        *(Attack(f"SELECT * FROM sift.search('a', 'pump {{x}}', principals => {{p}}, {more})", "word") for more in (
            "unit => 'document'", "unit => 'document', title_weight => 3, k1 => 0, as_of => now()", "abstract_weight => 0.5, b => 1",
            "mmr => 0.5", "token_budget => 20", "query_token_embeddings => '{{{{1,0}},{{0,1}}}}'",
            "query_embedding => '{{1,0,0}}', model => 'm3', mmr => 0, per_document => NULL",
            "query_token_embeddings => '{{{{1,0}}}}', token_model => 't2', mmr => 0.3, token_budget => 40")),
        Attack("SELECT * FROM sift.search('{x}', 'pump', query_token_embeddings => '{{{{1,0}}}}')", "tenant", by=("reader", "stranger")),
        Attack("SELECT * FROM sift.search('zzb', '{x}', mode => 'dense', model => 'm3')", "cached", by=("reader", "stranger")),
        Attack("SELECT * FROM sift.search('zzb', '{x}', mode => 'dense', model => 'm3', principals => '{{group:none}}')", "cached", by=("app",)),
        Attack("SELECT * FROM sift.search('zzb', '{x}', model => 'm3', principals => NULL)", "cached", by=("app",)),
        Attack("SELECT * FROM sift.search('a', 'pump {x}', query_embedding => '{{1,0,0}}', model => 'm3', principals => {p})", "word"),
    ],
    "choose_chunks": [
        *(Attack(f"SELECT * FROM sift.choose_chunks('a', '{{{{1,{{x}},2}}}}', '{{{{1,3,2}}}}', principals => {{p}}{more})", "chunk")
          for more in ("", ", mmr => 0.5, model => 'm3'", ", token_budget => 10", ", mmr => 0.1, per_document => NULL, k => 1")),
        Attack("SELECT * FROM sift.choose_chunks('{x}', '{{1}}', '{{1}}')", "tenant", by=("reader", "stranger")),
    ],
    "lexical_search": searches("lexical_search", "'{q}'"),
    "dense_search": searches("dense_search", f"'{VECTOR.replace('{', '{{').replace('}', '}}')}'"),
    "unranked_documents": [
        Attack("SELECT * FROM sift.unranked_documents('a', {p}, after => '{x}')", "key"),
        Attack("SELECT * FROM sift.unranked_documents('a', {p})", "title"),
        Attack("SELECT * FROM sift.unranked_documents('{x}')", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.unranked_documents('a', {p}, after => '{x}')", "key"),
    ],
    "list_documents": [
        Attack("SELECT * FROM sift.list_documents('a', {p}, '{x}')", "prefix"),
        Attack("SELECT * FROM sift.list_documents('a', {p}, '{x}')", "key"),
        Attack("SELECT key FROM sift.list_documents('a', {p}) WHERE key >= '{x}'", "key"),
        Attack("SELECT * FROM sift.list_documents('{x}')", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.list_documents('a', {p}, '{x}')", "key"),
    ],
    "chunks_by_entity": [
        Attack("SELECT * FROM sift.chunks_by_entity('a', '{x}', {p})", "entity"),
        Attack("SELECT * FROM sift.chunks_by_entity('{x}', 'pump')", "tenant", by=("reader", "stranger")),
    ],
    "list_claims": [
        Attack("SELECT * FROM sift.list_claims('a', '{x}', {p})", "key"),
        Attack("SELECT count(*) FROM sift.list_claims('a', '{x}', {p}) WHERE body ~ 'zz'", "key"),
        Attack("SELECT * FROM sift.list_claims('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.list_claims('a', '{x}', {p})", "key"),
    ],
    "lexical_candidates": [
        Attack("SELECT * FROM sift.lexical_candidates('a', '{{pump,{x}}}', 50, {p})", "word"),
        Attack("SELECT * FROM sift.lexical_candidates('a', '{{pump}}', 50, {p}, '{{\"title\": \"{x}\"}}')", "title"),
        Attack("SELECT * FROM sift.lexical_candidates('{x}', '{{pump}}')", "tenant", by=("reader", "stranger")),
    ],
    "query_terms": [
        Attack("SELECT * FROM sift.query_terms('a', 'the pump {x}')", "word"),
        Attack("SELECT * FROM sift.query_terms('a', 'What is {x}* of -{x} +{x} \"the {x}\"', principals => {p})", "word"),
        Attack("SELECT count(*), max(length(term)) FROM sift.query_terms('a', '+{x}* zz* ZZM', principals => {p})", "word"),
        Attack("SELECT * FROM sift.query_terms('{x}', 'the co-simulation')", "tenant", by=("reader", "stranger")),
    ],
    "embed_query": [
        *(Attack(f"SELECT sift.embed_query('a', '{text}', 'm3', {{p}})", "word") for text in ("{x}", "pump {x}", "{x} qqq pump qqr", "{x}* \"{x} pump\"")),
        Attack("SELECT * FROM sift.dense_search('a', sift.embed_query('a', '{x} pump', 'm3', {p}), 50, {p}, model => 'm3')", "word"),
        Attack("SELECT sift.embed_query('{x}', 'pump')", "tenant", by=("reader", "stranger")),
        Attack("SELECT sift.embed_query('zzb', '{x}', 'm3')", "word", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT sift.embed_query('a', '{x}', 'm3', {p})", "word"),
    ],
    "query_vector_terms": [
        Attack("SELECT * FROM sift.query_vector_terms('a', 'pump {x}', 'm3', {p})", "word"),
        Attack("SELECT count(*), count(weight), count(*) FILTER (WHERE fitted) FROM sift.query_vector_terms('a', '{x} {x}z', 'm3', {p})", "word"),
        Attack("SELECT * FROM sift.query_vector_terms('{x}', 'pump', 'm3')", "tenant", by=("reader", "stranger")),
    ],
    "evidence": [
        Attack("SELECT * FROM sift.evidence('a', '{x}', 'pump', principals => {p})", "key"),
        Attack("SELECT * FROM sift.evidence('a', '{x}', 'zzsalary* zz*', 5, 20, {p})", "key"),
        Attack("SELECT * FROM sift.evidence('a', 'note/1', 'pump {x} {x}* +{x} -\"{x}\"', principals => {p})", "word"),
        Attack("SELECT * FROM sift.evidence('a', '{x}', 'pump', 0, principals => {p})", "key"),
        Attack(f"SELECT * FROM sift.evidence('a', '{{x}}', 'pump', principals => {{p}}, as_of => {PAST})", "key"),
        Attack("SELECT * FROM sift.evidence('a', '{x}', 'pump', principals => {p}, as_of => clock_timestamp() - interval '10 ms')", "key"),
        Attack("SELECT * FROM sift.evidence('{x}', 'b/zzmerger', 'pump')", "tenant", by=("reader", "stranger")),
    ],
    "document_at": [
        Attack("SELECT * FROM sift.document_at('a', '{x}', principals => {p})", "key"),
        Attack(f"SELECT * FROM sift.document_at('a', '{{x}}', {PAST}, {{p}})", "key"),
        Attack("SELECT * FROM sift.document_at('a', '{x}', clock_timestamp() - interval '10 ms', {p})", "key"),
        Attack("SELECT * FROM sift.document_at('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
    ],
    "document_history": [
        Attack("SELECT * FROM sift.document_history('a', '{x}', {p})", "key"),
        Attack("SELECT * FROM sift.document_history('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
    ],
    "near_duplicates": [
        Attack("SELECT * FROM sift.near_duplicates('a', '{x}', {p})", "key"),
        Attack("SELECT * FROM sift.near_duplicates('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
    ],
    "list_topics": [
        Attack("SELECT t.topic, t.documents, t.share, t.terms, t.weights, t.keys, t.titles FROM sift.list_topics('a', {p}, 100, 100, NULL) AS t"
               " WHERE '{x}' = ANY (t.terms || t.keys || t.titles)", "word"),
        Attack("SELECT t.keys FROM sift.list_topics('a', {p}, 0, 100) AS t WHERE '{x}' = ANY (t.keys)", "key"),
        Attack("SELECT 1 / (CASE WHEN t.terms::text LIKE '%{x}%' THEN 0 ELSE 1 END) FROM sift.list_topics('a', {p}, 100, 100, NULL) AS t", "word"),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.list_topics('a', {p}) AS t WHERE '{x}' = ANY (t.keys)", "key"),
        Attack("SELECT * FROM sift.list_topics('{x}')", "tenant", by=("reader", "stranger")),
        Attack("SELECT * FROM sift.list_topics('{x}', terms_k => -1)", "tenant", by=("reader", "stranger")),
    ],
    "document_topics": [
        Attack("SELECT * FROM sift.document_topics('a', principals => {p}) AS t WHERE t.key = '{x}'", "key"),
        Attack("SELECT 1 / (CASE WHEN t.title = '{x}' THEN 0 ELSE 1 END) FROM sift.document_topics('a', principals => {p}) AS t", "title"),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.document_topics('a', principals => {p}) AS t WHERE t.key = '{x}'", "key"),
        Attack("SELECT * FROM sift.document_topics('{x}')", "tenant", by=("reader", "stranger")),
    ],
    "related": [
        Attack("SELECT * FROM sift.related('a', '{x}', principals => {p})", "key"),
        Attack("SELECT * FROM sift.related('a', 'note/1', principals => {p}, filter => '{{\"title\": \"{x}\"}}')", "title"),
        Attack("SELECT * FROM sift.related('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.related('a', '{x}', principals => {p})", "key"),
    ],
    "explain": [
        Attack("SELECT * FROM sift.explain('a', 'pump zzsalary', {x}, {p})", "chunk"),
        Attack("SELECT * FROM sift.explain('a', 'pump', key => '{x}', principals => {p})", "key"),
        # Terms that hidden chunks alone hold: df, idf and the order of the rows. Applications may ask for df anyway.
        Attack("SELECT * FROM sift.explain('a', 'pump zzz {x} aaa', key => 'note/1', principals => {p})", "word", by=("reader",)),
        Attack("SELECT e.* FROM sift.explain('a', '{x} pump', 3, {p}, unit => 'document', title_weight => 2) AS e", "word", by=("reader",)),
        Attack("SELECT * FROM sift.explain('a', 'pump', 2, {p}, filter => '{{\"title\": \"{x}\"}}')", "title"),
        Attack("SELECT * FROM sift.explain('a', 'pump', key => '{x}', principals => {p}, as_of => '2999-01-01', unit => 'document')", "key"),
        Attack("SELECT * FROM sift.explain('{x}', 'pump', 1)", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.explain('a', 'pump', key => '{x}', principals => {p})", "key"),
    ],
    "why_not": [
        *(Attack(f"SELECT * FROM sift.why_not('a', 'pump', '{{x}}', principals => {{p}}{more})", "key")
          for more in ("", ", k => 0", ", k => -1", ", unit => 'document'", ", mmr => 0.5", f", as_of => {PAST}", ", filter => '{{\"metadata.year\": 2020}}'")),
        Attack("SELECT * FROM sift.why_not('a', 'pump', chunk => {x}, principals => {p}, collapse => false)", "chunk"),
        Attack("SELECT * FROM sift.why_not('a', 'pump {x}', 'note/1', principals => {p}, k => 0)", "word"),
        Attack("SELECT * FROM sift.why_not('a', '+{x}', 'note/1', principals => {p})", "word"),
        Attack("SELECT * FROM sift.why_not('{x}', 'pump', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM sift.why_not('a', 'pump', '{x}', principals => {p})", "key"),
    ],
    "count_matches": [
        Attack("SELECT * FROM sift.count_matches('a', 'pump {x}', {p})", "word"),
        Attack("SELECT * FROM sift.count_matches('a', 'pump -{x}', {p})", "word"),
        Attack("SELECT * FROM sift.count_matches('a', NULL, {p}, '{{\"title\": \"{x}\"}}')", "title"),
        Attack("SELECT * FROM sift.count_matches('{x}', 'pump')", "tenant", by=("reader", "stranger")),
    ],
    "facets": [
        Attack("SELECT * FROM sift.facets('a', 'entity', principals => {p}, filter => '{{\"entity\": {{\"$in\": [\"{x}\", \"pump\"]}}}}')", "entity"),
        Attack("SELECT * FROM sift.facets('a', 'entity', 'pump {x}', principals => {p})", "word"),
        Attack("SELECT * FROM sift.facets('a', 'key', 'pump {x}', principals => {p})", "word"),
        Attack("SELECT * FROM sift.facets('a', 'title', principals => {p}, filter => '{{\"title\": \"{x}\"}}')", "title"),
        Attack("SELECT * FROM sift.facets('a', 'key', NULL, NULL, {p}) WHERE value >= '{x}'", "key"),
        Attack("SELECT * FROM sift.facets('{x}', 'kind')", "tenant", by=("reader", "stranger")),
    ],
    "cite": [
        Attack("SELECT * FROM sift.cite('a', '{{{x},note/1}}', {p})", "key"),
        Attack("SELECT * FROM sift.cite('{x}', '{{b/zzmerger}}')", "tenant", by=("reader", "stranger")),
    ],
    "distinct_sources": [
        Attack("SELECT * FROM sift.distinct_sources('a', '{{{x},public}}', {p})", "key"),
        Attack("SELECT * FROM sift.distinct_sources('{x}', '{{b/zzmerger}}')", "tenant", by=("reader", "stranger")),
    ],
    "document_source": [
        Attack("SELECT * FROM sift.document_source('a', '{x}', principals => {p})", "key"),
        Attack("SELECT * FROM sift.document_source('{x}', 'b/zzmerger')", "tenant", by=("reader", "stranger")),
    ],
    "check_access": [
        Attack("SELECT * FROM sift.check_access('a', '{x}', {p})", "key", by=("app",)),
        Attack("SELECT * FROM sift.check_access('a', '{x}', '{{group:none,user:7}}')", "key", by=("app",)),
        Attack("SELECT * FROM sift.check_access('a', '{x}', '{{sift:writer}}')", "key", by=("app",)),
    ],
    "judge": [
        Attack("SELECT sift.judge('a', 'pump', '{x}', 1, principals => {p})", "key", by=("app",)),
        Attack("SELECT sift.judge('a', 'pump', 'note/1', 1, {x}, {p})", "chunk", by=("app",)),
    ],
    "list_judgments": [
        Attack("SELECT * FROM sift.list_judgments('a', {p}, of_key => '{x}')", "key", by=("app",)),
        Attack("SELECT * FROM sift.list_judgments('a', {p}, '{x}')", "word", by=("app",)),
        Attack("SELECT * FROM sift.list_judgments('a', {p}, of_judge => '{x}')", "entity", by=("app",)),
    ],
    "remove_judgment": [Attack("SELECT sift.remove_judgment('a', {x}, {p})", "judgment", by=("app",))],
    "my_documents": [
        Attack("SELECT * FROM sift.my_documents WHERE key = '{x}'", "key", by=("reader", "stranger")),
        Attack("SELECT tenant FROM sift.my_documents WHERE tenant = '{x}'", "tenant", by=("reader", "stranger")),
        Attack("SELECT key FROM sift.my_documents WHERE title >= '{x}'", "title", by=("reader",)),
        Attack("SELECT 1 / (CASE WHEN source_uri = '{x}' THEN 0 ELSE 1 END) FROM sift.my_documents", "word", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.my_documents WHERE key = '{x}'", "key", by=("reader", "stranger")),
        Attack("SELECT count(*) FROM sift.my_documents TABLESAMPLE SYSTEM (100) WHERE key = '{x}'", "key", by=("reader",)),
    ],
    "my_topics": [
        Attack("SELECT * FROM sift.my_topics WHERE key = '{x}'", "key", by=("reader", "stranger")),
        Attack("SELECT tenant FROM sift.my_topics WHERE tenant = '{x}'", "tenant", by=("reader", "stranger")),
        Attack("SELECT 1 / (CASE WHEN title = '{x}' THEN 0 ELSE 1 END) FROM sift.my_topics", "title", by=("reader",)),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.my_topics WHERE key = '{x}'", "key", by=("reader", "stranger")),
    ],
    "my_chunks": [
        Attack("SELECT * FROM sift.my_chunks WHERE key = '{x}'", "key", by=("reader", "stranger")),
        Attack("SELECT body FROM sift.my_chunks WHERE body LIKE '%{x}%'", "word", by=("reader", "stranger")),
        Attack("EXPLAIN (ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sift.my_chunks WHERE body LIKE '%{x}%'", "word", by=("reader",)),
        Attack("EXPLAIN SELECT FROM sift.my_chunks WHERE title = '{x}'", "title", by=("reader", "stranger")),
    ],
    "_caller": [Attack("SELECT proof IS NULL, role_id = '{x}'::regrole FROM sift._caller", "role", by=("reader", "stranger"))],
}
PAIRS["role"] = [("sift_owner", "sift_owner")]
PAIRS["judgment"] = [(f"{number:06}", "999999") for number in (1, 2, 3)]

# What may be called and says nothing of any document: with the reason.
TELLS_NOTHING = {
    "schema_version": "the revision of the schema",
    "tokenize": "a pure function of its argument",
    "analyzer_fingerprint": "a pure function of its argument",
    "list_models": "models belong to the installation, not to a tenant",
    "list_token_models": "models belong to the installation, not to a tenant",
}
# For applications alone. They are trusted with the numbers of a tenant, and choose for whom they ask (docs/security.md).
APPLICATIONS_ONLY = {
    "list_tenants": "an application serves tenants and knows them",
    "corpus_statistics": "numbers of the whole tenant, no document",
    "list_acronyms": "what somebody wrote into the vocabulary, no document",
    "term_statistics": "numbers of the whole tenant, no document",
    "cache_query_embedding": "writes what a query's vector is; returns nothing",
    "log_query": "writes down what it is given, without looking at a document; returns the number of the entry",
}


def reachable(world: World, *roles: str) -> dict[str, str]:
    """The functions and views of the schema that one of *roles* may use, as name: kind."""
    return dict(world.admin.execute(
        """
        SELECT p.proname::text, 'function' FROM pg_proc AS p CROSS JOIN unnest(%(roles)s::name[]) AS r (role)
        WHERE p.pronamespace = 'sift'::regnamespace AND has_function_privilege(r.role, p.oid, 'EXECUTE')
        UNION
        SELECT c.relname::text, 'relation' FROM pg_class AS c CROSS JOIN unnest(%(roles)s::name[]) AS r (role)
        WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND has_table_privilege(r.role, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        """,
        {"roles": list(roles)},
    ).fetchall())


def test_everything_reachable_is_attacked(world: World) -> None:
    found = reachable(world, "sift_reader", "sift_app")
    # A body asks for the proof of who calls; its attack is in test_caller.
    bodies = {name for name in found if name.startswith("_") and found[name] == "function"}
    missing = set(found) - bodies - set(ATTACKS) - set(TELLS_NOTHING) - set(APPLICATIONS_ONLY)
    assert missing == set(), (
        f"{sorted(missing)} may be reached by readers or applications, and nobody attacks it: add statements to ATTACKS in {__file__}"
        " that name something hidden, or to TELLS_NOTHING the reason why there is nothing to find"
    )
    assert set(ATTACKS) <= set(found)
    assert not set(reachable(world, "sift_reader")) & set(APPLICATIONS_ONLY)
    assert reachable(world, "public") == {}
    assert reachable(world, world.names["nobody"]) == {}


def cases() -> list[Any]:
    return [pytest.param(name, attack, id=f"{name}-{number}") for name, attacks in ATTACKS.items() for number, attack in enumerate(attacks)]


PRINCIPALS = {"reader": ["NULL", "'{public}'", "'{sift:writer}'", "'{}'"], "stranger": ["NULL", "'{public}'"],
              "app": ["'{public,user:7}'", "'{}'", "NULL", "'{group:none}'", "'{sift:writer}'"]}


@pytest.mark.parametrize(("name", "attack"), cases())
def test_what_is_hidden_answers_as_what_is_absent(world: World, name: str, attack: Attack) -> None:
    for who in attack.by:
        with session(world, who) as (connection, heard):
            for principals in PRINCIPALS[who] if "{p}" in attack.statement else [""]:
                for hidden, absent in PAIRS[attack.kind]:
                    told = [
                        answer(connection, heard, attack.statement.format(p=principals, x=value)).replace(value, "…")
                        for value in (hidden, absent)
                    ]
                    assert told[0] == told[1], f"{who} tells {hidden} from {absent} by {name}"
                    shown = [word for word in HIDDEN if word in told[0].replace(hidden, "") and word not in attack.statement]
                    assert shown == [], f"{name} shows {who} {shown}: {told[0]}"


def test_the_attacks_reach_what_they_name(world: World) -> None:
    """As a writer the same statements tell hidden from absent, so that equal answers mean something."""
    for name, attacks in ATTACKS.items():
        if name in ("my_documents", "my_chunks", "my_topics", "_caller"):
            continue
        told = 0
        heard: list[str] = []
        for attack in attacks:
            for hidden, absent in PAIRS[attack.kind]:
                first, second = (
                    answer(world.admin, heard, attack.statement.format(p="'{sift:writer}'", x=value)).replace(value, "…")
                    for value in (hidden, absent)
                )
                told += first != second
        assert told > 0, f"no attack on {name} would find anything"


SOMETHING = {"text": "'x'", "integer": "1", "bigint": "1", "text[]": "'{x}'", "bytea": "'x'", "jsonb": "'{}'", "real[]": "'{1}'", "oid": "1"}


def test_a_grant_to_writers_is_no_grant_to_others(world: World) -> None:
    """Everything else is refused by privilege, before an argument is looked at: alike, whatever it names."""
    everything = world.admin.execute(
        "SELECT p.oid, p.proname, p.pronargs, p.proargtypes::regtype[]::text[] FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
    ).fetchall()
    assert len(everything) > 60
    for who in ("reader", "stranger", "app", "nobody"):
        with session(world, who) as (connection, _):
            refused = 0
            for oid, name, count, types in everything:
                (granted,) = world.admin.execute("SELECT has_function_privilege(%s, %s::oid, 'EXECUTE')", (world.names[who], oid)).fetchone() or (True,)
                if granted:
                    continue
                types = types or []
                # A strict function of a NULL is NULL to the planner, which asks for no privilege.
                values = ", ".join(f"{SOMETHING.get(kind, 'NULL')}::{kind}" for kind in types[:count])
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT sift.{name}({values}) AS {name}".encode())
                refused += 1
            assert refused > 40


def test_relations_are_refused(world: World) -> None:
    relations = [name for (name,) in world.admin.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p', 'S', 'v', 'm')").fetchall()]
    for who in ("reader", "stranger", "app", "nobody"):
        allowed = reachable(world, world.names[who])
        with session(world, who) as (connection, _):
            for name in relations:
                if name in allowed:
                    continue
                for form in ("SELECT FROM sift.{}", "TABLE sift.{}", "COPY sift.{} TO STDOUT", "SELECT pg_catalog.currval('sift.{}')",
                             "SELECT pg_catalog.pg_sequence_last_value('sift.{}')"):
                    try:
                        row = connection.execute(form.format(name).encode()).fetchone()
                        assert "last_value" in form and row in ((None,), None), f"{who} {form.format(name)} {row}"
                    except psycopg.Error as error:
                        assert error.sqlstate in ("42501", "42809", "55000"), (name, error)


def test_statistics_of_the_planner_are_hidden(world: World) -> None:
    world.admin.execute("ANALYZE")
    for who in ("reader", "app", "nobody"):
        with session(world, who) as (connection, _):
            for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
                assert connection.execute(f"SELECT count(*) FROM {view} WHERE schemaname = 'sift'".encode()).fetchone() == (0,)
            for catalog in ("pg_statistic", "pg_statistic_ext_data", "pg_largeobject", "pg_authid"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT FROM {catalog}".encode())
            # What any login may read of the catalogs names nothing of ours.
            for source in ("SELECT description FROM pg_description", "SELECT prosrc FROM pg_proc WHERE pronamespace = 'sift'::regnamespace",
                           "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef", "SELECT relname::text FROM pg_class",
                           "SELECT pg_get_constraintdef(oid) FROM pg_constraint", "SELECT pg_get_indexdef(indexrelid) FROM pg_index",
                           "SELECT query FROM pg_stat_activity", "SELECT coalesce(pg_get_partition_constraintdef(oid), '') FROM pg_class"):
                text = " ".join(str(row[0]) for row in connection.execute(source.encode()).fetchall())
                assert [word for word in (*HIDDEN, "m3.") if re.search(rf"\b{word}", text)] == [], source


def test_plans_inside_are_not_sent(world: World) -> None:
    """debug_print_plan sends plans with estimates from everybody's rows to whoever sets client_min_messages low enough."""
    with session(world, "reader") as (connection, heard):
        for setting in ("client_min_messages = debug5", "debug_print_plan = on", "debug_print_parse = on", "debug_print_rewritten = on"):
            connection.execute(f"SET {setting}".encode())
        for statement in (
            "SELECT * FROM sift.search('a', 'pump')", "SELECT * FROM sift.list_documents('a')", "SELECT * FROM sift.my_documents",
            "SELECT * FROM sift.my_chunks", "SELECT * FROM sift.dense_search('a', '{1,0,0}', model => 'm3')",
            "SELECT * FROM sift.lexical_candidates('a', '{pump}')", "SELECT * FROM sift.chunks_by_entity('a', 'pump')",
            "SELECT * FROM sift.document_at('a', 'note/1')", "SELECT * FROM sift.document_history('a', 'note/1')",
        ):
            heard.clear()
            connection.execute(statement.encode()).fetchall()
            tables = {oid for (oid,) in world.admin.execute(
                "SELECT oid::bigint FROM pg_class WHERE relnamespace = 'sift'::regnamespace AND relkind IN ('r', 'p')").fetchall()}
            plans = " ".join(text for text in heard if "PLANNEDSTMT" in text)
            scanned = {int(n) for n in re.findall(r":relid (\d+)", plans)} & tables
            # The key of the proof is named where the view of who calls is planned; nothing else is.
            names = {name for (name,) in world.admin.execute("SELECT relname FROM pg_class WHERE oid = ANY (%s::oid[])", (list(scanned),)).fetchall()}
            assert names <= {"secrets"}, statement


def test_operators_functions_and_casts_of_the_attacker(world: World) -> None:
    """What the attacker defines before ours on his path is never called with what he may not see, nor in our name."""
    name = sql.Identifier(world.names["reader"])
    with session(world, "reader") as (connection, heard):
        connection.execute(sql.SQL("""
            SET search_path = {0}, pg_catalog;
            CREATE FUNCTION tattle(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE WARNING 'heard %', $1; RETURN true; END $$;
            CREATE FUNCTION same(text, text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE WARNING 'heard % %', $1, $2; RETURN true; END $$;
            CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = same);
            CREATE OPERATOR ~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = same);
            CREATE FUNCTION lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'heard %', $1; RETURN $1; END $$;
            CREATE FUNCTION sha256(bytea) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'heard %', $1; RETURN $1; END $$;
            CREATE FUNCTION array_agg(bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'heard %', $1; RETURN NULL; END $$;
            CREATE DOMAIN principals AS text[];
            CREATE TYPE spy AS (x text);
            CREATE FUNCTION spied(spy) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'heard %', $1; RETURN 'sift:writer'; END $$;
            CREATE CAST (spy AS text) WITH FUNCTION spied(spy) AS IMPLICIT;
            CREATE VIEW over_documents AS SELECT * FROM sift.my_documents WHERE tattle(key) AND title = 'zzowner';
            CREATE VIEW over_chunks WITH (security_barrier) AS SELECT * FROM sift.my_chunks WHERE tattle(body);
            CREATE VIEW over_search WITH (security_invoker) AS SELECT * FROM sift.search('a', 'pump zzsalary') WHERE tattle(body);
            CREATE FUNCTION as_me() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS 'SELECT body FROM sift.search(''a'', ''pump zzsalary'')';
            CREATE TABLE documents (key text); CREATE TABLE chunks (body text); CREATE TABLE secrets (inner_key bytea, outer_key bytea);
            CREATE TABLE "a" (key text)
        """).format(name))
        connection.execute("CREATE TEMP TABLE chunks (body text); CREATE TEMP TABLE secrets (inner_key bytea, outer_key bytea);"
                           " CREATE TEMP TABLE documents (key text)")
        texts = [
            answer(connection, heard, statement) for statement in (
                "TABLE over_documents", "TABLE over_chunks", "TABLE over_search", "SELECT as_me()",
                "SELECT * FROM sift.my_chunks WHERE tattle(body) AND body = 'zzsalary'", "SELECT * FROM sift.my_documents WHERE tattle(metadata::text)",
                "SELECT sift.search('a', ROW('x')::spy)", "SELECT * FROM sift.list_documents('a', ARRAY[ROW('x')::spy]::text[])",
                "SELECT * FROM sift.search('a', 'pump') WHERE tattle(body) ORDER BY lower(body)",
            )
        ]
        assert any("heard" in text for text in texts)
        assert [word for word in HIDDEN for text in texts if word in text.replace("pump zzsalary", "").replace("'zzsalary'", "")
                and "heard zzsalary" not in text and word not in ("zzowner", "zzsalary")] == []
        assert not [text for text in texts if "90210" in text]


def test_counters_of_the_session_tell_no_key(world: World) -> None:
    """The statistics of the own transaction count rows of tables one may not read: equally many for hidden and for absent keys,
    wherever a key, title or text of a view, a page or a document is asked for."""
    tables = ("documents", "chunks", "document_versions", "chunk_entities", "access_lists")
    counters = "SELECT " + ", ".join(
        f"pg_stat_get_xact_tuples_returned(c{i}), pg_stat_get_xact_tuples_fetched(c{i}), pg_stat_get_xact_numscans(c{i})" for i, _ in enumerate(tables)
    ) + " FROM (SELECT " + ", ".join(f"'sift.{t}'::regclass::oid AS c{i}" for i, t in enumerate(tables)) + ") AS o"
    with session(world, "reader") as (connection, _):
        for statement in ("SELECT FROM sift.my_documents WHERE tenant = 'a' AND key = '{x}'", "SELECT FROM sift.my_chunks WHERE key = '{x}'"):
            seen = set()
            for pair in PAIRS["key"]:
                for value in pair:
                    for _ in range(2):  # the first use of a plan reads catalogs
                        with connection.transaction(force_rollback=True):
                            before = connection.execute(counters.encode()).fetchone() or ()
                            connection.execute(statement.format(x=value).encode()).fetchall()
                            after = connection.execute(counters.encode()).fetchone() or ()
                    seen.add(tuple(y - x for x, y in zip(before, after, strict=True)))
                    assert any(seen)
            assert len(seen) == 1, statement


COUNTERS = r"^pg_stat_get_((xact_)?(tuples|numscans|blocks|lastscan|function)|db_(tuples|blocks|blk|temp|parallel)|io$|backend_io$|buf_alloc$|slru$)|^pg_lock_status$"


def test_the_page_takes_every_counter_away(world: World) -> None:
    """The block of docs/security.md, run as it stands: no counter of this version is left to readers, and the doctor keeps its own."""
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    (block,) = re.findall(r"```sql\n( *DO \$\$.*?)```", page, re.DOTALL)
    may = (
        "SELECT p.proname::text FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ %s"
        " AND has_function_privilege(%s, p.oid, 'EXECUTE') ORDER BY 1"
    )
    reader = world.names["reader"]
    views = ("pg_stat_all_tables", "pg_stat_xact_all_tables", "pg_statio_all_tables", "pg_stat_all_indexes", "pg_stat_database", "pg_stat_slru", "pg_locks")
    with world.admin.transaction(force_rollback=True):
        found = [name for (name,) in world.admin.execute(may, (COUNTERS, reader)).fetchall()]
        assert {
            "pg_stat_get_tuples_fetched", "pg_stat_get_xact_tuples_fetched", "pg_stat_get_numscans", "pg_stat_get_xact_numscans",
            "pg_stat_get_blocks_hit", "pg_stat_get_xact_blocks_hit", "pg_stat_get_db_tuples_fetched", "pg_stat_get_db_blocks_hit",
            "pg_stat_get_xact_function_calls", "pg_lock_status",
        } <= set(found)
        world.admin.execute(block.encode())
        assert world.admin.execute(may, (COUNTERS, reader)).fetchall() == []
        assert [name for (name,) in world.admin.execute(may, (COUNTERS, "pg_monitor")).fetchall()] == found
        world.admin.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(reader)))
        for view in views:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), world.admin.transaction():
                world.admin.execute(f"SELECT * FROM {view}".encode())
        assert world.admin.execute("SELECT key FROM sift.search('a', 'pump')").fetchall() != []
        world.admin.execute("SET LOCAL ROLE sift_owner")
        checks = {name for (name,) in world.admin.execute("SELECT check_name FROM sift.doctor()").fetchall()}
        assert "unreadable" not in checks
    assert [name for (name,) in world.admin.execute(may, (COUNTERS, reader)).fetchall()] == found


def test_the_way_of_the_dense_leg_is_told_to_the_trusted_alone(world: World) -> None:
    call = "SELECT DISTINCT dense_path FROM sift.dense_search('a', '{1,0,0}', model => 'm3'"
    with session(world, "reader") as (connection, _):
        assert connection.execute(f"{call})".encode()).fetchall() == [(None,)]
        assert connection.execute("SELECT DISTINCT dense_path FROM sift.search('a', 'pump', query_embedding => '{1,0,0}', model => 'm3')").fetchall() == [(None,)]
    with session(world, "app") as (connection, _):
        assert connection.execute(f"{call}, principals => '{{public}}')".encode()).fetchall() == [("exact",)]


def test_what_was_kept_ends_with_the_permission(world: World) -> None:
    """Prepared statements and generic plans kept across a revoke, and the tenant itself afterwards."""
    statements = {
        "searched": "SELECT key FROM sift.search('a', 'pump crane')", "listed": "SELECT key FROM sift.list_documents('a')",
        "viewed": "SELECT key FROM sift.my_documents", "chunked": "SELECT DISTINCT key FROM sift.my_chunks",
        "past": f"SELECT title FROM sift.document_at('a', 'note/2', {PAST})",
        "entity": "SELECT key FROM sift.chunks_by_entity('a', 'crane')",
    }
    with session(world, "reader") as (connection, heard):
        for name, statement in statements.items():
            connection.execute(f"PREPARE {name} AS {statement}".encode())
            for _ in range(7):
                assert "note/2" in answer(connection, heard, f"EXECUTE {name}") or name == "past"
        try:
            for revoke, undo in (
                ("SELECT sift.remove_members('a', 'group:staff', '{user:7}')", "SELECT sift.add_members('a', 'group:staff', '{user:7}')"),
                ("SELECT sift.set_access('a', '{note/2}', '{group:other}')", "SELECT sift.set_access('a', '{note/2}', '{group:staff}')"),
            ):
                world.admin.execute(revoke.encode())
                for name in statements:
                    told = answer(connection, heard, f"EXECUTE {name}")
                    assert "note/2" not in told and "crane" not in told, (revoke, name)
                world.admin.execute(undo.encode())
                assert "note/2" in answer(connection, heard, "EXECUTE searched")
            world.admin.execute("SELECT sift.map_role('a', %s, NULL)", (world.names["reader"],))
            for name in statements:
                told = answer(connection, heard, f"EXECUTE {name}")
                assert "note/" not in told and ("PS001" in told or "[]" in told), name
        finally:
            world.admin.execute("SELECT sift.map_role('a', %s, '{user:7,public}')", (world.names["reader"],))


def test_a_cursor_shows_what_was_allowed_when_it_was_opened(world: World) -> None:
    """By design (docs/security.md): its rows were read then. It finds nothing that came later, and a new one sees the revoke."""
    with session(world, "reader") as (connection, _), connection.transaction():
        connection.execute("DECLARE kept CURSOR FOR SELECT key FROM sift.list_documents('a')")
        assert connection.execute("FETCH 1 FROM kept").fetchall() == [("note/1",)]
        world.admin.execute("SELECT sift.remove_members('a', 'group:staff', '{user:7}')")
        try:
            assert connection.execute("FETCH ALL FROM kept").fetchall() == [("note/2",)]
            assert connection.execute("SELECT key FROM sift.list_documents('a')").fetchall() == [("note/1",)]
            connection.execute("DECLARE fresh CURSOR FOR SELECT key FROM sift.list_documents('a')")
            assert ("note/2",) not in connection.execute("FETCH ALL FROM fresh").fetchall()
        finally:
            world.admin.execute("SELECT sift.add_members('a', 'group:staff', '{user:7}')")


def test_an_application_that_becomes_somebody_is_no_more_than_that(world: World) -> None:
    world.admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(world.names["reader"]), sql.Identifier(world.names["both"])))
    with session(world, "both") as (connection, heard):
        assert "zzsalary" in answer(connection, heard, "SELECT * FROM sift.list_documents('a', '{group:zzhr}')")
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(world.names["reader"])))
        told = answer(connection, heard, "SELECT * FROM sift.list_documents('a', '{group:zzhr}')")
        assert "PS008" in told and "zzsalary" not in told
        assert "zz" not in answer(connection, heard, "SELECT key FROM sift.list_documents('a')")
        for forged in ("SET ROLE sift_app", "SELECT set_config('role', 'sift_app', true)", "SET SESSION AUTHORIZATION sift_owner", "SET ROLE sift_writer"):
            told = answer(connection, heard, f"{forged}; SELECT key FROM sift.list_documents('a', '{{sift:writer}}')")
            assert "zzsalary" not in told


def test_a_run_belongs_to_its_tenant(world: World) -> None:
    (run,) = world.admin.execute("SELECT sift.start_run('zzb')").fetchone() or (0,)
    for statement in (
        """SELECT sift.put_documents('a', '[{"key": "x", "text": "x y"}]', run_id => %s)""", "SELECT sift.add_dead_letter('a', 'read', 'why', run_id => %s)",
        "SELECT sift.finish_run('a', %s)",
    ):
        told = set()
        for number in (run, 10**9):
            with pytest.raises(psycopg.Error) as caught:
                world.admin.execute(statement, (number,))
            told.add(re.sub(rf"\b{number}\b", "N", f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}"))
        assert caught.value.sqlstate == "PS002"
        assert len(told) == 1


def test_the_page_tells_who_may_call_what(conn: psycopg.Connection) -> None:
    """The table of docs/security.md is that of the grants."""
    import importlib.util
    from pathlib import Path

    tool = Path(__file__).resolve().parents[2] / "tools" / "gen_sql_api.py"
    spec = importlib.util.spec_from_file_location("gen_sql_api", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.SECURITY.read_text(encoding="utf-8")
    assert module.with_rights(conn, page) == page, "docs/security.md is out of date: make docs"
