-- Who sees documents that come without an access list of their own.
CREATE OR REPLACE FUNCTION sift.set_default_access(tenant text, principals text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_list      bigint := sift._access_list(v_tenant_id, principals);
BEGIN
    UPDATE sift.tenants AS t SET default_access_list_id = v_list WHERE t.tenant_id = v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift.set_default_access(text, text[]) IS
    'Sets who sees documents ingested from now on without an access list; NULL or {} is nobody but writers.';
REVOKE ALL ON FUNCTION sift.set_default_access(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_default_access(text, text[]) TO sift_owner, sift_writer;
