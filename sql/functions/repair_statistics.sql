-- Corrects what sift.verify_statistics finds, and returns it. A correction is one more row of the statistics, so writers and readers go
-- on meanwhile, and a repair that is interrupted leaves nothing behind and can simply be run again.
CREATE OR REPLACE FUNCTION sift.repair_statistics(tenant text)
RETURNS TABLE (statistic text, term text, access_list_id bigint, stored bigint, counted bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_errors    jsonb;
BEGIN
    -- Two repairs at once would correct twice: the second waits for the first, and then finds nothing.
    UPDATE sift.tenants AS t SET created_at = t.created_at WHERE t.tenant_id = v_tenant_id;
    SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]'::jsonb) INTO v_errors FROM sift._statistics_errors(v_tenant_id) AS e;
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, e.term,
           coalesce(sum(e.counted - e.stored) FILTER (WHERE e.statistic = 'df'), 0),
           coalesce(max(e.counted) FILTER (WHERE e.statistic = 'max_tf'), 0),
           coalesce(min(e.counted) FILTER (WHERE e.statistic = 'min_doc_length'), 2147483647)
    FROM jsonb_to_recordset(v_errors) AS e (statistic text, term text, stored bigint, counted bigint)
    WHERE e.term IS NOT NULL
    GROUP BY e.term
    ORDER BY e.term COLLATE "C";
    INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
    SELECT v_tenant_id, e.access_list_id,
           coalesce(sum(e.counted - e.stored) FILTER (WHERE e.statistic = 'chunks'), 0),
           coalesce(sum(e.counted - e.stored) FILTER (WHERE e.statistic = 'total_length'), 0)
    FROM jsonb_to_recordset(v_errors) AS e (statistic text, access_list_id bigint, stored bigint, counted bigint)
    WHERE e.access_list_id IS NOT NULL
    GROUP BY e.access_list_id;
    INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length)
    SELECT v_tenant_id,
           coalesce(sum(e.counted - e.stored) FILTER (WHERE e.statistic = 'chunks'), 0),
           coalesce(sum(e.counted - e.stored) FILTER (WHERE e.statistic = 'total_length'), 0)
    FROM jsonb_to_recordset(v_errors) AS e (statistic text, term text, access_list_id bigint, stored bigint, counted bigint)
    WHERE e.term IS NULL AND e.access_list_id IS NULL
    HAVING count(*) > 0;
    RETURN QUERY
    SELECT e.statistic, e.term, e.access_list_id, e.stored, e.counted
    FROM jsonb_to_recordset(v_errors) AS e (statistic text, term text, access_list_id bigint, stored bigint, counted bigint);
END
$$;
COMMENT ON FUNCTION sift.repair_statistics(text) IS
    'Corrects the maintained statistics to a recount of the corpus, and returns what was wrong. Safe beside readers and writers, and to run again after an interruption.';
REVOKE ALL ON FUNCTION sift.repair_statistics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.repair_statistics(text) TO sift_owner, sift_writer;
