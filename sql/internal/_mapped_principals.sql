-- The principals a database role stands for in a tenant: those its own name and the roles whose privileges it has are mapped to. A mapping
-- holds for the role that had the name when it was made, not for one that came to bear it later.
CREATE OR REPLACE FUNCTION sift._mapped_principals(tenant_id integer, caller oid) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id  integer := tenant_id;
    v_principals text[];
BEGIN
    SELECT coalesce(array_agg(DISTINCT m.principal), '{}'::text[]) INTO v_principals
    FROM sift.role_principals AS m
    JOIN pg_catalog.pg_roles AS r ON r.oid = m.role_id AND r.rolname = m.role_name
    WHERE m.tenant_id = v_tenant_id AND pg_has_role(caller, r.oid, 'USAGE');
    RETURN v_principals;
END
$$;
COMMENT ON FUNCTION sift._mapped_principals(integer, oid) IS 'Principals the database role is mapped to in the tenant, by itself and by its memberships; never NULL.';
REVOKE ALL ON FUNCTION sift._mapped_principals(integer, oid) FROM PUBLIC;
