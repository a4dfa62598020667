-- Hybrid search: exact BM25 and vectors, each over what the caller may see, fused by reciprocal ranks.
--
--   SELECT rank, key, title, body FROM sift.search('acme', 'failure modes of co-simulation');
--   SELECT * FROM sift.search('acme', 'pump', k => 5, principals => '{group:hr}', filter => '{"metadata.year": {"$gte": 2020}}');
--
-- score is the fused score; every hit carries each leg's rank and raw figure. legs says which legs ran: a text whose vector is
-- neither passed nor cached is searched lexically alone.
CREATE OR REPLACE FUNCTION sift.search(
    tenant          text,
    query           text DEFAULT NULL,
    k               integer DEFAULT 10,
    principals      text[] DEFAULT NULL,
    filter          jsonb DEFAULT NULL,
    query_embedding real[] DEFAULT NULL,
    mode            text DEFAULT 'hybrid',
    model           text DEFAULT NULL,
    depth           integer DEFAULT NULL,
    rrf_k           double precision DEFAULT NULL,
    weights         double precision[] DEFAULT NULL,
    per_document    integer DEFAULT 3,
    collapse        boolean DEFAULT true,
    min_score       double precision DEFAULT NULL,
    max_distance    double precision DEFAULT NULL,
    as_of           timestamptz DEFAULT NULL,
    collapse_clusters boolean DEFAULT false,
    skip            integer DEFAULT 0,
    mmr             double precision DEFAULT NULL,
    token_budget    integer DEFAULT NULL,
    query_token_embeddings real[] DEFAULT NULL,
    token_model     text DEFAULT NULL,
    plain           boolean DEFAULT false,
    strip_questions boolean DEFAULT NULL,
    expand          boolean DEFAULT NULL,
    unit            text DEFAULT 'chunk',
    k1              double precision DEFAULT NULL,
    b               double precision DEFAULT NULL,
    title_weight    double precision DEFAULT NULL,
    abstract_weight double precision DEFAULT NULL,
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
    SELECT s.rank, s.score, s.lexical_rank, s.lexical_score, s.dense_rank, s.distance, s.chunk_id, s.document_id, s.key, s.title, s.kind,
           s.section, s.page, s.char_start, s.char_end, s.document_version, s.body, s.metadata, s.duplicates, s.legs, s.dense_path, s.rerank_score, s.former_rank, s.may_be_sent, s.snippet, s.snippet_start, s.highlights, s.claim, s.snippet_page, s.context, s.context_start, s.context_page, s.context_of, s.query_vector
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._search(
        c.role_id, c.proof, search.tenant, search.query, search.k, search.principals, search.filter, search.query_embedding, search.mode, search.model,
        search.depth, search.rrf_k, search.weights, search.per_document, search.collapse, search.min_score, search.max_distance, search.as_of,
        search.collapse_clusters,
        skip => search.skip,
        mmr => search.mmr,
        token_budget => search.token_budget,
        query_token_embeddings => search.query_token_embeddings,
        token_model => search.token_model,
        plain => search.plain,
        strip_questions => search.strip_questions,
        expand => search.expand,
        unit => search.unit,
        k1 => search.k1,
        b => search.b,
        title_weight => search.title_weight,
        abstract_weight => search.abstract_weight,
        snippet_width => search.snippet_width,
        strategy => search.strategy,
        claims_k => search.claims_k) AS s
    ORDER BY s.rank;
END
$$;
COMMENT ON FUNCTION sift.search(text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) IS
    'The k best chunks the caller may see, by BM25 and vectors fused (mode hybrid), or by one of them (lexical, dense). Text is enough: the vector comes from query_embedding or the cache; query_embedding is an array, ''{1,2,3}''; the text of a pgvector needs its type: ''[1,2,3]''::vector::real[]. principals: for whom a trusted application searches; readers leave it out. filter: JSON, see docs/filters.md. collapse: identical texts count once. collapse_clusters: documents that are near-duplicates count once, as far as sift.cluster_documents and the signatures before it know them; the hits that give way are counted in duplicates. per_document: at most so many hits of one document, the next best of others moving up; 3 unless another number is given, NULL is no cap. mmr, between 0 and 1: each next hit is the best by mmr times its relevance less 1 - mmr times its likeness to one before it. token_budget: how many tokens all texts have together at most, one for every four bytes; a text that does not fit is passed over. query_token_embeddings: one vector for each token of the query, by which the candidates of both legs are reranked by late interaction (token_model, or the tenant''s); rerank_score and former_rank tell what it did. may_be_sent: whether the tenant''s options let the text be sent to another machine. min_score and max_distance: floors of the legs before fusion. depth: how many ranks of each leg are fused; left out, as many as k rows take; given, a hard limit, so that with per_document or collapse there may be fewer than k rows.';
REVOKE ALL ON FUNCTION sift.search(text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.search(text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
