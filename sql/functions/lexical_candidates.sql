-- The chunks the caller may see that hold at least one of some terms, with what a ranking function needs to know of each.
--
--   SELECT * FROM sift.lexical_candidates('acme', '{pump,cavitation}', principals => '{public}');
--
-- terms are analyzed terms (sift.query_terms makes them). Ordered by the number of distinct terms a chunk holds, then by chunk_id.
-- For the k best by BM25 there is sift.lexical_search; this is for rankings of one's own.
CREATE OR REPLACE FUNCTION sift.lexical_candidates(
    tenant     text,
    terms      text[],
    k          integer DEFAULT 1000,
    principals text[] DEFAULT NULL,
    filter     jsonb DEFAULT NULL
)
RETURNS TABLE (
    chunk_id    bigint,
    document_id bigint,
    key         text,
    ordinal     integer,
    doc_length  integer,
    matched     integer,
    frequencies jsonb
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, r.document_id, r.key, r.ordinal, r.doc_length, r.matched, r.frequencies
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._lexical_candidates(c.role_id, c.proof, lexical_candidates.tenant, lexical_candidates.terms, lexical_candidates.k, lexical_candidates.principals, lexical_candidates.filter) AS r;
END
$$;
COMMENT ON FUNCTION sift.lexical_candidates(text, text[], integer, text[], jsonb) IS
    'Visible chunks that hold at least one of the (analyzed) terms, those with most of them first: document length and how often each term occurs, for a ranking of one''s own.';
REVOKE ALL ON FUNCTION sift.lexical_candidates(text, text[], integer, text[], jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.lexical_candidates(text, text[], integer, text[], jsonb) TO sift_owner, sift_writer, sift_app, sift_reader;
