-- What could not be ingested, newest first.
CREATE OR REPLACE FUNCTION sift.list_dead_letters(tenant text, k integer DEFAULT 100, of_run bigint DEFAULT NULL)
RETURNS TABLE (dead_letter_id bigint, run_id bigint, key text, source_uri text, stage text, reason text, created_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of dead letters wanted at most; 100 is the default.';
    END IF;
    RETURN QUERY
    SELECT l.dead_letter_id, l.run_id, l.key, l.source_uri, l.stage, l.reason, l.created_at
    FROM sift.dead_letters AS l
    WHERE l.tenant_id = v_tenant_id AND (of_run IS NULL OR l.run_id = of_run)
    ORDER BY l.dead_letter_id DESC
    LIMIT list_dead_letters.k;
END
$$;
COMMENT ON FUNCTION sift.list_dead_letters(text, integer, bigint) IS 'Sources that could not be ingested, newest first, with the stage that failed and the reason.';
REVOKE ALL ON FUNCTION sift.list_dead_letters(text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_dead_letters(text, integer, bigint) TO sift_owner, sift_writer;
