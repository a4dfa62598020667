-- The access list that decides today who may see what a document was: its own; or, where it is gone, the last it had, in its tombstone. NULL
-- where it has none, and where another document has its key by now that cannot be seen under the lists given: a document that is
-- stored under an old key opens nothing of what lay there before, and whoever is shut out of it is shut out of its past too.
CREATE OR REPLACE FUNCTION sift._list_today(tenant_id integer, document_id bigint, key text, lists bigint[]) RETURNS bigint
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
    IF FOUND AND (v_list = ANY (lists)) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    SELECT h.access_list_id INTO v_list
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.event = 'deleted'
    ORDER BY h.version DESC
    LIMIT 1;
    RETURN v_list;
END
$$;
COMMENT ON FUNCTION sift._list_today(integer, bigint, text, bigint[]) IS 'The access list that decides today who may see what a document was; NULL where it is to be seen under none of the lists given.';
REVOKE ALL ON FUNCTION sift._list_today(integer, bigint, text, bigint[]) FROM PUBLIC;
