-- Adds up the rows of the statistics: what writers inserted becomes one row per term and per access list again. Scores do not change,
-- searches only read fewer rows. Anyone may call it at any time, also several at once: rows somebody else is folding are passed over.
CREATE OR REPLACE FUNCTION sift.fold_statistics(tenant text DEFAULT NULL)
RETURNS TABLE (tenant_name text, rows_before bigint, rows_after bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant record;
    v_held   tid[];
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

        -- Rows are deleted by their place. A join on their keys would be a nested loop over all pairs of rows wherever the planner
        -- knows of few rows of this tenant, which is so after every large ingest into a new one. What is added up is what was
        -- deleted, so it does not matter if a place has got another row meanwhile.
        v_held := ARRAY(SELECT s.ctid FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant.tenant_id FOR UPDATE SKIP LOCKED);
        WITH gone AS (
            DELETE FROM sift.corpus_totals AS s
            WHERE s.tenant_id = v_tenant.tenant_id AND s.ctid = ANY (v_held)
            RETURNING s.chunks, s.total_length
        ),
        folded AS (
            INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
            SELECT v_tenant.tenant_id, sum(g.chunks), sum(g.total_length) FROM gone AS g HAVING count(*) > 0
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM gone), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;

        v_held := ARRAY(SELECT s.ctid FROM sift.corpus_stats AS s WHERE s.tenant_id = v_tenant.tenant_id FOR UPDATE SKIP LOCKED);
        WITH gone AS (
            DELETE FROM sift.corpus_stats AS s
            WHERE s.tenant_id = v_tenant.tenant_id AND s.ctid = ANY (v_held)
            RETURNING s.access_list_id, s.chunks, s.total_length
        ),
        sums AS MATERIALIZED (
            SELECT g.access_list_id, sum(g.chunks) AS chunks, sum(g.total_length) AS total_length
            FROM gone AS g
            GROUP BY g.access_list_id
        ),
        folded AS (
            INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
            SELECT v_tenant.tenant_id, u.access_list_id, u.chunks, u.total_length
            FROM sums AS u
            WHERE u.chunks <> 0 OR u.total_length <> 0
            ORDER BY u.access_list_id
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM gone), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;

        v_held := ARRAY(SELECT s.ctid FROM sift.embedding_stats AS s WHERE s.tenant_id = v_tenant.tenant_id FOR UPDATE SKIP LOCKED);
        WITH gone AS (
            DELETE FROM sift.embedding_stats AS s
            WHERE s.tenant_id = v_tenant.tenant_id AND s.ctid = ANY (v_held)
            RETURNING s.model_id, s.access_list_id, s.vectors
        ),
        sums AS MATERIALIZED (
            SELECT g.model_id, g.access_list_id, sum(g.vectors) AS vectors
            FROM gone AS g
            GROUP BY g.model_id, g.access_list_id
        ),
        folded AS (
            INSERT INTO sift.embedding_stats AS s (tenant_id, model_id, access_list_id, vectors)
            SELECT v_tenant.tenant_id, u.model_id, u.access_list_id, u.vectors
            FROM sums AS u
            WHERE u.vectors <> 0
            ORDER BY u.model_id, u.access_list_id
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM gone), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;

        -- Only terms that have more than one row, or a sum of 0. Such a sum is dropped where no posting of the term is a row: the
        -- bounds it carries are of rows alone.
        v_held := ARRAY(
            SELECT n.place
            FROM (
                SELECT s.ctid AS place, count(*) OVER (PARTITION BY s.term) AS rows, sum(s.df) OVER (PARTITION BY s.term) AS df
                FROM sift.term_stats AS s
                WHERE s.tenant_id = v_tenant.tenant_id
            ) AS n
            WHERE n.rows > 1 OR n.df = 0
        );
        v_held := ARRAY(
            SELECT s.ctid FROM sift.term_stats AS s
            WHERE s.tenant_id = v_tenant.tenant_id AND s.ctid = ANY (v_held)
            FOR UPDATE SKIP LOCKED
        );
        WITH gone AS (
            DELETE FROM sift.term_stats AS s
            WHERE s.tenant_id = v_tenant.tenant_id AND s.ctid = ANY (v_held)
            RETURNING s.term, s.df, s.max_tf, s.min_doc_length
        ),
        sums AS MATERIALIZED (
            SELECT g.term, sum(g.df) AS df, max(g.max_tf) AS max_tf, min(g.min_doc_length) AS min_doc_length
            FROM gone AS g
            GROUP BY g.term
            ORDER BY g.term
        ),
        folded AS (
            INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
            SELECT v_tenant.tenant_id, u.term, u.df, u.max_tf, u.min_doc_length
            FROM sums AS u
            WHERE u.df <> 0
               OR EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant.tenant_id AND w.term = u.term)
            RETURNING 1
        )
        SELECT rows_before + (SELECT count(*) FROM gone), rows_after + (SELECT count(*) FROM folded) INTO rows_before, rows_after;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.fold_statistics(text) IS
    'Adds up the rows of the statistics of one tenant, or of all; scores stay the same and searches read fewer rows. Safe at any time.';
REVOKE ALL ON FUNCTION sift.fold_statistics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.fold_statistics(text) TO sift_owner, sift_writer;
