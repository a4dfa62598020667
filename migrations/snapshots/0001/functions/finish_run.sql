-- Closes the record of an ingest.
CREATE OR REPLACE FUNCTION sift.finish_run(tenant text, run_id bigint, summary jsonb DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_now       timestamptz := clock_timestamp();
BEGIN
    UPDATE sift.ingest_runs AS r SET finished_at = v_now, summary = finish_run.summary
    WHERE r.tenant_id = v_tenant_id AND r.run_id = finish_run.run_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant %s has no ingest run %s', to_json(tenant), coalesce(run_id::text, 'NULL')),
            HINT = 'sift.start_run(tenant) opens one and returns its number.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift.finish_run(text, bigint, jsonb) IS 'Closes the record of an ingest with its summary.';
REVOKE ALL ON FUNCTION sift.finish_run(text, bigint, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.finish_run(text, bigint, jsonb) TO sift_owner, sift_writer;
