-- One page of the documents a manifest lists, by key; of now, those there are.
CREATE OR REPLACE FUNCTION sift.manifest_documents(tenant text, name text, k integer DEFAULT 1000, after text DEFAULT NULL)
RETURNS TABLE (key text, document_id bigint, version integer, content_hash text, access_hash text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := sift._tenant_id(tenant);
    v_manifest_id bigint := sift._manifest_id(v_tenant_id, name);
BEGIN
    IF k IS NULL OR k < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must be positive, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'It is the number of rows wanted at most.';
    END IF;
    RETURN QUERY
    SELECT r.key, r.document_id, r.version, encode(r.content_hash, 'hex'), encode(r.access_hash, 'hex')
    FROM sift._manifest_rows(v_tenant_id, v_manifest_id) AS r
    WHERE manifest_documents.after IS NULL OR r.key COLLATE "C" > manifest_documents.after
    ORDER BY r.key COLLATE "C"
    LIMIT manifest_documents.k;
END
$$;
COMMENT ON FUNCTION sift.manifest_documents(text, text, integer, text) IS 'One page of the documents of a manifest, in C order of keys, with version and hashes in hexadecimal; now lists those there are.';
REVOKE ALL ON FUNCTION sift.manifest_documents(text, text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.manifest_documents(text, text, integer, text) TO sift_owner, sift_writer;
