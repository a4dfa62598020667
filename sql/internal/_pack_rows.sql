-- Packs chunks whose postings are rows into one block; returns their number, 0 where there are too few to be worth it.
--
-- The chunks are locked in sift.unpacked_chunks and their tokens read in one statement, so that a chunk deleted from now on is either
-- still whole here or not taken; its remover passes over the lock and leaves its postings to the block.
CREATE OR REPLACE FUNCTION sift._pack_rows(tenant_id integer, all_of_them boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_block_of  CONSTANT integer := 256;
    v_at_most   CONSTANT integer := 8192;
    v_tenant_id integer := tenant_id;
    v_ids       bigint[];
    v_tokens    text[];
    v_lengths   integer[];
    v_gone      bigint[];
    v_block_no  bigint;
BEGIN
    WITH held AS (
        SELECT u.chunk_id, c.tokens, c.doc_length
        FROM sift.unpacked_chunks AS u
        LEFT JOIN LATERAL (
            SELECT s.tokens, s.doc_length FROM sift.chunks AS s
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = u.chunk_id OFFSET 0) AS c ON true
        WHERE u.tenant_id = v_tenant_id AND NOT u.oversize
        ORDER BY u.chunk_id
        LIMIT v_at_most
        FOR UPDATE OF u SKIP LOCKED
    )
    SELECT array_agg(h.chunk_id ORDER BY h.chunk_id) FILTER (WHERE h.tokens IS NOT NULL),
           array_agg(h.tokens ORDER BY h.chunk_id) FILTER (WHERE h.tokens IS NOT NULL),
           array_agg(h.doc_length ORDER BY h.chunk_id) FILTER (WHERE h.tokens IS NOT NULL),
           array_agg(h.chunk_id) FILTER (WHERE h.tokens IS NULL)
    INTO v_ids, v_tokens, v_lengths, v_gone
    FROM held AS h;
    IF v_gone IS NOT NULL THEN
        -- Left behind when a packing that was rolled back kept a remover from its rows. Their terms are unknown by now.
        DELETE FROM sift.chunk_terms AS w WHERE w.tenant_id = v_tenant_id AND w.chunk_id = ANY (v_gone);
        DELETE FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (v_gone);
    END IF;
    IF v_ids IS NULL OR (cardinality(v_ids) < v_block_of AND NOT all_of_them) THEN
        RETURN 0;
    END IF;

    v_block_no := sift._write_block(v_tenant_id, v_ids, v_tokens, v_lengths);
    -- The rows were counted in term_stats; the block counts itself.
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, b.term, -b.df, 0, 2147483647
    FROM sift.posting_blocks AS b
    WHERE b.tenant_id = v_tenant_id AND b.block_no = v_block_no;
    FOR v_index IN 1 .. cardinality(v_ids) LOOP
        DELETE FROM sift.chunk_terms AS w
        WHERE w.tenant_id = v_tenant_id AND w.term = ANY (string_to_array(v_tokens[v_index], ' ')) AND w.chunk_id = v_ids[v_index];
    END LOOP;
    DELETE FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (v_ids);
    RETURN cardinality(v_ids);
END
$$;
COMMENT ON FUNCTION sift._pack_rows(integer, boolean) IS 'Packs chunks whose postings are rows into one block; returns their number.';
REVOKE ALL ON FUNCTION sift._pack_rows(integer, boolean) FROM PUBLIC;
