-- The doctor on the state of tables: dead rows, vacuum, the visibility map, and what the planner knows.
CREATE OR REPLACE FUNCTION sift._doctor_tables()
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table record;
    v_rows  bigint;
BEGIN
    FOR v_table IN
        SELECT c.oid::regclass::text AS name, c.relpages, c.relallvisible, c.reltuples, c.reloptions, s.n_dead_tup, s.n_live_tup,
               s.n_mod_since_analyze, coalesce(s.last_vacuum, s.last_autovacuum) AS vacuumed, pg_relation_size(c.oid) AS bytes
        FROM pg_catalog.pg_class AS c
        LEFT JOIN pg_catalog.pg_stat_all_tables AS s ON s.relid = c.oid
        WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r'
        ORDER BY 1
    LOOP
        v_rows := greatest(v_table.n_live_tup, v_table.reltuples::bigint, 0);
        IF v_table.n_dead_tup > 10000 AND v_table.n_dead_tup * 4 > v_rows THEN
            RETURN QUERY SELECT 'dead_rows'::text, 'warning'::text, v_table.name,
                format('the table has %s dead rows beside %s live ones', v_table.n_dead_tup, v_rows),
                format('VACUUM (ANALYZE) %s', v_table.name), true;
        ELSIF v_table.bytes > 33554432 AND v_table.relallvisible::bigint * 2 < v_table.relpages THEN
            RETURN QUERY SELECT 'visibility_map'::text, 'warning'::text, v_table.name,
                CASE WHEN v_table.vacuumed IS NULL AND v_table.relallvisible = 0 THEN 'the table was never vacuumed, so that scans of its indexes read the table too'
                     ELSE format('%s of %s pages are marked as visible to all; scans of indexes read the table for the others',
                                 v_table.relallvisible, v_table.relpages) END,
                format('VACUUM (ANALYZE) %s', v_table.name), true;
        ELSIF v_table.bytes > 33554432 AND v_table.relpages = 0 THEN
            RETURN QUERY SELECT 'visibility_map'::text, 'warning'::text, v_table.name,
                'the table was never vacuumed, so that scans of its indexes read the table too'::text,
                format('VACUUM (ANALYZE) %s', v_table.name), true;
        END IF;
        IF v_table.bytes > 1048576 AND (v_table.reltuples < 0 OR v_table.bytes > 8 * greatest(v_table.relpages, 1)::bigint * current_setting('block_size')::bigint) THEN
            RETURN QUERY SELECT 'planner_statistics'::text, 'warning'::text, v_table.name,
                CASE WHEN v_table.reltuples < 0 THEN 'the table was never analyzed: the planner knows nothing of it'
                     ELSE format('the planner takes the table for %s pages; it has %s', v_table.relpages,
                                 v_table.bytes / current_setting('block_size')::bigint) END,
                format('ANALYZE %s', v_table.name), true;
        END IF;
        IF 'autovacuum_enabled=false' = ANY (v_table.reloptions) OR 'autovacuum_enabled=off' = ANY (v_table.reloptions) THEN
            RETURN QUERY SELECT 'autovacuum'::text, 'warning'::text, v_table.name, 'autovacuum is switched off for the table'::text,
                format('ALTER TABLE %s RESET (autovacuum_enabled)', v_table.name), true;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._doctor_tables() IS 'The doctor on dead rows, vacuum, the visibility map and planner statistics.';
REVOKE ALL ON FUNCTION sift._doctor_tables() FROM PUBLIC;
