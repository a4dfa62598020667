-- The members of a group, or of all.
CREATE OR REPLACE FUNCTION sift.list_members(tenant text, group_name text DEFAULT NULL)
RETURNS TABLE (of_group text, member text, direct boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_group     text := list_members.group_name;
BEGIN
    IF v_group IS NULL THEN
        RETURN QUERY
        SELECT g.group_name, g.member, true
        FROM sift.principal_groups AS g
        WHERE g.tenant_id = v_tenant_id
        ORDER BY g.group_name COLLATE "C", g.member COLLATE "C";
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE below (name) AS (
        SELECT v_group
        UNION
        SELECT m.member
        FROM below AS b
        CROSS JOIN LATERAL (
            SELECT g.member FROM sift.principal_groups AS g
            WHERE g.tenant_id = v_tenant_id AND g.group_name = b.name
            OFFSET 0) AS m
    )
    SELECT v_group, b.name,
           EXISTS (SELECT FROM sift.principal_groups AS g
                   WHERE g.tenant_id = v_tenant_id AND g.member = b.name AND g.group_name = v_group)
    FROM below AS b
    WHERE b.name <> v_group
    ORDER BY b.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_members(text, text) IS
    'The members of a group, those through other groups included (direct is false); without group_name the direct members of all groups.';
REVOKE ALL ON FUNCTION sift.list_members(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_members(text, text) TO sift_owner, sift_writer;
