"""The doctor: it finds every fault that is planted, nothing on a healthy store, and its remedies mend them."""

from __future__ import annotations

import json
import re
import shlex
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgsift import Store, schema
from pgsift.errors import InvalidArgument, UnknownTenant
from pgsift.models import Finding

# What the test server itself is: without durability, without autovacuum, with settings of its own.
OF_THE_SERVER = {"durability", "settings", "server_version"}


def fill(dsn: str) -> None:
    """Two tenants: one with blocks, rows, an oversize chunk, vectors, entities and two access lists; one small."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('acme', 'standard', default_principals => '{public}')")
        conn.execute("SELECT sift.create_tenant('small', 'english')")
        conn.execute("SELECT sift.create_tenant('empty', 'english')")
        conn.execute("SELECT sift.register_model('toy', 3)")
        documents = [
            {"key": f"d{n}", "acl": ["public"] if n % 3 else ["group:hr"],
             "chunks": [{"body": f"common word{n % 40} rare{n} {'twice twice' if n % 5 == 0 else 'once'}",
                         "embedding": [1 + n % 4, n % 3, 1], "entities": [f"e{n % 7}"]}]}
            for n in range(320)
        ]  # fmt: skip
        for part in (documents[:300], documents[300:]):
            conn.execute("SELECT count(*) FROM sift.put_documents('acme', %s::jsonb, model => 'toy')", [json.dumps(part)])
        conn.execute(
            "SELECT count(*) FROM sift.put_documents('acme', %s::jsonb)",
            [json.dumps([{"key": "long", "chunks": [{"body": "many " * 300, "embedding": None}]}])],
        )
        conn.execute("SELECT sift.put_embeddings('acme', 'toy', array_agg(c.chunk_id), '{\"[1,1,1]\"}') FROM sift.chunks AS c WHERE c.doc_length = 300")
        conn.execute("SELECT count(*) FROM sift.put_documents('small', '[{\"key\": \"a\", \"title\": \"A title\", \"text\": \"running foxes\"}]')")
        conn.execute("SELECT sift.delete_documents('acme', '{d301}')")


@pytest.fixture(scope="module")
def healthy_dsn(server_dsn: str, _template: str) -> Iterator[str]:
    """A store with nothing wrong in it, for tests that roll back."""
    name = f"sift_doctor_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(_template)))
    try:
        dsn = make_conninfo(server_dsn, dbname=name)
        fill(dsn)
        yield dsn
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def patient(healthy_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(healthy_dsn) as conn:
        conn.execute("SET LOCAL session_replication_role = replica")  # a fault need not respect foreign keys
        yield conn
        conn.rollback()


def examine(conn: psycopg.Connection, tenant: str | None = None, sample: int | None = None) -> list[Finding]:
    """Everything the library reports, without what the test server itself is."""
    found = Store(connection=conn).doctor(tenant, sample=sample).findings
    return [f for f in found if f.check_name not in OF_THE_SERVER and not (f.check_name == "autovacuum" and f.object == "server")]


def test_healthy(patient: psycopg.Connection) -> None:
    for sample in (None, 1000, 50, 1):
        assert examine(patient, sample=sample) == []
    assert patient.execute("SELECT * FROM sift.repair('acme')").fetchall() == []


def test_a_fresh_and_empty_store(conn: psycopg.Connection) -> None:
    assert examine(conn) == []
    conn.execute("SELECT sift.create_tenant('void')")
    assert examine(conn, "void") == []
    assert conn.execute("SELECT * FROM sift.verify_statistics('void')").fetchall() == []
    assert conn.execute("SELECT * FROM sift.repair('void')").fetchall() == []


ACME = "(SELECT t.tenant_id FROM sift.tenants AS t WHERE t.name = 'acme')"
PACKED = f"(SELECT min(c.chunk_id) FROM sift.chunks AS c WHERE c.tenant_id = {ACME})"
UNPACKED = f"(SELECT min(u.chunk_id) FROM sift.unpacked_chunks AS u WHERE u.tenant_id = {ACME})"

# Each: statements that plant it, the check that reports it, what its text tells.
IN_A_TENANT = {
    "df too high": (
        f"INSERT INTO sift.term_stats (tenant_id, term, df, max_tf, min_doc_length) VALUES ({ACME}, 'rare7', 41, 0, 2147483647)",
        "statistics", 'df of the term "rare7" is 42, a recount gives 1'),
    "df of a term nobody has": (
        f"INSERT INTO sift.term_stats (tenant_id, term, df, max_tf, min_doc_length) VALUES ({ACME}, 'ghost', 1, 1, 1)",
        "statistics", 'df of the term "ghost" is 1, a recount gives 0'),
    "bounds lost": (
        f"UPDATE sift.term_stats SET max_tf = 0, min_doc_length = 2147483647 WHERE tenant_id = {ACME} AND term = 'many'",
        "statistics", 'max_tf of the term "many" is 0, a recount gives 300'),
    "N": (f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES ({ACME}, 5, 0)", "statistics", "chunks of the tenant is 325, a recount gives 320"),
    "avgdl": (f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES ({ACME}, 0, 777)", "statistics", "total_length of the tenant"),
    "N of a list": (
        f"UPDATE sift.corpus_stats SET chunks = chunks + 1 WHERE (tenant_id, access_list_id, delta_id) = (SELECT s.tenant_id, s.access_list_id, s.delta_id FROM sift.corpus_stats AS s WHERE s.tenant_id = {ACME} LIMIT 1)",
        "statistics", "chunks of access list"),
    "vectors of a list": (
        f"UPDATE sift.embedding_stats SET vectors = vectors - 2 WHERE (tenant_id, model_id, access_list_id, delta_id) = (SELECT s.tenant_id, s.model_id, s.access_list_id, s.delta_id FROM sift.embedding_stats AS s WHERE s.tenant_id = {ACME} LIMIT 1)",
        "vector_counts", "a recount gives"),
    "a posting gone from rows": (f"DELETE FROM sift.chunk_terms WHERE tenant_id = {ACME} AND term = 'rare305'", "postings", 'the term "rare305" has 0 postings, the tokens of the chunks make 1'),
    "a posting changed in rows": (f"UPDATE sift.chunk_terms SET tf = 9 WHERE tenant_id = {ACME} AND term = 'rare305'", "postings", "rare305"),
    "a posting too many in rows": (f"INSERT INTO sift.chunk_terms SELECT {ACME}, 'ghost', {UNPACKED}, 1, 4", "postings", 'the term "ghost" has 1 postings, the tokens of the chunks make 0'),
    "a row of a block gone": (f"DELETE FROM sift.posting_blocks WHERE tenant_id = {ACME} AND term = 'word7'", "postings", 'the term "word7" has'),
    "a posting of a block changed": (f"UPDATE sift.posting_blocks SET postings[1] = postings[1] + 1 WHERE tenant_id = {ACME} AND term = 'rare7'", "postings", "rare7"),
    "a block out of order": (f"UPDATE sift.posting_blocks SET postings = ARRAY(SELECT unnest(postings) ORDER BY 1 DESC) WHERE tenant_id = {ACME} AND term = 'common'", "postings", "number, order or bounds"),
    "bounds of a block": (f"UPDATE sift.posting_blocks SET max_tf = 1 WHERE tenant_id = {ACME} AND term = 'twice'", "postings", "number, order or bounds"),
    "df of a block": (f"UPDATE sift.posting_blocks SET df = df + 1 WHERE tenant_id = {ACME} AND term = 'once'", "postings", "number, order or bounds"),
    "a block's own row": (f"UPDATE sift.packed_chunks SET chunks = chunks + 1 WHERE tenant_id = {ACME}", "postings", "does not agree with its list of chunks"),
    "a chunk no block lists": (f"UPDATE sift.packed_chunks SET chunk_ids = chunk_ids[2:], chunks = chunks - 1, first_chunk_id = chunk_ids[2] WHERE tenant_id = {ACME}", "postings", "no search by words finds it"),
    "a chunk without postings": (f"DELETE FROM sift.unpacked_chunks WHERE (tenant_id, chunk_id) = ({ACME}, {UNPACKED})", "postings", "no search by words finds it"),
    "a chunk in two places": (f"INSERT INTO sift.unpacked_chunks VALUES ({ACME}, {PACKED}, false)", "postings", "are in 2 places"),
    "a wrong length": (f"UPDATE sift.chunks SET doc_length = 6 WHERE (tenant_id, chunk_id) = ({ACME}, {PACKED})", "postings", "the chunk has 5 tokens and the length 6"),
    "a chunk without its document": (f"DELETE FROM sift.documents WHERE tenant_id = {ACME} AND key = 'd5'", "orphans", "belongs to document"),
    "a vector without its chunk": (
        f"INSERT INTO sift.chunk_embeddings (tenant_id, model_id, chunk_id, access_list_id, text_hash, embedding) SELECT e.tenant_id, e.model_id, 999999, e.access_list_id, e.text_hash, e.embedding FROM sift.chunk_embeddings AS e WHERE e.tenant_id = {ACME} LIMIT 1",
        "orphans", "1 rows of chunk_embeddings belong to chunks that do not exist, the first to chunk 999999"),
    "an entity without its chunk": (f"INSERT INTO sift.chunk_entities VALUES ({ACME}, 'e', 999999)", "orphans", "1 rows of chunk_entities"),
    "an unpacked chunk that is not there": (f"INSERT INTO sift.unpacked_chunks VALUES ({ACME}, 999999, false)", "orphans", "1 rows of unpacked_chunks"),
    "postings nobody lists": (f"INSERT INTO sift.chunk_terms VALUES ({ACME}, 'common', 999999, 1, 4)", "orphans", "unpacked_chunks does not list"),
    "a block nobody lists": (f"INSERT INTO sift.posting_blocks SELECT b.tenant_id, b.df, 999, b.max_tf, b.min_doc_length, b.min_length_2, b.min_length_3, b.min_length_5, b.term, b.postings FROM sift.posting_blocks AS b WHERE b.tenant_id = {ACME} AND b.term = 'common' LIMIT 1", "orphans", "packed_chunks does not list"),
    "a list that is not there": (f"UPDATE sift.documents SET access_list_id = 4242 WHERE tenant_id = {ACME} AND key = 'd5'", "orphans", "the document is under access list 4242"),
    "a chunk under another list": (f"UPDATE sift.chunks SET access_list_id = 0 WHERE (tenant_id, chunk_id) = ({ACME}, {PACKED})", "access_copies", "the chunk is under access list 0"),
    "a vector under another list": (f"UPDATE sift.chunk_embeddings SET access_list_id = 0 WHERE (tenant_id, chunk_id) = ({ACME}, {PACKED})", "access_copies", "the vector of the chunk for model"),
}  # fmt: skip


@pytest.mark.parametrize("fault", IN_A_TENANT)
def test_a_fault_in_the_data_is_found_and_repaired(patient: psycopg.Connection, fault: str) -> None:
    statement, check, words = IN_A_TENANT[fault]
    patient.execute(statement.encode())
    found = examine(patient)
    reported = [f for f in found if f.check_name == check]
    assert any(words in f.finding for f in reported), found
    assert all(f.tenant_name == "acme" and f.severity == "error" and f.safe_fix for f in reported)
    assert {f.remedy for f in reported} == {"SELECT * FROM sift.repair('acme')"}

    assert patient.execute(reported[0].remedy.encode()).fetchall() != []
    tidy(patient)
    assert examine(patient) == []
    assert patient.execute("SELECT * FROM sift.verify_statistics('acme')").fetchall() == []
    assert patient.execute("SELECT * FROM sift.repair('acme')").fetchall() == []


def tidy(conn: psycopg.Connection) -> None:
    """What a repair leaves to be done in time: packing, and the postings of chunks that are gone."""
    left = examine(conn)
    assert {f.check_name for f in left} <= {"pending_packing", "dead_postings"}
    for finding in left:
        conn.execute(finding.remedy.encode())


GROSS = {
    "df": (f"UPDATE sift.term_stats SET df = df + 3 WHERE tenant_id = {ACME}", "statistics"),
    "N": (f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES ({ACME}, 5, 0)", "statistics"),
    "vectors": (f"DELETE FROM sift.embedding_stats WHERE tenant_id = {ACME}", "vector_counts"),
    "rows of blocks": (f"DELETE FROM sift.posting_blocks WHERE tenant_id = {ACME} AND term LIKE 'rare%'", "postings"),
    "no block": (f"DELETE FROM sift.packed_chunks WHERE tenant_id = {ACME}", "postings"),
    "bounds": (f"UPDATE sift.posting_blocks SET min_doc_length = 100 WHERE tenant_id = {ACME}", "postings"),
    "lists": (f"UPDATE sift.chunks SET access_list_id = 0 WHERE tenant_id = {ACME}", "access_copies"),
    "documents": (f"DELETE FROM sift.documents WHERE tenant_id = {ACME}", "orphans"),
    "lengths": (f"UPDATE sift.chunks SET doc_length = doc_length + 1 WHERE tenant_id = {ACME}", "postings"),
}


@pytest.mark.parametrize("fault", GROSS)
def test_a_sample_shows_what_is_wrong_everywhere(patient: psycopg.Connection, fault: str) -> None:
    statement, check = GROSS[fault]
    patient.execute(statement.encode())
    found = examine(patient, sample=40)
    assert check in {f.check_name for f in found}
    assert max(sum(f.check_name == name for f in found) for name in {f.check_name for f in found}) <= 80
    patient.execute("SELECT * FROM sift.repair('acme')")
    tidy(patient)
    assert examine(patient) == []


def test_many_faults_at_once(patient: psycopg.Connection) -> None:
    for statement, _, _ in IN_A_TENANT.values():
        patient.execute(statement.encode())
    assert {f.check_name for f in examine(patient)} >= {"statistics", "postings", "orphans", "access_copies"}
    patient.execute("SELECT * FROM sift.repair('acme')")
    tidy(patient)
    assert examine(patient) == []


def test_the_default_list_of_a_tenant(patient: psycopg.Connection) -> None:
    patient.execute(f"UPDATE sift.tenants SET default_access_list_id = 4242 WHERE tenant_id = {ACME}".encode())
    (found,) = examine(patient)
    assert (found.check_name, found.object, found.safe_fix) == ("orphans", "default access list", True)
    patient.execute(found.remedy.encode())
    assert examine(patient) == []


def test_rows_that_no_tenant_owns(patient: psycopg.Connection) -> None:
    patient.execute("INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES (77, 0, 0), (78, 0, 0), (78, 1, 1)")
    found = examine(patient)
    assert [f.finding for f in found] == [
        f"rows of corpus_totals belong to the tenant number {number}, which does not exist" for number in (77, 78)
    ]
    for finding in found:
        assert not finding.safe_fix
        patient.execute(finding.remedy.encode())
    assert examine(patient) == []


WAITING = {
    "analyzer of the schema": (f"UPDATE sift.tenants SET analyzer_fingerprint = 'f00d' WHERE tenant_id = {ACME}", "analyzer", "error"),
    "analyzer nobody has": (f"UPDATE sift.tenants SET analyzer = 'gone' WHERE tenant_id = {ACME}", "analyzer", "error"),
    "other tokens than the analyzer's": (f"UPDATE sift.chunks SET tokens = replace(tokens, 'common', 'kommon') WHERE tenant_id = {ACME}", "analyzer", "warning"),
    "statistics to fold": (f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) SELECT {ACME}, 0, 0 FROM generate_series(1, 1500)", "pending_statistics", "info"),
    "vectors missing": (f"DELETE FROM sift.chunk_embeddings WHERE (tenant_id, chunk_id) = ({ACME}, {PACKED})", "missing_vectors", "warning"),
    "vectors of a model that is kept": ("SELECT sift.register_model('kept', 2); SELECT sift.keep_model('acme', 'kept')", "missing_vectors", "info"),
    "the choice of a model that is gone": (f"INSERT INTO sift.tenant_models VALUES ({ACME}, 4711)", "model_leftovers", "warning"),
    "a cached query of a model that is gone": (f"INSERT INTO sift.query_embeddings VALUES ({ACME}, 4711, 'q', '{{1}}')", "model_leftovers", "warning"),
    "an active model that is gone": (f"UPDATE sift.tenants SET model_id = 4711 WHERE tenant_id = {ACME}", "model_leftovers", "error"),
    "a run that never ended": (f"INSERT INTO sift.ingest_runs (tenant_id, source, started_by, started_at) VALUES ({ACME}, 'docs', 'me', now() - interval '3 days')", "unfinished_runs", "warning"),
    "a mapping of a role that is gone": (f"INSERT INTO sift.role_principals VALUES ({ACME}, 'nobody_here', 1, 'public')", "role_mappings", "warning"),
    "a mapping of an earlier role": (f"INSERT INTO sift.role_principals VALUES ({ACME}, 'sift_reader', 1, 'public')", "role_mappings", "warning"),
    "dead letters": ("SELECT sift.add_dead_letter('acme', 'parse', 'why')", "dead_letters", "warning"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WAITING)
def test_what_waits_in_a_tenant(patient: psycopg.Connection, fault: str) -> None:
    statement, check, severity = WAITING[fault]
    patient.execute(statement.encode())
    if check == "missing_vectors":
        patient.execute("SELECT * FROM sift.repair('acme')")  # the counts follow
    reported = [f for f in examine(patient) if f.check_name == check]
    assert reported and {f.severity for f in reported} == {severity}
    assert {f.tenant_name for f in reported} == {"acme"}
    assert not [f.remedy for f in reported if re.search(r"SOURCES|NEW|…|, which|again", f.remedy)]
    if check == "dead_letters":
        assert shlex.split(reported[0].remedy) == ["pgsift", "dead-letters", "retry", "--all", "--tenant", "acme"]
    if reported[0].safe_fix or check in ("role_mappings", "unfinished_runs"):
        patient.execute(reported[0].remedy.encode())
        assert [f for f in examine(patient) if f.check_name == check] == []


def test_what_a_policy_withholds_is_no_warning(patient: psycopg.Connection) -> None:
    def missing() -> list[Finding]:
        return [f for f in examine(patient, "acme") if f.check_name == "missing_vectors"]

    documents = [
        {"key": "open", "acl": ["public"], "text": "new one", "classification": "open"},
        {"key": "secret", "acl": ["public"], "chunks": [{"body": "new two"}, {"body": "new three"}], "classification": "secret"},
        {"key": "kept", "acl": ["public"], "text": "new four", "classification": "open", "retain_until": "2099-01-01"},
        {"key": "unsaid", "acl": ["public"], "text": "new five"},
    ]  # fmt: skip
    patient.execute("SELECT count(*) FROM sift.put_documents('acme', %s::jsonb)", [json.dumps(documents)])
    remedy = "pgsift models backfill toy --tenant acme"
    (found,) = missing()
    assert (found.severity, found.remedy) == ("warning", remedy)
    assert found.finding.startswith("5 of 325 chunks have no vector of this model;")

    patient.execute("UPDATE sift.tenants SET remote_classifications = '{open}', remote_retained = false WHERE name = 'acme'")
    other, withheld = missing()
    assert (other.severity, other.finding[:8]) == ("warning", "1 of 325")
    assert (withheld.severity, withheld.finding[:8], withheld.remedy) == ("info", "4 of 325", remedy)
    assert "keeps from remote embedders" in withheld.finding

    # What a remote embedder is given, as the backfill does it, ends the warning.
    patient.execute(
        "SELECT sift.put_embeddings('acme', 'toy', array_agg(c.chunk_id), array_agg('[1,1,1]'::text))"
        " FROM sift.chunks_without_embedding('acme', 'toy', remote => true) AS c"
    )
    (withheld,) = missing()
    assert (withheld.severity, withheld.finding[:8]) == ("info", "4 of 325")
    patient.execute("UPDATE sift.tenants SET remote_classifications = NULL WHERE name = 'acme'")
    assert [(f.severity, f.finding[:8]) for f in missing()] == [("warning", "3 of 325"), ("info", "1 of 325")]
    # And a local one that of the others.
    patient.execute(
        "SELECT sift.put_embeddings('acme', 'toy', array_agg(c.chunk_id), array_agg('[1,1,1]'::text))"
        " FROM sift.chunks_without_embedding('acme', 'toy') AS c"
    )
    assert missing() == []


def test_names_in_commands_are_words_of_a_shell(patient: psycopg.Connection) -> None:
    patient.execute("SELECT sift.create_tenant('it''s $(mine)', 'english')")
    patient.execute("SELECT sift.register_model('onnx:a model', 2)")
    documents = json.dumps([{"key": "a", "chunks": [{"body": "x", "embedding": [1, 1]}, {"body": "y"}]}])
    patient.execute("SELECT count(*) FROM sift.put_documents('it''s $(mine)', %s::jsonb, model => 'onnx:a model')", [documents])
    (found,) = [f for f in examine(patient, "it's $(mine)") if f.check_name == "missing_vectors"]
    assert shlex.split(found.remedy) == [
        "pgsift", "models", "backfill", "onnx:a model", "--tenant", "it's $(mine)",
    ]  # fmt: skip
    assert "$(mine)" in found.remedy and "'it'\"'\"'s $(mine)'" in found.remedy


def test_a_run_of_today_is_not_unfinished(patient: psycopg.Connection) -> None:
    patient.execute("SELECT sift.start_run('acme', 'docs')")
    assert examine(patient) == []


def test_packing_waits_and_postings_die(patient: psycopg.Connection) -> None:
    def put(start: int, count: int) -> None:
        documents = [{"key": f"n{n}", "acl": ["public"], "text": f"new text {n}"} for n in range(start, start + count)]
        patient.execute("SELECT count(*) FROM sift.put_documents('small', %s::jsonb)", [json.dumps(documents)])

    for start in (0, 150):
        put(start, 150)
    (found,) = [f for f in examine(patient, "small") if f.check_name != "missing_vectors"]
    assert (found.check_name, found.severity, found.safe_fix) == ("pending_packing", "info", True)
    assert "301 chunks wait to be packed" in found.finding
    patient.execute(found.remedy.encode())
    assert examine(patient, "small") == []

    # A chunk that went by a way that leaves packed postings behind, as a replacement does.
    patient.execute("DELETE FROM sift.chunks AS c USING sift.documents AS d WHERE d.document_id = c.document_id AND d.key = 'n7'")
    patient.execute("DELETE FROM sift.document_lengths AS l USING sift.documents AS d WHERE d.document_id = l.document_id AND d.key = 'n7'")
    patient.execute("DELETE FROM sift.documents WHERE key = 'n7'")
    patient.execute("SELECT sift.repair_statistics('small')")
    (found,) = examine(patient, "small")
    assert (found.check_name, found.severity, found.safe_fix) == ("dead_postings", "info", True)
    assert "the postings of 1 deleted chunks, of 301" in found.finding
    patient.execute(found.remedy.encode())
    assert examine(patient, "small") == []
    patient.execute("DELETE FROM sift.documents WHERE key LIKE 'n%'")
    patient.execute("DELETE FROM sift.chunks AS c WHERE NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.document_id = c.document_id)")
    assert "warning" in {f.severity for f in examine(patient, "small") if f.check_name == "dead_postings"}


OBJECTS = {
    "a function everybody may run": ("GRANT EXECUTE ON FUNCTION sift._tenant_id(text) TO PUBLIC", "grants", "everybody (PUBLIC) may EXECUTE"),
    "a public function too": ("GRANT EXECUTE ON FUNCTION sift.doctor(text, integer) TO PUBLIC", "grants", "everybody (PUBLIC) may EXECUTE"),
    "a function for the wrong role": ("GRANT EXECUTE ON FUNCTION sift.doctor(text, integer) TO sift_reader", "grants", "sift_reader may use it, which"),
    "an internal one for a role": ("GRANT EXECUTE ON FUNCTION sift._doctor_rights() TO sift_reader", "grants", "sift_reader may use it, which"),
    "a function lost to its role": ("REVOKE ALL ON FUNCTION sift.doctor(text, integer) FROM sift_writer", "grants", "sift_writer may not use it"),
    "a table somebody may read": ("GRANT SELECT ON sift.chunks TO sift_reader", "grants", "sift_reader may SELECT on this table"),
    "a column everybody may read": ("GRANT SELECT (body) ON sift.chunks TO PUBLIC", "grants", "everybody (PUBLIC) may SELECT"),
    "a sequence": ("GRANT USAGE ON SEQUENCE sift.tenant_ids TO sift_reader", "grants", "sift_reader may USAGE on this sequence"),
    "a view everybody may read": ("GRANT SELECT ON sift.my_chunks TO PUBLIC", "grants", "everybody (PUBLIC) may SELECT"),
    "the schema": ("GRANT CREATE ON SCHEMA sift TO PUBLIC", "grants", "everybody (PUBLIC) may CREATE on this schema"),
    "default privileges": ("ALTER DEFAULT PRIVILEGES IN SCHEMA sift GRANT SELECT ON TABLES TO sift_reader", "grants", "makes from now on are open to sift_reader"),
    "a table of somebody else": ("ALTER TABLE sift.chunks OWNER TO sift_app", "owners", "the table belongs to sift_app"),
    "a function of somebody else": ("ALTER FUNCTION sift.list_dead_letters OWNER TO sift_app", "owners", "the function belongs to sift_app"),
    "a function without its search path": ("ALTER FUNCTION sift.doctor(text, integer) RESET search_path", "definitions", "without a pinned search_path"),
    "a function with another search path": ("ALTER FUNCTION sift.doctor(text, integer) SET search_path = public", "definitions", "its settings (search_path=public"),
    "a function with the caller's rights": ("ALTER FUNCTION sift.doctor(text, integer) SECURITY INVOKER", "definitions", "rights of its caller"),
    "another body": ("CREATE OR REPLACE FUNCTION sift.schema_version() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN '0001'; END $$", "definitions", "its body"),
    "a function gone": ("DROP FUNCTION sift.tokenize(text, text)", "definitions", "the function is missing"),
    "a function too many": ("CREATE FUNCTION sift.mine() RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT 1'; ALTER FUNCTION sift.mine() OWNER TO sift_owner; REVOKE ALL ON FUNCTION sift.mine() FROM PUBLIC", "definitions", "is not part of pgsift"),
    "two of one name": ("CREATE FUNCTION sift.schema_version(x integer) RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT 1'", "definitions", "exists 2 times"),
    "a function too many, twice": ("CREATE FUNCTION sift.\"it's\"() RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT 1'; CREATE FUNCTION sift.\"it's\"(x integer) RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT 1'; ALTER FUNCTION sift.\"it's\"() OWNER TO sift_owner; ALTER FUNCTION sift.\"it's\"(integer) OWNER TO sift_owner; REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sift FROM PUBLIC", "definitions", "is not part of pgsift"),
    "a view gone": ("DROP VIEW sift.my_chunks CASCADE", "definitions", "the view is missing"),
    "no row security": ("ALTER TABLE sift.chunks DISABLE ROW LEVEL SECURITY", "row_security", "row-level security of the table is off"),
    "row security forced": ("ALTER TABLE sift.chunks FORCE ROW LEVEL SECURITY", "row_security", "is forced upon the owner"),
    "a policy for everybody": ("CREATE POLICY mine ON sift.chunks USING (true)", "row_security", "the policy mine is not part of pgsift"),
    "a policy of an odd name": ("CREATE POLICY \"My own\" ON sift.chunks USING (true)", "row_security", "the policy My own is not part of pgsift"),
    "a role above the rest": ("ALTER ROLE sift_app BYPASSRLS", "roles", "sift_app is not subject to row security"),
    "a reader who writes": ("GRANT sift_writer TO sift_reader", "roles", "sift_reader is a member of sift_writer"),
    "an invalid index": ("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sift.chunks_text_hash_idx'::regclass", "indexes", "is invalid"),
    "a table of a model that is gone": ("CREATE TABLE sift.chunk_embeddings_m4711 (LIKE sift.chunk_embeddings); ALTER TABLE sift.chunk_embeddings_m4711 OWNER TO sift_owner; ALTER TABLE sift.chunk_embeddings_m4711 ENABLE ROW LEVEL SECURITY; REVOKE ALL ON sift.chunk_embeddings_m4711 FROM PUBLIC", "model_leftovers", "registered no more"),
    "a model without its index": ("DROP INDEX sift.chunk_embeddings_m1_hnsw_idx", "indexes", "the model has no HNSW index"),
    "a model without its table": ("DROP TABLE sift.chunk_embeddings_m1", "indexes", "the table sift.chunk_embeddings_m1 of the model is missing"),
    "an index twice": ("CREATE INDEX twice ON sift.chunks (text_hash, tenant_id)", "indexes", "does the same as sift.chunks_text_hash_idx"),
    "a vector index nobody uses": ("UPDATE pg_class SET reltuples = 60000 WHERE relname = 'chunk_embeddings_m1'", "unused_indexes", "no search has used this vector index of 60000 rows"),
    "autovacuum of a table": ("ALTER TABLE sift.chunks SET (autovacuum_enabled = off)", "autovacuum", "switched off for the table"),
    "pgvector before iterative scans": ("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'", "pgvector", "older than 0.8.0"),
    "pgvector with faults": ("UPDATE pg_extension SET extversion = '0.8.1' WHERE extname = 'vector'", "pgvector", "a parallel build may write past its buffer, vacuum may corrupt the index"),
    "pgvector with fewer faults": ("UPDATE pg_extension SET extversion = '0.8.3' WHERE extname = 'vector'", "pgvector", "mended in 0.8.4: vacuum, and inserts beside it, may fail"),
    "pgvector behind the server": ("UPDATE pg_extension SET extversion = '0.8.4' WHERE extname = 'vector'", "pgvector", "is installed on the server, the database is at 0.8.4"),
    "pgvector out of reach": ("CREATE SCHEMA hidden; ALTER EXTENSION vector SET SCHEMA hidden", "extension_schema", "sift_owner may not use the schema of pgvector"),
    "pgvector among strangers": ("GRANT CREATE ON SCHEMA public TO PUBLIC", "extension_schema", "may create objects beside those of pgvector"),
    "no key": ("DELETE FROM sift.secrets", "secret", "nobody is let in"),
    "old transactions": ("UPDATE pg_database SET datfrozenxid = ((pg_current_xact_id()::text::bigint + 4294967296 - 1100000000) & 4294967295)::text::xid WHERE datname = current_database()", "wraparound", "transactions back"),
}  # fmt: skip
# What is found by another check on the way.
BESIDE = {
    "row security forced": {"unreadable"},
    "a function of somebody else": {"grants"},
    "a model without its table": {"vector_counts", "missing_vectors"},
    "two of one name": {"owners", "grants"},
    "a table of somebody else": {"unreadable"},
    "a function gone": {"unreadable"},
}


@pytest.mark.parametrize("fault", OBJECTS)
def test_a_fault_in_objects_and_server_is_found(patient: psycopg.Connection, fault: str) -> None:
    statement, check, words = OBJECTS[fault]
    version = patient.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if "behind the server" in fault and version is not None and version[0] <= "0.8.4":
        pytest.skip("the server has no newer pgvector")
    patient.execute("SET LOCAL session_replication_role = origin")
    patient.execute(statement.encode())
    found = examine(patient)
    assert any(f.check_name == check and words in f.finding for f in found), found
    assert {f.check_name for f in found} <= {check} | BESIDE.get(fault, set()) | ({"pgvector"} if check == "pgvector" else set())


# What no command mends: texts that say what is to be done or known.
WORDS = re.compile(r"install pgvector|restore it from a backup|none is needed|mend what is wrong")


@pytest.mark.parametrize("fault", OBJECTS)
def test_the_command_of_a_fault_in_objects_mends_it(patient: psycopg.Connection, fault: str) -> None:
    """Each is run as it is printed; without CONCURRENTLY, which bears no transaction. What --fix does has its own
    test, below."""
    statement, check, words = OBJECTS[fault]
    if check in ("pgvector", "wraparound"):
        pytest.skip("the fault is written into the catalog, where no command can mend it")
    patient.execute("SET LOCAL session_replication_role = origin")
    patient.execute(statement.encode())
    planted = [f for f in examine(patient) if f.check_name == check or f.check_name in BESIDE.get(fault, set())]
    assert any(words in f.finding for f in planted)
    left = set()
    while planted:
        finding = planted.pop(0)
        if finding.remedy.startswith("pgsift "):
            assert finding.safe_fix == (finding.remedy == "pgsift doctor --fix")
            left.add((finding.check_name, finding.object))
        elif WORDS.match(finding.remedy):
            assert not finding.safe_fix
            left.add((finding.check_name, finding.object))
        else:
            patient.execute(finding.remedy.replace(" CONCURRENTLY", "").encode())
            if planted:  # one command may mend several
                now = examine(patient)
                planted = [f for f in planted if f in now]
    found = [f for f in examine(patient) if f.check_name not in ("unreadable", "missing_vectors")]
    assert [f for f in found if (f.check_name, f.object) not in left] == []


@pytest.mark.parametrize(
    ("number", "severity"), [(140011, "error"), (150018, "warning"), (150019, None), (160014, "warning"), (160015, None),
                             (170010, "warning"), (170011, None), (180005, "warning"), (180006, None), (180017, None),
                             (190000, "info")]
)  # fmt: skip
def test_versions_of_the_server(patient: psycopg.Connection, number: int, severity: str | None) -> None:
    found = patient.execute(
        "SELECT d.severity FROM sift._doctor_server(%s) AS d WHERE d.check_name = 'server_version'", [number]
    ).fetchall()
    assert found == ([(severity,)] if severity else [])


def test_tables_that_nobody_looks_after(dsn: str) -> None:
    """Rows that were rolled back, or deleted, or never seen by VACUUM and ANALYZE."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant('acme')")
        conn.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = 'dead_letters'")
        conn.execute(
            f"INSERT INTO sift.dead_letters (tenant_id, source_hash, stage, reason)"
            f" SELECT {ACME}, sha256(int8send(g)), 'x', repeat(md5(g::text), 50)"
            " FROM generate_series(1, 25000) AS g"
        )
        found = {f.check_name: f for f in examine(conn) if f.object == "sift.dead_letters"}
        assert set(found) == {"visibility_map", "planner_statistics"}
        assert "never vacuumed" in found["visibility_map"].finding and "never analyzed" in found["planner_statistics"].finding
        for _ in range(50):  # VACUUM may meet a session that is just starting, and pass over what is too new for it
            for finding in found.values():
                conn.execute(finding.remedy.encode())
            if not (left := [f for f in examine(conn) if f.object == "sift.dead_letters"]):
                break
        assert left == []
        conn.execute("DELETE FROM sift.dead_letters")
        conn.execute("SELECT pg_stat_force_next_flush()")
        (dead,) = examine(conn)
        assert dead.check_name == "dead_rows" and "has 25000 dead rows" in dead.finding
        conn.execute(dead.remedy.encode())
        assert examine(conn) == []
        conn.execute(f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) SELECT {ACME}, 0, 0 FROM generate_series(1, 1000001)")
        assert [f.severity for f in examine(conn) if f.check_name == "pending_statistics"] == ["warning"]


