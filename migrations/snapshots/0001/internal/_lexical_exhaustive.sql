-- The lexical leg written for obviousness: the oracle that sift._lexical_leg is compared with. It counts everything anew from the
-- tokens of every chunk, and reads neither postings nor statistics.
--
--   idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
--   score  = Σ over distinct query terms of idf(t) · tf / (tf + k1 · (1 - b + b · dl / avgdl))
--     S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; without the factor k1 + 1 and with
--     the idf of Lucene, which is never negative. The sum goes from the rarest term to the commonest, equally rare ones in C order.
CREATE OR REPLACE FUNCTION sift._lexical_exhaustive(
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
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH indexed AS MATERIALIZED (
            SELECT c.chunk_id, c.doc_length::double precision AS dl, string_to_array(c.tokens, ' ') AS tokens
            FROM sift.chunks AS c
            WHERE c.tenant_id = $2 AND c.tokens <> ''
        ),
        corpus AS MATERIALIZED (
            SELECT count(*)::double precision AS n, avg(i.dl) AS avgdl FROM indexed AS i
        ),
        query AS (
            SELECT DISTINCT q.term FROM unnest($3) AS q (term)
        ),
        postings AS MATERIALIZED (
            SELECT t.term, i.chunk_id, i.dl, count(*)::double precision AS tf
            FROM indexed AS i
            CROSS JOIN LATERAL unnest(i.tokens) AS t (term)
            JOIN query AS q ON q.term = t.term
            GROUP BY t.term, i.chunk_id, i.dl
        ),
        frequencies AS MATERIALIZED (
            SELECT p.term, count(*)::double precision AS df FROM postings AS p GROUP BY p.term
        ),
        contributions AS (
            SELECT p.chunk_id, p.term, f.df,
                   ln(1::double precision + (o.n - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) * p.tf
                   / (p.tf + $6 * (1::double precision - $7 + $7 * p.dl / o.avgdl)) AS contribution
            FROM postings AS p
            JOIN frequencies AS f ON f.term = p.term
            CROSS JOIN corpus AS o
        ),
        scores AS MATERIALIZED (
            SELECT x.chunk_id, sum(x.contribution ORDER BY x.df, x.term COLLATE "C") AS score
            FROM contributions AS x
            GROUP BY x.chunk_id
        )
        SELECT s.chunk_id, s.score
        FROM scores AS s
        JOIN sift.chunks AS c ON c.chunk_id = s.chunk_id
        JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
        WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND c.access_list_id = ANY ($4) AND (%s)
        ORDER BY s.score DESC, s.chunk_id
        LIMIT $5
    $query$, coalesce(predicate, 'true'))
    USING bound, tenant_id, terms, lists, greatest(coalesce(k, 0), 0), k1, b;
END
$$;
COMMENT ON FUNCTION sift._lexical_exhaustive(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) IS
    'The exact top k by BM25 counted anew from every chunk''s tokens: the oracle for sift._lexical_leg.';
REVOKE ALL ON FUNCTION sift._lexical_exhaustive(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) FROM PUBLIC;
