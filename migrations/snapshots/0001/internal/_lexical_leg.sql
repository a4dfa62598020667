-- The exact top k by BM25 over the chunks the caller may see: sift._lexical_exhaustive, fast.
--
-- MaxScore (H. Turtle, J. Flood: Query evaluation: strategies and optimizations, 1995) over packed postings. Terms go from the rarest
-- to the commonest. The list of a term is read, and every posting of it that can still lead to the top is completed by looking its
-- chunk up in the lists of the commoner terms, by binary search, and dropped as soon as what is left cannot lift it over the m-th best
-- score so far. Lists whose terms together cannot reach that score are never read. What a chunk has of rarer terms need not be looked
-- up: it was seen, complete, when the rarest of its terms was read.
--
-- Permission and filter act on the ranking itself: the m best chunks are looked at from the top, m being chosen from the share of the
-- corpus the caller sees; too few visible among them, and the search is run again for more. When the caller sees few chunks, those are
-- scored and nothing else.
--
-- Bounds only decide what is read; they are widened by 1e-9, far more than rounding can amount to. Every score returned is the sum, from the
-- rarest term to the commonest, of the same terms in the same arithmetic as the oracle's, so it equals the oracle's bit for bit.
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
    v_tenant_id integer := tenant_id;
    v_k         integer := coalesce(k, 0);
    v_k1        double precision := k1;
    v_b         double precision := b;
    v_n         double precision;
    v_avgdl     double precision;
    v_held      double precision;  -- chunks that have postings, deleted ones included
    v_visible   double precision;
    v_has_rows  boolean;
    v_blocks    bigint[];
    v_terms     text[];
    v_idf       double precision[];
    v_peak      double precision[];  -- no posting of the term contributes more
    v_df        double precision[];
    v_rest      double precision[];  -- sum of the peaks of all commoner terms
    v_count     integer;
    v_m         integer;
    v_top       bigint[];
    v_top_score double precision[];
    v_theta     double precision;
    v_term      integer;
    v_next      integer;
    v_sampled   boolean;
    v_a         bigint;
    v_c         bigint;
    v_d         bigint;
    v_floor     double precision;
    v_block     bigint[];
    v_posting   bigint[];
    v_score     double precision[];
    v_idf0      double precision;
    v_idf1      double precision;
    v_idf2      double precision;
    v_idf3      double precision;
    v_idf4      double precision;
    v_term0     text;
    v_term1     text;
    v_term2     text;
    v_term3     text;
    v_term4     text;
    v_floor1    double precision;
    v_floor2    double precision;
    v_floor3    double precision;
    v_floor4    double precision;
    v_found     bigint[];
    v_found_score double precision[];
