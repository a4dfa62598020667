-- Runs a statement of sift._dense_leg that takes the 400 nearest vectors from the HNSW index and keeps the visible ones.
-- What is set here holds for the time of the call. No iterative scan: it would go on among far vectors, which the index finds badly,
-- where too few of the near ones are visible. A Sort is ruled out so that the index is used whatever the planner has heard about
-- the table: every other plan needs one. pgvector must be loaded for its parameters to be accepted from others than superusers.
DO $$ BEGIN EXECUTE pg_catalog.format('SELECT ''[1]''::%I.vector', sift._vector_schema()); END $$;

CREATE OR REPLACE FUNCTION sift._dense_hnsw_400(statement text, bound jsonb, tenant_id integer, lists bigint[], query real[], k integer)
RETURNS TABLE (chunk_id bigint, text_hash bytea, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET hnsw.iterative_scan = off
SET hnsw.ef_search = 400
AS $$
BEGIN
    RETURN QUERY EXECUTE statement USING bound, tenant_id, lists, query, k;
END
$$;
COMMENT ON FUNCTION sift._dense_hnsw_400(text, jsonb, integer, bigint[], real[], integer) IS
    'Takes the 400 nearest vectors from the HNSW index and keeps the visible ones.';
REVOKE ALL ON FUNCTION sift._dense_hnsw_400(text, jsonb, integer, bigint[], real[], integer) FROM PUBLIC;
