-- Drops what term_stats still notes of terms that are gone: rows that add up to nothing, where no posting of the term is a row. What
-- sift.fold_statistics does for all terms, at once for some.
CREATE OR REPLACE FUNCTION sift._forget_terms(tenant_id integer, terms text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_held      tid[];
BEGIN
    DELETE FROM sift.term_embeddings AS e
    WHERE e.tenant_id = v_tenant_id AND e.term = ANY (terms)
      AND NOT EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = e.term)
      AND NOT EXISTS (
          SELECT FROM sift.packed_chunks AS d
          CROSS JOIN LATERAL (SELECT FROM sift.posting_blocks AS o
                              WHERE o.tenant_id = v_tenant_id AND o.block_no = d.block_no AND o.term = e.term OFFSET 0) AS r
          WHERE d.tenant_id = v_tenant_id);
    v_held := ARRAY(
        SELECT n.place
        FROM unnest((SELECT terms)) AS t (term)
        CROSS JOIN LATERAL (
            SELECT s.ctid AS place, sum(s.df) OVER () AS df
            FROM sift.term_stats AS s
            WHERE s.tenant_id = v_tenant_id AND s.term = t.term OFFSET 0) AS n
        WHERE n.df = 0
          AND NOT EXISTS (SELECT FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.term = t.term));
    IF cardinality(v_held) = 0 THEN
        RETURN;
    END IF;
    v_held := ARRAY(SELECT s.ctid FROM sift.term_stats AS s WHERE s.tenant_id = v_tenant_id AND s.ctid = ANY (v_held) FOR UPDATE SKIP LOCKED);
    -- Rows that somebody is folding were passed over; then the rest does not add up to nothing, and is put back.
    WITH gone AS (
        DELETE FROM sift.term_stats AS s
        WHERE s.tenant_id = v_tenant_id AND s.ctid = ANY (v_held)
        RETURNING s.term, s.df, s.max_tf, s.min_doc_length
    )
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, g.term, sum(g.df), max(g.max_tf), min(g.min_doc_length)
    FROM gone AS g
    GROUP BY g.term
    HAVING sum(g.df) <> 0
    ORDER BY g.term;
END
$$;
COMMENT ON FUNCTION sift._forget_terms(integer, text[]) IS 'Drops what term_stats notes of terms that no chunk holds any more.';
REVOKE ALL ON FUNCTION sift._forget_terms(integer, text[]) FROM PUBLIC;
