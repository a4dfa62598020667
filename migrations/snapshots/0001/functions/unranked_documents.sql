-- The documents that no search for passages finds: none of their chunks is ranked, or they have none.
CREATE OR REPLACE FUNCTION sift.unranked_documents(
    tenant     text,
    principals text[] DEFAULT NULL,
    k          integer DEFAULT 100,
    after      text DEFAULT NULL
)
RETURNS TABLE (key text, title text, chunks integer, reference_chunks integer, kinds text[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.key, r.title, r.chunks, r.reference_chunks, r.kinds
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._unranked_documents(
        c.role_id, c.proof, unranked_documents.tenant, unranked_documents.principals, unranked_documents.k, unranked_documents.after) AS r;
END
$$;
COMMENT ON FUNCTION sift.unranked_documents(text, text[], integer, text) IS
    'Documents the caller may see of which no chunk is ranked: empty ones, and those of nothing but titles, headings, references and chunks under the tenant''s min_chunk_tokens. By key in C order; the next page begins after the last key of this one. Search in the document unit finds those with tokens.';
REVOKE ALL ON FUNCTION sift.unranked_documents(text, text[], integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.unranked_documents(text, text[], integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
