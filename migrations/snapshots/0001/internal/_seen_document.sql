-- The number of the document that has a key, now or (as_of) at that time, for somebody who sees the lists; NULL where there is none or it is not visible.
CREATE OR REPLACE FUNCTION sift._seen_document(tenant_id integer, key text, lists bigint[], as_of timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_key       text := key;
BEGIN
    IF as_of IS NULL THEN
        RETURN (SELECT d.document_id FROM sift.documents AS d
                WHERE d.tenant_id = v_tenant_id AND d.key = v_key AND d.access_list_id = ANY (lists));
    END IF;
    RETURN (
        SELECT h.document_id
        FROM (SELECT v.document_id, v.key FROM sift.document_versions AS v
              WHERE v.tenant_id = v_tenant_id AND v.key = v_key AND v.current_from <= as_of AND (v.current_to IS NULL OR v.current_to > as_of)
              ORDER BY v.document_id DESC, v.version DESC, v.revision DESC
              LIMIT 1) AS h
        WHERE (sift._list_today(v_tenant_id, h.document_id, h.key, lists) = ANY (lists)) IS TRUE);
END
$$;
COMMENT ON FUNCTION sift._seen_document(integer, text, bigint[], timestamptz) IS 'The document that has or had a key, if it is visible.';
REVOKE ALL ON FUNCTION sift._seen_document(integer, text, bigint[], timestamptz) FROM PUBLIC;
