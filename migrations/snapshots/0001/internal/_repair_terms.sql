-- Repair of document frequencies: of the terms after the one given, in C order, about twenty thousand of them. They are counted from the
-- postings, and the difference is one more row of the statistics, written in the statement that counts: so writers go on meanwhile, and
-- a repair that is killed leaves nothing behind.
--
--   last  the last term that was looked at; NULL when there is none after it
CREATE OR REPLACE FUNCTION sift._repair_terms(tenant_id integer, after text, OUT last text, OUT errors jsonb)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_at_most   CONSTANT integer := 20000;
    v_tenant_id integer := tenant_id;
    v_after     text COLLATE "C" := after;
BEGIN
    SELECT max(x.term COLLATE "C") INTO last
    FROM (SELECT u.term
          FROM (SELECT b.term
                FROM sift.packed_chunks AS k
                CROSS JOIN LATERAL (SELECT p.term FROM sift.posting_blocks AS p
                                    WHERE p.tenant_id = v_tenant_id AND p.block_no = k.block_no AND p.term > v_after
                                    ORDER BY p.term LIMIT v_at_most) AS b
                WHERE k.tenant_id = v_tenant_id
                UNION ALL
                (SELECT w.term FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term > v_after ORDER BY w.term LIMIT v_at_most)
                UNION ALL
                (SELECT s.term FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id AND s.term > v_after ORDER BY s.term LIMIT v_at_most)) AS u
          ORDER BY u.term COLLATE "C"
          LIMIT v_at_most) AS x;
    errors := '[]'::jsonb;
    IF last IS NULL THEN
        RETURN;
    END IF;

    WITH dead AS MATERIALIZED (
        SELECT i.id
        FROM (SELECT unnest(k.chunk_ids) AS id FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id) AS i
        LEFT JOIN sift.chunks AS c ON c.tenant_id = v_tenant_id AND c.chunk_id = i.id
        WHERE c.chunk_id IS NULL
    ),
    blocks AS MATERIALIZED (
        SELECT b.term, b.df, b.postings
        FROM sift.packed_chunks AS k
        CROSS JOIN LATERAL (SELECT p.term, p.df, p.postings FROM sift.posting_blocks AS p
                            WHERE p.tenant_id = v_tenant_id AND p.block_no = k.block_no AND p.term > v_after AND p.term <= last OFFSET 0) AS b
        WHERE k.tenant_id = v_tenant_id
    ),
    counted AS (
        SELECT p.term, count(*) AS df, max(p.tf) AS max_tf, min(p.doc_length) AS min_doc_length
        FROM (SELECT w.term, w.tf, w.doc_length
              FROM sift.chunk_terms AS w
              JOIN sift.chunks AS c ON c.tenant_id = v_tenant_id AND c.chunk_id = w.chunk_id
              WHERE w.tenant_id = v_tenant_id AND w.term > v_after AND w.term <= last
              UNION ALL
              SELECT u.term, NULL, NULL
              FROM (SELECT b.term, unnest(b.postings) >> 23 AS id FROM blocks AS b) AS u
              WHERE u.id NOT IN (SELECT d.id FROM dead AS d)) AS p
        GROUP BY p.term
    ),
    stored AS (
        SELECT p.term, sum(p.df)::bigint AS df, max(p.max_tf) AS max_tf, min(p.min_doc_length) AS min_doc_length
        FROM (SELECT s.term, s.df, s.max_tf, s.min_doc_length
              FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id AND s.term > v_after AND s.term <= last
              UNION ALL
              SELECT b.term, b.df, NULL, NULL FROM blocks AS b) AS p
        GROUP BY p.term
    ),
    wrong AS MATERIALIZED (
        SELECT coalesce(k.term, s.term) AS term, coalesce(s.df, 0) AS stored, coalesce(k.df, 0) AS counted,
               CASE WHEN k.max_tf > coalesce(s.max_tf, 0) THEN k.max_tf ELSE 0 END AS max_tf,
               CASE WHEN k.min_doc_length < coalesce(s.min_doc_length, 2147483647) THEN k.min_doc_length ELSE 2147483647 END AS min_doc_length
        FROM counted AS k
        FULL JOIN stored AS s ON s.term = k.term
        WHERE coalesce(s.df, 0) <> coalesce(k.df, 0) OR k.max_tf > coalesce(s.max_tf, 0) OR k.min_doc_length < coalesce(s.min_doc_length, 2147483647)
    ),
    corrected AS (
        INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
        SELECT v_tenant_id, w.term, w.counted - w.stored, w.max_tf, w.min_doc_length FROM wrong AS w ORDER BY w.term
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('term', w.term, 'stored', w.stored, 'counted', w.counted) ORDER BY w.term), '[]'::jsonb)
    INTO errors
    FROM wrong AS w;
END
$$;
COMMENT ON FUNCTION sift._repair_terms(integer, text) IS 'Repair of the document frequencies of a range of terms.';
REVOKE ALL ON FUNCTION sift._repair_terms(integer, text) FROM PUBLIC;
