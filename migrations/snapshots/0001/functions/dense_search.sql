-- Nearest vectors alone.
--
--   SELECT rank, distance, key, body FROM sift.dense_search('acme', '[0.1, …]'::vector, principals => '{public}');
CREATE OR REPLACE FUNCTION sift.dense_search(
    tenant          text,
    query_embedding real[],
    k               integer DEFAULT 10,
    principals      text[] DEFAULT NULL,
    filter          jsonb DEFAULT NULL,
    model           text DEFAULT NULL,
    per_document    integer DEFAULT NULL,
    collapse        boolean DEFAULT false,
    max_distance    double precision DEFAULT NULL,
    as_of           timestamptz DEFAULT NULL,
    skip            integer DEFAULT 0,
    snippet_width   integer DEFAULT NULL,
    strategy        text DEFAULT 'merged',
    claims_k        integer DEFAULT 3
)
RETURNS TABLE (
    rank             integer,
    score            double precision,
    lexical_rank     integer,
    lexical_score    double precision,
    dense_rank       integer,
    distance         double precision,
    chunk_id         bigint,
    document_id      bigint,
    key              text,
    title            text,
    kind             text,
    section          text,
    page             integer,
    char_start       integer,
    char_end         integer,
    document_version integer,
    body             text,
    metadata         jsonb,
    duplicates       integer,
    legs             text,
    dense_path       text,
    rerank_score     double precision,
    former_rank      integer,
    may_be_sent      boolean,
    snippet          text,
    snippet_start    integer,
    highlights       jsonb,
    claim            jsonb,
    snippet_page     integer,
    context          text,
    context_start    integer,
    context_page     integer,
    context_of       integer,
    query_vector     text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT s.rank, -s.distance, s.lexical_rank, s.lexical_score, s.dense_rank, s.distance, s.chunk_id, s.document_id, s.key, s.title, s.kind,
           s.section, s.page, s.char_start, s.char_end, s.document_version, s.body, s.metadata, s.duplicates, s.legs, s.dense_path, s.rerank_score, s.former_rank, s.may_be_sent, s.snippet, s.snippet_start, s.highlights, s.claim, s.snippet_page, s.context, s.context_start, s.context_page, s.context_of, s.query_vector
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._search(
        c.role_id, c.proof, dense_search.tenant, NULL, dense_search.k, dense_search.principals, dense_search.filter, dense_search.query_embedding, 'dense',
        dense_search.model, NULL, NULL, NULL, dense_search.per_document, dense_search.collapse, NULL, dense_search.max_distance, dense_search.as_of,
        skip => dense_search.skip,
        snippet_width => dense_search.snippet_width,
        strategy => dense_search.strategy,
        claims_k => dense_search.claims_k) AS s
    ORDER BY s.rank;
END
$$;
COMMENT ON FUNCTION sift.dense_search(text, real[], integer, text[], jsonb, text, integer, boolean, double precision, timestamptz, integer, integer, text, integer) IS
    'The min(k, visible) chunks the caller may see that are nearest to the vector, strictly by distance; score is the distance negated. The same columns as sift.search. A pgvector vector casts to real[] by itself; query_embedding is an array, ''{1,2,3}''; the text of a pgvector needs its type: ''[1,2,3]''::vector::real[].';
REVOKE ALL ON FUNCTION sift.dense_search(text, real[], integer, text[], jsonb, text, integer, boolean, double precision, timestamptz, integer, integer, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.dense_search(text, real[], integer, text[], jsonb, text, integer, boolean, double precision, timestamptz, integer, integer, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
