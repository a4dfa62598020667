-- The access list of two sets, as sift._principal_set makes them; the first where several came to be equal.
CREATE OR REPLACE FUNCTION sift._find_list(tenant_id integer, principals text[], denied text[]) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id      integer := tenant_id;
    v_access_list_id bigint;
BEGIN
    SELECT a.access_list_id INTO v_access_list_id
    FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id
      AND hash_array_extended(a.principals, hash_array_extended(a.denied, 0))
          = hash_array_extended(_find_list.principals, hash_array_extended(_find_list.denied, 0))
      AND a.principals = _find_list.principals AND a.denied = _find_list.denied
    ORDER BY a.access_list_id
    LIMIT 1;
    RETURN v_access_list_id;
END
$$;
COMMENT ON FUNCTION sift._find_list(integer, text[], text[]) IS 'Number of the access list of exactly these sets, or NULL.';
REVOKE ALL ON FUNCTION sift._find_list(integer, text[], text[]) FROM PUBLIC;
