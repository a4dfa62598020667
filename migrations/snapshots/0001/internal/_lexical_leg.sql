-- The exact top k by BM25 over the chunks the caller may see and the filter lets through; what sift._lexical_exhaustive returns, fast.
-- N, df and avgdl are the tenant's whoever asks, so a permission or a filter never changes a score.
--
-- The caller sees much: the m best of the tenant are found (sift._lexical_top) and looked at from the top, m being chosen from the share
-- of the corpus that is visible; with too few visible among them, again for more. The caller sees little: the visible chunks are scored
-- and nothing else (sift._lexical_few). Very many are wanted, or hardly any pass: everything is scored (sift._lexical_all).
CREATE OR REPLACE FUNCTION sift._lexical_leg(
    tenant_id integer,
    terms     text[],
    lists     bigint[],
    predicate text,
    bound     jsonb,
    k         integer,
    k1        double precision,
    b         double precision
)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_few       CONSTANT integer := 4000;   -- that many visible chunks are scored one by one
    v_many      CONSTANT integer := 4000;   -- a top longer than this is cheaper found by scoring everything
    v_tenant_id integer := tenant_id;
    v_k         integer := coalesce(k, 0);
    v_n         double precision;
    v_avgdl     double precision;
    v_k0        double precision;
    v_kl        double precision;
    v_visible   double precision;
    v_held      double precision;
    v_blocks    bigint[];
    v_has_rows  boolean;
    v_terms     text[];
    v_idf       double precision[];
    v_df        double precision[];
    v_peaks     double precision[];
    v_ids       bigint[];
    v_share     double precision;
    v_m         double precision;
    v_top       bigint[];
    v_scores    double precision[];
    v_length    integer;
    v_passed    integer;
