-- Has the planner look again at tables that have grown to a multiple of what it knows. Autovacuum does so within a minute or so; a bulk
-- load into an empty store is most of the way by then, with plans made for empty tables, those of the foreign keys among them. Pages do not
-- tell growth where rows come into the room of dead ones; there the count of changes does.
CREATE OR REPLACE FUNCTION sift._analyze_grown() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_table record;
    v_rows  boolean;
BEGIN
    FOR v_table IN
        SELECT c.relname
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r'
          AND c.relname IN ('documents', 'chunks', 'chunk_terms', 'posting_blocks', 'term_stats', 'corpus_stats', 'document_versions',
                            'chunk_history', 'chunk_entities', 'packed_chunks', 'unranked_terms')
          AND (c.reltuples < 0 OR pg_relation_size(c.oid) > 4 * c.relpages::bigint * current_setting('block_size')::bigint
               OR pg_stat_get_mod_since_analyze(c.oid) > 1000 + 2 * c.reltuples::double precision)
          AND pg_relation_size(c.oid) > 0
        ORDER BY c.relname
    LOOP
        -- A table of dead rows alone, after a load that failed, would be known as empty however much came into its pages: every index would
        -- look as good as every other, and one row would be found by reading all. Not analyzed, it counts as well filled.
        EXECUTE format('SELECT EXISTS (SELECT FROM sift.%I)', v_table.relname) INTO v_rows;
        CONTINUE WHEN NOT v_rows;
        BEGIN
            -- Whoever holds this lock is vacuuming or analyzing the table already.
            EXECUTE format('LOCK TABLE ONLY sift.%I IN SHARE UPDATE EXCLUSIVE MODE NOWAIT', v_table.relname);
            EXECUTE format('ANALYZE sift.%I', v_table.relname);
        EXCEPTION
            WHEN lock_not_available THEN
                NULL;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._analyze_grown() IS 'Analyzes tables that have grown to a multiple of what the planner knows of them.';
REVOKE ALL ON FUNCTION sift._analyze_grown() FROM PUBLIC;
