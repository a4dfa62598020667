-- Adds up the rows of the statistics: what writers inserted becomes one row per term and per access list again. Scores do not change,
-- searches only read fewer rows. Anyone may call it at any time, also several at once: rows somebody else is folding are passed over.
CREATE OR REPLACE FUNCTION sift.fold_statistics(tenant text DEFAULT NULL)
RETURNS TABLE (tenant_name text, rows_before bigint, rows_after bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant record;
    v_count  bigint;
BEGIN
    IF tenant IS NOT NULL THEN
        PERFORM sift._tenant_id(tenant);
    END IF;
    FOR v_tenant IN
        SELECT t.tenant_id, t.name FROM sift.tenants AS t
        WHERE fold_statistics.tenant IS NULL OR t.name = fold_statistics.tenant
        ORDER BY t.tenant_id
    LOOP
        tenant_name := v_tenant.name;
        rows_before := 0;
        rows_after := 0;

        WITH held AS MATERIALIZED (
            SELECT s.delta_id, s.chunks, s.total_length
            FROM sift.corpus_totals AS s
            WHERE s.tenant_id = v_tenant.tenant_id
            FOR UPDATE SKIP LOCKED
        ),
        gone AS (
            DELETE FROM sift.corpus_totals AS s USING held AS h WHERE s.tenant_id = v_tenant.tenant_id AND s.delta_id = h.delta_id
        ),
        folded AS (
            INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
            SELECT v_tenant.tenant_id, sum(h.chunks), sum(h.total_length) FROM held AS h HAVING count(*) > 0
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM held), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;

        WITH held AS MATERIALIZED (
            SELECT s.access_list_id, s.delta_id, s.chunks, s.total_length
            FROM sift.corpus_stats AS s
            WHERE s.tenant_id = v_tenant.tenant_id
            FOR UPDATE SKIP LOCKED
        ),
        sums AS MATERIALIZED (
            SELECT h.access_list_id, sum(h.chunks) AS chunks, sum(h.total_length) AS total_length
            FROM held AS h
            GROUP BY h.access_list_id
        ),
        gone AS (
            DELETE FROM sift.corpus_stats AS s
            USING held AS h
            WHERE s.tenant_id = v_tenant.tenant_id AND s.access_list_id = h.access_list_id AND s.delta_id = h.delta_id
        ),
        folded AS (
            INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
            SELECT v_tenant.tenant_id, u.access_list_id, u.chunks, u.total_length
            FROM sums AS u
            WHERE u.chunks <> 0 OR u.total_length <> 0
            ORDER BY u.access_list_id
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM held), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;

        -- A sum of 0 is dropped where no posting of the term is a row: the bounds it carries are of rows alone.
        WITH several AS MATERIALIZED (
            SELECT s.term FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant.tenant_id GROUP BY s.term HAVING count(*) > 1 OR sum(s.df) = 0
        ),
        held AS MATERIALIZED (
            SELECT s.term, s.delta_id, s.df, s.max_tf, s.min_doc_length
            FROM several AS v
            JOIN sift.term_stats AS s ON s.term = v.term
            WHERE s.tenant_id = v_tenant.tenant_id
            FOR UPDATE OF s SKIP LOCKED
        ),
        gone AS (
            DELETE FROM sift.term_stats AS s
            USING held AS h
            WHERE s.tenant_id = v_tenant.tenant_id AND s.term = h.term AND s.delta_id = h.delta_id
        ),
        sums AS MATERIALIZED (
            SELECT h.term, sum(h.df) AS df, max(h.max_tf) AS max_tf, min(h.min_doc_length) AS min_doc_length
            FROM held AS h
            GROUP BY h.term
            ORDER BY h.term
        ),
        folded AS (
            INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
            SELECT v_tenant.tenant_id, u.term, u.df, u.max_tf, u.min_doc_length
            FROM sums AS u
            WHERE u.df <> 0
               OR EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant.tenant_id AND w.term = u.term)
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM held), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.fold_statistics(text) IS
    'Adds up the rows of the statistics of one tenant, or of all; scores stay the same and searches read fewer rows. Safe at any time.';
REVOKE ALL ON FUNCTION sift.fold_statistics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.fold_statistics(text) TO sift_owner, sift_writer;
