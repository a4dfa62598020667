-- Runs a statement of sift._dense_leg that walks the HNSW index: where a hundred candidates are expected to hold enough visible ones.
-- What is set here holds for the time of the call. A Sort is ruled out so that the index is used whatever the planner has heard
-- about the table: every other plan needs one. pgvector must be loaded for its parameters to be accepted from others than superusers.
DO $$ BEGIN EXECUTE pg_catalog.format('SELECT ''[1]''::%I.vector', sift._vector_schema()); END $$;

CREATE OR REPLACE FUNCTION sift._dense_hnsw_200(
    statement text, bound jsonb, tenant_id integer, lists bigint[], query real[], k integer)
RETURNS TABLE (chunk_id bigint, text_hash bytea, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET hnsw.iterative_scan = relaxed_order
SET hnsw.ef_search = 200
SET hnsw.max_scan_tuples = 1000
SET hnsw.scan_mem_multiplier = 2
AS $$
BEGIN
    RETURN QUERY EXECUTE statement USING bound, tenant_id, lists, query, k;
END
$$;
COMMENT ON FUNCTION sift._dense_hnsw_200(text, jsonb, integer, bigint[], real[], integer) IS
    'Walks the HNSW index with hnsw.ef_search = 200, giving up after 1000 vectors.';
REVOKE ALL ON FUNCTION sift._dense_hnsw_200(text, jsonb, integer, bigint[], real[], integer) FROM PUBLIC;
