-- The access lists the caller may see. Never NULL: an empty array sees nothing, and no value means "everything", so that a
-- forgotten argument fails closed.
--   a trusted caller (sift_app, a writer)  the lists for the principals passed
--   anybody else (sift_reader)             those for the principals of the caller's database roles; passing principals is refused
--   principals = {sift:writer}             every list, list 0 included; writers only
-- A list is for somebody when it holds one of their principals or of the groups these belong to, and denies none of them.
CREATE OR REPLACE FUNCTION sift._visible_lists(tenant_id integer, principals text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id  integer := tenant_id;
    v_principals text[] := principals;
    v_lists      bigint[];
    v_role       name;
BEGIN
    IF NOT sift._is_trusted() THEN
        IF v_principals IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS008',
                MESSAGE = 'this database role may not choose principals',
                HINT = 'Leave the argument out: principals come from the roles mapped with sift.map_role. Applications use the role sift_app.';
        END IF;
        v_role := sift._effective_role();
        SELECT coalesce(array_agg(DISTINCT m.principal), '{}'::text[]) INTO v_principals
        FROM sift.role_principals AS m
        JOIN pg_catalog.pg_roles AS r ON r.rolname = m.role_name
        WHERE m.tenant_id = v_tenant_id AND pg_has_role(v_role, r.oid, 'USAGE');
    ELSIF 'sift:writer' = ANY (v_principals) THEN
        IF NOT sift._is_writer() THEN
            RAISE EXCEPTION USING ERRCODE = 'PS008',
                MESSAGE = 'only writers may search as sift:writer',
                HINT = 'Pass the principals of the person who asks.';
        END IF;
        SELECT coalesce(array_agg(a.access_list_id ORDER BY a.access_list_id), '{}'::bigint[]) INTO v_lists
        FROM sift.access_lists AS a
        WHERE a.tenant_id = v_tenant_id;
        RETURN v_lists;
    END IF;
    IF coalesce(cardinality(v_principals), 0) = 0 THEN
        RETURN '{}'::bigint[];
    END IF;
    v_principals := sift._with_groups(v_tenant_id, v_principals);
    SELECT coalesce(array_agg(a.access_list_id ORDER BY a.access_list_id), '{}'::bigint[]) INTO v_lists
    FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND a.principals && v_principals AND NOT a.denied && v_principals;
    RETURN v_lists;
END
$$;
COMMENT ON FUNCTION sift._visible_lists(integer, text[]) IS 'Access lists the caller may see; empty sees nothing, and is never NULL.';
REVOKE ALL ON FUNCTION sift._visible_lists(integer, text[]) FROM PUBLIC;