def test_a_store_too_broken_to_look_at(patient: psycopg.Connection) -> None:
    """What cannot be looked at is told, and the rest is looked at all the same."""
    patient.execute("ALTER TABLE sift.chunks OWNER TO sift_app")
    patient.execute("DROP FUNCTION sift._doctor_indexes()")
    found = examine(patient)
    unreadable = [(f.tenant_name, f.object) for f in found if f.check_name == "unreadable"]
    assert set(unreadable) == {(None, "indexes"), (None, "server"), ("acme", "tenant"), ("small", "tenant"), ("empty", "tenant")}
    assert {f.check_name for f in found} == {"unreadable", "owners", "definitions"}


def test_what_the_server_is(patient: psycopg.Connection) -> None:
    def setting(name: str) -> str:
        row = patient.execute("SELECT current_setting(%s)", [name]).fetchone()
        assert row is not None
        return str(row[0])

    found = [f for f in Store(connection=patient).doctor().findings if f.object == "server"]
    off = {name for name in ("fsync", "full_page_writes") if setting(name) == "off"}
    assert {f.finding.partition(" ")[0] for f in found if f.check_name == "durability"} == off
    assert [f.check_name for f in found if f.check_name == "autovacuum"] == ["autovacuum"] * (setting("autovacuum") == "off")


