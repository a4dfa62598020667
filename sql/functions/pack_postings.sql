-- Packs postings: rows become blocks, small blocks become larger ones, and the postings of replaced chunks go. Results do not change,
-- searches become faster and the store smaller. Safe at any time beside readers and writers, also several at once: what somebody
-- else holds is passed over. Ingest calls it when it pays.
--
--   purge  packs every chunk that can be packed, however few, and rewrites every block that holds a replaced chunk
--   steps  at most so many blocks are written per tenant; call again until packed and merged are 0
CREATE OR REPLACE FUNCTION sift.pack_postings(tenant text DEFAULT NULL, purge boolean DEFAULT false, steps integer DEFAULT NULL)
RETURNS TABLE (tenant_name text, packed bigint, merged bigint, purged bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant record;
    v_purge  boolean := coalesce(purge, false);
    v_steps  integer;
    v_chunks bigint;
    v_blocks bigint[];
    v_dead   bigint;
BEGIN
    IF tenant IS NOT NULL THEN
        PERFORM sift._tenant_id(tenant);
    END IF;
    FOR v_tenant IN
        SELECT t.tenant_id, t.name FROM sift.tenants AS t
        WHERE pack_postings.tenant IS NULL OR t.name = pack_postings.tenant
        ORDER BY t.tenant_id
    LOOP
        tenant_name := v_tenant.name;
        packed := 0;
        merged := 0;
        purged := 0;
        v_steps := coalesce(steps, 2147483647);
        WHILE v_steps > 0 LOOP
            v_chunks := sift._pack_rows(v_tenant.tenant_id, v_purge);
            EXIT WHEN v_chunks = 0;
            packed := packed + v_chunks;
            v_steps := v_steps - 1;
        END LOOP;
        WHILE v_steps > 0 LOOP
            v_blocks := sift._blocks_to_merge(v_tenant.tenant_id, v_purge);
            EXIT WHEN v_blocks IS NULL;
            v_dead := sift._merge_blocks(v_tenant.tenant_id, v_blocks);
            merged := merged + cardinality(v_blocks);
            purged := purged + v_dead;
            v_steps := v_steps - 1;
        END LOOP;
        RETURN NEXT;
    END LOOP;
    PERFORM sift._analyze_grown();
END
$$;
COMMENT ON FUNCTION sift.pack_postings(text, boolean, integer) IS
    'Packs the postings of one tenant, or of all, and drops those of replaced chunks: smaller and faster, the same results. Safe at any time.';
REVOKE ALL ON FUNCTION sift.pack_postings(text, boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.pack_postings(text, boolean, integer) TO sift_owner, sift_writer;