BEGIN
    IF v_k <= 0 OR coalesce(cardinality(lists), 0) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT o.chunks, o.total_length / nullif(o.chunks, 0::double precision), v.chunks, coalesce(h.chunks, 0::double precision),
           coalesce(h.blocks, '{}'::bigint[]), (SELECT u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id
            ORDER BY u.chunk_id LIMIT 1) IS NOT NULL  -- EXISTS might find its row by reading the whole table
    INTO v_n, v_avgdl, v_visible, v_held, v_blocks, v_has_rows
    FROM (SELECT sum(s.chunks)::double precision AS chunks, sum(s.total_length)::double precision AS total_length
          FROM sift.corpus_totals AS s
          WHERE s.tenant_id = v_tenant_id) AS o
    CROSS JOIN (SELECT sum(s.chunks)::double precision AS chunks
                FROM unnest((SELECT lists)) AS l (id)
                CROSS JOIN LATERAL (SELECT c.chunks FROM sift.corpus_stats AS c
                                    WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s) AS v
    CROSS JOIN (SELECT sum(p.chunks)::double precision AS chunks, array_agg(p.block_no ORDER BY p.block_no) AS blocks
                FROM sift.packed_chunks AS p
                WHERE p.tenant_id = v_tenant_id) AS h;
    IF NOT coalesce(v_n > 0::double precision AND v_visible > 0::double precision, false) THEN
        RETURN;
    END IF;

    v_k0 := k1 * (1::double precision - b);
    v_kl := k1 * b / v_avgdl;
    SELECT array_agg(t.term ORDER BY t.df, t.term COLLATE "C"), array_agg(t.idf ORDER BY t.df, t.term COLLATE "C"),
           array_agg(t.df ORDER BY t.df, t.term COLLATE "C"), array_agg(t.idf * coalesce(t.peak, 1::double precision) ORDER BY t.df, t.term COLLATE "C")
    INTO v_terms, v_idf, v_df, v_peaks
    FROM (SELECT q.term, f.df, f.peak,
                 ln(1::double precision + (v_n - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) AS idf
          FROM (SELECT DISTINCT u.term FROM unnest((SELECT _lexical_leg.terms)) AS u (term)) AS q
          CROSS JOIN LATERAL (
              -- A contribution rises with tf and falls with the length: the greatest is that of the greatest tf and the smallest length of one
              -- of the classes of tf, 1, 2, 3 to 4, and more.
              SELECT sum(s.df)::double precision AS df, max(s.peak) AS peak
              FROM (SELECT o.df::bigint AS df, greatest(
                               1::double precision / (1::double precision + v_k0 + v_kl * o.min_doc_length::double precision),
                               2::double precision / (2::double precision + v_k0 + v_kl * o.min_length_2::double precision),
                               4::double precision / (4::double precision + v_k0 + v_kl * o.min_length_3::double precision),
                               o.max_tf::double precision / (o.max_tf::double precision + v_k0 + v_kl * o.min_length_5::double precision)
                           ) AS peak
                    FROM unnest((SELECT v_blocks)) AS d (block_no)
                    CROSS JOIN LATERAL (SELECT r.df, r.max_tf, r.min_doc_length, r.min_length_2, r.min_length_3, r.min_length_5
                                        FROM sift.posting_blocks AS r
                                        WHERE r.tenant_id = v_tenant_id AND r.block_no = d.block_no AND r.term = q.term OFFSET 0) AS o
                    UNION ALL
                    SELECT w.df, CASE WHEN w.max_tf > 0 THEN w.max_tf::double precision
                                     / (w.max_tf::double precision + v_k0 + v_kl * w.min_doc_length::double precision) END
                    FROM sift.term_stats AS w
                    WHERE w.tenant_id = v_tenant_id AND w.term = q.term) AS s
              OFFSET 0) AS f
          WHERE f.df > 0::double precision
          OFFSET 0) AS t;
    IF v_terms IS NULL THEN
        RETURN;
    END IF;

    v_share := v_visible / greatest(v_n, v_held, v_visible);
    IF v_visible <= v_few AND v_share < 0.1::double precision THEN
        IF predicate IS NULL THEN
            -- What is asked twice of the list, and the limit that is never reached, tell the planner that there is little to be read, so that it
            -- keeps to the index however few lists there are and however long it thinks they are.
            SELECT array_agg(c.chunk_id ORDER BY c.chunk_id) INTO v_ids
            FROM unnest((SELECT lists)) AS l (id)
            CROSS JOIN LATERAL (SELECT x.chunk_id FROM sift.chunks AS x
                                WHERE x.tenant_id = v_tenant_id AND x.access_list_id = l.id
                                  AND x.access_list_id >= l.id AND x.access_list_id <= l.id
                                ORDER BY x.chunk_id LIMIT 10000) AS c;
        ELSE
            EXECUTE format($query$
                SELECT array_agg(c.chunk_id ORDER BY c.chunk_id)
                FROM unnest($3) AS l (id)
                CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x
                                    WHERE x.tenant_id = $2 AND x.access_list_id = l.id
                                      AND x.access_list_id >= l.id AND x.access_list_id <= l.id
                                    ORDER BY x.chunk_id LIMIT 10000) AS c
                CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d
                WHERE (%s)
            $query$, predicate) INTO v_ids USING bound, v_tenant_id, lists;
        END IF;
        IF v_ids IS NOT NULL THEN
            RETURN QUERY SELECT f.chunk_id, f.score
            FROM sift._lexical_few(v_tenant_id, v_terms, v_idf, v_ids, v_has_rows, v_avgdl, k1, b, v_k) AS f;
        END IF;
        RETURN;
    END IF;

    IF predicate IS NOT NULL THEN
        v_share := v_share / 4;
    END IF;
    v_m := CASE WHEN v_share = 1::double precision THEN v_k
                ELSE ceil((v_k + 2.5::double precision * sqrt(v_k::double precision) + 1) / v_share) END;
    LOOP
        IF v_m > v_many THEN
            RETURN QUERY SELECT a.chunk_id, a.score
            FROM sift._lexical_all(v_tenant_id, v_terms, v_idf, lists, predicate, bound, v_blocks, v_avgdl, k1, b, v_k) AS a;
            RETURN;
        END IF;
        SELECT t.chunk_ids, t.scores INTO v_top, v_scores
        FROM sift._lexical_top(v_tenant_id, v_terms, v_idf, v_df, v_peaks, v_blocks, v_has_rows, v_avgdl, k1, b, v_m::integer) AS t;
        v_length := coalesce(cardinality(v_top), 0);
        IF predicate IS NULL THEN
            SELECT array_agg(x.id ORDER BY x.n), array_agg(x.score ORDER BY x.n) INTO v_top, v_scores
            FROM (SELECT u.id, u.score, u.n
                  FROM unnest((SELECT v_top), (SELECT v_scores)) WITH ORDINALITY AS u (id, score, n)
                  CROSS JOIN LATERAL (SELECT x.access_list_id FROM sift.chunks AS x
                                      WHERE x.tenant_id = v_tenant_id AND x.chunk_id = u.id OFFSET 0) AS c
                  WHERE (c.access_list_id IN (SELECT l.id FROM unnest((SELECT lists)) AS l (id))) IS TRUE
                  ORDER BY u.n
                  LIMIT v_k) AS x;
        ELSE
            EXECUTE format($query$
                SELECT array_agg(x.id ORDER BY x.n), array_agg(x.score ORDER BY x.n)
                FROM (SELECT u.id, u.score, u.n
                      FROM unnest($3, $4) WITH ORDINALITY AS u (id, score, n)
                      CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.chunk_id = u.id OFFSET 0) AS c
                      CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x
                                          WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d
                      WHERE (c.access_list_id IN (SELECT l.id FROM unnest($5) AS l (id))) IS TRUE AND (%s)
                      ORDER BY u.n
                      LIMIT $6) AS x
            $query$, predicate) INTO v_top, v_scores USING bound, v_tenant_id, v_top, v_scores, lists, v_k;
        END IF;
        v_passed := coalesce(cardinality(v_top), 0);
        EXIT WHEN v_passed = v_k OR v_length < v_m;
        v_m := greatest(4 * v_m, ceil((v_k + 2.5::double precision * sqrt(v_k::double precision) + 1) * v_m / (v_passed + 1)));
    END LOOP;
    RETURN QUERY SELECT u.id, u.score FROM unnest((SELECT v_top), (SELECT v_scores)) WITH ORDINALITY AS u (id, score, n) ORDER BY u.n;
END
$$;
COMMENT ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) IS
    'The exact top k by BM25 over the chunks the caller may see and the filter lets through.';
REVOKE ALL ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) FROM PUBLIC;
