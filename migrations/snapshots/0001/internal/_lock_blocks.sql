-- Locks the packed blocks that hold any of some chunks, and returns their numbers, rising.
--
-- They are locked one by one, by rising number, and waited for: somebody who holds one may be merging it. Then its chunks lie in a block
-- that is looked for anew, and that block's number is the greater one, for it was made after the merger had locked the old one. So every
-- caller takes its locks by rising number, and two calls cannot deadlock over blocks; packing and merging wait for nobody. A transaction
-- of several deleting calls holds the blocks of the first when the second takes its own, and two such transactions may deadlock, as
-- they may over documents.
CREATE OR REPLACE FUNCTION sift._lock_blocks(tenant_id integer, chunk_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_locked    bigint[] := '{}'::bigint[];
    v_blocks    bigint[];
BEGIN
    LOOP
        IF v_blocks IS NULL THEN
            SELECT coalesce(array_agg(k.block_no ORDER BY k.block_no), '{}'::bigint[]) INTO v_blocks
            FROM sift.packed_chunks AS k
            WHERE k.tenant_id = v_tenant_id AND k.block_no <> ALL (v_locked)
              AND EXISTS (SELECT FROM unnest((SELECT _lock_blocks.chunk_ids)) AS i (id) WHERE i.id BETWEEN k.first_chunk_id AND k.last_chunk_id)
              AND EXISTS (SELECT FROM (SELECT k.chunk_ids || '{}'::bigint[] AS ids OFFSET 0) AS f  -- inflated once for all look-ups
                          CROSS JOIN unnest((SELECT _lock_blocks.chunk_ids)) AS i (id)
                          WHERE f.ids[width_bucket(i.id, f.ids)] = i.id);
        END IF;
        EXIT WHEN cardinality(v_blocks) = 0;
        PERFORM FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = v_blocks[1] FOR UPDATE;
        IF FOUND THEN
            v_locked := v_locked || v_blocks[1];
            v_blocks := v_blocks[2:];
        ELSE
            v_blocks := NULL;
        END IF;
    END LOOP;
    RETURN v_locked;
END
$$;
COMMENT ON FUNCTION sift._lock_blocks(integer, bigint[]) IS 'Locks the packed blocks that hold any of the chunks, in an order that cannot deadlock; returns their numbers.';
REVOKE ALL ON FUNCTION sift._lock_blocks(integer, bigint[]) FROM PUBLIC;
