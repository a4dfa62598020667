-- The doctor on the statistics of a tenant: N, total length and vectors are counted always; document frequencies of every term where
-- complete, else of terms of the sampled chunks and of terms drawn from the statistics themselves, of those that are in at most
-- 2,000 chunks.
CREATE OR REPLACE FUNCTION sift._doctor_statistics(tenant_id integer, tenant text, chunk_ids bigint[], complete boolean)
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_listed    CONSTANT integer := 20;
    v_tenant_id integer := tenant_id;
    v_remedy    text := format('SELECT * FROM sift.repair(%L)', tenant);
    v_terms     text[];
    v_errors    jsonb;
BEGIN
    IF complete THEN
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]'::jsonb) INTO v_errors FROM sift._statistics_errors(v_tenant_id) AS e;
    ELSE
        v_terms := ARRAY(
            SELECT x.term
            FROM (SELECT DISTINCT t.term
                  FROM unnest(chunk_ids) AS i (id)
                  CROSS JOIN LATERAL (SELECT c.tokens FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS c
                  CROSS JOIN LATERAL string_to_table(c.tokens, ' ') AS t (term)
                  WHERE t.term <> '') AS x
            ORDER BY random() LIMIT 200)
            || ARRAY(SELECT s.term FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id ORDER BY random() LIMIT 200);
        WITH stored AS MATERIALIZED (
            SELECT t.term,
                   (SELECT coalesce(sum(s.df), 0)::bigint FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id AND s.term = t.term)
                   + (SELECT coalesce(sum(b.df), 0)::bigint
                      FROM sift.packed_chunks AS k
                      CROSS JOIN LATERAL (SELECT x.df FROM sift.posting_blocks AS x
                                          WHERE x.tenant_id = v_tenant_id AND x.block_no = k.block_no AND x.term = t.term OFFSET 0) AS b
                      WHERE k.tenant_id = v_tenant_id) AS df
            FROM (SELECT DISTINCT u.term FROM unnest(v_terms) AS u (term)) AS t
        ),
        counted AS (
            SELECT s.term, s.df,
                   (SELECT count(*)
                    FROM (SELECT w.chunk_id AS id FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = s.term
                          UNION ALL
                          SELECT unnest(b.postings) >> 23
                          FROM sift.packed_chunks AS k
                          CROSS JOIN LATERAL (SELECT x.postings FROM sift.posting_blocks AS x
                                              WHERE x.tenant_id = v_tenant_id AND x.block_no = k.block_no AND x.term = s.term OFFSET 0) AS b
                          WHERE k.tenant_id = v_tenant_id) AS p
                    CROSS JOIN LATERAL (SELECT true FROM sift.chunks AS c
                                        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = p.id AND c.doc_length > 0 OFFSET 0) AS live) AS found
            FROM stored AS s
            WHERE s.df <= 2000
        )
        SELECT coalesce(jsonb_agg(jsonb_build_object('statistic', 'df', 'term', c.term, 'stored', c.df, 'counted', c.found)), '[]'::jsonb)
        INTO v_errors
        FROM counted AS c
        WHERE c.df <> c.found;

        SELECT v_errors || coalesce(jsonb_agg(jsonb_build_object('statistic', x.statistic, 'access_list_id', t.access_list_id,
                                                                 'stored', x.stored, 'counted', x.counted)), '[]'::jsonb)
        INTO v_errors
        FROM sift._size_errors(v_tenant_id) AS t
        CROSS JOIN LATERAL (VALUES
            ('chunks', t.chunks, t.counted_chunks), ('total_length', t.total_length, t.counted_total_length)
        ) AS x (statistic, stored, counted)
        WHERE x.stored <> x.counted;
    END IF;

    RETURN QUERY
    SELECT 'statistics'::text, 'error'::text, x.object,
           CASE x.statistic
               WHEN 'df' THEN format('df of the term %s is %s, a recount gives %s', to_json(x.term), x.stored, x.counted)
               WHEN 'max_tf' THEN format('the bound max_tf of the term %s is %s, a recount gives %s', to_json(x.term), x.stored, x.counted)
               WHEN 'min_doc_length' THEN
                   format('the bound min_doc_length of the term %s is %s, a recount gives %s', to_json(x.term), x.stored, x.counted)
               ELSE format('%s of %s is %s, a recount gives %s', x.statistic,
                           CASE WHEN x.access_list_id IS NULL THEN 'the tenant' ELSE format('access list %s', x.access_list_id) END,
                           x.stored, x.counted)
           END,
           v_remedy, true
    FROM (SELECT e.*, coalesce('term ' || to_json(e.term), 'access list ' || e.access_list_id, 'tenant') AS object,
                 row_number() OVER (ORDER BY e.term NULLS FIRST, e.access_list_id NULLS FIRST, e.statistic) AS position
          FROM jsonb_to_recordset(v_errors) AS e (statistic text, term text, access_list_id bigint, stored bigint, counted bigint)) AS x
    WHERE x.position <= v_listed
    ORDER BY x.position;
    IF jsonb_array_length(v_errors) > v_listed THEN
        RETURN QUERY SELECT 'statistics'::text, 'error'::text, 'tenant'::text,
            format('%s more statistics differ from a recount', jsonb_array_length(v_errors) - v_listed), v_remedy, true;
    END IF;

    RETURN QUERY
    SELECT 'vector_counts'::text, 'error'::text, format('model %s', to_json(coalesce(m.name, x.model_id::text))),
           format('%s vectors are noted for access list %s, a recount gives %s', x.stored, x.access_list_id, x.counted), v_remedy, true
    FROM sift._vector_errors(v_tenant_id) AS x
    LEFT JOIN sift.embedding_models AS m ON m.model_id = x.model_id
    ORDER BY x.model_id, x.access_list_id
    LIMIT v_listed;
END
$$;
COMMENT ON FUNCTION sift._doctor_statistics(integer, text, bigint[], boolean) IS 'The doctor on document frequencies, sizes of the corpus and counts of vectors.';
REVOKE ALL ON FUNCTION sift._doctor_statistics(integer, text, bigint[], boolean) FROM PUBLIC;
