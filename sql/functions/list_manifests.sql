-- The manifests of a tenant, the latest first.
CREATE OR REPLACE FUNCTION sift.list_manifests(tenant text)
RETURNS TABLE (manifest_name text, parent_name text, created_by text, created_at timestamptz, summary jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    RETURN QUERY
    SELECT m.name, p.name, m.created_by, m.created_at, m.summary
    FROM sift.manifests AS m
    LEFT JOIN sift.manifests AS p ON p.tenant_id = v_tenant_id AND p.manifest_id = m.parent_id
    WHERE m.tenant_id = v_tenant_id
    ORDER BY m.manifest_id DESC;
END
$$;
COMMENT ON FUNCTION sift.list_manifests(text) IS 'The manifests of a tenant, the latest first: name, parent, who made it and when, counts, digests, models, settings.';
REVOKE ALL ON FUNCTION sift.list_manifests(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_manifests(text) TO sift_owner, sift_writer;
