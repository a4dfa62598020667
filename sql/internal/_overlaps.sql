-- What pairs of documents have in common, counted: their distinct shingles, and those that both have. By bits, as sift._similarities does it
-- for texts that were signed; this one needs no signatures. A pair of which one has no token is left out.
CREATE OR REPLACE FUNCTION sift._overlaps(tenant_id integer, first_ids bigint[], second_ids bigint[])
RETURNS TABLE (first_id bigint, second_id bigint, first_size integer, second_size integer, common integer, tokens integer, same boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
AS $$
BEGIN
    RETURN QUERY EXECUTE $q$
        WITH pairs AS MATERIALIZED (SELECT p.a, p.b FROM unnest($2, $3) AS p (a, b)),
        -- Once per document: an inlined function would ask for its argument once per token.
        texts AS MATERIALIZED (
            SELECT u.id, u.tokens
            FROM (SELECT t.id, sift._document_tokens($1, t.id) AS tokens
                  FROM (SELECT p.a AS id FROM pairs AS p UNION SELECT p.b FROM pairs AS p) AS t OFFSET 0) AS u
            WHERE cardinality(u.tokens) > 0
        ),
        shingles AS MATERIALIZED (
            SELECT t.id, s.shingle COLLATE "C" AS shingle FROM texts AS t CROSS JOIN LATERAL sift._shingles(t.tokens) AS s (shingle)
        ),
        sizes AS MATERIALIZED (SELECT s.id, count(*) AS size FROM shingles AS s GROUP BY s.id),
        numbered AS (
            SELECT n.id, dense_rank() OVER (ORDER BY n.shingle) AS number
            FROM (SELECT s.id, s.shingle, count(*) OVER (PARTITION BY s.shingle) AS texts FROM shingles AS s) AS n
            WHERE n.texts > 1
        ),
        spaced AS (
            SELECT n.id, n.number, n.number - lag(n.number, 1, 0::bigint) OVER (PARTITION BY n.id ORDER BY n.number) AS step,
                   max(n.number) OVER () AS width
            FROM numbered AS n
        ),
        sets AS MATERIALIZED (
            SELECT s.id, (string_agg(repeat('0', s.step::integer - 1) || '1', '' ORDER BY s.number)
                          || repeat('0', (max(s.width) - max(s.number))::integer))::varbit AS bits
            FROM spaced AS s
            GROUP BY s.id
        )
        SELECT p.a, p.b, x.size::integer, y.size::integer, coalesce(bit_count(u.bits & v.bits), 0::bigint)::integer,
               least(cardinality(s.tokens), cardinality(t.tokens)), s.tokens = t.tokens
        FROM pairs AS p
        JOIN texts AS s ON s.id = p.a
        JOIN texts AS t ON t.id = p.b
        JOIN sizes AS x ON x.id = p.a
        JOIN sizes AS y ON y.id = p.b
        LEFT JOIN sets AS u ON u.id = p.a
        LEFT JOIN sets AS v ON v.id = p.b $q$
    USING tenant_id, first_ids, second_ids;
END
$$;
COMMENT ON FUNCTION sift._overlaps(integer, bigint[], bigint[]) IS
    'Of pairs of documents: distinct shingles of each and in common, tokens of the shorter one, and whether the tokens are the same in the same order.';
REVOKE ALL ON FUNCTION sift._overlaps(integer, bigint[], bigint[]) FROM PUBLIC;
