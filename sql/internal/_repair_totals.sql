-- Repair of the sizes of the corpus and of the counts of vectors, each counted and corrected in one statement.
CREATE OR REPLACE FUNCTION sift._repair_totals(tenant_id integer)
RETURNS TABLE (object text, mended text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    WITH counted AS MATERIALIZED (
        SELECT c.access_list_id, count(*) AS chunks, sum(c.doc_length)::bigint AS total_length
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.doc_length > 0
        GROUP BY c.access_list_id
    ),
    stored AS (
        SELECT s.access_list_id, sum(s.chunks)::bigint AS chunks, sum(s.total_length)::bigint AS total_length
        FROM sift.corpus_stats AS s
        WHERE s.tenant_id = v_tenant_id
        GROUP BY s.access_list_id
    ),
    lists AS MATERIALIZED (
        SELECT coalesce(k.access_list_id, s.access_list_id) AS access_list_id, coalesce(s.chunks, 0) AS chunks, coalesce(k.chunks, 0) AS counted_chunks,
               coalesce(s.total_length, 0) AS total_length, coalesce(k.total_length, 0) AS counted_total_length
        FROM counted AS k
        FULL JOIN stored AS s ON s.access_list_id = k.access_list_id
        WHERE (coalesce(s.chunks, 0), coalesce(s.total_length, 0)) <> (coalesce(k.chunks, 0), coalesce(k.total_length, 0))
    ),
    totals AS MATERIALIZED (
        SELECT x.chunks, x.counted_chunks, x.total_length, x.counted_total_length
        FROM (SELECT (SELECT coalesce(sum(s.chunks), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS chunks,
                     (SELECT coalesce(sum(s.total_length), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS total_length,
                     (SELECT coalesce(sum(k.chunks), 0)::bigint FROM counted AS k) AS counted_chunks,
                     (SELECT coalesce(sum(k.total_length), 0)::bigint FROM counted AS k) AS counted_total_length) AS x
        WHERE (x.chunks, x.total_length) <> (x.counted_chunks, x.counted_total_length)
    ),
    corrected_lists AS (
        INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
        SELECT v_tenant_id, l.access_list_id, l.counted_chunks - l.chunks, l.counted_total_length - l.total_length
        FROM lists AS l ORDER BY l.access_list_id
    ),
    corrected_totals AS (
        INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
        SELECT v_tenant_id, t.counted_chunks - t.chunks, t.counted_total_length - t.total_length FROM totals AS t
    )
    SELECT 'tenant'::text, format('chunks: %s, counted %s; tokens: %s, counted %s', t.chunks, t.counted_chunks, t.total_length, t.counted_total_length)
    FROM totals AS t
    UNION ALL
    SELECT format('access list %s', l.access_list_id),
           format('chunks: %s, counted %s; tokens: %s, counted %s', l.chunks, l.counted_chunks, l.total_length, l.counted_total_length)
    FROM lists AS l;

    RETURN QUERY
    WITH wrong AS MATERIALIZED (
        SELECT coalesce(k.model_id, s.model_id) AS model_id, coalesce(k.access_list_id, s.access_list_id) AS access_list_id,
               coalesce(s.vectors, 0) AS stored, coalesce(k.vectors, 0) AS counted
        FROM (SELECT e.model_id, e.access_list_id, count(*) AS vectors
              FROM sift.chunk_embeddings AS e WHERE e.tenant_id = v_tenant_id GROUP BY e.model_id, e.access_list_id) AS k
        FULL JOIN (SELECT t.model_id, t.access_list_id, sum(t.vectors)::bigint AS vectors
                   FROM sift.embedding_stats AS t WHERE t.tenant_id = v_tenant_id GROUP BY t.model_id, t.access_list_id) AS s
            ON s.model_id = k.model_id AND s.access_list_id = k.access_list_id
        WHERE coalesce(s.vectors, 0) <> coalesce(k.vectors, 0)
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
