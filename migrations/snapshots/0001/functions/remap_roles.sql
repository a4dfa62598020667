-- Says which mappings of a tenant hold for nobody, since the role of the name is another than it was or there is none, and makes those that are
-- named hold for the roles that bear the names now: after a dump was restored into another cluster, where the roles have other numbers.
-- Only those named: a role of the name may be somebody else by now, and what one administrator means must not revive what another ended.
--
--   SELECT * FROM sift.remap_roles('acme');                     -- reports alone
--   SELECT * FROM sift.remap_roles('acme', '{anna,staff}');     -- maps these again
--
--   roles      names that are mapped in the tenant; PS002 where one is not. NULL changes nothing
--   old_oid    the number the role had when it was mapped; a role of another name that has it (old_oid::regrole) was renamed, or this is
--              another cluster
--   new_oid    the number of the role of this name, NULL where there is none
--   remapped   whether the mapping holds for that one from now on
CREATE OR REPLACE FUNCTION sift.remap_roles(tenant text, roles name[] DEFAULT NULL)
RETURNS TABLE (role_name name, old_oid oid, new_oid oid, remapped boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_unknown   text;
    v_stale     record;
BEGIN
    SELECT string_agg(coalesce(quote_ident(n.name), 'NULL'), ', ' ORDER BY n.name) INTO v_unknown
    FROM unnest(roles) AS n (name)
    WHERE NOT EXISTS (SELECT FROM sift.role_principals AS m WHERE m.tenant_id = v_tenant_id AND m.role_name = n.name);
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('nothing is mapped in the tenant to a role of the name %s', v_unknown),
            HINT = 'SELECT * FROM sift.remap_roles(tenant) says which mappings do not hold; sift.map_role makes one.';
    END IF;
    FOR v_stale IN
        SELECT DISTINCT m.role_name AS name, m.role_id AS old_id, r.oid AS new_id
        FROM sift.role_principals AS m
        LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = m.role_name
        WHERE m.tenant_id = v_tenant_id AND r.oid IS DISTINCT FROM m.role_id AND (roles IS NULL OR m.role_name = ANY (roles))
        ORDER BY m.role_name, m.role_id
    LOOP
        role_name := v_stale.name;
        old_oid := v_stale.old_id;
        new_oid := v_stale.new_id;
        remapped := roles IS NOT NULL AND v_stale.new_id IS NOT NULL;
        IF remapped THEN
            UPDATE sift.role_principals AS m SET role_id = v_stale.new_id
            WHERE m.tenant_id = v_tenant_id AND m.role_name = v_stale.name AND m.role_id = v_stale.old_id;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.remap_roles(text, name[]) IS
    'Reports the mappings of a tenant that hold for nobody, as after a restore into another cluster or a DROP ROLE; those of the roles named it makes hold for the roles that bear these names now.';
REVOKE ALL ON FUNCTION sift.remap_roles(text, name[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remap_roles(text, name[]) TO sift_owner;
