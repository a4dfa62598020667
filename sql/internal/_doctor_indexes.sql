-- The doctor on indexes: invalid ones, those a model lacks, two of one definition, and vector indexes that nothing uses. And tables of vectors
-- whose model is gone.
CREATE OR REPLACE FUNCTION sift._doctor_indexes()
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT 'indexes'::text, 'error'::text, i.indexrelid::regclass::text,
           format('the index on %s is invalid: writers keep it, no search uses it', i.indrelid::regclass),
           format('REINDEX INDEX CONCURRENTLY %s', i.indexrelid::regclass), true
    FROM pg_catalog.pg_index AS i
    JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'i' AND NOT (i.indisvalid AND i.indisready)
    ORDER BY 3;

    RETURN QUERY
    SELECT 'indexes'::text, 'error'::text, format('%s, model %s', m.partition, to_json(m.name)),
           CASE WHEN to_regclass(m.partition) IS NULL THEN format('the table sift.chunk_embeddings_m%s of the model is missing', m.model_id)
                ELSE 'the model has no HNSW index: searches among many visible vectors are refused or slow' END,
           CASE WHEN to_regclass(m.partition) IS NULL THEN 'restore it from a backup, or drop the row of the model and register it anew'
                ELSE 'CREATE' || format(' INDEX CONCURRENTLY chunk_embeddings_m%s_hnsw_idx ON %s %s', m.model_id, m.partition, sift._hnsw_definition(m.model_id)) END,
           to_regclass(m.partition) IS NOT NULL
    FROM (SELECT e.model_id, e.name, format('sift.chunk_embeddings_m%s', e.model_id) AS partition,
                 CASE e.quantization WHEN 'binary' THEN 'bit_hamming_ops' ELSE e.precision || '_' || e.metric || '_ops' END AS operators
          FROM sift.embedding_models AS e) AS m
    WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_index AS i
        JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
        JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
        JOIN pg_catalog.pg_opclass AS o ON o.oid = i.indclass[0]
        WHERE i.indrelid = to_regclass(m.partition) AND a.amname = 'hnsw' AND o.opcname = m.operators)
    ORDER BY m.name;

    RETURN QUERY
    SELECT 'model_leftovers'::text, 'warning'::text, c.oid::regclass::text, 'the table holds vectors of a model that is registered no more'::text,
           format('DROP TABLE %s', c.oid::regclass), false
    FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^chunk_embeddings_m[0-9]+$'
      AND NOT EXISTS (SELECT FROM sift.embedding_models AS e WHERE c.relname = format('chunk_embeddings_m%s', e.model_id))
    ORDER BY 3;

    RETURN QUERY
    SELECT 'indexes'::text, 'warning'::text, x.second::text,
           format('the index does the same as %s: every write pays twice', x.first),
           format('DROP INDEX CONCURRENTLY %s', x.second), false
    FROM (SELECT i.indexrelid::regclass AS second,
                 first_value(i.indexrelid) OVER same::regclass AS first,
                 row_number() OVER same AS position
          FROM pg_catalog.pg_index AS i
          JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
          WHERE c.relnamespace = 'sift'::regnamespace AND i.indisvalid
          WINDOW same AS (PARTITION BY i.indrelid, c.relam, i.indkey, i.indclass, i.indoption, i.indcollation, i.indisunique,
                                       coalesce(pg_get_expr(i.indexprs, i.indrelid), ''), coalesce(pg_get_expr(i.indpred, i.indrelid), '')
                          ORDER BY i.indisprimary DESC, i.indexrelid)) AS x
    WHERE x.position > 1
    ORDER BY 3;

    RETURN QUERY
    SELECT 'unused_indexes'::text, 'info'::text, s.indexrelid::regclass::text,
           format('no search has used this vector index of %s rows since the statistics of the server began', t.reltuples::bigint),
           'none is needed where searches see few vectors; else look at dense_path in their results'::text, false
    FROM pg_catalog.pg_stat_all_indexes AS s
    JOIN pg_catalog.pg_class AS c ON c.oid = s.indexrelid
    JOIN pg_catalog.pg_class AS t ON t.oid = s.relid
    JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
    WHERE s.schemaname = 'sift' AND a.amname = 'hnsw' AND s.idx_scan = 0 AND t.reltuples >= 50000
    ORDER BY 3;
END
$$;
COMMENT ON FUNCTION sift._doctor_indexes() IS 'The doctor on indexes.';
REVOKE ALL ON FUNCTION sift._doctor_indexes() FROM PUBLIC;
