-- What sift.unranked_documents does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._unranked_documents(caller oid, proof bytea, tenant text, principals text[], k integer, after text)
RETURNS TABLE (key text, title text, chunks integer, reference_chunks integer, kinds text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of documents wanted at most; 100 is the default.';
    END IF;
    RETURN QUERY
    SELECT d.key, d.title, n.chunks, n.reference_chunks, n.kinds
    FROM sift.documents AS d
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS chunks, (count(*) FILTER (WHERE c.kind = 'reference'))::integer AS reference_chunks,
               coalesce(array_agg(DISTINCT c.kind ORDER BY c.kind), '{}'::text[]) AS kinds,
               count(*) FILTER (WHERE c.unranked_tokens IS NULL) AS ranked
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id
        OFFSET 0) AS n
    WHERE d.tenant_id = v_tenant_id AND (d.access_list_id IN (SELECT l.id FROM unnest(v_lists) AS l (id))) IS TRUE AND n.ranked = 0
      AND (_unranked_documents.after IS NULL OR d.key COLLATE "C" > _unranked_documents.after)
    ORDER BY d.key COLLATE "C"
    LIMIT _unranked_documents.k;
END
$$;
COMMENT ON FUNCTION sift._unranked_documents(oid, bytea, text, text[], integer, text) IS 'The body of sift.unranked_documents, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._unranked_documents(oid, bytea, text, text[], integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._unranked_documents(oid, bytea, text, text[], integer, text) TO sift_owner, sift_writer, sift_app, sift_reader;
