-- Sets who may see documents.
CREATE OR REPLACE FUNCTION sift.set_access(tenant text, keys text[], principals text[])
RETURNS TABLE (key text, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_list      bigint := sift._access_list(v_tenant_id, principals);
    v_ids       bigint[];
    v_keys      text[];
BEGIN
    SELECT array_agg(l.document_id), array_agg(l.key) INTO v_ids, v_keys
    FROM (
        SELECT d.document_id, d.key FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.key = ANY (set_access.keys)
        ORDER BY d.key COLLATE "C"
        FOR UPDATE
    ) AS l;
    RETURN QUERY
    SELECT l.key, sift._move_access(v_tenant_id, l.document_id, v_list)
    FROM unnest(v_ids, v_keys) AS l (document_id, key);
END
$$;
COMMENT ON FUNCTION sift.set_access(text, text[], text[]) IS
    'Sets who may see the documents: exactly these principals; NULL or {} is nobody but writers. One row per document found; effective with the commit.';
REVOKE ALL ON FUNCTION sift.set_access(text, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_access(text, text[], text[]) TO sift_owner, sift_writer;
