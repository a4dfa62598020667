-- From candidates with scores of one's own to a page, by the last steps of sift.search: the greatest score first, at equal scores in the order
-- given; maximal marginal relevance, token budget, cap per document, k. For a reranker that runs outside of the database.
--
--   SELECT * FROM sift.choose_chunks('acme', '{17,4,90}', '{0.9,0.8,0.1}', k => 2, principals => '{public}', mmr => 0.7);
--
-- Chunks the caller may not see, or that are not there, are left out; a score that is NULL comes last.
CREATE OR REPLACE FUNCTION sift.choose_chunks(
    tenant       text,
    chunk_ids    bigint[],
    scores       double precision[],
    k            integer DEFAULT 10,
    principals   text[] DEFAULT NULL,
    per_document integer DEFAULT 3,
    mmr          double precision DEFAULT NULL,
    token_budget integer DEFAULT NULL,
    model        text DEFAULT NULL
)
RETURNS TABLE (rank integer, chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.rank, r.chunk_id, r.score
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._choose_chunks(
        c.role_id, c.proof, choose_chunks.tenant, choose_chunks.chunk_ids, choose_chunks.scores, choose_chunks.k, choose_chunks.principals,
        choose_chunks.per_document, choose_chunks.mmr, choose_chunks.token_budget, choose_chunks.model) AS r
    ORDER BY r.rank;
END
$$;
COMMENT ON FUNCTION sift.choose_chunks(text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) IS
    'Orders chunks by scores of one''s own and chooses among them as sift.search does last: mmr, token_budget, per_document (NULL: no cap), k. Chunks the caller may not see are left out.';
REVOKE ALL ON FUNCTION sift.choose_chunks(text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.choose_chunks(text, bigint[], double precision[], integer, text[], integer, double precision, integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
