-- The exact top k by BM25 over the chunks the caller may see.
CREATE OR REPLACE FUNCTION sift._lexical_leg(
    tenant_id integer,
    terms     text[],
    lists     bigint[],
    predicate text,
    bound     jsonb,
    k         integer,
    k1        double precision,
    b         double precision
)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_k1     double precision := k1;
    v_b      double precision := b;
    v_n      double precision;
    v_avgdl  double precision;
    v_terms  text[];
    v_idf    double precision[];
BEGIN
    SELECT sum(s.chunks), sum(s.total_length)::double precision / nullif(sum(s.chunks), 0)::double precision INTO v_n, v_avgdl
    FROM sift.corpus_totals AS s
    WHERE s.tenant_id = v_tenant_id;
    IF coalesce(v_n, 0) <= 0 OR coalesce(_lexical_leg.k, 0) <= 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(t.term ORDER BY t.df, t.term COLLATE "C"),
           array_agg(ln(1::double precision + (v_n - t.df + 0.5::double precision) / (t.df + 0.5::double precision)) ORDER BY t.df, t.term COLLATE "C")
    INTO v_terms, v_idf
    FROM (SELECT q.term, sum(s.df)::double precision AS df
          FROM (SELECT DISTINCT u.term FROM unnest(_lexical_leg.terms) AS u (term)) AS q
          CROSS JOIN LATERAL (
              SELECT r.df FROM sift.posting_blocks AS r WHERE r.tenant_id = v_tenant_id AND r.term = q.term
              UNION ALL
              SELECT w.df FROM sift.term_stats AS w WHERE w.tenant_id = v_tenant_id AND w.term = q.term
          ) AS s
          GROUP BY q.term) AS t
    WHERE t.df > 0::double precision;
    RETURN QUERY EXECUTE format($query$
        WITH postings AS (
            SELECT q.idf, q.position, p.chunk_id, p.tf, p.dl
            FROM unnest($3, $6) WITH ORDINALITY AS q (term, idf, position)
            CROSS JOIN LATERAL (
                SELECT w.chunk_id, w.tf, w.doc_length AS dl
                FROM sift.chunk_terms AS w
                WHERE w.tenant_id = $2 AND w.term = q.term
                UNION ALL
                SELECT u.posting >> 23, (u.posting & 255)::integer, ((u.posting >> 8) & 32767)::integer
                FROM (SELECT unnest(r.postings) AS posting
                      FROM sift.posting_blocks AS r
                      WHERE r.tenant_id = $2 AND r.term = q.term) AS u
                OFFSET 0
            ) AS p
        ),
        scores AS (
            SELECT p.chunk_id, sum(p.idf * p.tf / (p.tf + $7 * (1::double precision - $8 + $8 * p.dl / $9)) ORDER BY p.position) AS score
            FROM postings AS p
            GROUP BY p.chunk_id
        )
        SELECT s.chunk_id, s.score
        FROM scores AS s
        JOIN sift.chunks AS c ON c.chunk_id = s.chunk_id
        JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
        WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND c.access_list_id = ANY ($4) AND (%s)
        ORDER BY s.score DESC, s.chunk_id
        LIMIT $5
    $query$, coalesce(predicate, 'true'))
    USING bound, v_tenant_id, v_terms, lists, k, v_idf, v_k1, v_b, v_avgdl;
END
$$;
COMMENT ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) IS
    'The exact top k by BM25 over the chunks the caller may see.';
REVOKE ALL ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) FROM PUBLIC;
