-- The access lists for a set of principals: those that hold one of them or of the groups these belong to, and deny none of them.
CREATE OR REPLACE FUNCTION sift._lists_for(tenant_id integer, principals text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id  integer := tenant_id;
    v_principals text[];
    v_lists      bigint[];
BEGIN
    IF coalesce(cardinality(principals), 0) = 0 THEN
        RETURN '{}'::bigint[];
    END IF;
    v_principals := sift._with_groups(v_tenant_id, principals);
    SELECT coalesce(array_agg(a.access_list_id ORDER BY a.access_list_id), '{}'::bigint[]) INTO v_lists
    FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND a.principals && v_principals AND NOT a.denied && v_principals;
    RETURN v_lists;
END
$$;
COMMENT ON FUNCTION sift._lists_for(integer, text[]) IS 'Access lists that these principals may see, their groups included; empty for none, never NULL.';
REVOKE ALL ON FUNCTION sift._lists_for(integer, text[]) FROM PUBLIC;
