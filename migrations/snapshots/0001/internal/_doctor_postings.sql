-- The doctor on the postings of a tenant: every chunk with terms has its postings in one place, they are what its tokens say, and each
-- block is what its own row says of it. Where not complete, the sampled chunks with two terms of each, and the blocks' rows of those terms.
CREATE OR REPLACE FUNCTION sift._doctor_postings(tenant_id integer, tenant text, chunk_ids bigint[], complete boolean)
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_listed    CONSTANT integer := 20;
    v_tenant_id integer := tenant_id;
    v_remedy    text := format('SELECT * FROM sift.repair(%L)', tenant);
    v_terms     text[];
BEGIN
    RETURN QUERY
    SELECT 'postings'::text, 'error'::text, format('chunk %s', x.chunk_id),
           CASE WHEN x.doc_length <> x.tokens THEN format('the chunk has %s tokens and the length %s', x.tokens, x.doc_length)
                WHEN x.places = 0 THEN 'the chunk has terms and no postings: no search by words finds it'
                ELSE format('the postings of the chunk are in %s places', x.places) END,
           v_remedy, true
    -- Counted by grouping: a join of the sample with the chunks of all blocks may become a nested loop.
    FROM (SELECT c.chunk_id, c.doc_length, coalesce(cardinality(string_to_array(c.tokens, ' ')), 0) AS tokens, h.places
          FROM (SELECT g.id, sum(g.place) AS places
                FROM (SELECT u.chunk_id AS id, 1 AS place, 0 AS asked FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id
                      UNION ALL
                      SELECT unnest(k.chunk_ids), 1, 0 FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id
                      UNION ALL
                      SELECT i.id, 0, 1 FROM unnest(_doctor_postings.chunk_ids) AS i (id)) AS g
                GROUP BY g.id
                HAVING sum(g.asked) > 0) AS h
          CROSS JOIN LATERAL (SELECT s.chunk_id, s.doc_length, s.tokens FROM sift.chunks AS s
                              WHERE s.tenant_id = v_tenant_id AND s.chunk_id = h.id OFFSET 0) AS c) AS x
    WHERE x.doc_length <> x.tokens OR (x.tokens > 0 AND x.places <> 1)
    ORDER BY x.chunk_id
    LIMIT v_listed;

    IF complete THEN
        RETURN QUERY
        SELECT 'postings'::text, 'error'::text, CASE WHEN e.chunk_id IS NULL THEN format('document %s', e.document_id) ELSE format('chunk %s', e.chunk_id) END,
               CASE WHEN e.chunk_id IS NULL THEN 'the length of the document is not the number of its tokens'
                    ELSE 'what the document unit counts of the chunk beside postings is not what its tokens make' END,
               v_remedy, true
        FROM sift._document_term_errors(v_tenant_id) AS e
        ORDER BY e.chunk_id, e.document_id
        LIMIT v_listed;

        RETURN QUERY
        WITH dead AS MATERIALIZED (
            SELECT i.id
            FROM (SELECT unnest(k.chunk_ids) AS id FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id) AS i
            LEFT JOIN LATERAL (SELECT true AS live FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS c ON true
            WHERE c.live IS NULL
        ),
        expected AS (
            SELECT p.term, count(*) AS postings, bit_xor(hashint8extended(p.chunk_id, (p.tf << 32) | p.tokens)) AS digest
            FROM (SELECT o.term, o.chunk_id, o.tokens, count(*) AS tf
                  FROM (SELECT c.chunk_id, 1 + char_length(c.tokens) - char_length(replace(c.tokens, ' ', '')) AS tokens,
                               string_to_table(c.tokens, ' ') AS term
                        FROM sift.chunks AS c
                        WHERE c.tenant_id = v_tenant_id AND c.tokens <> '') AS o
                  GROUP BY o.term, o.chunk_id, o.tokens) AS p
            GROUP BY p.term
        ),
        present AS (
            SELECT p.term, count(*) AS postings, bit_xor(hashint8extended(p.chunk_id, (p.tf << 32) | p.doc_length)) AS digest
            FROM (SELECT w.term, w.chunk_id, w.tf::bigint AS tf, w.doc_length::bigint AS doc_length
                  FROM sift.chunk_terms AS w
                  WHERE w.tenant_id = v_tenant_id
                  UNION ALL
                  SELECT u.term, u.posting >> 23, u.posting & 255, (u.posting >> 8) & 32767
                  FROM (SELECT b.term, unnest(b.postings) AS posting FROM sift.posting_blocks AS b WHERE b.tenant_id = v_tenant_id) AS u
                  WHERE u.posting >> 23 NOT IN (SELECT d.id FROM dead AS d)) AS p
            GROUP BY p.term
        )
        SELECT 'postings'::text, 'error'::text, 'term ' || to_json(coalesce(e.term, p.term)),
               CASE WHEN coalesce(e.postings, 0) <> coalesce(p.postings, 0)
                    THEN format('the term %s has %s postings, the tokens of the chunks make %s', to_json(coalesce(e.term, p.term)),
                                coalesce(p.postings, 0), coalesce(e.postings, 0))
                    ELSE format('postings of the term %s are not what the tokens of their chunks make', to_json(e.term)) END,
               v_remedy, true
        FROM expected AS e
        FULL JOIN present AS p ON p.term = e.term
        WHERE e.postings IS DISTINCT FROM p.postings OR e.digest IS DISTINCT FROM p.digest
        ORDER BY coalesce(e.term, p.term)
        LIMIT v_listed;
        v_terms := NULL;
    ELSE
        v_terms := ARRAY(
            SELECT DISTINCT x.term
            FROM (SELECT t.term
                  FROM unnest(chunk_ids) AS i (id)
                  CROSS JOIN LATERAL (SELECT c.tokens FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS c
                  CROSS JOIN LATERAL (SELECT s.term FROM (SELECT DISTINCT string_to_table(c.tokens, ' ') AS term) AS s
                                      ORDER BY random() LIMIT 1) AS t
                  WHERE c.tokens <> '') AS x
            LIMIT 200);
        RETURN QUERY
        SELECT 'postings'::text, 'error'::text, format('chunk %s', x.chunk_id),
               format('the chunk has no posting of its term %s with tf %s and length %s', to_json(x.term), x.tf, x.doc_length), v_remedy, true
        FROM (SELECT i.id AS chunk_id, t.term, t.tf, c.doc_length
              FROM unnest(chunk_ids) AS i (id)
              CROSS JOIN LATERAL (SELECT s.tokens, s.doc_length FROM sift.chunks AS s WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id OFFSET 0) AS c
              CROSS JOIN LATERAL (SELECT s.term, count(*) AS tf FROM string_to_table(c.tokens, ' ') AS s (term)
                                  GROUP BY s.term ORDER BY random() LIMIT 2) AS t
              WHERE c.tokens <> '') AS x
        WHERE NOT EXISTS (SELECT FROM sift.chunk_terms AS w
                          WHERE w.tenant_id = v_tenant_id AND w.term = x.term AND w.chunk_id = x.chunk_id AND w.tf = x.tf AND w.doc_length = x.doc_length)
          AND NOT EXISTS (SELECT FROM sift.packed_chunks AS k
                          CROSS JOIN LATERAL (SELECT b.postings FROM sift.posting_blocks AS b
                                              WHERE b.tenant_id = v_tenant_id AND b.block_no = k.block_no AND b.term = x.term OFFSET 0) AS b
                          WHERE k.tenant_id = v_tenant_id AND x.chunk_id BETWEEN k.first_chunk_id AND k.last_chunk_id
                            AND x.chunk_id < 1099511627776
                            AND (x.chunk_id << 23) | (x.doc_length::bigint << 8) | x.tf = ANY (b.postings))
        ORDER BY x.chunk_id
        LIMIT v_listed;
    END IF;

    RETURN QUERY
    SELECT 'postings'::text, 'error'::text, format('block %s', k.block_no),
           'the row of the block in packed_chunks does not agree with its list of chunks'::text, v_remedy, true
    FROM sift.packed_chunks AS k
    WHERE k.tenant_id = v_tenant_id
      AND (k.chunks <> cardinality(k.chunk_ids) OR k.first_chunk_id <> k.chunk_ids[1] OR k.last_chunk_id <> k.chunk_ids[cardinality(k.chunk_ids)])
    LIMIT v_listed;

    RETURN QUERY
    SELECT 'postings'::text, 'error'::text, format('block %s, term %s', b.block_no, to_json(b.term)),
           'the row of the block does not agree with its postings: their number, order or bounds'::text, v_remedy, true
    FROM sift.packed_chunks AS k
    CROSS JOIN LATERAL (
        SELECT x.block_no, x.term, x.df, x.max_tf, x.min_doc_length, x.min_length_2, x.min_length_3, x.min_length_5, x.postings
        FROM sift.posting_blocks AS x
        WHERE x.tenant_id = v_tenant_id AND x.block_no = k.block_no AND v_terms IS NULL
        UNION ALL
        SELECT x.block_no, x.term, x.df, x.max_tf, x.min_doc_length, x.min_length_2, x.min_length_3, x.min_length_5, x.postings
        FROM unnest(v_terms) AS t (term)
        CROSS JOIN LATERAL (SELECT y.* FROM sift.posting_blocks AS y
                            WHERE y.tenant_id = v_tenant_id AND y.block_no = k.block_no AND y.term = t.term AND y.df <= 20000 OFFSET 0) AS x
    ) AS b
    CROSS JOIN LATERAL (
        SELECT max(p.posting & 255) AS max_tf, min((p.posting >> 8) & 32767) AS min_doc_length,
               coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 2), 32767) AS min_length_2,
               coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 3), 32767) AS min_length_3,
               coalesce(min((p.posting >> 8) & 32767) FILTER (WHERE p.posting & 255 >= 5), 32767) AS min_length_5,
               count(*) AS df, bool_and(p.posting > p.before) AS rises, min(p.posting >> 23) AS first, max(p.posting >> 23) AS last
        FROM (SELECT u.posting, lag(u.posting, 1, -1::bigint) OVER (ORDER BY u.position) AS before
              FROM unnest(b.postings) WITH ORDINALITY AS u (posting, position)) AS p) AS r
    WHERE k.tenant_id = v_tenant_id
      AND (b.df <> r.df OR NOT r.rises OR b.max_tf < r.max_tf OR b.min_doc_length > r.min_doc_length OR b.min_length_2 > r.min_length_2
           OR b.min_length_3 > r.min_length_3 OR b.min_length_5 > r.min_length_5 OR r.first < k.first_chunk_id OR r.last > k.last_chunk_id)
    LIMIT v_listed;
END
$$;
COMMENT ON FUNCTION sift._doctor_postings(integer, text, bigint[], boolean) IS 'The doctor on postings: that chunks have them, once, as their tokens say, and that blocks are consistent.';
REVOKE ALL ON FUNCTION sift._doctor_postings(integer, text, bigint[], boolean) FROM PUBLIC;
