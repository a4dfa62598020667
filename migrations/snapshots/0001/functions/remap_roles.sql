-- Makes the mappings of a tenant hold again for the roles that bear their names now: after a dump was restored into another cluster, where
-- the roles are others, or after a role was renamed back. Never by itself: a role of the name may be somebody else by now.
CREATE OR REPLACE FUNCTION sift.remap_roles(tenant text)
RETURNS TABLE (role_name name, mapped boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    UPDATE sift.role_principals AS m
    SET role_id = r.oid
    FROM pg_catalog.pg_roles AS r
    WHERE m.tenant_id = v_tenant_id AND r.rolname = m.role_name AND r.oid <> m.role_id;
    RETURN QUERY
    SELECT n.role_name, to_regrole(quote_ident(n.role_name)) IS NOT NULL
    FROM (SELECT DISTINCT m.role_name FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id) AS n
    ORDER BY n.role_name;
END
$$;
COMMENT ON FUNCTION sift.remap_roles(text) IS
    'Makes the mappings of a tenant hold for the roles that bear their names now, and says which there are: after a restore into another cluster.';
REVOKE ALL ON FUNCTION sift.remap_roles(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remap_roles(text) TO sift_owner;
