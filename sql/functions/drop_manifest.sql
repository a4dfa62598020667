-- Removes a manifest; those that follow it keep nothing of it but that they have no parent.
CREATE OR REPLACE FUNCTION sift.drop_manifest(tenant text, name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id   integer := sift._tenant_id(tenant);
    v_manifest_id bigint;
BEGIN
    SELECT m.manifest_id INTO v_manifest_id FROM sift.manifests AS m
    WHERE m.tenant_id = v_tenant_id AND m.name = drop_manifest.name
    FOR UPDATE;
    IF v_manifest_id IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM sift.manifest_documents AS l WHERE l.tenant_id = v_tenant_id AND l.manifest_id = v_manifest_id;
    UPDATE sift.manifests AS m SET parent_id = NULL WHERE m.tenant_id = v_tenant_id AND m.parent_id = v_manifest_id;
    DELETE FROM sift.manifests AS m WHERE m.tenant_id = v_tenant_id AND m.manifest_id = v_manifest_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift.drop_manifest(text, text) IS 'Removes a manifest; false where there is none of this name.';
REVOKE ALL ON FUNCTION sift.drop_manifest(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.drop_manifest(text, text) TO sift_owner, sift_writer;
