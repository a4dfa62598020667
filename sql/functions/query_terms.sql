-- What a query searches for, and what of it is left out and why.
CREATE OR REPLACE FUNCTION sift.query_terms(tenant text, query text)
RETURNS TABLE (term text, kept boolean, reason text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.term, r.kept, r.reason
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._judge_terms(c.role_id, c.proof, query_terms.tenant, query_terms.query) AS r;
END
$$;
COMMENT ON FUNCTION sift.query_terms(text, text) IS
    'The terms a query of this tenant searches for, in order, and the words left out with the reason: stopword, too short, repeated, part of a number. A term that was cut says so.';
REVOKE ALL ON FUNCTION sift.query_terms(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.query_terms(text, text) TO sift_owner, sift_writer, sift_app, sift_reader;
