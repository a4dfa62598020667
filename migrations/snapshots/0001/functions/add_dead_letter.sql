-- Records a source that could not be ingested.
CREATE OR REPLACE FUNCTION sift.add_dead_letter(
    tenant     text,
    stage      text,
    reason     text,
    key        text DEFAULT NULL,
    source_uri text DEFAULT NULL,
    run_id     bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id      integer := sift._tenant_id(tenant);
    v_dead_letter_id bigint;
BEGIN
    IF stage IS NULL OR stage NOT IN ('read', 'parse', 'chunk', 'embed', 'store') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('stage must be read, parse, chunk, embed or store, not %s', coalesce(stage, 'NULL')),
            HINT = 'It is the step of the ingest that failed.';
    END IF;
    PERFORM sift._check_run(v_tenant_id, run_id);
    INSERT INTO sift.dead_letters AS l (tenant_id, run_id, key, source_uri, stage, reason)
    VALUES (v_tenant_id, run_id, left(key, 2000), left(source_uri, 4000), stage, coalesce(left(reason, 4000), 'no reason was given'))
    RETURNING l.dead_letter_id INTO v_dead_letter_id;
    RETURN v_dead_letter_id;
END
$$;
COMMENT ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint) IS 'Records a source that could not be ingested: the stage that failed, and why.';
REVOKE ALL ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.add_dead_letter(text, text, text, text, text, bigint) TO sift_owner, sift_writer;