BEGIN
    IF v_k <= 0 OR coalesce(cardinality(lists), 0) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT o.n, o.total / nullif(o.n, 0::double precision), o.held, o.blocks, o.has_rows INTO v_n, v_avgdl, v_held, v_blocks, v_has_rows
    FROM (SELECT (SELECT sum(s.chunks) FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id)::double precision AS n,
                 (SELECT sum(s.total_length) FROM sift.corpus_totals AS s WHERE s.tenant_id = v_tenant_id)::double precision AS total,
                 (SELECT sum(p.chunks) FROM sift.packed_chunks AS p WHERE p.tenant_id = v_tenant_id)::double precision AS held,
                 ARRAY(SELECT p.block_no FROM sift.packed_chunks AS p WHERE p.tenant_id = v_tenant_id ORDER BY p.block_no) AS blocks,
                 EXISTS (SELECT FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id) AS has_rows) AS o;
    IF coalesce(v_n, 0::double precision) <= 0::double precision THEN
        RETURN;
    END IF;
    SELECT sum(s.chunks)::double precision INTO v_visible
    FROM unnest(lists) AS l (id)
    CROSS JOIN LATERAL (SELECT c.chunks FROM sift.corpus_stats AS c WHERE c.tenant_id = v_tenant_id AND c.access_list_id = l.id OFFSET 0) AS s;
    IF coalesce(v_visible, 0::double precision) <= 0::double precision THEN
        RETURN;
    END IF;

    SELECT array_agg(t.term ORDER BY t.df, t.term COLLATE "C"), array_agg(t.idf ORDER BY t.df, t.term COLLATE "C"),
           array_agg(t.idf * t.peak ORDER BY t.df, t.term COLLATE "C"), array_agg(t.df ORDER BY t.df, t.term COLLATE "C")
    INTO v_terms, v_idf, v_peak, v_df
    FROM (SELECT q.term, f.df, f.peak,
                 ln(1::double precision + (v_n - f.df + 0.5::double precision) / (f.df + 0.5::double precision)) AS idf
          FROM (SELECT DISTINCT u.term FROM unnest(terms) AS u (term)) AS q
          CROSS JOIN LATERAL (
              SELECT sum(s.df)::double precision AS df,
                     max(s.max_tf::double precision / (s.max_tf::double precision + v_k1 * (1::double precision - v_b
                         + v_b * s.min_doc_length::double precision / v_avgdl))) AS peak
              FROM (SELECT r.df, r.max_tf, r.min_doc_length FROM sift.posting_blocks AS r
                    WHERE r.tenant_id = v_tenant_id AND r.term = q.term
                    UNION ALL
                    SELECT w.df, w.max_tf, w.min_doc_length FROM sift.term_stats AS w
                    WHERE w.tenant_id = v_tenant_id AND w.term = q.term) AS s
              OFFSET 0) AS f
          OFFSET 0) AS t
    WHERE t.df > 0::double precision;
    v_count := coalesce(cardinality(v_terms), 0);
    IF v_count = 0 THEN
        RETURN;
    END IF;
    v_floor := 0::double precision;
    FOR v_index IN REVERSE v_count .. 1 LOOP
        v_rest[v_index] := v_floor;
        v_floor := v_floor + v_peak[v_index];
    END LOOP;

    v_m := v_k;
    v_theta := 0::double precision;
    v_term := 1;
    v_sampled := false;
    WHILE v_term <= v_count LOOP
        EXIT WHEN v_peak[v_term] + v_rest[v_term] < v_theta;
        v_term0 := v_terms[v_term];
        v_idf0 := v_idf[v_term];
        v_term1 := v_terms[v_term + 1];
        v_idf1 := v_idf[v_term + 1];
        v_floor1 := v_theta - coalesce(v_rest[v_term + 1], 0::double precision);
        v_term2 := v_terms[v_term + 2];
        v_idf2 := v_idf[v_term + 2];
        v_floor2 := v_theta - coalesce(v_rest[v_term + 2], 0::double precision);
        v_term3 := v_terms[v_term + 3];
        v_idf3 := v_idf[v_term + 3];
        v_floor3 := v_theta - coalesce(v_rest[v_term + 3], 0::double precision);
        v_term4 := v_terms[v_term + 4];
        v_idf4 := v_idf[v_term + 4];
        v_floor4 := v_theta - coalesce(v_rest[v_term + 4], 0::double precision);
        v_next := v_term + 5;
        v_floor := v_theta - v_rest[v_term];
        -- tf · a >= c + d · dl is idf · tf / (tf + k1 · (1 - b + b · dl / avgdl)) >= floor in whole numbers, rounded so that it lets more through.
        IF v_floor <= 0::double precision THEN
            v_a := 1; v_c := 0; v_d := 0;
        ELSE
            v_a := ceil((v_idf0 - v_floor) * 1e9::double precision);
            v_c := floor(v_floor * v_k1 * (1::double precision - v_b) * 1e9::double precision);
            v_d := floor(v_floor * v_k1 * v_b / v_avgdl * 1e9::double precision);
        END IF;
        IF v_theta = 0::double precision AND NOT v_sampled AND v_df[v_term] > 4 * v_m + 200 THEN
            v_sampled := true;
            SELECT array_agg(x.block_no ORDER BY x.block_no, x.p), array_agg(x.p ORDER BY x.block_no, x.p) INTO v_block, v_posting
            FROM (SELECT u.block_no, u.p
                  FROM (SELECT r.block_no, unnest(r.postings) AS p FROM sift.posting_blocks AS r
                        WHERE r.tenant_id = v_tenant_id AND r.term = v_term0) AS u
                  ORDER BY (u.p & 255)::double precision / ((u.p & 255)::double precision
                           + v_k1 * (1::double precision - v_b + v_b * ((u.p >> 8) & 32767)::double precision / v_avgdl)) DESC
                  LIMIT 2 * v_m + 20) AS x;
            SELECT array_agg(v_idf0 * (u.p & 255)::double precision / ((u.p & 255)::double precision
                           + v_k1 * (1::double precision - v_b + v_b * ((u.p >> 8) & 32767)::double precision / v_avgdl)) ORDER BY u.n)
            INTO v_score
            FROM unnest(v_posting) WITH ORDINALITY AS u (p, n);
            v_next := v_term + 1;
        ELSE
            v_sampled := false;
            WITH source AS (
                SELECT u.block_no, u.p, u.l1, u.l2, u.l3, u.l4,
                       v_idf0 * (u.p & 255)::double precision / ((u.p & 255)::double precision
                           + v_k1 * (1::double precision - v_b + v_b * ((u.p >> 8) & 32767)::double precision / v_avgdl)) AS s
                FROM (
                    SELECT r.block_no, unnest(r.postings) AS p, e1.list AS l1, e2.list AS l2, e3.list AS l3, e4.list AS l4
                    FROM (SELECT o.block_no, o.postings FROM sift.posting_blocks AS o
                          WHERE o.tenant_id = v_tenant_id AND o.term = v_term0
                          ORDER BY o.block_no) AS r
                    LEFT JOIN LATERAL (
                        SELECT e.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS e
                        WHERE e.tenant_id = v_tenant_id AND e.term = v_term1 AND e.block_no = r.block_no OFFSET 0) AS e1 ON true
                    LEFT JOIN LATERAL (
                        SELECT e.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS e
                        WHERE e.tenant_id = v_tenant_id AND e.term = v_term2 AND e.block_no = r.block_no OFFSET 0) AS e2 ON true
                    LEFT JOIN LATERAL (
                        SELECT e.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS e
                        WHERE e.tenant_id = v_tenant_id AND e.term = v_term3 AND e.block_no = r.block_no OFFSET 0) AS e3 ON true
                    LEFT JOIN LATERAL (
                        SELECT e.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS e
                        WHERE e.tenant_id = v_tenant_id AND e.term = v_term4 AND e.block_no = r.block_no OFFSET 0) AS e4 ON true
                ) AS u
                WHERE (u.p & 255) * v_a >= v_c + ((u.p >> 8) & 32767) * v_d
                OFFSET 0
            ),
            found1 AS (
                SELECT n.*, n.l1[width_bucket(n.p | 8388607, n.l1)] AS q FROM source AS n OFFSET 0
            ),
            added1 AS (
                SELECT f.block_no, f.p, f.l2, f.l3, f.l4,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf1 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found1 AS f OFFSET 0
            ),
            found2 AS (
                SELECT n.*, n.l2[width_bucket(n.p | 8388607, n.l2)] AS q FROM added1 AS n WHERE n.s >= v_floor1 OFFSET 0
            ),
            added2 AS (
                SELECT f.block_no, f.p, f.l3, f.l4,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf2 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found2 AS f OFFSET 0
            ),
            found3 AS (
                SELECT n.*, n.l3[width_bucket(n.p | 8388607, n.l3)] AS q FROM added2 AS n WHERE n.s >= v_floor2 OFFSET 0
            ),
            added3 AS (
                SELECT f.block_no, f.p, f.l4,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf3 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found3 AS f OFFSET 0
            ),
            found4 AS (
                SELECT n.*, n.l4[width_bucket(n.p | 8388607, n.l4)] AS q FROM added3 AS n WHERE n.s >= v_floor3 OFFSET 0
            ),
            added4 AS (
                SELECT f.block_no, f.p,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf4 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found4 AS f OFFSET 0
            )
            SELECT array_agg(n.block_no), array_agg(n.p), array_agg(n.s) INTO v_block, v_posting, v_score
            FROM added4 AS n
            WHERE n.s >= v_floor4;
        END IF;
        WHILE v_next <= v_count AND v_posting IS NOT NULL LOOP
            v_term1 := v_terms[v_next];
            v_idf1 := v_idf[v_next];
            v_floor1 := v_theta - v_rest[v_next];
            WITH source AS (
                SELECT g.block_no, g.list, unnest(v_posting[g.first:g.last]) AS p, unnest(v_score[g.first:g.last]) AS s
                FROM (SELECT d.block_no, width_bucket(d.block_no - 1, v_block) + 1 AS first, width_bucket(d.block_no, v_block) AS last, e.list
                      FROM unnest(v_blocks) AS d (block_no)
                      LEFT JOIN LATERAL (
                          SELECT o.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS o
                          WHERE o.tenant_id = v_tenant_id AND o.term = v_term1 AND o.block_no = d.block_no OFFSET 0) AS e ON true
                      OFFSET 0) AS g
            ),
            found AS (
                SELECT n.block_no, n.p, n.s, n.list[width_bucket(n.p | 8388607, n.list)] AS q FROM source AS n OFFSET 0
            ),
            added AS (
                SELECT f.block_no, f.p,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf1 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found AS f OFFSET 0
            )
            SELECT array_agg(n.block_no), array_agg(n.p), array_agg(n.s) INTO v_block, v_posting, v_score
            FROM added AS n
            WHERE n.s >= v_floor1;
            v_next := v_next + 1;
        END LOOP;
        IF v_posting IS NOT NULL THEN
            SELECT array_agg(x.id ORDER BY x.s DESC, x.id), array_agg(x.s ORDER BY x.s DESC, x.id) INTO v_top, v_top_score
            FROM (SELECT y.id, max(y.s) AS s
                  FROM (SELECT u.p >> 23 AS id, u.s FROM unnest(v_posting, v_score) AS u (p, s)
                        UNION ALL
                        SELECT t.id, t.s FROM unnest(v_top, v_top_score) AS t (id, s)) AS y
                  GROUP BY y.id
                  ORDER BY s DESC, y.id
                  LIMIT v_m) AS x;
            IF cardinality(v_top) = v_m THEN
                v_theta := v_top_score[v_m] * (1::double precision - 1e-9::double precision);
            END IF;
        END IF;
        IF NOT v_sampled THEN
            v_term := v_term + 1;
        END IF;
    END LOOP;

    RETURN QUERY SELECT t.id, t.s FROM unnest(v_top, v_top_score) WITH ORDINALITY AS t (id, s, n) ORDER BY t.n;
END
$$;
COMMENT ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) IS
    'The exact top k by BM25 over the chunks the caller may see.';
REVOKE ALL ON FUNCTION sift._lexical_leg(integer, text[], bigint[], text, jsonb, integer, double precision, double precision) FROM PUBLIC;
