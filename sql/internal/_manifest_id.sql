-- The number of a manifest; NULL for now.
CREATE OR REPLACE FUNCTION sift._manifest_id(tenant_id integer, name text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_name        text := name;
    v_manifest_id bigint;
BEGIN
    IF v_name = 'now' THEN
        RETURN NULL;
    END IF;
    SELECT m.manifest_id INTO v_manifest_id FROM sift.manifests AS m WHERE m.tenant_id = v_tenant_id AND m.name = v_name;
    IF v_manifest_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('there is no manifest %s', coalesce(to_json(left(v_name, 200))::text, 'NULL')),
            HINT = 'sift.list_manifests lists them; now stands for the corpus as it is.';
    END IF;
    RETURN v_manifest_id;
END
$$;
COMMENT ON FUNCTION sift._manifest_id(integer, text) IS 'Number of a manifest by its name, NULL for now; PS002 where there is none.';
REVOKE ALL ON FUNCTION sift._manifest_id(integer, text) FROM PUBLIC;
