-- An approximation of the vector that a model makes of a query, computed in the database, of the vectors of the query's terms.
--
--   SELECT * FROM sift.dense_search('acme', sift.embed_query('acme', 'failure modes of co-simulation'));
--
-- NULL where no term of the query has a vector; PS013 where the terms were not fitted for the model. Only words of documents that the caller may
-- see have vectors. sift.search takes the same vector by itself where it is given none and none is cached.
CREATE OR REPLACE FUNCTION sift.embed_query(
    tenant     text,
    query      text,
    model      text DEFAULT NULL,
    principals text[] DEFAULT NULL
) RETURNS real[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT r.vector
        FROM sift._caller AS c
        CROSS JOIN LATERAL sift._embed_query(c.role_id, c.proof, embed_query.tenant, embed_query.query, embed_query.model,
                                             embed_query.principals) AS r);
END
$$;
COMMENT ON FUNCTION sift.embed_query(text, text, text, text[]) IS
    'The vector of a query, of length one, approximated by those of its terms (docs/query-vectors.md); NULL where none of them has one. model: the tenant''s active one unless named.';
REVOKE ALL ON FUNCTION sift.embed_query(text, text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.embed_query(text, text, text, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
