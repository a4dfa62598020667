-- Where the maintained statistics differ from a recount of every chunk's tokens. Both are read in one snapshot, so that the
-- transactions of writers are in both or in neither.
--
--   statistic       'df' and the bounds 'max_tf' and 'min_doc_length' of a term; 'chunks' and 'total_length' of the tenant, or of an access list
CREATE OR REPLACE FUNCTION sift._statistics_errors(tenant_id integer)
RETURNS TABLE (statistic text, term text, access_list_id bigint, stored bigint, counted bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    WITH counted AS (
        SELECT p.term, count(*) AS df, max(p.tf) AS max_tf, min(p.doc_length)::bigint AS min_doc_length
        FROM (SELECT o.term, o.chunk_id, o.doc_length, count(*) AS tf
              FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') AS term
                    FROM sift.chunks AS c
                    WHERE c.tenant_id = v_tenant_id AND c.tokens <> '') AS o
              GROUP BY o.chunk_id, o.term, o.doc_length) AS p
        GROUP BY p.term
    ),
    stored AS (
        SELECT p.term, sum(p.df)::bigint AS df, max(p.max_tf)::bigint AS max_tf, min(p.min_doc_length)::bigint AS min_doc_length
        FROM (SELECT s.term, s.df, s.max_tf, s.min_doc_length FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id
              UNION ALL
              SELECT r.term, r.df, r.max_tf::integer, r.min_doc_length::integer FROM sift.posting_blocks AS r WHERE r.tenant_id = v_tenant_id) AS p
        GROUP BY p.term
    )
    SELECT x.statistic, t.term, NULL::bigint, x.stored, x.counted
    FROM (SELECT coalesce(k.term, s.term) AS term, coalesce(s.df, 0) AS df, coalesce(k.df, 0) AS counted_df,
                 coalesce(s.max_tf, 0) AS max_tf, k.max_tf AS counted_max_tf,
                 coalesce(s.min_doc_length, 2147483647) AS min_doc_length, k.min_doc_length AS counted_min_doc_length
          FROM counted AS k
          FULL JOIN stored AS s ON s.term = k.term) AS t
    CROSS JOIN LATERAL (VALUES
        ('df', t.df, t.counted_df, t.df <> t.counted_df),
        ('max_tf', t.max_tf, t.counted_max_tf, t.max_tf < t.counted_max_tf),
        ('min_doc_length', t.min_doc_length, t.counted_min_doc_length, t.min_doc_length > t.counted_min_doc_length)
    ) AS x (statistic, stored, counted, wrong)
    WHERE x.wrong
    ORDER BY t.term, x.statistic;

    RETURN QUERY
    WITH counted AS MATERIALIZED (
        SELECT c.access_list_id, count(*) AS chunks, sum(c.doc_length)::bigint AS total_length
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.tokens <> ''
        GROUP BY c.access_list_id
    ),
    stored AS (
        SELECT s.access_list_id, sum(s.chunks)::bigint AS chunks, sum(s.total_length)::bigint AS total_length
        FROM sift.corpus_stats AS s
        WHERE s.tenant_id = v_tenant_id
        GROUP BY s.access_list_id
    ),
    totals AS (
        SELECT NULL::bigint AS access_list_id,
               (SELECT coalesce(sum(s.chunks), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS chunks,
               (SELECT coalesce(sum(s.total_length), 0)::bigint FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id) AS total_length,
               (SELECT coalesce(sum(k.chunks), 0)::bigint FROM counted AS k) AS counted_chunks,
               (SELECT coalesce(sum(k.total_length), 0)::bigint FROM counted AS k) AS counted_total_length
        UNION ALL
        SELECT coalesce(k.access_list_id, s.access_list_id), coalesce(s.chunks, 0), coalesce(s.total_length, 0),
               coalesce(k.chunks, 0), coalesce(k.total_length, 0)
        FROM counted AS k
        FULL JOIN stored AS s ON s.access_list_id = k.access_list_id
    )
    SELECT x.statistic, NULL::text, t.access_list_id, x.stored, x.counted
    FROM totals AS t
    CROSS JOIN LATERAL (VALUES
        ('chunks', t.chunks, t.counted_chunks), ('total_length', t.total_length, t.counted_total_length)
    ) AS x (statistic, stored, counted)
    WHERE x.stored <> x.counted
    ORDER BY t.access_list_id NULLS FIRST, x.statistic;
END
$$;
COMMENT ON FUNCTION sift._statistics_errors(integer) IS 'Where the maintained statistics differ from a recount of every chunk''s tokens.';
REVOKE ALL ON FUNCTION sift._statistics_errors(integer) FROM PUBLIC;
