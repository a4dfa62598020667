-- What sift.count_matches does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._count_matches(
    caller       oid,
    proof        bytea,
    tenant       text,
    query        text,
    principals   text[],
    filter       jsonb,
    plain        boolean
)
RETURNS TABLE (
    chunks           bigint,
    documents        bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
BEGIN
    RETURN QUERY
    SELECT count(*), count(DISTINCT m.document_id)
    FROM sift._match_query(v_tenant_id, query, filter, plain, v_lists) AS q
    CROSS JOIN LATERAL sift._matches(v_tenant_id, q.terms, v_lists, q.predicate, q.bound) AS m;
END
$$;
COMMENT ON FUNCTION sift._count_matches(oid, bytea, text, text, text[], jsonb, boolean) IS 'The body of sift.count_matches, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._count_matches(oid, bytea, text, text, text[], jsonb, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._count_matches(oid, bytea, text, text, text[], jsonb, boolean) TO sift_owner, sift_writer, sift_app, sift_reader;
