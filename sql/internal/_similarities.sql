-- Jaccard similarities of pairs of texts, counted: the shingles that several of these texts have are numbered, each text becomes a
-- string of bits over them, and what two texts have in common is one AND. A pair of which a text is gone is left out.
CREATE OR REPLACE FUNCTION sift._similarities(tenant_id integer, text_ids bigint[], other_ids bigint[])
RETURNS TABLE (text_id bigint, other_id bigint, similarity double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
AS $$
BEGIN
    -- Planned for the arrays given, whose lengths decide how pairs and texts are joined.
    RETURN QUERY EXECUTE $q$
        WITH pairs AS MATERIALIZED (SELECT p.a, p.b FROM unnest($2, $3) AS p (a, b)),
        -- Once per document: an inlined function would ask for its argument once per token.
        texts AS MATERIALIZED (
            SELECT d.text_id, d.tokens
            FROM (SELECT p.a AS text_id FROM pairs AS p UNION SELECT p.b FROM pairs AS p) AS t
            CROSS JOIN LATERAL (
                SELECT g.text_id, sift._document_tokens($1, g.document_id) AS tokens
                FROM (SELECT s.text_id, s.document_id FROM sift.document_signatures AS s
                      WHERE s.tenant_id = $1 AND s.text_id = t.text_id LIMIT 1) AS g
                OFFSET 0) AS d
        ),
        shingles AS MATERIALIZED (
            SELECT t.text_id, s.shingle COLLATE "C" AS shingle FROM texts AS t CROSS JOIN LATERAL sift._shingles(t.tokens) AS s (shingle)
        ),
        sizes AS (SELECT s.text_id, count(*) AS size FROM shingles AS s GROUP BY s.text_id),
        numbered AS (
            SELECT n.text_id, dense_rank() OVER (ORDER BY n.shingle) AS number
            FROM (SELECT s.text_id, s.shingle, count(*) OVER (PARTITION BY s.shingle) AS texts FROM shingles AS s) AS n
            WHERE n.texts > 1
        ),
        spaced AS (
            SELECT n.text_id, n.number, n.number - lag(n.number, 1, 0::bigint) OVER (PARTITION BY n.text_id ORDER BY n.number) AS step,
                   max(n.number) OVER () AS width
            FROM numbered AS n
        ),
        sets AS MATERIALIZED (
            SELECT s.text_id, (string_agg(repeat('0', s.step::integer - 1) || '1', '' ORDER BY s.number)
                               || repeat('0', (max(s.width) - max(s.number))::integer))::varbit AS bits
            FROM spaced AS s
            GROUP BY s.text_id
        )
        SELECT c.a, c.b, CASE WHEN c.common > 0 THEN c.common::double precision / (c.size - c.common)::double precision
                              ELSE 0::double precision END
        FROM (
            SELECT p.a, p.b, coalesce(x.size, 0::bigint) + coalesce(y.size, 0::bigint) AS size, coalesce(bit_count(u.bits & v.bits), 0::bigint) AS common
            FROM pairs AS p
            JOIN texts AS s ON s.text_id = p.a
            JOIN texts AS t ON t.text_id = p.b
            LEFT JOIN sizes AS x ON x.text_id = p.a
            LEFT JOIN sizes AS y ON y.text_id = p.b
            LEFT JOIN sets AS u ON u.text_id = p.a
            LEFT JOIN sets AS v ON v.text_id = p.b
            OFFSET 0
        ) AS c $q$
    USING tenant_id, text_ids, other_ids;
END
$$;
COMMENT ON FUNCTION sift._similarities(integer, bigint[], bigint[]) IS 'Jaccard similarities of pairs of texts, by their numbers in document_signatures.';
REVOKE ALL ON FUNCTION sift._similarities(integer, bigint[], bigint[]) FROM PUBLIC;
