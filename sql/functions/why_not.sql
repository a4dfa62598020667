-- Why a document is not among the hits of a search with these arguments: the first reason there is, in a word, a sentence and numbers. One row.
--
--   SELECT reason, sentence FROM sift.why_not('acme', 'pump cavitation', 'reports/pump-4711.md', principals => '{public}');
--
--   found             it is there: rank is its rank
--   absent            there is no such document (or chunk), or none that the caller may see
--   deleted           it was deleted, and the caller may see its past
--   filtered          no chunk of it passes the filter
--   conditions        a phrase, a + or a - of the query leaves it out
--   strategy          the strategy claims or chunks leaves it out
--   unranked          it has no chunk that is ranked
--   no_match          no term of the query occurs in it, and it is not found by a vector
--   no_vector         it has no vector, and only vectors are compared
--   below_floor       min_score or max_distance leaves it out
--   beyond_depth      it comes after the ranks of each leg that are fused
--   collapsed         another chunk (other_chunk_id) has the same text and stands for it
--   near_duplicate    another document (other_key) nearly repeats it and stands for it
--   covered           a claim that it supports (other_chunk_id) stands for it
--   surplus_claim     it is a claim, and not one of the first claims_k
--   capped            its document has given as many hits as per_document allows
--   not_chosen        reranking, mmr or the token budget gave the place to others
--   missed_by_index   the index of vectors, which is approximate, did not give it
--   earlier_page      rank lies before what skip leaves out
--   beyond_k          rank lies after the k hits
--
-- The arguments are those of sift.search. chunk: one chunk instead of a document. Of a document with several chunks the one that comes first is
-- spoken of. rank is, of one that is collapsed or capped, where it would have come.
CREATE OR REPLACE FUNCTION sift.why_not(
    tenant          text,
    query           text DEFAULT NULL,
    key             text DEFAULT NULL,
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
    chunk           bigint DEFAULT NULL,
    strategy        text DEFAULT 'merged',
    claims_k        integer DEFAULT 3
)
RETURNS TABLE (
    reason         text,
    sentence       text,
    document_key   text,
    chunk_id       bigint,
    rank           integer,
    score          double precision,
    lexical_rank   integer,
    lexical_score  double precision,
    dense_rank     integer,
    distance       double precision,
    other_key      text,
    other_chunk_id bigint
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT w.reason, w.sentence, w.document_key, w.chunk_id, w.rank, w.score, w.lexical_rank, w.lexical_score, w.dense_rank, w.distance, w.other_key, w.other_chunk_id
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._why_not(
        c.role_id, c.proof, why_not.tenant, why_not.query, why_not.key, why_not.k, why_not.principals, why_not.filter, why_not.query_embedding, why_not.mode, why_not.model, why_not.depth, why_not.rrf_k, why_not.weights, why_not.per_document, why_not.collapse, why_not.min_score, why_not.max_distance, why_not.as_of, why_not.collapse_clusters, why_not.skip, why_not.mmr, why_not.token_budget, why_not.query_token_embeddings, why_not.token_model, why_not.plain, why_not.strip_questions, why_not.expand, why_not.unit, why_not.k1, why_not.b, why_not.title_weight, why_not.abstract_weight, why_not.chunk, why_not.strategy, why_not.claims_k) AS w;
END
$$;
COMMENT ON FUNCTION sift.why_not(text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) IS
    'The first reason why a document (named by its key) or a chunk is not among the hits of a search with these arguments: found, absent, deleted, filtered, conditions, strategy, unranked, no_match, no_vector, below_floor, beyond_depth, collapsed, near_duplicate, covered, surplus_claim, capped, not_chosen, missed_by_index, earlier_page or beyond_k; with a sentence, its rank, its figures in each leg, and the other that stands for it. What is not there and what is not visible are absent alike.';
REVOKE ALL ON FUNCTION sift.why_not(text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.why_not(text, text, text, integer, text[], jsonb, real[], text, text, integer, double precision, double precision[], integer, boolean, double precision, double precision, timestamptz, boolean, integer, double precision, integer, real[], text, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, bigint, text, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
