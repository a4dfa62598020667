-- What a manifest says of a corpus beside its list of documents. One statement, and so one snapshot.
--
-- A digest is made in two steps, so that its size does not depend on that of the corpus: sha256 of the digests, in their order, of every 1000
-- entries one after the other. The entries of
--   documents  by key (in C order): key, a zero byte, version, a zero byte, content hash (32 bytes)
--   texts      by key and ordinal: sha256 of the chunk's body (32 bytes)
--   access     by key: key, a zero byte, hash of the access list (sift._access_hash)
CREATE OR REPLACE FUNCTION sift._manifest_summary(tenant_id integer) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := tenant_id;
    v_each      CONSTANT integer := 1000;
    v_summary   jsonb;
BEGIN
    WITH documents AS MATERIALIZED (
        SELECT m.document_id, m.version, m.key, m.content_hash, m.access_hash,
               (row_number() OVER (ORDER BY m.key COLLATE "C") - 1) AS position
        FROM sift._manifest_rows(v_tenant_id, NULL) AS m
    ),
    document_parts AS (
        SELECT d.position / v_each AS part,
               sha256(string_agg(convert_to(d.key, 'UTF8') || E'\\x00'::bytea || convert_to(d.version::text, 'UTF8') || E'\\x00'::bytea || d.content_hash,
                                 ''::bytea ORDER BY d.position)) AS listed,
               sha256(string_agg(convert_to(d.key, 'UTF8') || E'\\x00'::bytea || d.access_hash, ''::bytea ORDER BY d.position)) AS access
        FROM documents AS d
        GROUP BY d.position / v_each
    ),
    chunk_parts AS (
        SELECT n.position / v_each AS part, sha256(string_agg(n.text_hash, ''::bytea ORDER BY n.position)) AS texts, count(*) AS chunks
        FROM (SELECT c.text_hash, (row_number() OVER (ORDER BY d.position, c.ordinal) - 1) AS position
              FROM sift.chunks AS c
              JOIN documents AS d ON d.document_id = c.document_id
              WHERE c.tenant_id = v_tenant_id) AS n
        GROUP BY n.position / v_each
    ),
    vectors AS (
        SELECT m.name, m.revision, m.dimensions, m.metric, m.precision, n.vectors
        FROM (SELECT e.model_id, sum(e.vectors)::bigint AS vectors
              FROM sift.embedding_stats AS e
              WHERE e.tenant_id = v_tenant_id
              GROUP BY e.model_id
              HAVING sum(e.vectors) > 0) AS n
        JOIN sift.embedding_models AS m ON m.model_id = n.model_id
    )
    SELECT jsonb_build_object(
        'counts', jsonb_build_object(
            'documents', (SELECT count(*) FROM documents AS d),
            'chunks', (SELECT coalesce(sum(c.chunks), 0)::bigint FROM chunk_parts AS c),
            'tokens', (SELECT coalesce(sum(s.total_length), 0)::bigint FROM sift.corpus_stats AS s WHERE s.tenant_id = v_tenant_id),
            'vectors', (SELECT coalesce(jsonb_object_agg(v.name, v.vectors), '{}'::jsonb) FROM vectors AS v)),
        'digests', jsonb_build_object(
            'documents', (SELECT encode(sha256(coalesce(string_agg(p.listed, ''::bytea ORDER BY p.part), ''::bytea)), 'hex') FROM document_parts AS p),
            'texts', (SELECT encode(sha256(coalesce(string_agg(p.texts, ''::bytea ORDER BY p.part), ''::bytea)), 'hex') FROM chunk_parts AS p),
            'access', (SELECT encode(sha256(coalesce(string_agg(p.access, ''::bytea ORDER BY p.part), ''::bytea)), 'hex') FROM document_parts AS p)),
        'models', (SELECT coalesce(jsonb_object_agg(v.name, jsonb_build_object(
                       'revision', v.revision, 'dimensions', v.dimensions, 'metric', v.metric, 'precision', v.precision)), '{}'::jsonb)
                   FROM vectors AS v),
        'settings', (SELECT jsonb_build_object(
                         'analyzer', t.analyzer, 'analyzer_fingerprint', t.analyzer_fingerprint, 'k1', t.k1, 'b', t.b, 'rrf_k', t.rrf_k,
                         'lexical_weight', t.lexical_weight, 'dense_weight', t.dense_weight, 'depth', t.depth, 'index_title', t.index_title,
                         'statistics', t.statistics, 'title_weight', t.title_weight, 'abstract_weight', t.abstract_weight,
                         'min_chunk_tokens', t.min_chunk_tokens, 'model', (SELECT m.name FROM sift.embedding_models AS m WHERE m.model_id = t.model_id))
                     FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id),
        'schema', sift.schema_version())
    INTO v_summary;
    RETURN v_summary;
END
$$;
COMMENT ON FUNCTION sift._manifest_summary(integer) IS 'Counts, digests, models and settings of the corpus as it is.';
REVOKE ALL ON FUNCTION sift._manifest_summary(integer) FROM PUBLIC;
