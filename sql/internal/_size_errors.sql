-- Where the sizes of the corpus differ from a recount: of the tenant (access_list_id NULL) and of each access list. Stored and counted are
-- read in one snapshot, that of the statement which calls this, so that it can correct what it finds.
CREATE OR REPLACE FUNCTION sift._size_errors(tenant_id integer)
RETURNS TABLE (access_list_id bigint, chunks bigint, counted_chunks bigint, total_length bigint, counted_total_length bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
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
    compared AS (
        SELECT NULL::bigint AS access_list_id,
               (SELECT coalesce(sum(s.chunks), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS chunks,
               (SELECT coalesce(sum(k.chunks), 0)::bigint FROM counted AS k) AS counted_chunks,
               (SELECT coalesce(sum(s.total_length), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS total_length,
               (SELECT coalesce(sum(k.total_length), 0)::bigint FROM counted AS k) AS counted_total_length
        UNION ALL
        SELECT coalesce(k.access_list_id, s.access_list_id), coalesce(s.chunks, 0), coalesce(k.chunks, 0),
               coalesce(s.total_length, 0), coalesce(k.total_length, 0)
        FROM counted AS k
        FULL JOIN stored AS s ON s.access_list_id = k.access_list_id
    )
    SELECT t.access_list_id, t.chunks, t.counted_chunks, t.total_length, t.counted_total_length
    FROM compared AS t
    WHERE (t.chunks, t.total_length) <> (t.counted_chunks, t.counted_total_length)
    ORDER BY t.access_list_id NULLS FIRST;
END
$$;
COMMENT ON FUNCTION sift._size_errors(integer) IS 'Where the sizes of the corpus, of the tenant and of each access list, differ from a recount.';
REVOKE ALL ON FUNCTION sift._size_errors(integer) FROM PUBLIC;
