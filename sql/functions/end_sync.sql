-- Forgets that a source is synchronized. Its documents stay.
CREATE OR REPLACE FUNCTION sift.end_sync(tenant text, name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id      integer := sift._tenant_id(tenant);
    v_sync_source_id bigint;
BEGIN
    SELECT s.sync_source_id INTO v_sync_source_id FROM sift.sync_sources AS s
    WHERE s.tenant_id = v_tenant_id AND s.name = end_sync.name
    FOR UPDATE;
    IF v_sync_source_id IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM sift.sync_items AS i WHERE i.tenant_id = v_tenant_id AND i.sync_source_id = v_sync_source_id;
    DELETE FROM sift.sync_sources AS s WHERE s.tenant_id = v_tenant_id AND s.sync_source_id = v_sync_source_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift.end_sync(text, text) IS 'Forgets that a source is synchronized; its documents stay. False where there is none of this name.';
REVOKE ALL ON FUNCTION sift.end_sync(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.end_sync(text, text) TO sift_owner, sift_writer;
