-- The distinct runs of five tokens; of fewer tokens, the one run of all. The client makes its signatures of the same.
CREATE OR REPLACE FUNCTION sift._shingles(tokens text[]) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT s.shingle
    FROM (SELECT pg_catalog.concat_ws(' ', t.token, pg_catalog.lead(t.token, 1) OVER w, pg_catalog.lead(t.token, 2) OVER w,
                                      pg_catalog.lead(t.token, 3) OVER w, pg_catalog.lead(t.token, 4) OVER w) AS shingle, t.position
          FROM pg_catalog.unnest(tokens) WITH ORDINALITY AS t (token, position)
          WINDOW w AS (ORDER BY t.position)) AS s
    WHERE s.position <= GREATEST(pg_catalog.cardinality(tokens) - 4, 1);
END;
COMMENT ON FUNCTION sift._shingles(text[]) IS 'Distinct runs of five tokens, joined by one space.';
REVOKE ALL ON FUNCTION sift._shingles(text[]) FROM PUBLIC;
