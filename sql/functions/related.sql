-- What lies near a document, or near one chunk: by the mean of its vectors, and by its rarest terms that occur elsewhere too.
--
--   SELECT rank, key, title, shared_terms FROM sift.related('acme', 'reports/pump-4711.md', k => 5);
CREATE OR REPLACE FUNCTION sift.related(
    tenant       text,
    document     text DEFAULT NULL,
    chunk        bigint DEFAULT NULL,
    k            integer DEFAULT 10,
    principals   text[] DEFAULT NULL,
    filter       jsonb DEFAULT NULL,
    mode         text DEFAULT 'hybrid',
    model        text DEFAULT NULL,
    per_document integer DEFAULT 1,
    terms        integer DEFAULT 16
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
    shared_terms     text[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.rank, r.score, r.lexical_rank, r.lexical_score, r.dense_rank, r.distance, r.chunk_id, r.document_id, r.key, r.title, r.kind, r.section, r.page, r.char_start, r.char_end, r.document_version, r.body, r.metadata, r.shared_terms
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._related(c.role_id, c.proof, related.tenant, related.document, related.chunk, related.k, related.principals, related.filter, related.mode, related.model, related.per_document, related.terms) AS r
    ORDER BY r.rank;
END
$$;
COMMENT ON FUNCTION sift.related(text, text, bigint, integer, text[], jsonb, text, text, integer, integer) IS
    'The chunks the caller may see that lie nearest to a document, named by its key, or to one chunk, named by its chunk_id, those of the same document left out: by the mean of its vectors and by its rarest terms, fused as a search is (mode hybrid), or by one of them (lexical, dense). per_document: at most so many of one document, NULL for no cap. terms: how many of the rarest terms are asked for. shared_terms: which of them the hit holds, rarest first. No rows for a key or chunk that is not there or not visible.';
REVOKE ALL ON FUNCTION sift.related(text, text, bigint, integer, text[], jsonb, text, text, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.related(text, text, bigint, integer, text[], jsonb, text, text, integer, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
