-- What could not be ingested and is missing, the last to fail first.
CREATE OR REPLACE FUNCTION sift.list_dead_letters(
    tenant text,
    k      integer DEFAULT 100,
    of_run bigint DEFAULT NULL,
    ids    bigint[] DEFAULT NULL
)
RETURNS TABLE (
    dead_letter_id bigint,
    run_id         bigint,
    key            text,
    source_uri     text,
    stage          text,
    reason         text,
    failures       integer,
    created_at     timestamptz,
    failed_at      timestamptz,
    origin         jsonb,
    parameters     jsonb
)
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
    SELECT l.dead_letter_id, l.run_id, l.key, l.source_uri, l.stage, l.reason, l.failures, l.created_at, l.failed_at, l.origin, r.parameters
    FROM sift.dead_letters AS l
    LEFT JOIN LATERAL (SELECT n.parameters FROM sift.ingest_runs AS n
                       WHERE n.tenant_id = v_tenant_id AND n.run_id = l.run_id OFFSET 0) AS r ON true
    WHERE l.tenant_id = v_tenant_id AND (of_run IS NULL OR l.run_id = of_run)
      AND (list_dead_letters.ids IS NULL OR l.dead_letter_id = ANY (list_dead_letters.ids))
    ORDER BY l.failed_at DESC, l.dead_letter_id DESC
    LIMIT list_dead_letters.k;
END
$$;
COMMENT ON FUNCTION sift.list_dead_letters(text, integer, bigint, bigint[]) IS
    'Sources that could not be ingested and are missing, the last to fail first: the stage that failed, the reason, how often, since when, and the parameters of the run it failed in last.';
REVOKE ALL ON FUNCTION sift.list_dead_letters(text, integer, bigint, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_dead_letters(text, integer, bigint, bigint[]) TO sift_owner, sift_writer;
