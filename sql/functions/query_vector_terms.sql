-- Of which terms sift.embed_query makes the vector of a query, and which of them have none.
CREATE OR REPLACE FUNCTION sift.query_vector_terms(
    tenant     text,
    query      text,
    model      text DEFAULT NULL,
    principals text[] DEFAULT NULL
)
RETURNS TABLE (term text, fitted boolean, weight double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT t.term, t.fitted, t.weight
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._embed_query(c.role_id, c.proof, query_vector_terms.tenant, query_vector_terms.query, query_vector_terms.model,
                                         query_vector_terms.principals) AS r
    CROSS JOIN LATERAL unnest(r.terms, r.fitted, r.weights) WITH ORDINALITY AS t (term, fitted, weight, place)
    ORDER BY t.place;
END
$$;
COMMENT ON FUNCTION sift.query_vector_terms(text, text, text, text[]) IS
    'The terms of a query, in order: whether they have a vector that counts for the caller, and the weight (idf) it counts with, which is told as sift.explain tells idf.';
REVOKE ALL ON FUNCTION sift.query_vector_terms(text, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.query_vector_terms(text, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
