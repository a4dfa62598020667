-- Begins to synchronize a source: makes it known, or finds it as it was left. A source that is known under this name with another kind or
-- prefix of keys is refused: its documents would be taken for gone.
--
--   known           whether a run of it was ever complete
--   transformation, options, watermark, counts   of the last complete run
CREATE OR REPLACE FUNCTION sift.start_sync(
    tenant   text,
    name     text,
    kind     text,
    location text,
    prefix   text DEFAULT '',
    run_id   bigint DEFAULT NULL
)
RETURNS TABLE (sync_source_id bigint, known boolean, location_before text, transformation text, options jsonb, watermark text, counts jsonb)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_name      text := name;
    v_kind      text := kind;
    v_location  text := location;
    v_prefix    text := coalesce(prefix, '');
    v_run_id    bigint := run_id;
    v_by        text := sift._recorded_role();
    v_now       timestamptz := clock_timestamp();
    v_row       record;
BEGIN
    IF coalesce(v_name, '') = '' OR octet_length(v_name) > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a source has a name of 1 to 2000 bytes',
            HINT = 'Its address will do.';
    END IF;
    IF v_kind IS NULL OR v_kind NOT IN ('folder', 'feed') OR v_location IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a source is a folder or a feed, and has a location',
            HINT = 'Pass kind => ''folder'' or ''feed'', and location, a URI.';
    END IF;
    PERFORM sift._check_run(v_tenant_id, v_run_id);
    -- The new row has no transformation yet: that is written when a run is complete.
    INSERT INTO sift.sync_sources AS s (tenant_id, name, kind, location, prefix, options, transformation, created_by)
    VALUES (v_tenant_id, v_name, v_kind, v_location, v_prefix, '{}'::jsonb, '', v_by)
    ON CONFLICT ON CONSTRAINT sync_sources_name_key DO NOTHING;
    SELECT s.* INTO v_row FROM sift.sync_sources AS s WHERE s.tenant_id = v_tenant_id AND s.name = v_name FOR UPDATE;
    IF v_row.kind <> v_kind OR v_row.prefix <> v_prefix THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = format('the source %s is synchronized as a %s with the prefix %s, not as a %s with %s', to_json(left(v_name, 200)),
                             v_row.kind, to_json(v_row.prefix), v_kind, to_json(v_prefix)),
            HINT = 'Synchronize it as before, give it another name, or end it with sift.end_sync.';
    END IF;
    UPDATE sift.sync_sources AS s SET location = v_location, run_id = v_run_id, started_at = v_now
    WHERE s.tenant_id = v_tenant_id AND s.sync_source_id = v_row.sync_source_id;
    RETURN QUERY SELECT v_row.sync_source_id, v_row.finished_at IS NOT NULL, v_row.location, v_row.transformation, v_row.options,
                        v_row.watermark, v_row.counts;
END
$$;
COMMENT ON FUNCTION sift.start_sync(text, text, text, text, text, bigint) IS
    'Begins to synchronize a folder or a feed and returns how its last complete run left it; another kind or prefix than before is refused.';
REVOKE ALL ON FUNCTION sift.start_sync(text, text, text, text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.start_sync(text, text, text, text, text, bigint) TO sift_owner, sift_writer;
