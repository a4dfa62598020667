-- The access lists the caller may see. Never NULL: an empty array sees nothing, and no value means "everything", so that a
-- forgotten argument fails closed.
--   a trusted caller (sift_app, a writer)  the lists for the principals passed
--   anybody else (sift_reader)             those for the principals of the caller's database roles; passing principals is refused
--   principals = {sift:writer}             every list, list 0 included; writers only
-- caller is a role that was proved (sift._check_caller), never one that was only named.
CREATE OR REPLACE FUNCTION sift._visible_lists(tenant_id integer, principals text[], caller oid) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_lists     bigint[];
BEGIN
    IF NOT sift._is_trusted(caller) THEN
        IF principals IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS008',
                MESSAGE = 'this database role may not choose principals',
                HINT = 'Leave the argument out: principals come from the roles mapped with sift.map_role. Applications use the role sift_app.';
        END IF;
        RETURN sift._lists_for(v_tenant_id, sift._mapped_principals(v_tenant_id, caller));
    ELSIF 'sift:writer' = ANY (principals) THEN
        IF NOT sift._is_writer(caller) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS008',
                MESSAGE = 'only writers may search as sift:writer',
                HINT = 'Pass the principals of the person who asks.';
        END IF;
        SELECT coalesce(array_agg(a.access_list_id ORDER BY a.access_list_id), '{}'::bigint[]) INTO v_lists
        FROM sift.access_lists AS a
        WHERE a.tenant_id = v_tenant_id;
        RETURN v_lists;
    END IF;
    RETURN sift._lists_for(v_tenant_id, principals);
END
$$;
COMMENT ON FUNCTION sift._visible_lists(integer, text[], oid) IS 'Access lists the caller may see; empty sees nothing, and is never NULL.';
REVOKE ALL ON FUNCTION sift._visible_lists(integer, text[], oid) FROM PUBLIC;
