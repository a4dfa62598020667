-- Makes principals members of a group.
CREATE OR REPLACE FUNCTION sift.add_members(tenant text, group_name text, members text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_group     text := (sift._principal_set(ARRAY[group_name]))[1];
    v_added     integer;
BEGIN
    INSERT INTO sift.principal_groups AS g (tenant_id, member, group_name)
    SELECT v_tenant_id, m.name, v_group
    FROM unnest(sift._principal_set(members)) AS m (name)
    WHERE m.name <> v_group -- what every principal is already
    ORDER BY m.name COLLATE "C"
    ON CONFLICT ON CONSTRAINT principal_groups_pkey DO NOTHING;
    GET DIAGNOSTICS v_added = ROW_COUNT;
    RETURN v_added;
END
$$;
COMMENT ON FUNCTION sift.add_members(text, text, text[]) IS
    'Makes principals members of a group, and returns how many were not yet; a group is none of its own. Members may be groups themselves; whoever searches as one of them sees what the group sees, and is denied what it is denied, from the commit on.';
REVOKE ALL ON FUNCTION sift.add_members(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.add_members(text, text, text[]) TO sift_owner, sift_writer;
