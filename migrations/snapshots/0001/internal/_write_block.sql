-- Packs the postings of chunks into one new block; returns its number. The one place that makes the packed form (posting_blocks) from
-- tokens; it leaves the statistics to its callers, who know whether the chunks were counted already.
--
--   chunk_ids, tokens, doc_lengths  of the same length, by rising chunk_id; chunks that fit the bit fields
CREATE OR REPLACE FUNCTION sift._write_block(tenant_id integer, chunk_ids bigint[], tokens text[], doc_lengths integer[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_chunk_ids bigint[] := chunk_ids;
    v_block_no  bigint;
BEGIN
    INSERT INTO sift.packed_chunks AS k (tenant_id, chunks, first_chunk_id, last_chunk_id, chunk_ids)
    VALUES (v_tenant_id, cardinality(v_chunk_ids), v_chunk_ids[1], v_chunk_ids[cardinality(v_chunk_ids)], v_chunk_ids)
    RETURNING k.block_no INTO v_block_no;
    INSERT INTO sift.posting_blocks AS b (tenant_id, df, block_no, max_tf, min_doc_length, min_length_2, min_length_3, min_length_5,
                                          term, postings)
    SELECT v_tenant_id, count(*), v_block_no, max(p.tf), min(p.doc_length),
           coalesce(min(p.doc_length) FILTER (WHERE p.tf >= 2), 32767), coalesce(min(p.doc_length) FILTER (WHERE p.tf >= 3), 32767),
           coalesce(min(p.doc_length) FILTER (WHERE p.tf >= 5), 32767), p.term,
           array_agg((p.chunk_id << 23) | (p.doc_length::bigint << 8) | p.tf ORDER BY p.chunk_id)
    FROM (
        SELECT o.term, o.chunk_id, count(*) AS tf, o.doc_length
        FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') COLLATE "C" AS term
              FROM unnest(v_chunk_ids, _write_block.tokens, doc_lengths) AS c (chunk_id, tokens, doc_length)) AS o
        GROUP BY o.chunk_id, o.term, o.doc_length
    ) AS p
    GROUP BY p.term
    ORDER BY p.term;
    RETURN v_block_no;
END
$$;
COMMENT ON FUNCTION sift._write_block(integer, bigint[], text[], integer[]) IS 'Packs the postings of chunks, made from their tokens, into one new block; returns its number.';
REVOKE ALL ON FUNCTION sift._write_block(integer, bigint[], text[], integer[]) FROM PUBLIC;
