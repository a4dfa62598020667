-- The terms that the vector of a query is approximated by: of a question, without the words that make it one, unless it has no others.
CREATE OR REPLACE FUNCTION sift._vector_terms(analyzer text, query text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_terms text[];
BEGIN
    IF sift._is_question(query) THEN
        v_terms := sift._query_terms(analyzer, (sift._strip_question(query)).kept);
    END IF;
    RETURN CASE WHEN cardinality(v_terms) > 0 THEN v_terms ELSE sift._query_terms(analyzer, query) END;
END
$$;
COMMENT ON FUNCTION sift._vector_terms(text, text) IS 'The distinct terms of a query that its vector is approximated by.';
REVOKE ALL ON FUNCTION sift._vector_terms(text, text) FROM PUBLIC;
