"""The schema stays shardable by tenant: hash-partitioned on plain PostgreSQL, no statement plans for more than one
partition of a table. A distributed PostgreSQL (Citus) routes exactly such statements to one node."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable

import psycopg
import pytest

from pgsift import _resources

PARTITIONS = 4
# Reference tables on a cluster, and the vectors, which are partitioned by model already.
WHOLE = {"tenants", "embedding_models", "chunk_embeddings", "alembic_version"}


def partitioned(statements: str) -> str:
    """The table definitions, with PARTITION BY HASH (tenant_id) where a table is sharded by tenant."""

    def rewrite(match: re.Match[str]) -> str:
        name, columns = match.groups()
        if name in WHOLE or "tenant_id" not in columns:
            return match.group(0)
        parts = "".join(
            f"CREATE TABLE sift.{name}_shard{i} PARTITION OF sift.{name} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {i});\n"
            for i in range(PARTITIONS)
        )
        return f"CREATE TABLE sift.{name} ({columns}\n) PARTITION BY HASH (tenant_id);\n{parts}"

    return re.sub(r"^CREATE TABLE sift\.(\w+) \((.*?)\n\)(?: WITH \([^)]*\))?;$", rewrite, statements, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def sharded(empty_dsn: str) -> psycopg.Connection:
    directory = _resources.sql_directory()
    connection = psycopg.connect(empty_dsn, autocommit=True)
    version = connection.info.server_version
    if version < 170000:
        connection.close()
        pytest.skip("identity columns of partitioned tables need PostgreSQL 17")
    count = 0
    for name in _resources.install_order(directory / "install.sql"):
        text = (directory / name).read_text()
        changed = partitioned(text) if str(name).startswith("tables/") else text
        count += changed != text
        connection.execute(changed.encode())
    assert count > 10
    return connection


def test_each_statement_plans_for_one_partition(sharded: psycopg.Connection) -> None:
    plans: list[str] = []
    with sharded as connection:
        try:
            connection.execute("LOAD 'auto_explain'")
        except psycopg.errors.UndefinedFile:
            pytest.skip("the server has no auto_explain")
        for setting in (
            "auto_explain.log_min_duration = 0", "auto_explain.log_nested_statements = on",
            "auto_explain.log_level = warning", "client_min_messages = warning", "plan_cache_mode = force_custom_plan",
        ):
            connection.execute(f"SET {setting}")
        connection.add_notice_handler(lambda diagnostic: plans.append(diagnostic.message_primary or ""))
        run: Callable[..., object] = connection.execute
        for tenant in ("a", "b", "c", "d", "e"):
            run("SELECT sift.create_tenant(%s, 'standard', default_principals => '{public}')", (tenant,))
            run("SELECT sift.register_model('toy', 2)")
            for text in ("one fox", "two foxes and one fox"):
                run(
                    "SELECT sift.put_documents(%s, %s::jsonb, model => 'toy')",
                    (tenant, json.dumps([
                        {"key": "k", "metadata": {"n": 1}, "chunks": [{"body": text, "embedding": [1, 0], "entities": ["fox"]}]},
                        {"key": "l", "text": "one hound", "acl": ["group:x"]}])),
                )
            run("SELECT sift.set_access(%s, '{k}', '{public,group:y}')", (tenant,))
            run("SELECT * FROM sift.document_states(%s, '{k,l}', 'toy')", (tenant,))
            for options in ("", ", filter => '{\"metadata.n\": {\"$gte\": 1}}'"):
                run(f"SELECT * FROM sift.search(%s, 'one fox', principals => '{{public}}', query_embedding => '{{1,0}}'{options})", (tenant,))
            run("SELECT * FROM sift.list_documents(%s, '{public}')", (tenant,))
            for options in ("", ", filter => '{\"metadata.tags\": {\"$gte\": \"a\"}, \"section\": {\"$lt\": \"a\"}}'"):
                run(f"SELECT * FROM sift.lexical_candidates(%s, '{{one,fox}}', principals => '{{public}}'{options})", (tenant,))
            run("SELECT * FROM sift.term_statistics(%s, '{one,fox}')", (tenant,))
            run("SELECT * FROM sift.chunks_by_entity(%s, 'fox', '{public}')", (tenant,))
            run("SELECT * FROM sift.put_claims(%s, 'k', '[{\"body\": \"a fox\", \"supports\": [0], \"entities\": [\"fox\"]}]')", (tenant,))
            run("SELECT sift.put_entities(%s, 'k', '[{\"ordinal\": 0, \"entities\": [\"den\"]}]')", (tenant,))
            for options in ("", ", title_weight => 2", ", query_embedding => '{1,0}'", ", unit => 'document'"):
                run(f"SELECT * FROM sift.search(%s, 'fox', principals => '{{public}}', filter => '{{\"$or\": [{{\"entity\": \"den\"}}, {{\"kind\": \"claim\"}}]}}'{options})",
                    (tenant,))
            run("SELECT * FROM sift.search(%s, 'fox', principals => '{public}', as_of => clock_timestamp())", (tenant,))
            run("SELECT * FROM sift.list_claims(%s, 'k', '{public}')", (tenant,))
            run("SELECT * FROM sift.documents_with_vectors(%s)", (tenant,))
            run("SELECT * FROM sift.document_vectors(%s, '{1,2,3}')", (tenant,))
            for labels in ("0", "-1"):
                run(f"SELECT sift.put_topics(%s, array_agg(d.document_id), array_agg(1), array_agg({labels}), array_agg(0::float8), array_agg(1::float8),"
                    " array_agg(0::float8), array_agg(0::float8), 'm') FROM sift.documents_with_vectors(%s) AS d", (tenant, tenant))
                run("SELECT * FROM sift.list_topics(%s, '{public}')", (tenant,))
                run("SELECT * FROM sift.document_topics(%s, principals => '{public}')", (tenant,))
                run("SELECT * FROM sift.topic_run(%s)", (tenant,))
            run("SELECT * FROM sift.facets(%s, 'entity', principals => '{public}')", (tenant,))
            run("SELECT sift.remove_entities(%s, 'k', '[{\"ordinal\": 0, \"entities\": [\"den\"]}]')", (tenant,))
            run("SELECT sift.remove_entities(%s, 'k')", (tenant,))
            run("SELECT sift.put_entities(%s, 'k', '[{\"ordinal\": 0, \"entities\": [\"fox\"]}]')", (tenant,))
            run("SELECT * FROM sift.evidence(%s, 'k', 'fox', principals => '{public}')", (tenant,))
            run("SELECT * FROM sift.evidence(%s, 'k', 'fox', principals => '{public}', as_of => clock_timestamp())", (tenant,))
            run("SELECT * FROM sift.search(%s, 'one fox', principals => '{public}', snippet_width => 30, as_of => clock_timestamp())", (tenant,))
            for options in ("", ", unit => 'document', title_weight => 2", ", as_of => clock_timestamp()", ", as_of => clock_timestamp(), unit => 'document'",
                            ", query_embedding => '{1,0}', mode => 'dense'", ", filter => '{\"metadata.n\": 1}', query_embedding => '{1,0}'"):
                run(f"SELECT * FROM sift.explain(%s, 'one fox', key => 'k', principals => '{{public}}'{options})", (tenant,))
                run(f"SELECT * FROM sift.why_not(%s, 'one fox', 'k', k => 0, principals => '{{public}}'{options})", (tenant,))
                run(f"SELECT * FROM sift.why_not(%s, 'absent', 'k', principals => '{{public}}', min_score => 9, max_distance => -1{options})", (tenant,))
            run("SELECT sift.register_token_model('late', 2)")
            chunks = "ARRAY(SELECT e.chunk_id FROM sift.chunks_by_entity(%s, 'fox', '{public}') AS e)"
            run(f"SELECT sift.put_token_embeddings(%s, 'late', {chunks}, '{{\"[[1,0],[0,1]]\"}}')", (tenant, tenant))
            run("SELECT * FROM sift.chunks_without_token_embedding(%s)", (tenant,))
            for options in ("mmr => 0.5", "mmr => 0.5, query_embedding => '{1,0}', as_of => clock_timestamp(), token_budget => 50",
                            "query_token_embeddings => '{{1,0},{0,1}}', query_embedding => '{1,0}', mmr => 0.3"):
                run(f"SELECT * FROM sift.search(%s, 'one fox hound', principals => '{{public,group:x}}', {options})", (tenant,))
            run(f"SELECT * FROM sift.choose_chunks(%s, {chunks}, '{{1}}', principals => '{{public}}', mmr => 0.5)", (tenant, tenant))
            run("SELECT * FROM sift.corpus_statistics(%s)", (tenant,))
            run("SELECT sift.fold_statistics(%s)", (tenant,))
            run("SELECT * FROM sift.search(%s, 'one fox', principals => '{public}')", (tenant,))
            run("SELECT * FROM sift.delete_documents(%s, '{k}')", (tenant,))
            run("SELECT sift.log_query(%s, 'one fox', hits => '[{\"rank\": 1, \"chunk_id\": 1, \"document_id\": 1, \"key\": \"x/2\"}]')", (tenant,))
            run("SELECT * FROM sift.list_queries(%s)", (tenant,))
            run("SELECT sift.judge(%s, 'one fox', s.key, 1, s.chunk_id, '{sift:writer}') FROM sift.lexical_search(%s, 'hound', principals => '{sift:writer}') AS s", (tenant, tenant))
            run("SELECT * FROM sift.list_judgments(%s, '{sift:writer}', of_query => 'one fox')", (tenant,))
            run("SELECT sift.remove_judgment(%s, 1, '{sift:writer}')", (tenant,))
            run("SELECT sift.add_dead_letter(%s, 'read', 'why')", (tenant,))
            run("SELECT * FROM sift.list_dead_letters(%s)", (tenant,))
            run("SELECT sift.add_dead_letter(%s, 'read', 'why', 'lost')", (tenant,))
            run("SELECT sift.clear_dead_letters(%s, ids => '{1}', keys => '{lost}', root => 'file:///x')", (tenant,))
            run("SELECT sift.put_documents(%s, %s::jsonb)", (tenant, json.dumps([{"key": "x/1", "text": "to be moved"}])))
            run("SELECT sift.create_manifest(%s, 'before')", (tenant,))
            source = connection.execute(
                "SELECT s.sync_source_id FROM sift.start_sync(%s, 's', 'folder', 'file:///x', 'x/') AS s", (tenant,)
            ).fetchone()
            assert source is not None
            run("SELECT * FROM sift.put_sync_items(%s, %s, '{x/1}', '{mark}')", (tenant, source[0]))
            run("SELECT * FROM sift.sync_owners(%s, NULL, '{x/1}')", (tenant,))
            run("SELECT * FROM sift.list_sync_items(%s, %s, model => 'toy')", (tenant, source[0]))
            run("SELECT * FROM sift.move_documents(%s, '{x/1}', '{x/2}')", (tenant,))
            run("SELECT sift.finish_sync(%s, %s, 'so')", (tenant, source[0]))
            run("SELECT * FROM sift.list_sync_sources(%s)", (tenant,))
            run("SELECT sift.create_manifest(%s, 'after')", (tenant,))
            run("SELECT * FROM sift.list_manifests(%s)", (tenant,))
            run("SELECT * FROM sift.manifest_documents(%s, 'after')", (tenant,))
            run("SELECT * FROM sift.compare_manifests(%s, 'before', 'after')", (tenant,))
            run("SELECT * FROM sift.compare_manifests(%s, 'before')", (tenant,))
            run("SELECT sift.end_sync(%s, 's'), sift.drop_manifest(%s, 'before')", (tenant, tenant))
            run("SELECT * FROM sift.purge_documents(%s, '{x/2}')", (tenant,))
            run("SELECT sift.purge_queries(%s, 'infinity')", (tenant,))
        run("SELECT sift.drop_tenant('a')")
    own = [plan for plan in plans if "sift." in plan]
    assert len(own) > 100
    for plan in own:
        shards: dict[str, set[str]] = defaultdict(set)
        for table, shard in re.findall(r"\b(\w+)_shard(\d)", plan):
            shards[table].add(shard)
        wide = {table for table, numbers in shards.items() if len(numbers) > 1}
        # A foreign key's own check runs inside the server, which on a cluster is the node that holds both sides.
        if wide and "Query Text: DELETE FROM ONLY" not in plan and "Query Text: SELECT 1 FROM ONLY" not in plan:
            raise AssertionError(f"more than one partition of {sorted(wide)}:\n{plan}")
