-- Takes principals out of a group.
CREATE OR REPLACE FUNCTION sift.remove_members(tenant text, group_name text, members text[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_removed   integer;
BEGIN
    PERFORM FROM sift.principal_groups AS g
    WHERE g.tenant_id = v_tenant_id AND g.group_name = remove_members.group_name AND g.member = ANY (members)
    ORDER BY g.member COLLATE "C"
    FOR UPDATE;
    DELETE FROM sift.principal_groups AS g
    WHERE g.tenant_id = v_tenant_id AND g.group_name = remove_members.group_name AND g.member = ANY (members);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$$;
COMMENT ON FUNCTION sift.remove_members(text, text, text[]) IS
    'Takes principals out of a group, from the commit on, and returns how many were in it. Whoever belongs to it through another group still does.';
REVOKE ALL ON FUNCTION sift.remove_members(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remove_members(text, text, text[]) TO sift_owner, sift_writer;
