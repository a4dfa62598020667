-- Records that a run of a source was complete, and forgets items whose document is gone.
CREATE OR REPLACE FUNCTION sift.finish_sync(
    tenant         text,
    sync_source_id bigint,
    transformation text,
    options        jsonb DEFAULT '{}'::jsonb,
    watermark      text DEFAULT NULL,
    counts         jsonb DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_now       timestamptz := clock_timestamp();
BEGIN
    UPDATE sift.sync_sources AS s
    SET transformation = coalesce(finish_sync.transformation, ''), options = coalesce(finish_sync.options, '{}'::jsonb),
        watermark = finish_sync.watermark, counts = finish_sync.counts, finished_at = v_now
    WHERE s.tenant_id = v_tenant_id AND s.sync_source_id = finish_sync.sync_source_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant has no synchronized source %s', coalesce(finish_sync.sync_source_id::text, 'NULL')),
            HINT = 'sift.start_sync returns its number.';
    END IF;
    DELETE FROM sift.sync_items AS i
    WHERE i.tenant_id = v_tenant_id AND i.sync_source_id = finish_sync.sync_source_id
      AND NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = i.key);
END
$$;
COMMENT ON FUNCTION sift.finish_sync(text, bigint, text, jsonb, text, jsonb) IS 'Records that a synchronization was complete: by which transformation, up to which watermark, with which counts.';
REVOKE ALL ON FUNCTION sift.finish_sync(text, bigint, text, jsonb, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.finish_sync(text, bigint, text, jsonb, text, jsonb) TO sift_owner, sift_writer;
