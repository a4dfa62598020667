-- The documents of a manifest, or with NULL for it those there are now.
CREATE OR REPLACE FUNCTION sift._manifest_rows(tenant_id integer, manifest_id bigint)
RETURNS TABLE (document_id bigint, version integer, key text, content_hash bytea, access_hash bytea)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := tenant_id;
    v_manifest_id bigint := manifest_id;
BEGIN
    IF v_manifest_id IS NOT NULL THEN
        RETURN QUERY
        SELECT m.document_id, m.version, m.key, m.content_hash, m.access_hash
        FROM sift.manifest_documents AS m
        WHERE m.tenant_id = v_tenant_id AND m.manifest_id = v_manifest_id;
    ELSE
        RETURN QUERY
        SELECT d.document_id, d.version, d.key, d.content_hash, a.hash
        FROM sift.documents AS d
        LEFT JOIN (SELECT l.access_list_id, sift._access_hash(l.principals, l.denied) AS hash
                   FROM sift.access_lists AS l WHERE l.tenant_id = v_tenant_id OFFSET 0) AS a ON a.access_list_id = d.access_list_id
        WHERE d.tenant_id = v_tenant_id;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._manifest_rows(integer, bigint) IS 'The documents of a manifest, or those there are now.';
REVOKE ALL ON FUNCTION sift._manifest_rows(integer, bigint) FROM PUBLIC;
