-- Makes chunks findable by their terms: postings from sift.chunks.tokens, and the statistics they change.
--
-- A batch of a few hundred chunks becomes a packed block at once; a smaller one becomes rows, which sift.pack_postings packs later.
-- Nothing that exists is touched: writers neither wait for each other nor for readers.
CREATE OR REPLACE FUNCTION sift._add_postings(tenant_id integer, chunk_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_block_of CONSTANT integer := 256;  -- chunks that make a block; fewer would leave blocks of one posting per term
    v_tenant_id integer := tenant_id;
    v_chunk_ids bigint[];
    v_packed    bigint[];
    v_oversize  bigint[];
    v_rows      bigint[];
    v_chunks    bigint;
    v_length    bigint;
    v_tokens    text[];
    v_lengths   integer[];
BEGIN
    -- A chunk without terms has no postings and counts nowhere. One that does not fit the packed form becomes rows whatever the batch.
    SELECT array_agg(c.chunk_id ORDER BY c.chunk_id), count(*), sum(c.doc_length) INTO v_chunk_ids, v_chunks, v_length
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_add_postings.chunk_ids) AND c.doc_length > 0;
    IF v_chunks = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(DISTINCT x.chunk_id) INTO v_oversize
    FROM (SELECT c.chunk_id
          FROM sift.chunks AS c
          CROSS JOIN LATERAL string_to_table(c.tokens, ' ') AS t (term)
          WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_chunk_ids) AND (c.doc_length > 255 OR c.chunk_id >= 1099511627776)
          GROUP BY c.chunk_id, c.doc_length, t.term
          HAVING count(*) > 255 OR c.doc_length > 32767 OR c.chunk_id >= 1099511627776) AS x;
    INSERT INTO sift.corpus_totals AS s (tenant_id, chunks, total_length) VALUES (v_tenant_id, v_chunks, v_length);
    INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
    SELECT v_tenant_id, c.access_list_id, count(*), sum(c.doc_length)
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_chunk_ids)
    GROUP BY c.access_list_id
    ORDER BY c.access_list_id;

    v_packed := CASE WHEN v_oversize IS NULL THEN v_chunk_ids
                     ELSE ARRAY(SELECT i.id FROM unnest(v_chunk_ids) AS i (id)
                                WHERE i.id NOT IN (SELECT o.id FROM unnest(v_oversize) AS o (id)) ORDER BY i.id) END;
    IF cardinality(v_packed) >= v_block_of THEN
        v_rows := v_oversize;
        SELECT array_agg(c.tokens ORDER BY c.chunk_id), array_agg(c.doc_length ORDER BY c.chunk_id) INTO v_tokens, v_lengths
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_packed);
        PERFORM sift._write_block(v_tenant_id, v_packed, v_tokens, v_lengths);
    ELSE
        v_rows := v_chunk_ids;
    END IF;
    IF cardinality(v_rows) > 0 THEN
        INSERT INTO sift.unpacked_chunks AS u (tenant_id, chunk_id, oversize)
        SELECT v_tenant_id, r.id, r.id IN (SELECT o.id FROM unnest(v_oversize) AS o (id)) FROM unnest(v_rows) AS r (id);
        WITH postings AS MATERIALIZED (
            SELECT o.term, o.chunk_id, count(*)::integer AS tf, o.doc_length
            FROM (SELECT c.chunk_id, c.doc_length, string_to_table(c.tokens, ' ') AS term
                  FROM sift.chunks AS c
                  WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_rows)) AS o
            GROUP BY o.chunk_id, o.term, o.doc_length
            ORDER BY o.term, o.chunk_id
        ),
        terms AS (
            INSERT INTO sift.chunk_terms AS w (tenant_id, term, chunk_id, tf, doc_length)
            SELECT v_tenant_id, p.term, p.chunk_id, p.tf, p.doc_length FROM postings AS p
        )
        INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
        SELECT v_tenant_id, p.term, count(*), max(p.tf), min(p.doc_length)
        FROM postings AS p
        GROUP BY p.term
        ORDER BY p.term;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._add_postings(integer, bigint[]) IS 'Makes postings and statistics of chunks from their tokens, packed when the batch is large enough.';
REVOKE ALL ON FUNCTION sift._add_postings(integer, bigint[]) FROM PUBLIC;
