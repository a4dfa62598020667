-- Maps a database role to principals: what logins with sift_reader may see. Kept by number and name: a role that is dropped or renamed is
-- mapped no longer.
CREATE OR REPLACE FUNCTION sift.map_role(tenant text, role_name name, principals text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id  integer := sift._tenant_id(tenant);
    v_principals text[] := sift._principal_set(principals);
    v_role_id    oid := to_regrole(quote_ident(role_name));
BEGIN
    IF v_role_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there is no database role %s', coalesce(quote_ident(role_name), 'NULL')),
            HINT = 'CREATE ROLE it first; a login is mapped by its own name or by a role it is a member of.';
    END IF;
    DELETE FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id AND m.role_name = map_role.role_name;
    INSERT INTO sift.role_principals AS m (tenant_id, role_name, role_id, principal)
    SELECT v_tenant_id, map_role.role_name, v_role_id, p.name FROM unnest(v_principals) AS p (name) ORDER BY p.name COLLATE "C"
    ON CONFLICT ON CONSTRAINT role_principals_pkey DO NOTHING;
END
$$;
COMMENT ON FUNCTION sift.map_role(text, name, text[]) IS
    'Sets the principals a database role stands for in a tenant, in place of those it had; NULL or {} takes them all away.';
REVOKE ALL ON FUNCTION sift.map_role(text, name, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.map_role(text, name, text[]) TO sift_owner;
