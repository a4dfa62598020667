-- The topics of the documents the caller may see, as of the last run of pgsift topics.
--
--   SELECT topic, documents, terms FROM sift.list_topics('acme');
CREATE OR REPLACE FUNCTION sift.list_topics(
    tenant     text,
    principals text[] DEFAULT NULL,
    terms_k    integer DEFAULT 10,
    keys_k     integer DEFAULT 3,
    sample     integer DEFAULT 50
)
RETURNS TABLE (topic integer, documents bigint, share double precision, terms text[], weights double precision[], keys text[], titles text[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.topic, r.documents, r.share, r.terms, r.weights, r.keys, r.titles
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._list_topics(c.role_id, c.proof, list_topics.tenant, list_topics.principals, list_topics.terms_k, list_topics.keys_k,
                                         list_topics.sample) AS r;
END
$$;
COMMENT ON FUNCTION sift.list_topics(text, text[], integer, integer, integer) IS
    'The topics that visible documents are in, by number, the outliers (-1) last: how many visible documents, and which share of all that were placed; terms_k terms of greatest class-based tf-idf with their weights, counted in the sample visible documents of each topic that are nearest to its centre (NULL: in all); keys and titles of the keys_k nearest.';
REVOKE ALL ON FUNCTION sift.list_topics(text, text[], integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_topics(text, text[], integer, integer, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
