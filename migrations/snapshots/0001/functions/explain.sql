-- Why a chunk has the score it has: what each term contributes, where it stands in each leg, and how that is fused. One row per part.
--
--   SELECT part, name, tf, df, doc_length, idf, rank, value, detail FROM sift.explain('acme', 'pump cavitation', 42);
--
--   part 'term'     value is what the term contributes: idf * tf / (tf + k1 * (1 - b + b * doc_length / average_length)). In the order of the
--                   rows they sum to the lexical score, bit for bit
--   part 'leg'      value is the lexical score or the distance, rank where the chunk stands among all that may be seen and match
--   part 'fusion'   value is weight / (constant + rank), 0 for a leg that does not count; they sum to
--   part 'score'    the score that sift.search gives; NULL where the chunk is in no result
--   part 'setting'  value is k1, b, what fields weigh, the number of chunks (or documents) and their average length
--
-- The arguments are those of sift.search. In the unit document, it is the document of the chunk that is explained. Of numbers about the
-- tenant (df, idf, chunks, average_length) readers are told none, unless the statistics are of what they may see: docs/security.md.
CREATE OR REPLACE FUNCTION sift.explain(
    tenant          text,
    query           text DEFAULT NULL,
    chunk           bigint DEFAULT NULL,
    principals      text[] DEFAULT NULL,
    filter          jsonb DEFAULT NULL,
    query_embedding real[] DEFAULT NULL,
    mode            text DEFAULT 'hybrid',
    model           text DEFAULT NULL,
    depth           integer DEFAULT NULL,
    rrf_k           double precision DEFAULT NULL,
    weights         double precision[] DEFAULT NULL,
    min_score       double precision DEFAULT NULL,
    max_distance    double precision DEFAULT NULL,
    as_of           timestamptz DEFAULT NULL,
    plain           boolean DEFAULT false,
    strip_questions boolean DEFAULT NULL,
    expand          boolean DEFAULT NULL,
    unit            text DEFAULT 'chunk',
    k1              double precision DEFAULT NULL,
    b               double precision DEFAULT NULL,
    title_weight    double precision DEFAULT NULL,
    abstract_weight double precision DEFAULT NULL,
    key             text DEFAULT NULL,
    strategy        text DEFAULT 'merged'
)
RETURNS TABLE (
    place      integer,
    part       text,
    name       text,
    chunk_id   bigint,
    tf         double precision,
    df         bigint,
    doc_length bigint,
    idf        double precision,
    rank       integer,
    weight     double precision,
    constant   double precision,
    value      double precision,
    detail     text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT e.place, e.part, e.name, e.chunk_id, e.tf, e.df, e.doc_length, e.idf, e.rank, e.weight, e.constant, e.value, e.detail
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._explain(
        c.role_id, c.proof, explain.tenant, explain.query, explain.chunk, explain.principals, explain.filter, explain.query_embedding, explain.mode, explain.model, explain.depth, explain.rrf_k, explain.weights, explain.min_score, explain.max_distance, explain.as_of, explain.plain, explain.strip_questions, explain.expand, explain.unit, explain.k1, explain.b, explain.title_weight, explain.abstract_weight, explain.key, explain.strategy) AS e
    ORDER BY e.place;
END
$$;
COMMENT ON FUNCTION sift.explain(text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) IS
    'Why a chunk has its score in a search with these arguments: tf, df, length, idf and contribution of every term, rank and figure in each leg, and the arithmetic of fusion; named by its number, or by the key of a document for the best chunk of that. Contributions sum to the lexical score and the parts of fusion to the score of sift.search. df, idf, the number of chunks and their average length are told to applications and writers, and to readers where the statistics are of what they may see. No rows for a chunk that is not there or not visible.';
REVOKE ALL ON FUNCTION sift.explain(text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.explain(text, text, bigint, text[], jsonb, real[], text, text, integer, double precision, double precision[], double precision, double precision, timestamptz, boolean, boolean, boolean, text, double precision, double precision, double precision, double precision, text, text) TO sift_owner, sift_writer, sift_app, sift_reader;
