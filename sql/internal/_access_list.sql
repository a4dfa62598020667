-- The access list of two sets of principals, made where it is not there yet. Nobody allowed and nobody denied is list 0.
-- The caller has locked list 0 against other changes of access (sift._change_access), or has just made the tenant: no other
-- transaction edits lists, so the share lock waits for nobody. Under REPEATABLE READ it fails where the list was edited meanwhile.
CREATE OR REPLACE FUNCTION sift._access_list(tenant_id integer, principals text[], denied text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id      integer := tenant_id;
    v_principals     text[] := sift._principal_set(principals);
    v_denied         text[] := sift._principal_set(denied);
    v_access_list_id bigint := sift._find_list(v_tenant_id, v_principals, v_denied);
BEGIN
    IF v_access_list_id > 0 THEN
        PERFORM FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = v_access_list_id FOR SHARE;
    ELSIF v_access_list_id IS NULL THEN
        INSERT INTO sift.access_lists AS a (tenant_id, principals, denied) VALUES (v_tenant_id, v_principals, v_denied)
        RETURNING a.access_list_id INTO v_access_list_id;
    END IF;
    RETURN v_access_list_id;
END
$$;
COMMENT ON FUNCTION sift._access_list(integer, text[], text[]) IS 'Number of the access list of exactly these sets, made where absent.';
REVOKE ALL ON FUNCTION sift._access_list(integer, text[], text[]) FROM PUBLIC;
