-- The number of a tenant, for functions that only writers may call; the others ask sift._enter.
CREATE OR REPLACE FUNCTION sift._tenant_id(tenant text) RETURNS integer
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer;
BEGIN
    SELECT t.tenant_id INTO v_tenant_id FROM sift.tenants AS t WHERE t.name = _tenant_id.tenant;
    IF v_tenant_id IS NULL THEN
        PERFORM sift._unknown_tenant(tenant);
    END IF;
    RETURN v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift._tenant_id(text) IS 'Number of the tenant; PS001 where there is none of this name.';
REVOKE ALL ON FUNCTION sift._tenant_id(text) FROM PUBLIC;
