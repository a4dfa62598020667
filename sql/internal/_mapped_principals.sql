-- The principals a database role stands for in a tenant: those its own name and the roles whose privileges it has are mapped to. A mapping
-- holds for the role that had the name when it was made, not for one that came to bear it later.
--
-- Memberships count as the statement sees them (sift._roles_of). Where one of these roles was renamed since, the answer is nobody: its principals would be missing, and with them what is denied to them.
CREATE OR REPLACE FUNCTION sift._mapped_principals(tenant_id integer, caller oid) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id  integer := tenant_id;
    v_renamed    boolean;
    v_principals text[];
BEGIN
    SELECT coalesce(bool_or(r.rolname <> m.role_name), false),
           coalesce(array_agg(DISTINCT m.principal) FILTER (WHERE r.rolname = m.role_name), '{}'::text[])
    INTO v_renamed, v_principals
    FROM sift.role_principals AS m
    JOIN pg_catalog.pg_roles AS r ON r.oid = m.role_id
    WHERE m.tenant_id = v_tenant_id AND r.oid = ANY ((SELECT sift._roles_of(caller))::oid[]);
    IF v_renamed THEN
        RETURN '{}'::text[];
    END IF;
    RETURN v_principals;
END
$$;
COMMENT ON FUNCTION sift._mapped_principals(integer, oid) IS
    'Principals the database role is mapped to in the tenant, by itself and by its memberships; none where one of these was renamed since, and never NULL.';
REVOKE ALL ON FUNCTION sift._mapped_principals(integer, oid) FROM PUBLIC;
