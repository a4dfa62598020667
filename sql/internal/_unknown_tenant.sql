-- The refusal of a tenant, in the same words whether there is none or it is no business of the caller's.
CREATE OR REPLACE FUNCTION sift._unknown_tenant(tenant text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PS001',
        MESSAGE = CASE WHEN tenant IS NULL THEN 'no tenant was named' ELSE format('there is no tenant %s', to_json(left(tenant, 200))) END,
        HINT = 'Writers list them with sift.list_tenants() and make one with sift.create_tenant(name).';
END
$$;
COMMENT ON FUNCTION sift._unknown_tenant(text) IS 'Raises PS001.';
REVOKE ALL ON FUNCTION sift._unknown_tenant(text) FROM PUBLIC;
