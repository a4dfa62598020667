-- The access list that decides today who may see what a document was: its own; or, where it is gone, that of the document that has its key
-- now; or, where the key is gone too, the last one under that key, or of the document under another.
CREATE OR REPLACE FUNCTION sift._list_today(tenant_id integer, document_id bigint, key text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_key         text := key;
    v_list        bigint;
BEGIN
    SELECT d.access_list_id INTO v_list FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document_id;
    IF FOUND THEN
        RETURN v_list;
    END IF;
    SELECT d.access_list_id INTO v_list FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = v_key;
    IF FOUND THEN
        RETURN v_list;
    END IF;
    SELECT h.access_list_id INTO v_list
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.key = v_key AND h.event = 'deleted'
    ORDER BY h.current_from DESC, h.document_id DESC
    LIMIT 1;
    IF NOT FOUND THEN
        -- It was moved, and deleted under its later key.
        SELECT h.access_list_id INTO v_list
        FROM sift.document_versions AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.event = 'deleted'
        ORDER BY h.version DESC
        LIMIT 1;
    END IF;
    RETURN v_list;
END
$$;
COMMENT ON FUNCTION sift._list_today(integer, bigint, text) IS 'The access list that decides today who may see what a document was; NULL where there is none.';
REVOKE ALL ON FUNCTION sift._list_today(integer, bigint, text) FROM PUBLIC;
