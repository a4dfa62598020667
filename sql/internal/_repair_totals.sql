-- Repair of the sizes of the corpus and of the counts of vectors, each counted and corrected in one statement.
CREATE OR REPLACE FUNCTION sift._repair_totals(tenant_id integer)
RETURNS TABLE (object text, mended text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    WITH wrong AS MATERIALIZED (
        SELECT e.* FROM sift._size_errors(v_tenant_id) AS e
    ),
    corrected_lists AS (
        INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
        SELECT v_tenant_id, l.access_list_id, l.counted_chunks - l.chunks, l.counted_total_length - l.total_length
        FROM wrong AS l WHERE l.access_list_id IS NOT NULL ORDER BY l.access_list_id
    ),
    corrected_totals AS (
        INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
        SELECT v_tenant_id, t.counted_chunks - t.chunks, t.counted_total_length - t.total_length
        FROM wrong AS t WHERE t.access_list_id IS NULL
    )
    SELECT coalesce('access list ' || w.access_list_id, 'tenant'),
           format('chunks: %s, counted %s; tokens: %s, counted %s', w.chunks, w.counted_chunks, w.total_length, w.counted_total_length)
    FROM wrong AS w
    ORDER BY w.access_list_id NULLS FIRST;

    RETURN QUERY
    WITH wrong AS MATERIALIZED (
        SELECT e.* FROM sift._vector_errors(v_tenant_id) AS e
    ),
    corrected AS (
        INSERT INTO sift.embedding_stats AS s (tenant_id, model_id, access_list_id, vectors)
        SELECT v_tenant_id, w.model_id, w.access_list_id, w.counted - w.stored FROM wrong AS w ORDER BY w.model_id, w.access_list_id
    )
    SELECT format('model %s', w.model_id), format('vectors of access list %s: %s, counted %s', w.access_list_id, w.stored, w.counted)
    FROM wrong AS w
    ORDER BY w.model_id, w.access_list_id;
END
$$;
COMMENT ON FUNCTION sift._repair_totals(integer) IS 'Repair of the sizes of the corpus and of the counts of vectors.';
REVOKE ALL ON FUNCTION sift._repair_totals(integer) FROM PUBLIC;
