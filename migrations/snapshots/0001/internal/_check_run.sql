-- Refuses the number of an ingest run that is not one of the tenant's.
CREATE OR REPLACE FUNCTION sift._check_run(tenant_id integer, run_id bigint) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_run_id    bigint := run_id;
BEGIN
    IF v_run_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM sift.ingest_runs AS r WHERE r.tenant_id = v_tenant_id AND r.run_id = v_run_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant has no ingest run %s', v_run_id),
            HINT = 'sift.start_run(tenant) opens one and returns its number; leave run_id out for none.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_run(integer, bigint) IS 'Raises PS002 where the tenant has no ingest run of this number; NULL is none, and right.';
REVOKE ALL ON FUNCTION sift._check_run(integer, bigint) FROM PUBLIC;
