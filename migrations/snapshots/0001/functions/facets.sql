-- The values of a field among what a query matches, with their numbers.
--
--   SELECT value, documents FROM sift.facets('acme', 'metadata.department', 'pump cavitation');
--   SELECT value, documents FROM sift.facets('acme', 'observed_at', 'pump', bucket => 'month') ORDER BY value;
CREATE OR REPLACE FUNCTION sift.facets(
    tenant       text,
    field        text,
    query        text DEFAULT NULL,
    k            integer DEFAULT 20,
    principals   text[] DEFAULT NULL,
    filter       jsonb DEFAULT NULL,
    bucket       text DEFAULT NULL,
    plain        boolean DEFAULT false
)
RETURNS TABLE (
    value            text,
    chunks           bigint,
    documents        bigint
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.value, r.chunks, r.documents
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._facets(c.role_id, c.proof, facets.tenant, facets.field, facets.query, facets.k, facets.principals, facets.filter, facets.bucket, facets.plain) AS r;
END
$$;
COMMENT ON FUNCTION sift.facets(text, text, text, integer, text[], jsonb, text, boolean) IS
    'The values that a field has among the visible chunks a query matches (sift.count_matches), with the number of chunks and of documents, most documents first; k of them at most, all where it is NULL. field: one that filters know (docs/filters.md), metadata.NAME for your own; each element of an array counts as a value; a value of NULL is for those without one. query NULL: among everything visible. bucket: day, week, month, quarter or year, for a field of time, in UTC.';
REVOKE ALL ON FUNCTION sift.facets(text, text, text, integer, text[], jsonb, text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.facets(text, text, text, integer, text[], jsonb, text, boolean) TO sift_owner, sift_writer, sift_app, sift_reader;
