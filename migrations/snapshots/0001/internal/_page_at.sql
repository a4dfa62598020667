-- The page of a place in a chunk (characters of body, counted from 0), given the page the chunk begins on and where others begin in it.
CREATE OR REPLACE FUNCTION sift._page_at(page integer, page_breaks integer[], place integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce((
        SELECT page_breaks[n][2] FROM generate_subscripts(page_breaks, 1) AS n
        WHERE page_breaks[n][1] <= place
        ORDER BY n DESC
        LIMIT 1), page);
END;
COMMENT ON FUNCTION sift._page_at(integer, integer[], integer) IS 'The page of a place in a chunk, given the chunk''s page and page_breaks.';
REVOKE ALL ON FUNCTION sift._page_at(integer, integer[], integer) FROM PUBLIC;
