-- How much a query matches, of what the caller may see.
--
--   SELECT documents FROM sift.count_matches('acme', 'pump cavitation', filter => '{"metadata.year": {"$gte": 2020}}');
CREATE OR REPLACE FUNCTION sift.count_matches(
    tenant       text,
    query        text DEFAULT NULL,
    principals   text[] DEFAULT NULL,
    filter       jsonb DEFAULT NULL,
    plain        boolean DEFAULT false
)
RETURNS TABLE (
    chunks           bigint,
    documents        bigint
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunks, r.documents
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._count_matches(c.role_id, c.proof, count_matches.tenant, count_matches.query, count_matches.principals, count_matches.filter, count_matches.plain) AS r;
END
$$;
COMMENT ON FUNCTION sift.count_matches(text, text, text[], jsonb, boolean) IS
    'How many chunks, and documents, the caller may see that hold at least one term of the query, meet its conditions and pass the filter: exactly what the lexical leg ranks when it is asked for everything. query NULL: how many there are.';
REVOKE ALL ON FUNCTION sift.count_matches(text, text, text[], jsonb, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.count_matches(text, text, text[], jsonb, boolean) TO sift_owner, sift_writer, sift_app, sift_reader;
