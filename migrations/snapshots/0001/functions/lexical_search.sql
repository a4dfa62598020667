-- Exact BM25 alone.
--
--   SELECT rank, score, key, body FROM sift.lexical_search('acme', 'pump cavitation', principals => '{public}');
CREATE OR REPLACE FUNCTION sift.lexical_search(
    tenant       text,
    query        text,
    k            integer DEFAULT 10,
    principals   text[] DEFAULT NULL,
    filter       jsonb DEFAULT NULL,
    per_document integer DEFAULT NULL,
    collapse     boolean DEFAULT false,
    min_score    double precision DEFAULT NULL,
    as_of        timestamptz DEFAULT NULL,
    skip            integer DEFAULT 0,
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
    SELECT s.rank, s.lexical_score, s.lexical_rank, s.lexical_score, s.dense_rank, s.distance, s.chunk_id, s.document_id, s.key, s.title, s.kind,
           s.section, s.page, s.char_start, s.char_end, s.document_version, s.body, s.metadata, s.duplicates, s.legs, s.dense_path, s.rerank_score, s.former_rank, s.may_be_sent, s.snippet, s.snippet_start, s.highlights, s.claim, s.snippet_page, s.context, s.context_start, s.context_page, s.context_of, s.query_vector
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._search(
        c.role_id, c.proof, lexical_search.tenant, lexical_search.query, lexical_search.k, lexical_search.principals, lexical_search.filter, NULL, 'lexical',
        NULL, NULL, NULL, NULL, lexical_search.per_document, lexical_search.collapse, lexical_search.min_score, NULL, lexical_search.as_of,
        skip => lexical_search.skip,
        plain => lexical_search.plain,
        strip_questions => lexical_search.strip_questions,
        expand => lexical_search.expand,
        unit => lexical_search.unit,
        k1 => lexical_search.k1,
        b => lexical_search.b,
        title_weight => lexical_search.title_weight,
        abstract_weight => lexical_search.abstract_weight,
        snippet_width => lexical_search.snippet_width,
        strategy => lexical_search.strategy,
        claims_k => lexical_search.claims_k) AS s
    ORDER BY s.rank;
END
$$;
COMMENT ON FUNCTION sift.lexical_search(text, text, integer, text[], jsonb, integer, boolean, double precision, timestamptz, integer, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) IS
    'The k best chunks the caller may see by exact BM25; score is the BM25 score. The same columns as sift.search.';
REVOKE ALL ON FUNCTION sift.lexical_search(text, text, integer, text[], jsonb, integer, boolean, double precision, timestamptz, integer, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.lexical_search(text, text, integer, text[], jsonb, integer, boolean, double precision, timestamptz, integer, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, integer, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
