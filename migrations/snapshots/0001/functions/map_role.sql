-- Maps a database role to principals: what logins with sift_reader may see. Kept by number and name: a role that is dropped or renamed is
-- mapped no longer. To map a renamed role under its present name ends what is left of its former one.
CREATE OR REPLACE FUNCTION sift.map_role(tenant text, role_name name, principals text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id  integer := sift._tenant_id(tenant);
    v_principals text[] := sift._principal_set(principals);
    v_role_id    oid := to_regrole(quote_ident(role_name));
BEGIN
    -- What a role was mapped to that is gone can be taken away, not given.
    IF v_role_id IS NULL
       AND (cardinality(v_principals) > 0
            OR NOT EXISTS (SELECT FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id AND m.role_name = map_role.role_name)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there is no database role %s', coalesce(quote_ident(role_name), 'NULL')),
            HINT = 'CREATE ROLE it first; a login is mapped by its own name or by a role it is a member of.';
    END IF;
    -- Under a former name: of no role that exists now, whose mapping waits to be made anew after a restore (sift.remap_roles).
    DELETE FROM sift.role_principals AS m
    WHERE m.tenant_id = v_tenant_id
      AND (m.role_name = map_role.role_name OR (m.role_id = v_role_id AND to_regrole(quote_ident(m.role_name)) IS NULL));
    INSERT INTO sift.role_principals AS m (tenant_id, role_name, role_id, principal)
    SELECT v_tenant_id, map_role.role_name, v_role_id, p.name FROM unnest(v_principals) AS p (name) ORDER BY p.name COLLATE "C"
    ON CONFLICT ON CONSTRAINT role_principals_pkey DO NOTHING;
END
$$;
COMMENT ON FUNCTION sift.map_role(text, name, text[]) IS
    'Sets the principals a database role stands for in a tenant, in place of those it had, under a former name too; NULL or {} takes them all away, and the denies of them.';
REVOKE ALL ON FUNCTION sift.map_role(text, name, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.map_role(text, name, text[]) TO sift_owner;
