-- Records a source that could not be ingested; one that failed before is counted up.
CREATE OR REPLACE FUNCTION sift.add_dead_letter(
    tenant     text,
    stage      text,
    reason     text,
    key        text DEFAULT NULL,
    source_uri text DEFAULT NULL,
    run_id     bigint DEFAULT NULL,
    origin     jsonb DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id      integer := sift._tenant_id(tenant);
    v_run_id         bigint := run_id;
    v_stage          text := stage;
    v_key            text := left(key, 2000);
    v_source_uri     text := left(source_uri, 4000);
    v_reason         text := coalesce(left(reason, 4000), 'no reason was given');
    v_now            timestamptz := clock_timestamp();
    v_dead_letter_id bigint;
BEGIN
    IF v_stage IS NULL OR v_stage NOT IN ('read', 'parse', 'chunk', 'embed', 'store') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('stage must be read, parse, chunk, embed or store, not %s', coalesce(v_stage, 'NULL')),
            HINT = 'It is the step of the ingest that failed.';
    END IF;
    PERFORM sift._check_run(v_tenant_id, v_run_id);
    INSERT INTO sift.dead_letters AS l (tenant_id, run_id, key, source_uri, source_hash, stage, reason, origin, created_at, failed_at)
    VALUES (v_tenant_id, v_run_id, v_key, v_source_uri,
            sha256(convert_to(CASE WHEN v_key IS NOT NULL THEN 'key ' || v_key
                                   WHEN v_source_uri IS NOT NULL THEN 'source ' || v_source_uri
                                   ELSE 'reason ' || v_stage || ' ' || v_reason END, 'UTF8')),
            v_stage, v_reason, origin, v_now, v_now)
    ON CONFLICT ON CONSTRAINT dead_letters_source_key DO UPDATE
    SET run_id = excluded.run_id, failures = l.failures + excluded.failures, source_uri = excluded.source_uri, stage = excluded.stage,
        reason = excluded.reason, origin = excluded.origin, failed_at = excluded.failed_at
    RETURNING l.dead_letter_id INTO v_dead_letter_id;
    RETURN v_dead_letter_id;
END
$$;
COMMENT ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint, jsonb) IS
    'Records a source that could not be ingested: the stage that failed, and why. One letter per key, or per address where there is no key: failing again counts it up. origin, an object of the client''s own, says where to read it again.';
REVOKE ALL ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint, jsonb) TO sift_owner, sift_writer;
