-- The k best by BM25 of all chunks that hold a term: every posting is scored, and every scored chunk is asked for permission and filter.
-- For very deep rankings, and for filters that leave almost nothing. The arguments are those of sift._lexical_leg and sift._lexical_top.
CREATE OR REPLACE FUNCTION sift._lexical_all(
    tenant_id integer,
    terms     text[],
    idf       double precision[],
    lists     bigint[],
    predicate text,
    bound     jsonb,
    blocks    bigint[],
    avgdl     double precision,
    k1        double precision,
    b         double precision,
    k         integer
)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH postings AS (
            SELECT q.idf, q.n, p.id, p.tf, p.dl
            FROM unnest($3, $4) WITH ORDINALITY AS q (term, idf, n)
            CROSS JOIN LATERAL (
                SELECT w.chunk_id AS id, w.tf::double precision AS tf, w.doc_length::double precision AS dl
                FROM sift.chunk_terms AS w
                WHERE w.tenant_id = $2 AND w.term = q.term
                UNION ALL
                SELECT u.p >> 23, (u.p & 255)::double precision, ((u.p >> 8) & 32767)::double precision
                FROM (SELECT unnest(r.postings) AS p
                      FROM unnest($10) AS d (block_no)
                      CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                          WHERE o.tenant_id = $2 AND o.block_no = d.block_no AND o.term = q.term OFFSET 0) AS r) AS u
                OFFSET 0
            ) AS p
        ),
        scored AS MATERIALIZED (
            SELECT p.id, sum(p.idf * p.tf / (p.tf + $7 * (1::double precision - $8 + $8 * p.dl / $6)) ORDER BY p.n) AS score
            FROM postings AS p
            GROUP BY p.id
            ORDER BY score DESC, p.id
        )
        SELECT s.id, s.score
        FROM scored AS s
        CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.chunk_id = s.id OFFSET 0) AS c
        CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d
        WHERE (c.access_list_id IN (SELECT l.id FROM unnest($5) AS l (id))) IS TRUE AND (%s)
        ORDER BY s.score DESC, s.id
        LIMIT $9
    $query$, coalesce(predicate, 'true'))
    USING bound, tenant_id, terms, idf, lists, avgdl, k1, b, k, blocks;
END
$$;
COMMENT ON FUNCTION sift._lexical_all(integer, text[], double precision[], bigint[], text, jsonb, bigint[], double precision, double precision, double precision, integer) IS
    'The k best by BM25, by scoring every posting.';
REVOKE ALL ON FUNCTION sift._lexical_all(integer, text[], double precision[], bigint[], text, jsonb, bigint[], double precision, double precision, double precision, integer) FROM PUBLIC;
