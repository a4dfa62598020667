-- Opens the record of an ingest.
CREATE OR REPLACE FUNCTION sift.start_run(tenant text, source text DEFAULT NULL, parameters jsonb DEFAULT '{}'::jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_run_id    bigint;
BEGIN
    INSERT INTO sift.ingest_runs AS r (tenant_id, source, parameters, started_by)
    VALUES (v_tenant_id, source, coalesce(parameters, '{}'::jsonb), sift._recorded_role())
    RETURNING r.run_id INTO v_run_id;
    RETURN v_run_id;
END
$$;
COMMENT ON FUNCTION sift.start_run(text, text, jsonb) IS 'Opens the record of an ingest and returns its number, to pass to put_documents, add_dead_letter and finish_run.';
REVOKE ALL ON FUNCTION sift.start_run(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.start_run(text, text, jsonb) TO sift_owner, sift_writer;
