-- The m best chunks of a tenant by BM25, whoever may see them: the heart of sift._lexical_leg.
--
-- MaxScore (H. Turtle, J. Flood: Query evaluation: strategies and optimizations, 1995) over packed postings. Terms go from the rarest
-- to the commonest. The list of a term is read, and every posting of it that can still lead to the top is completed by looking its
-- chunk up in the lists of the commoner terms, by binary search, and dropped as soon as what is left cannot lift it over the m-th best
-- score so far. Lists whose terms together cannot reach that score are never read. What a chunk has of rarer terms need not be looked
-- up: it was seen, complete, when the list of the rarest of its terms was read, and of two scores of a chunk the greater is the whole.
-- The few postings that are rows are all read; see sift.pack_postings.
--
-- Arrays are unnested through a subselect, which hides their length from the planner: a plan made for the array at hand would always look
-- cheaper than the generic one, and planning these statements takes longer than running them.
--
-- Bounds only decide what is read, and are widened by 1e-9, far more than rounding amounts to. Every score is the sum, from the
-- rarest term to the commonest, of the same terms in the same arithmetic as in sift._lexical_exhaustive: equal bit for bit.
--
--   terms, idf, df, peaks  distinct terms from the rarest to the commonest, their idf, their document frequency, and what no posting
--                          of the term contributes more than
--   blocks                 the tenant's packed blocks, rising; has_rows: there are postings that are rows
CREATE OR REPLACE FUNCTION sift._lexical_top(
    tenant_id integer,
    terms     text[],
    idf       double precision[],
    df        double precision[],
    peaks     double precision[],
    blocks    bigint[],
    has_rows  boolean,
    avgdl     double precision,
    k1        double precision,
    b         double precision,
    m         integer,
    OUT chunk_ids bigint[],
    OUT scores    double precision[]
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_avgdl     double precision := avgdl;
    v_k1        double precision := k1;
    v_b         double precision := b;
    v_m         integer := m;
    v_count     integer := cardinality(terms);
    v_rest      double precision[];            -- sum of the peaks of all commoner terms
    v_sum       double precision := 0;
    v_theta     double precision := 0;         -- the m-th best score so far; 0 while there are fewer
    v_term      integer := 1;
    v_next      integer;
    v_sampled   boolean := false;
    v_floor     double precision;
    v_scale     CONSTANT double precision := 1e9;
    v_a         bigint;
    v_c         bigint;
    v_d         bigint;
    v_term0     text;
    v_term1     text;
    v_term2     text;
    v_term3     text;
    v_term4     text;
    v_idf0      double precision;
    v_idf1      double precision;
    v_idf2      double precision;
    v_idf3      double precision;
    v_idf4      double precision;
    v_floor1    double precision;
    v_floor2    double precision;
    v_floor3    double precision;
    v_floor4    double precision;
    v_blocks    bigint[];                      -- candidates: block, posting, score so far; in the order of blocks
    v_postings  bigint[];
    v_scores    double precision[];
BEGIN
    FOR v_index IN REVERSE v_count .. 1 LOOP
        v_rest[v_index] := v_sum;
        v_sum := v_sum + peaks[v_index];
    END LOOP;

    IF has_rows THEN
        SELECT array_agg(x.chunk_id ORDER BY x.score DESC, x.chunk_id), array_agg(x.score ORDER BY x.score DESC, x.chunk_id)
        INTO chunk_ids, scores
        FROM (SELECT w.chunk_id,
                     sum(q.idf * w.tf::double precision / (w.tf::double precision
                         + v_k1 * (1::double precision - v_b + v_b * w.doc_length::double precision / v_avgdl)) ORDER BY q.n) AS score
              FROM unnest((SELECT terms), (SELECT idf)) WITH ORDINALITY AS q (term, idf, n)
              CROSS JOIN LATERAL (
                  SELECT p.chunk_id, p.tf, p.doc_length FROM sift.chunk_terms AS p
                  WHERE p.tenant_id = v_tenant_id AND p.term = q.term OFFSET 0) AS w
              GROUP BY w.chunk_id
              ORDER BY score DESC, w.chunk_id
              LIMIT v_m) AS x;
        IF cardinality(chunk_ids) = v_m THEN
            v_theta := scores[v_m] * (1::double precision - 1e-9::double precision);
        END IF;
    END IF;
    IF cardinality(blocks) = 0 THEN
        RETURN;
    END IF;

    WHILE v_term <= v_count LOOP
        EXIT WHEN peaks[v_term] + v_rest[v_term] < v_theta;
        v_term0 := terms[v_term];
        v_idf0 := idf[v_term];
        v_next := v_term + 1;
        IF v_theta = 0::double precision AND NOT v_sampled AND df[v_term] > 4 * v_m + 200 THEN
            -- Nothing is known of the top yet and the list is long: complete the best of it first, so that the rest is cut by their scores.
            v_sampled := true;
            SELECT array_agg(y.block_no ORDER BY y.block_no, y.p), array_agg(y.p ORDER BY y.block_no, y.p),
                   array_agg(y.s ORDER BY y.block_no, y.p)
            INTO v_blocks, v_postings, v_scores
            FROM (SELECT x.block_no, x.p,
                         v_idf0 * (x.p & 255)::double precision / ((x.p & 255)::double precision
                             + v_k1 * (1::double precision - v_b + v_b * ((x.p >> 8) & 32767)::double precision / v_avgdl)) AS s
                  FROM (SELECT d.block_no, unnest(r.postings) AS p
                        FROM unnest((SELECT blocks)) AS d (block_no)
                        CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                            WHERE o.tenant_id = v_tenant_id AND o.block_no = d.block_no AND o.term = v_term0 OFFSET 0) AS r
                       ) AS x
                  ORDER BY s DESC, x.p
                  LIMIT 2 * v_m + 20) AS y;
        ELSE
            v_sampled := false;
            v_floor := v_theta - v_rest[v_term];
            -- tf · a >= c + d · dl is idf · tf / (tf + k1 · (1 - b + b · dl / avgdl)) >= floor in whole numbers, rounded towards letting through.
            IF v_floor <= 0::double precision THEN
                v_a := 1;
                v_c := 0;
                v_d := 0;
            ELSE
                v_a := ceil((v_idf0 - v_floor) * v_scale);
                v_c := least(floor(v_floor * v_k1 * (1::double precision - v_b) * v_scale), 1e18::double precision);
                v_d := least(floor(v_floor * v_k1 * v_b / v_avgdl * v_scale), 1e14::double precision);
            END IF;
            v_term1 := terms[v_term + 1];
            v_term2 := terms[v_term + 2];
            v_term3 := terms[v_term + 3];
            v_term4 := terms[v_term + 4];
            v_idf1 := idf[v_term + 1];
            v_idf2 := idf[v_term + 2];
            v_idf3 := idf[v_term + 3];
            v_idf4 := idf[v_term + 4];
            v_floor1 := v_theta - coalesce(v_rest[v_term + 1], 0::double precision);
            v_floor2 := v_theta - coalesce(v_rest[v_term + 2], 0::double precision);
            v_floor3 := v_theta - coalesce(v_rest[v_term + 3], 0::double precision);
            v_floor4 := v_theta - coalesce(v_rest[v_term + 4], 0::double precision);
            v_next := v_term + 5;
            WITH source AS (
                SELECT u.block_no, u.p, u.l1, u.l2, u.l3, u.l4,
                       v_idf0 * (u.p & 255)::double precision / ((u.p & 255)::double precision
                           + v_k1 * (1::double precision - v_b + v_b * ((u.p >> 8) & 32767)::double precision / v_avgdl)) AS s
                FROM (
                    -- Concatenation with nothing inflates an array once for the many look-ups in it.
                    SELECT r.block_no, unnest(r.postings) AS p, e1.list AS l1, e2.list AS l2, e3.list AS l3, e4.list AS l4
                    FROM unnest((SELECT blocks)) AS d (block_no)
                    CROSS JOIN LATERAL (
                        SELECT o.block_no, o.postings FROM sift.posting_blocks AS o
                        WHERE o.tenant_id = v_tenant_id AND o.block_no = d.block_no AND o.term = v_term0
                          AND o.max_tf * v_a >= v_c + o.min_doc_length * v_d OFFSET 0) AS r
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
            SELECT array_agg(n.block_no), array_agg(n.p), array_agg(n.s) INTO v_blocks, v_postings, v_scores
            FROM added4 AS n
            WHERE n.s >= v_floor4;
        END IF;
        WHILE v_next <= v_count AND v_postings IS NOT NULL LOOP
            v_term1 := terms[v_next];
            v_idf1 := idf[v_next];
            v_floor1 := v_theta - v_rest[v_next];
            WITH source AS (
                SELECT g.block_no, g.l1, unnest(v_postings[g.first:g.last]) AS p, unnest(v_scores[g.first:g.last]) AS s
                FROM (SELECT d.block_no, width_bucket(d.block_no - 1, v_blocks) + 1 AS first, width_bucket(d.block_no, v_blocks) AS last,
                             e.list AS l1
                      FROM unnest((SELECT blocks)) AS d (block_no)
                      LEFT JOIN LATERAL (
                          SELECT o.postings || '{}'::bigint[] AS list FROM sift.posting_blocks AS o
                          WHERE o.tenant_id = v_tenant_id AND o.term = v_term1 AND o.block_no = d.block_no OFFSET 0) AS e ON true
                      OFFSET 0) AS g
            ),
            found1 AS (
                SELECT n.*, n.l1[width_bucket(n.p | 8388607, n.l1)] AS q FROM source AS n OFFSET 0
            ),
            added1 AS (
                SELECT f.block_no, f.p,
                       CASE WHEN f.q >> 23 = f.p >> 23
                            THEN f.s + v_idf1 * (f.q & 255)::double precision
                                 / ((f.q & 255)::double precision
                                    + v_k1 * (1::double precision - v_b + v_b * ((f.q >> 8) & 32767)::double precision / v_avgdl))
                            ELSE f.s END AS s
                FROM found1 AS f OFFSET 0
            )
            SELECT array_agg(n.block_no), array_agg(n.p), array_agg(n.s) INTO v_blocks, v_postings, v_scores
            FROM added1 AS n
            WHERE n.s >= v_floor1;
            v_next := v_next + 1;
        END LOOP;
        IF v_postings IS NOT NULL THEN
            SELECT array_agg(x.id ORDER BY x.s DESC, x.id), array_agg(x.s ORDER BY x.s DESC, x.id) INTO chunk_ids, scores
            FROM (SELECT y.id, max(y.s) AS s
                  FROM (SELECT u.p >> 23 AS id, u.s FROM unnest((SELECT v_postings), (SELECT v_scores)) AS u (p, s)
                        UNION ALL
                        SELECT t.id, t.s FROM unnest((SELECT chunk_ids), (SELECT scores)) AS t (id, s)) AS y
                  GROUP BY y.id
                  ORDER BY s DESC, y.id
                  LIMIT v_m) AS x;
            IF cardinality(chunk_ids) = v_m THEN
                v_theta := scores[v_m] * (1::double precision - 1e-9::double precision);
            END IF;
        END IF;
        -- The best of the last list, in the order of the result, are all that it can give.
        IF NOT v_sampled OR v_term = v_count THEN
            v_term := v_term + 1;
            v_sampled := false;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._lexical_top(integer, text[], double precision[], double precision[], double precision[], bigint[], boolean, double precision, double precision, double precision, integer) IS
    'The m best chunks of a tenant by BM25, before permission and filter.';
REVOKE ALL ON FUNCTION sift._lexical_top(integer, text[], double precision[], double precision[], double precision[], bigint[], boolean, double precision, double precision, double precision, integer) FROM PUBLIC;
