-- How many witnesses a result has: of documents, those that repeat one another, or stand in one another, count once.
--
--   SELECT max(source) FROM sift.distinct_sources('acme', ARRAY(SELECT s.key FROM sift.search('acme', 'pump seals') AS s));
CREATE OR REPLACE FUNCTION sift.distinct_sources(tenant text, keys text[], principals text[] DEFAULT NULL)
RETURNS TABLE (
    key         text,
    source      integer,
    counts_with text,
    relation    text,
    similarity  double precision
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.key, r.source, r.counts_with, r.relation, r.similarity
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._distinct_sources(c.role_id, c.proof, distinct_sources.tenant, distinct_sources.keys, distinct_sources.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.distinct_sources(text, text[], text[]) IS
    'Of the documents named that the caller may see, in their order, which count as one source because one repeats the other (relation copy, revision, syndicated) or stands whole in it (contained): source numbers them from 1, so the greatest is how many independent sources there are. counts_with is the longest of its source, NULL of that one itself; similarity is the share of common runs of five words, of contained that of the shorter text. Compared are these documents alone, as they are now.';
REVOKE ALL ON FUNCTION sift.distinct_sources(text, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.distinct_sources(text, text[], text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
