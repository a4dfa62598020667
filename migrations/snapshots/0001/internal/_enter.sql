-- The door of the functions that readers and applications call: checks who calls, and gives the number of the tenant. A tenant in which a
-- reader is mapped to nothing is to the reader as if it did not exist: one RAISE answers for both, so that even its context is the same.
CREATE OR REPLACE FUNCTION sift._enter(tenant text, caller oid, proof bytea) RETURNS integer
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer;
BEGIN
    PERFORM sift._check_caller(caller, proof);
    SELECT t.tenant_id INTO v_tenant_id FROM sift.tenants AS t WHERE t.name = _enter.tenant;
    IF v_tenant_id IS NULL
       OR NOT (sift._is_trusted(caller)
               OR EXISTS (SELECT FROM sift.role_principals AS m
                          JOIN pg_catalog.pg_roles AS r ON r.oid = m.role_id AND r.rolname = m.role_name
                          WHERE m.tenant_id = v_tenant_id AND m.role_id = ANY ((SELECT sift._roles_of(caller))::oid[]))) THEN
        PERFORM sift._unknown_tenant(tenant);
    END IF;
    RETURN v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift._enter(text, oid, bytea) IS
    'Number of the tenant, for a caller who proved its role; PS001 where there is none of this name or none that is the caller''s business, PS008 without the proof.';
REVOKE ALL ON FUNCTION sift._enter(text, oid, bytea) FROM PUBLIC;
