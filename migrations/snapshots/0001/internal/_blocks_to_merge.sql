-- The blocks that are to be rewritten as one next, locked; NULL where nothing pays.
--
-- Eight blocks of about the same size (within a factor of 8) become one, until a block holds 131,072 chunks or more: so there are few
-- blocks to look a term up in, and a posting is rewritten two or three times in its life. A block that holds deleted chunks is
-- rewritten when they are a quarter of it, with purge when there is one.
CREATE OR REPLACE FUNCTION sift._blocks_to_merge(tenant_id integer, purge boolean) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_full      CONSTANT integer := 262144;
    v_fan_in    CONSTANT integer := 8;
    v_tenant_id integer := tenant_id;
    v_blocks    bigint[];
    v_ids       bigint[];
    v_size      record;
    v_dead      bigint;
BEGIN
    FOR v_size IN
        SELECT * FROM (VALUES (0, 2048), (2048, 16384), (16384, 131072)) AS z (at_least, below)
    LOOP
        WITH held AS MATERIALIZED (
            SELECT k.block_no, k.chunks, k.first_chunk_id
            FROM sift.packed_chunks AS k
            WHERE k.tenant_id = v_tenant_id AND k.chunks >= v_size.at_least AND k.chunks < v_size.below
            FOR UPDATE SKIP LOCKED
        ),
        running AS (
            SELECT h.block_no, sum(h.chunks) OVER (ORDER BY h.first_chunk_id, h.block_no) - h.chunks AS before, h.chunks
            FROM held AS h
        )
        SELECT array_agg(r.block_no ORDER BY r.before) INTO v_blocks
        FROM running AS r
        WHERE r.before < v_full
        HAVING count(*) >= v_fan_in OR sum(r.chunks) >= v_full;
        IF v_blocks IS NOT NULL THEN
            RETURN v_blocks;
        END IF;
    END LOOP;

    IF NOT purge THEN
        -- How many packed chunks are deleted is known without looking at each: what blocks and rows hold, less what is counted.
        SELECT (SELECT coalesce(sum(k.chunks), 0) FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id)
             + (SELECT count(*) FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id)
             - (SELECT coalesce(sum(s.chunks), 0) FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id)
        INTO v_dead;
        IF v_dead * 8 < (SELECT coalesce(sum(k.chunks), 0) FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id) OR v_dead = 0 THEN
            RETURN NULL;
        END IF;
    END IF;
    FOR v_size IN
        SELECT k.block_no FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id ORDER BY k.block_no
    LOOP
        SELECT k.chunk_ids INTO v_ids
        FROM sift.packed_chunks AS k
        WHERE k.tenant_id = v_tenant_id AND k.block_no = v_size.block_no
        FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        SELECT count(*) INTO v_dead
        FROM unnest(v_ids) AS i (id)
        LEFT JOIN LATERAL (SELECT true AS live FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS c ON true
        WHERE c.live IS NULL;
        IF v_dead > 0 AND (purge OR v_dead * 4 >= cardinality(v_ids)) THEN
            RETURN ARRAY[v_size.block_no];
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION sift._blocks_to_merge(integer, boolean) IS 'The posting blocks to rewrite as one next, locked; NULL where nothing pays.';
REVOKE ALL ON FUNCTION sift._blocks_to_merge(integer, boolean) FROM PUBLIC;
