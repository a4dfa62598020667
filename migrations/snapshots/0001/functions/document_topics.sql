-- The documents the caller may see with the topic each is in, as of the last run of pgsift topics.
--
--   SELECT key, title FROM sift.document_topics('acme', of_topic => 3, k => 10);
CREATE OR REPLACE FUNCTION sift.document_topics(
    tenant     text,
    of_topic   integer DEFAULT NULL,
    k          integer DEFAULT NULL,
    principals text[] DEFAULT NULL
)
RETURNS TABLE (
    topic       integer,
    key         text,
    title       text,
    document_id bigint,
    observed_at timestamptz,
    strength    double precision,
    distance    double precision,
    x           double precision,
    y           double precision
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.topic, r.key, r.title, r.document_id, r.observed_at, r.strength, r.distance, r.x, r.y
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._document_topics(c.role_id, c.proof, document_topics.tenant, document_topics.of_topic, document_topics.k, document_topics.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.document_topics(text, integer, integer, text[]) IS
    'Visible documents that the last run placed, with their topic, by topic and nearest to its centre first, outliers (-1) last; of one topic only, and k of them at most, where these are given. strength, distance to the centre, and the place in the picture (x, y) are told to applications and writers; to readers they are NULL.';
REVOKE ALL ON FUNCTION sift.document_topics(text, integer, integer, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_topics(text, integer, integer, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
