-- The distinct terms a query asks for, in the order of their first occurrence.
CREATE OR REPLACE FUNCTION sift._query_terms(analyzer text, query text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(
        SELECT q.term
        FROM (
            SELECT t.term, min(t.position) AS position
            FROM unnest(sift._tokens(analyzer, query, true)) WITH ORDINALITY AS t(term, position)
            GROUP BY t.term
        ) AS q
        ORDER BY q.position
    );
END
$$;
COMMENT ON FUNCTION sift._query_terms(text, text) IS 'Distinct terms of a query, in the order of their first occurrence.';
REVOKE ALL ON FUNCTION sift._query_terms(text, text) FROM PUBLIC;
