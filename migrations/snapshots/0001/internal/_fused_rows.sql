-- The whole ranking of a search to a depth, with what happens to each row: the steps of sift._search after the legs, with nothing cut away, so
-- that it can be told why a row is not on the page. Reranking, mmr and the token budget come after this.
--
--   place        where the row comes before any is taken away, from 1
--   copy_of      the chunk of the same text that stands for it; NULL where none does
--   led_by       the document that it gives way to as a near-duplicate; NULL where it does not
--   surplus      it is a claim, and not one of those that may be hits
--   covered_by   the claim of its document that stands for it; NULL where none does
--   of_document  its number among the rows of its document that are left, from 1; NULL where it is taken away
--   rank         its rank in the result; NULL where it is not in it
CREATE OR REPLACE FUNCTION sift._fused_rows(
    tenant_id         integer,
    unit              text,
    terms             text[],
    vector            real[],
    model_id          integer,
    lists             bigint[],
    predicate         text,
    bound             jsonb,
    depth             integer,
    k1                double precision,
    b                 double precision,
    title_weight      double precision,
    abstract_weight   double precision,
    statistics        text,
    as_of             timestamptz,
    reaches           integer[],
    weights           double precision[],
    rrf_k             double precision,
    min_score         double precision,
    max_distance      double precision,
    collapse          boolean,
    collapse_clusters boolean,
    per_document      integer,
    limited           boolean,
    merging           boolean,
    claims_k          integer
)
RETURNS TABLE (
    place         integer,
    chunk_id      bigint,
    document_id   bigint,
    score         double precision,
    lexical_rank  integer,
    lexical_score double precision,
    dense_rank    integer,
    distance      double precision,
    copy_of       bigint,
    led_by        bigint,
    surplus       boolean,
    covered_by    bigint,
    of_document   integer,
    rank          integer
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := tenant_id;
    v_as_of     timestamptz := as_of;
    v_reaches   integer[] := reaches;
    v_weights   double precision[] := weights;
    v_rrf_k     double precision := rrf_k;
    v_whole     boolean := unit = 'document';
    v_collapse  boolean := collapse AND unit <> 'document';
    v_clusters  boolean := collapse_clusters;
    v_cap       integer := coalesce(per_document, 2147483647);
    v_floor     double precision := min_score;
    v_ceiling   double precision := max_distance;
    v_limited   boolean := limited;
    v_merging   boolean := merging;
    v_claims_k  integer := coalesce(claims_k, 2147483647);
BEGIN
    RETURN QUERY
    WITH legs AS MATERIALIZED (
        SELECT r.leg, r.place, r.chunk_id, CASE WHEN v_whole THEN r.document_id ELSE r.chunk_id END AS id, r.figure
        FROM sift._leg_rows(v_tenant_id, unit, terms, vector, model_id, lists, predicate, bound, depth, k1, b, title_weight, abstract_weight,
                            statistics, v_as_of) AS r
    ),
    -- A document of both legs is one row, with the chunk of the lexical leg where that leg counts.
    joined AS (
        SELECT CASE WHEN n.place IS NULL OR l.place <= v_reaches[width_bucket(least(l.place, n.place) - 1, v_reaches) + 1]
                    THEN l.chunk_id ELSE n.chunk_id END AS chunk_id,
               CASE WHEN v_floor IS NULL OR l.figure >= v_floor THEN l.place END AS lexical, l.figure AS lexical_score,
               CASE WHEN v_ceiling IS NULL OR n.figure <= v_ceiling THEN n.place END AS dense, n.figure AS distance
        FROM (SELECT g.* FROM legs AS g WHERE g.leg = 'lexical') AS l
        FULL JOIN (SELECT g.* FROM legs AS g WHERE g.leg = 'dense') AS n ON n.id = l.id
    ),
    fused AS (
        SELECT j.chunk_id, t.tier, c.lexical, CASE WHEN c.lexical IS NOT NULL THEN j.lexical_score END AS lexical_score,
               c.dense, CASE WHEN c.dense IS NOT NULL THEN j.distance END AS distance,
               coalesce(v_weights[1] / (v_rrf_k + c.lexical::double precision), 0::double precision)
               + coalesce(v_weights[2] / (v_rrf_k + c.dense::double precision), 0::double precision) AS score
        FROM joined AS j
        CROSS JOIN LATERAL (SELECT width_bucket(least(j.lexical, j.dense) - 1, v_reaches) AS tier) AS t
        CROSS JOIN LATERAL (SELECT CASE WHEN j.lexical <= v_reaches[t.tier + 1] THEN j.lexical END AS lexical,
                                   CASE WHEN j.dense <= v_reaches[t.tier + 1] THEN j.dense END AS dense) AS c
        WHERE j.lexical IS NOT NULL OR j.dense IS NOT NULL
    ),
    located AS MATERIALIZED (
        SELECT f.*, c.document_id, c.ordinal, c.claim, v_limited AND c.kind = 'claim' AS is_claim,
               row_number() OVER (ORDER BY f.tier, f.score DESC, f.chunk_id) AS place,
               CASE WHEN v_collapse THEN nullif(first_value(f.chunk_id) OVER (
                   PARTITION BY c.text_hash, v_limited AND c.kind = 'claim' ORDER BY f.tier, f.score DESC, f.chunk_id), f.chunk_id)
               END AS copy_of
        FROM fused AS f
        CROSS JOIN LATERAL (
            SELECT s.document_id, s.text_hash, s.kind, s.ordinal, s.claim FROM sift.chunks AS s
            WHERE s.tenant_id = v_tenant_id AND s.chunk_id = f.chunk_id
            UNION ALL
            SELECT s.document_id, s.text_hash, s.kind, s.ordinal, s.claim FROM sift.chunk_history AS s
            WHERE v_as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = f.chunk_id
            OFFSET 0) AS c
    ),
    led AS MATERIALIZED (
        SELECT l.document_id, l.leader_id
        FROM (SELECT array_agg(o.document_id ORDER BY o.place) AS ids
              FROM (SELECT x.document_id, min(x.place) AS place FROM located AS x
                    WHERE v_clusters AND x.copy_of IS NULL GROUP BY x.document_id) AS o) AS r
        CROSS JOIN LATERAL sift._leaders(v_tenant_id, r.ids) AS l
        WHERE v_clusters
    ),
    claims AS MATERIALIZED (
        SELECT n.chunk_id, n.document_id, n.tier, n.claim, n.place
        FROM (SELECT r.*, row_number() OVER (ORDER BY r.place) AS turn
              FROM (SELECT o.*, row_number() OVER (PARTITION BY o.document_id ORDER BY o.place) AS of_document
                    FROM located AS o
                    WHERE o.is_claim AND o.copy_of IS NULL AND NOT EXISTS (SELECT FROM led AS l WHERE l.document_id = o.document_id)) AS r
              WHERE r.of_document <= v_cap) AS n
        WHERE n.turn <= v_claims_k
    ),
    supported AS (
        SELECT m.document_id, m.tier, m.chunk_id, m.place, u.ordinal::integer AS ordinal
        FROM claims AS m
        CROSS JOIN LATERAL jsonb_array_elements(m.claim -> 'supports') AS u (ordinal)
        WHERE v_merging
    ),
    judged AS (
        SELECT o.*, l.leader_id, o.is_claim AND NOT EXISTS (SELECT FROM claims AS m WHERE m.chunk_id = o.chunk_id) AS surplus,
               (SELECT u.chunk_id FROM supported AS u
                WHERE NOT o.is_claim AND u.document_id = o.document_id AND u.ordinal = o.ordinal AND u.tier <= o.tier
                ORDER BY u.place LIMIT 1) AS covered_by
        FROM located AS o
        LEFT JOIN led AS l ON l.document_id = o.document_id
    ),
    counted AS (
        SELECT j.*,
               CASE WHEN t.stays
                    THEN row_number() OVER (PARTITION BY j.document_id, t.stays ORDER BY j.tier, (v_merging AND j.is_claim) DESC, j.place)
               END AS of_document
        FROM judged AS j
        CROSS JOIN LATERAL (SELECT j.copy_of IS NULL AND j.leader_id IS NULL AND NOT j.surplus AND j.covered_by IS NULL AS stays) AS t
    )
    SELECT c.place::integer, c.chunk_id, c.document_id, c.score, c.lexical, c.lexical_score, c.dense, c.distance, c.copy_of, c.leader_id, c.surplus, c.covered_by,
           c.of_document::integer,
           CASE WHEN c.of_document <= v_cap THEN row_number() OVER (PARTITION BY (c.of_document <= v_cap) IS TRUE ORDER BY c.place) END::integer
    FROM counted AS c
    ORDER BY c.place;
END
$$;
COMMENT ON FUNCTION sift._fused_rows(integer, text, text[], real[], integer, bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz, integer[], double precision[], double precision, double precision, double precision, boolean, boolean, integer, boolean, boolean, integer) IS
    'The whole ranking of a search to a depth, and what collapsing and the cap do to each row.';
REVOKE ALL ON FUNCTION sift._fused_rows(integer, text, text[], real[], integer, bigint[], text, jsonb, integer, double precision, double precision, double precision, double precision, text, timestamptz, integer[], double precision[], double precision, double precision, double precision, boolean, boolean, integer, boolean, boolean, integer) FROM PUBLIC;
