-- Takes chunks out of the packed blocks that hold them, which it locks (sift._lock_blocks); returns those that were in one. Of each
-- block, only the rows of the chunks' own terms are written. What the blocks count less is not given to term_stats: the caller knows
-- whether the chunks' loss stands there.
--
--   tokens  those of each chunk
CREATE OR REPLACE FUNCTION sift._remove_packed(tenant_id integer, chunk_ids bigint[], tokens text[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_removed   bigint[] := '{}'::bigint[];
    v_block_no  bigint;
    v_here      bigint[];
    v_tokens    text[];
    v_kept      integer;
BEGIN
    FOREACH v_block_no IN ARRAY sift._lock_blocks(v_tenant_id, chunk_ids) LOOP
        SELECT array_agg(i.id ORDER BY i.id), array_agg(i.tokens ORDER BY i.id), max(f.chunks) - count(*)
        INTO v_here, v_tokens, v_kept
        FROM (SELECT k.chunks, k.chunk_ids || '{}'::bigint[] AS ids
              FROM sift.packed_chunks AS k
              WHERE k.tenant_id = v_tenant_id AND k.block_no = v_block_no OFFSET 0) AS f
        CROSS JOIN unnest((SELECT _remove_packed.chunk_ids), (SELECT _remove_packed.tokens)) AS i (id, tokens)
        WHERE f.ids[width_bucket(i.id, f.ids)] = i.id;
        CONTINUE WHEN v_here IS NULL;
        v_removed := v_removed || v_here;
        IF v_kept = 0 THEN
            DELETE FROM sift.posting_blocks AS b WHERE b.tenant_id = v_tenant_id AND b.block_no = v_block_no;
            DELETE FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = v_block_no;
            CONTINUE;
        END IF;

        UPDATE sift.packed_chunks AS k
        SET chunks = v_kept, first_chunk_id = n.ids[1], last_chunk_id = n.ids[v_kept], chunk_ids = n.ids
        FROM (SELECT CASE WHEN cardinality(v_here) <= 16 THEN sift._without_chunks(o.chunk_ids, v_here, 0)
                          ELSE ARRAY(SELECT i.id FROM unnest(o.chunk_ids) AS i (id)
                                     WHERE i.id NOT IN (SELECT h.id FROM unnest(v_here) AS h (id)) ORDER BY i.id) END AS ids
              FROM sift.packed_chunks AS o
              WHERE o.tenant_id = v_tenant_id AND o.block_no = v_block_no OFFSET 0) AS n
        WHERE k.tenant_id = v_tenant_id AND k.block_no = v_block_no;
        -- A long array is cut and joined around the few postings that go; a short one, or one that loses many, is taken apart. Rows are
        -- written by their place, which cannot change while the block is locked: a join by term may become a scan of the whole block.
        -- The bounds stay: they may be wider than the postings, never narrower.
        WITH gone AS MATERIALIZED (
            SELECT t.term, array_agg(t.id) AS ids
            FROM (SELECT DISTINCT i.id, string_to_table(i.tokens, ' ') COLLATE "C" AS term
                  FROM unnest((SELECT v_here), (SELECT v_tokens)) AS i (id, tokens)) AS t
            GROUP BY t.term
        ),
        kept AS MATERIALIZED (
            SELECT b.place,
                   CASE WHEN cardinality(b.postings) > 500 AND cardinality(g.ids) <= 16 THEN sift._without_chunks(b.postings, g.ids, 23)
                        ELSE ARRAY(SELECT p.posting FROM unnest(b.postings) AS p (posting)
                                   WHERE p.posting >> 23 NOT IN (SELECT h.id FROM unnest(v_here) AS h (id)) ORDER BY p.posting) END AS postings
            FROM gone AS g
            CROSS JOIN LATERAL (
                SELECT r.ctid AS place, r.postings || '{}'::bigint[] AS postings
                FROM sift.posting_blocks AS r
                WHERE r.tenant_id = v_tenant_id AND r.block_no = v_block_no AND r.term = g.term OFFSET 0) AS b
        ),
        emptied AS (
            DELETE FROM sift.posting_blocks AS b
            WHERE b.tenant_id = v_tenant_id
              AND b.ctid = ANY (ARRAY(SELECT o.place FROM kept AS o WHERE cardinality(o.postings) = 0))
        )
        UPDATE sift.posting_blocks AS b
        SET df = cardinality(o.postings), postings = o.postings
        FROM kept AS o
        WHERE b.tenant_id = v_tenant_id AND b.ctid = o.place AND cardinality(o.postings) > 0;
    END LOOP;
    RETURN v_removed;
END
$$;
COMMENT ON FUNCTION sift._remove_packed(integer, bigint[], text[]) IS
    'Takes chunks out of the packed blocks that hold them, whose rows it locks; returns those that were in one.';
REVOKE ALL ON FUNCTION sift._remove_packed(integer, bigint[], text[]) FROM PUBLIC;
