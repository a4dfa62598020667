-- Looks a store over and returns what it finds, one row each, with the command that mends it. No rows: nothing is wrong.
--
--   SELECT * FROM sift.doctor();                          -- all tenants, about a thousand chunks of each
--   SELECT * FROM sift.doctor('acme', sample => NULL);    -- one tenant, everything counted: about a millisecond a chunk
--
--   severity   error: results are wrong or will be; warning: act soon; info: good to know
--   safe_fix   the remedy loses nothing and may be run at any time; pgsift doctor --fix runs it
--
-- Every check_name has its section in docs/operations.md. It changes nothing. It and what it calls are stable, although they draw
-- samples: so they see one moment, in which what writers have done is there wholly or not at all. With row_security off, rows that a
-- policy would hide are an error and not a fault of the data.
CREATE OR REPLACE FUNCTION sift.doctor(tenant text DEFAULT NULL, sample integer DEFAULT 1000)
RETURNS TABLE (check_name text, severity text, tenant_name text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET row_security = off
AS $$
DECLARE
    v_tenant record;
    v_sample record;
    v_part   text;
    v_remedy text := 'mend what is wrong with owners, grants and definitions, then look again';
BEGIN
    IF tenant IS NOT NULL THEN
        PERFORM sift._tenant_id(tenant);
    END IF;
    IF sample < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('the sample must be of at least 1 chunk, not %s', sample),
            HINT = 'NULL looks at everything.';
    END IF;
    -- A store so broken that a part cannot be looked at is told so, and the other parts are looked at.
    FOREACH v_part IN ARRAY ARRAY['server', 'rights', 'indexes', 'tables'] LOOP
        BEGIN
            RETURN QUERY EXECUTE format(
                'SELECT d.check_name, d.severity, NULL::text, d.object, d.finding, d.remedy, d.safe_fix FROM sift._doctor_%s() AS d', v_part);
        EXCEPTION
            WHEN insufficient_privilege OR undefined_function OR undefined_table OR undefined_column THEN
                RETURN QUERY SELECT 'unreadable'::text, 'error'::text, NULL::text, v_part, format('could not be looked at: %s', SQLERRM), v_remedy, false;
        END;
    END LOOP;
    FOR v_tenant IN
        SELECT t.tenant_id, t.name FROM sift.tenants AS t
        WHERE doctor.tenant IS NULL OR t.name = doctor.tenant
        ORDER BY t.tenant_id
    LOOP
        BEGIN
            SELECT s.chunk_ids, s.complete INTO v_sample FROM sift._doctor_sample(v_tenant.tenant_id, sample) AS s;
            RETURN QUERY
            SELECT d.check_name, d.severity, v_tenant.name, d.object, d.finding, d.remedy, d.safe_fix
            FROM (SELECT r.* FROM sift._doctor_references(v_tenant.tenant_id, v_tenant.name, v_sample.chunk_ids, v_sample.complete) AS r
                  UNION ALL
                  SELECT p.* FROM sift._doctor_postings(v_tenant.tenant_id, v_tenant.name, v_sample.chunk_ids, v_sample.complete) AS p
                  UNION ALL
                  SELECT s.* FROM sift._doctor_statistics(v_tenant.tenant_id, v_tenant.name, v_sample.chunk_ids, v_sample.complete) AS s
                  UNION ALL
                  SELECT u.* FROM sift._doctor_upkeep(v_tenant.tenant_id, v_tenant.name, v_sample.chunk_ids) AS u) AS d;
        EXCEPTION
            WHEN insufficient_privilege OR undefined_function OR undefined_table OR undefined_column THEN
                RETURN QUERY SELECT 'unreadable'::text, 'error'::text, v_tenant.name, 'tenant'::text,
                    format('could not be looked at: %s', SQLERRM), v_remedy, false;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.doctor(text, integer) IS
    'Looks over the store, or one tenant of it, and returns what is wrong with the command that mends it; no rows when nothing is. sample chunks per tenant are looked at, all with NULL.';
REVOKE ALL ON FUNCTION sift.doctor(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.doctor(text, integer) TO sift_owner, sift_writer;
