-- Repair of one posting block: written anew from the tokens of its chunks where it differs from them. The sum of each df stays as it is;
-- sift._repair_terms sees to that. Waits for whoever is rewriting the block.
CREATE OR REPLACE FUNCTION sift._repair_block(tenant_id integer, block_no bigint)
RETURNS TABLE (object text, mended text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_block_no  bigint := block_no;
    v_new       bigint;
    v_block     record;
    v_ids       bigint[];
    v_tokens    text[];
    v_lengths   integer[];
    v_wrong     boolean;
BEGIN
    SELECT k.chunks, k.first_chunk_id, k.last_chunk_id, k.chunk_ids INTO v_block
    FROM sift.packed_chunks AS k
    WHERE k.tenant_id = v_tenant_id AND k.block_no = v_block_no
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- The chunks that are there, and in no block before this one.
    SELECT array_agg(c.chunk_id ORDER BY c.chunk_id), array_agg(c.tokens ORDER BY c.chunk_id), array_agg(c.doc_length ORDER BY c.chunk_id)
    INTO v_ids, v_tokens, v_lengths
    FROM (SELECT DISTINCT u.id FROM unnest(v_block.chunk_ids) AS u (id)
          EXCEPT
          SELECT unnest(o.chunk_ids) FROM sift.packed_chunks AS o
          WHERE o.tenant_id = v_tenant_id AND o.block_no < v_block_no
            AND o.first_chunk_id <= v_block.last_chunk_id AND o.last_chunk_id >= v_block.first_chunk_id) AS i
    CROSS JOIN LATERAL (SELECT s.chunk_id, s.tokens, s.doc_length FROM sift.chunks AS s
                        WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id AND s.tokens <> '' OFFSET 0) AS c;

    v_wrong := v_block.chunks <> cardinality(v_block.chunk_ids) OR v_block.first_chunk_id <> v_block.chunk_ids[1]
        OR v_block.last_chunk_id <> v_block.chunk_ids[cardinality(v_block.chunk_ids)]
        OR EXISTS (SELECT FROM unnest(v_block.chunk_ids) AS u (id)
                   JOIN sift.chunks AS c ON c.tenant_id = v_tenant_id AND c.chunk_id = u.id AND c.tokens <> ''
                   WHERE u.id NOT IN (SELECT unnest(v_ids)));
    IF NOT v_wrong THEN
        WITH expected AS (
            SELECT p.term, array_agg((p.chunk_id << 23) | (p.doc_length::bigint << 8) | p.tf ORDER BY p.chunk_id) AS postings
            FROM (SELECT o.term, o.chunk_id, count(*) AS tf, o.doc_length
                  FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') COLLATE "C" AS term
                        FROM unnest(v_ids, v_tokens, v_lengths) AS c (chunk_id, tokens, doc_length)) AS o
                  GROUP BY o.chunk_id, o.term, o.doc_length) AS p
            GROUP BY p.term
        ),
        present AS (
            SELECT b.term, l.df, l.postings,
                   b.df = cardinality(b.postings) AND b.max_tf >= l.max_tf AND b.min_doc_length <= l.min_doc_length
                   AND b.min_length_2 <= l.min_length_2 AND b.min_length_3 <= l.min_length_3 AND b.min_length_5 <= l.min_length_5 AS agrees
            FROM sift.posting_blocks AS b
            CROSS JOIN LATERAL (
                SELECT count(*) AS df, max(u.posting & 255) AS max_tf, min((u.posting >> 8) & 32767) AS min_doc_length,
                       coalesce(min((u.posting >> 8) & 32767) FILTER (WHERE u.posting & 255 >= 2), 32767) AS min_length_2,
                       coalesce(min((u.posting >> 8) & 32767) FILTER (WHERE u.posting & 255 >= 3), 32767) AS min_length_3,
                       coalesce(min((u.posting >> 8) & 32767) FILTER (WHERE u.posting & 255 >= 5), 32767) AS min_length_5,
                       -- those of deleted chunks may stay, those of chunks that the block does not list may not
                       array_agg(u.posting ORDER BY u.position) FILTER (
                           WHERE u.posting >> 23 IN (SELECT unnest(v_ids))
                              OR u.posting >> 23 NOT IN (SELECT unnest(v_block.chunk_ids))) AS postings
                FROM unnest(b.postings) WITH ORDINALITY AS u (posting, position)) AS l
            WHERE b.tenant_id = v_tenant_id AND b.block_no = v_block_no
        )
        SELECT coalesce(bool_or(NOT coalesce(p.agrees, e.term IS NULL) OR p.postings IS DISTINCT FROM e.postings), false) INTO v_wrong
        FROM expected AS e
        FULL JOIN present AS p ON p.term = e.term;
    END IF;
    IF NOT v_wrong THEN
        RETURN;
    END IF;

    IF v_ids IS NOT NULL THEN
        v_new := sift._write_block(v_tenant_id, v_ids, v_tokens, v_lengths);
    END IF;
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, b.term, sum(CASE WHEN b.block_no = v_new THEN -b.df ELSE b.df END), 0, 2147483647
    FROM sift.posting_blocks AS b
    WHERE b.tenant_id = v_tenant_id AND b.block_no IN (v_block_no, v_new)
    GROUP BY b.term
    HAVING sum(CASE WHEN b.block_no = v_new THEN -b.df ELSE b.df END) <> 0
    ORDER BY b.term;
    DELETE FROM sift.posting_blocks AS b WHERE b.tenant_id = v_tenant_id AND b.block_no = v_block_no;
    DELETE FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = v_block_no;
    RETURN QUERY SELECT format('block %s', v_block_no),
        format('the block differed from the tokens of its chunks and is block %s now, of %s chunks', v_new, coalesce(cardinality(v_ids), 0));
END
$$;
COMMENT ON FUNCTION sift._repair_block(integer, bigint) IS 'Repair of one posting block, from the tokens of its chunks.';
REVOKE ALL ON FUNCTION sift._repair_block(integer, bigint) FROM PUBLIC;
