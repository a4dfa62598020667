-- Rewrites blocks as one, without the postings of chunks that were deleted; returns the number of those chunks. The caller holds the
-- row locks of the blocks in sift.packed_chunks, which is what allows to touch their postings.
CREATE OR REPLACE FUNCTION sift._merge_blocks(tenant_id integer, blocks bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_live      bigint[];
    v_dead      bigint[];
    v_block_no  bigint;
BEGIN
    SELECT array_agg(i.id ORDER BY i.id) FILTER (WHERE c.live), array_agg(i.id) FILTER (WHERE c.live IS NULL)
    INTO v_live, v_dead
    FROM (SELECT unnest(k.chunk_ids) AS id FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = ANY (blocks)) AS i
    LEFT JOIN LATERAL (SELECT true AS live FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS c ON true;
    IF v_live IS NOT NULL THEN
        INSERT INTO sift.packed_chunks AS k (tenant_id, chunks, first_chunk_id, last_chunk_id, chunk_ids)
        VALUES (v_tenant_id, cardinality(v_live), v_live[1], v_live[cardinality(v_live)], v_live)
        RETURNING k.block_no INTO v_block_no;
        -- Rows are sorted by term before they are taken apart: sorting every posting would take twice as long.
        IF v_dead IS NULL THEN
            INSERT INTO sift.posting_blocks AS b (tenant_id, df, block_no, max_tf, min_doc_length, min_length_2, min_length_3, min_length_5,
                                                  term, postings)
            SELECT v_tenant_id, count(*), v_block_no, max(p.max_tf), min(p.min_doc_length), min(p.min_length_2),
                   min(p.min_length_3), min(p.min_length_5), p.term, array_agg(p.posting ORDER BY p.posting)
            FROM (SELECT o.term, o.max_tf, o.min_doc_length, o.min_length_2, o.min_length_3, o.min_length_5, unnest(o.postings) AS posting
                  FROM unnest(blocks) AS d (block_no)
                  CROSS JOIN LATERAL (SELECT x.term, x.max_tf, x.min_doc_length, x.min_length_2, x.min_length_3, x.min_length_5, x.postings
                                      FROM sift.posting_blocks AS x
                                      WHERE x.tenant_id = v_tenant_id AND x.block_no = d.block_no OFFSET 0) AS o
                  ORDER BY o.term) AS p
            GROUP BY p.term
            ORDER BY p.term;
        ELSE
            INSERT INTO sift.posting_blocks AS b (tenant_id, df, block_no, max_tf, min_doc_length, min_length_2, min_length_3, min_length_5,
                                                  term, postings)
            SELECT v_tenant_id, count(*), v_block_no, max(p.posting & 255), min((p.posting >> 8) & 32767),
                   coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 2), 32767),
                   coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 3), 32767),
                   coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 5), 32767), p.term,
                   array_agg(p.posting ORDER BY p.posting)
            FROM (SELECT o.term, unnest(o.postings) AS posting
                  FROM unnest(blocks) AS d (block_no)
                  CROSS JOIN LATERAL (SELECT x.term, x.postings FROM sift.posting_blocks AS x
                                      WHERE x.tenant_id = v_tenant_id AND x.block_no = d.block_no OFFSET 0) AS o
                  ORDER BY o.term) AS p
            WHERE p.posting >> 23 NOT IN (SELECT d.id FROM unnest(v_dead) AS d (id))
            GROUP BY p.term
            ORDER BY p.term;
        END IF;
    END IF;
    -- What the new block counts less than the old ones is given to term_stats, so that the sum stays as it was: the losses noted there when
    -- chunks were deleted are taken back, now that no block counts those chunks.
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, o.term, sum(CASE WHEN o.block_no = v_block_no THEN -o.df ELSE o.df END), 0, 2147483647
    FROM unnest(blocks || v_block_no) AS d (block_no)
    CROSS JOIN LATERAL (SELECT x.term, x.df, x.block_no FROM sift.posting_blocks AS x
                        WHERE x.tenant_id = v_tenant_id AND x.block_no = d.block_no OFFSET 0) AS o
    GROUP BY o.term
    HAVING sum(CASE WHEN o.block_no = v_block_no THEN -o.df ELSE o.df END) <> 0
    ORDER BY o.term;
    DELETE FROM sift.posting_blocks AS o WHERE o.tenant_id = v_tenant_id AND o.block_no = ANY (blocks);
    DELETE FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = ANY (blocks);
    RETURN coalesce(cardinality(v_dead), 0);
END
$$;
COMMENT ON FUNCTION sift._merge_blocks(integer, bigint[]) IS 'Rewrites posting blocks as one, without the postings of deleted chunks; returns the number of those.';
REVOKE ALL ON FUNCTION sift._merge_blocks(integer, bigint[]) FROM PUBLIC;