@pytest.mark.parametrize(
    ("setting", "severity", "words"),
    [
        ("enable_indexscan = off", "warning", "enable_indexscan=off is set"),
        ("session_replication_role = replica", "warning", "foreign keys are not checked"),
        ("hnsw.ef_search = 10", "info", "the functions of pgsift set their own"),
        ("plan_cache_mode = force_custom_plan", "info", "do well with either"),
        ("random_page_cost = 4", None, ""),
    ],
)
def test_settings_of_the_database(patient: psycopg.Connection, setting: str, severity: str | None, words: str) -> None:
    name = str(patient.info.dbname)
    patient.execute(sql.SQL("ALTER DATABASE {} SET {}").format(sql.Identifier(name), sql.SQL(setting)))  # type: ignore[arg-type]
    found = [f for f in Store(connection=patient).doctor().findings if f.check_name == "settings" and f.object == "database"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    if found:
        assert words in found[0].finding
        patient.execute(found[0].remedy.encode())
        assert [f for f in Store(connection=patient).doctor().findings if f.object == "database"] == []


def test_analyzer_of_another_client(patient: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    from pgsift import _doctor
    from pgsift.domain.analyzer import get_analyzer

    class Other:
        fingerprint = "0ther"

    monkeypatch.setattr(_doctor, "get_analyzer", lambda name: Other if name == "english" else get_analyzer(name))
    found = examine(patient)
    assert {f.tenant_name for f in found} == {"small", "empty"}
    assert all(f.check_name == "analyzer" and "this client has 0ther" in f.finding for f in found)


def test_another_revision(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("UPDATE sift.alembic_version SET version_num = '0000'")
    with Store(dsn) as store:
        (found,) = store.doctor().findings
    assert (found.check_name, found.severity) == ("schema_version", "error")
    assert schema.head() in found.finding and "pgsift db upgrade" in found.remedy


def test_for_those_who_write_only(healthy_dsn: str, make_login: Callable[..., str]) -> None:
    for role in ("sift_app", "sift_reader"):
        with psycopg.connect(make_login(healthy_dsn, role)) as conn:
            for call in ("sift.doctor()", "sift.repair('acme')"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute(f"SELECT * FROM {call}".encode())
                conn.rollback()
    for role in ("sift_writer", "sift_owner"):
        with Store(make_login(healthy_dsn, role)) as store:
            assert [f for f in store.doctor().findings if f.tenant_name is not None] == []
            assert store.repair("acme") == []


def test_arguments(patient: psycopg.Connection) -> None:
    store = Store(connection=patient)
    with pytest.raises(UnknownTenant), patient.transaction():
        store.doctor("nobody")
    with pytest.raises(InvalidArgument, match="at least 1 chunk, not 0"), patient.transaction():
        store.doctor(sample=0)
    with pytest.raises(InvalidArgument, match="own"):
        store.doctor(fix=True)
    for call, words in (
        ("sift.repair('acme', resume => 'nonsense')", "no step"),
        ("sift.repair('acme', resume => 'block x')", "no step"),
        ("sift.repair('acme', 0)", "at least 1"),
    ):
        with pytest.raises(psycopg.Error, match=words) as caught, patient.transaction():
            patient.execute(f"SELECT * FROM {call}".encode())
        assert caught.value.sqlstate == "PS002"


# --- repair ---------------------------------------------------------------------------------------

PLANTED = [
    f"INSERT INTO sift.term_stats (tenant_id, term, df, max_tf, min_doc_length) VALUES ({ACME}, 'common', 41, 0, 2147483647)",
    f"UPDATE sift.posting_blocks SET postings[1] = postings[1] + 1 WHERE tenant_id = {ACME} AND term = 'rare7'",
    f"DELETE FROM sift.chunk_terms WHERE tenant_id = {ACME} AND term = 'rare305'",
    f"INSERT INTO sift.unpacked_chunks VALUES ({ACME}, 999999, false)",
    f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) VALUES ({ACME}, 5, 9)",
]


@pytest.fixture
def sick_dsn(dsn: str) -> str:
    fill(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        for statement in PLANTED:
            conn.execute(statement.encode())
    return dsn


def own_findings(dsn: str) -> list[Finding]:
    with psycopg.connect(dsn) as conn:
        return examine(conn)


def test_steps_can_be_committed_one_by_one_and_begun_anew(sick_dsn: str) -> None:
    steps: list[str] = []
    with psycopg.connect(sick_dsn, autocommit=True) as conn:
        resume: str | None = None
        while len(steps) < 3:  # then it is killed
            rows = conn.execute("SELECT * FROM sift.repair('acme', 1, %s)", [resume]).fetchall()
            assert rows[-1][0] == "continue"
            resume = rows[-1][3]
            steps.append(resume)
        assert steps[0] == "rows" and steps[1].startswith("block ")
        left = {f.check_name for f in own_findings(sick_dsn)}
        assert "statistics" in left and "postings" not in left and "orphans" not in left
    with Store(sick_dsn) as store:
        mended = store.repair("acme")
    assert {item.step for item in mended} == {"terms", "totals"}
    assert any('df of the term "common": 360, counted 319' in item.mended for item in mended), mended
    assert own_findings(sick_dsn) == []


def test_a_repair_that_is_killed_leaves_nothing_behind(sick_dsn: str) -> None:
    before = own_findings(sick_dsn)
    errors: list[psycopg.Error] = []
    with psycopg.connect(sick_dsn) as blocker, psycopg.connect(sick_dsn, autocommit=True) as watcher:
        blocker.execute("SELECT FROM sift.packed_chunks FOR UPDATE")
        victim = psycopg.connect(sick_dsn, autocommit=True)

        def repair() -> None:
            try:
                victim.execute("SELECT * FROM sift.repair('acme')")
            except psycopg.Error as error:
                errors.append(error)

        thread = threading.Thread(target=repair)
        thread.start()
        waiting = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
        while watcher.execute(waiting, [victim.info.backend_pid]).fetchone() != (True,):
            thread.join(0.02)
            assert thread.is_alive()
        watcher.execute("SELECT pg_terminate_backend(%s)", [victim.info.backend_pid])
        thread.join(30)
        victim.close()
    assert len(errors) == 1
    assert own_findings(sick_dsn) == before
    with Store(sick_dsn) as store:
        assert store.repair("acme") != []
    assert own_findings(sick_dsn) == []


def test_repair_beside_writers_and_another_repair(sick_dsn: str) -> None:
    done = threading.Event()
    failures: list[BaseException] = []

    def watched(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def write(number: int) -> None:
        with psycopg.connect(sick_dsn, autocommit=True) as conn:
            turn = 0
            while not done.is_set():
                turn += 1
                documents = [{"key": f"w{number}-{turn % 4}-{n}", "acl": ["public"], "text": f"common writer{number} turn{turn}"} for n in range(8)]
                conn.execute("SELECT count(*) FROM sift.put_documents('acme', %s::jsonb)", [json.dumps(documents)])
                conn.execute("SELECT sift.delete_documents('acme', ARRAY[%s])", [f"w{number}-{turn % 4}-0"])
                if turn % 5 == 0:
                    conn.execute("SELECT sift.pack_postings('acme', purge => true)")
                    conn.execute("SELECT sift.fold_statistics('acme')")

    def repair() -> None:
        with Store(sick_dsn) as store:
            for _ in range(3):
                store.repair("acme")

    writers = [watched(lambda n=n: write(n)) for n in range(2)]  # type: ignore[misc]
    repairs = [watched(repair) for _ in range(2)]
    for thread in repairs:
        thread.join(120)
    done.set()
    for thread in writers:
        thread.join(30)
    assert failures == []
    # A writer may have been caught by a step, and left to the next; nothing is wrong that was not planted.
    with Store(sick_dsn) as store:
        assert store.repair("acme") == []
    assert [f for f in own_findings(sick_dsn) if f.check_name not in ("missing_vectors", "pending_packing", "dead_postings")] == []


# --- --fix ----------------------------------------------------------------------------------------


def test_fix_mends_what_is_safe(sick_dsn: str) -> None:
    damage = [
        "GRANT SELECT ON sift.chunks TO sift_reader",
        "GRANT EXECUTE ON FUNCTION sift.doctor(text, integer) TO PUBLIC, sift_reader",
        "GRANT EXECUTE ON FUNCTION sift._doctor_rights() TO PUBLIC",
        "REVOKE ALL ON FUNCTION sift.search FROM sift_app",
        "REVOKE SELECT ON sift.my_chunks FROM sift_reader",
        "GRANT SELECT ON sift.my_chunks TO PUBLIC",
        "GRANT USAGE ON SEQUENCE sift.tenant_ids TO sift_app",
        "GRANT CREATE ON SCHEMA sift TO PUBLIC",
        "ALTER TABLE sift.chunks DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE sift.documents FORCE ROW LEVEL SECURITY",
        "ALTER TABLE sift.chunks SET (autovacuum_enabled = off)",
        "ALTER FUNCTION sift.schema_version() RESET search_path",
        "DROP FUNCTION sift.list_models()",
        "DROP VIEW sift.my_documents",
        "DROP INDEX sift.chunk_embeddings_m1_hnsw_idx",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sift.chunks_text_hash_idx'::regclass",
        f"INSERT INTO sift.corpus_totals (tenant_id, chunks, total_length) SELECT {ACME}, 0, 0 FROM generate_series(1, 1500)",
        f"INSERT INTO sift.dead_letters (tenant_id, source_hash, stage, reason)"
        f" SELECT {ACME}, sha256(int8send(g)), 'x', repeat(md5(g::text), 50) FROM generate_series(1, 25000) AS g",
        "DELETE FROM sift.dead_letters",
    ]
    with psycopg.connect(sick_dsn, autocommit=True) as conn:
        for statement in damage:
            conn.execute(statement.encode())
        conn.execute("SELECT pg_stat_force_next_flush()")
    with Store(sick_dsn) as store:
        before = {f.check_name for f in store.doctor(sample=None).findings}
        # With row security in the way the tenants cannot be looked at: what is wrong in them shows in a second round.
        assert before >= {"unreadable", "grants", "row_security", "autovacuum", "definitions", "indexes", "dead_rows"}
        assert "statistics" not in before
        report = store.doctor(sample=None, fix=True)
    assert [item for item in report.mended if item.failure is not None] == []
    assert [f for f in report.findings if f.check_name not in OF_THE_SERVER and f.object != "server"] == []
    assert len({item.action for item in report.mended}) == len(report.mended) > 15
    assert {"statistics", "pending_statistics"} & {item.check_name for item in report.mended}
    assert schema.check(sick_dsn) == []


def test_fix_tells_what_it_may_not_do(sick_dsn: str, make_login: Callable[..., str]) -> None:
    with psycopg.connect(sick_dsn, autocommit=True) as conn:
        conn.execute("GRANT SELECT ON sift.chunks TO sift_app")
        conn.execute("DROP INDEX sift.chunk_embeddings_m1_hnsw_idx")
    login = make_login(sick_dsn, "sift_writer")
    with Store(login) as store:
        report = store.doctor(sample=None, fix=True)
    failed = {item.check_name: item.failure for item in report.mended if item.failure is not None}
    assert set(failed) == {"grants", "indexes"}
    assert all("permission denied" in str(text) or "must be owner" in str(text) or "no privileges" in str(text) for text in failed.values())
    # What a writer may mend is mended.
    assert {f.check_name for f in report.findings if f.check_name not in OF_THE_SERVER and f.object != "server"} == {"grants", "indexes"}


def test_the_doctor_reads_only(healthy_dsn: str) -> None:
    with psycopg.connect(healthy_dsn, options="-c default_transaction_read_only=on") as conn:
        assert examine(conn, sample=50) == [] and examine(conn) == []


def test_nothing_foreign_is_run(healthy_dsn: str) -> None:
    """A database that lies about itself chooses among our own actions; its words are never run."""
    from pgsift import _doctor

    lies = [
        Finding("indexes", "error", None, 'sift."x"; DROP TABLE sift.chunks; --', "DROP TABLE sift.chunks", "DROP TABLE sift.chunks", True),
        Finding("dead_rows", "warning", None, "sift.chunks; DROP TABLE sift.chunks", "x", "DROP TABLE sift.chunks", True),
        Finding("nonsense", "error", None, "x", "x", "DROP TABLE sift.chunks", True),
    ]
    actions = _doctor.plan(lies, [], [], [], "public")
    texts = [action.text for action in actions]
    assert texts == ['REINDEX INDEX CONCURRENTLY "sift"."x"', 'VACUUM (ANALYZE) "sift"."chunks;"']
    assert conninfo_to_dict(healthy_dsn)["dbname"]


def every_check(source: str) -> set[str]:
    import re

    return set(re.findall(r"'(\w+)'::text, (?:'(?:error|warning|info)'|CASE)", source)) | set(
        re.findall(r"'(\w+)', '(?:error|warning|info)'", source)
    )


def test_every_check_is_in_the_runbook_and_is_tested() -> None:
    from pathlib import Path

    from pgsift import _resources

    root = Path(__file__).parents[2]
    names: set[str] = {"schema_version"}
    for path in _resources.sql_directory().glob("internal/_doctor_*.sql"):
        names |= every_check(path.read_text(encoding="utf-8"))
    assert len(names) > 25, names
    headings = [line.lstrip("# ").strip() for line in (root / "docs" / "operations.md").read_text(encoding="utf-8").splitlines() if line.startswith("### ")]
    assert sorted(names - set(headings)) == []
    planted: set[Any] = {check for _, check, _ in [*IN_A_TENANT.values(), *WAITING.values(), *OBJECTS.values()]}
    planted |= {"unreadable", "planner_statistics", "visibility_map", "server_version", "settings", "durability", "schema_version", "pending_packing", "dead_postings", "dead_rows"}
    planted |= {"query_log"}  # tests/sql/test_query_log.py
    assert names - planted == set()
