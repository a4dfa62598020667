-- Of documents in the order of a ranking, those that give way to a better one: the first stays, and what resembles it gives way; of the
-- rest likewise. Only pairs among the documents given count.
CREATE OR REPLACE FUNCTION sift._leaders(tenant_id integer, document_ids bigint[])
RETURNS TABLE (document_id bigint, leader_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Of pairs that were not compared, those are that one of so many that stay has with another of so many first documents.
    v_most      CONSTANT integer := 64;
    v_deepest   CONSTANT integer := 1000;
    -- So many at a time.
    v_step      CONSTANT integer := 16;
    v_tenant_id integer := tenant_id;
    v_texts     bigint[];
    v_leaders   integer[];
    v_next      bigint[];
    v_done      bigint[] := '{}';
    v_pair      record;
    v_settings  record;
    v_firsts    bigint[] := '{}';
    v_seconds   bigint[] := '{}';
BEGIN
    SELECT array_agg(s.text_id ORDER BY i.position) INTO v_texts
    FROM unnest(document_ids) WITH ORDINALITY AS i (id, position)
    LEFT JOIN LATERAL (
        SELECT g.text_id FROM sift.document_signatures AS g
        WHERE g.tenant_id = v_tenant_id AND g.document_id = i.id OFFSET 0) AS s ON true;
    SELECT s.threshold, s.first_text_id, s.crowded INTO v_settings FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id;
    LOOP
        v_leaders := array_fill(0, ARRAY[coalesce(cardinality(document_ids), 0)]);
        FOR v_pair IN
            WITH texts AS MATERIALIZED (
                SELECT u.text_id, u.position::integer AS position
                FROM unnest(v_texts) WITH ORDINALITY AS u (text_id, position)
                WHERE u.text_id IS NOT NULL
            ),
            near AS MATERIALIZED (
                SELECT a.position, n.other_id
                FROM texts AS a
                CROSS JOIN LATERAL (
                    SELECT s.other_id FROM sift.similar_texts AS s
                    WHERE s.tenant_id = v_tenant_id AND s.text_id = a.text_id AND s.similarity IS NOT NULL OFFSET 0) AS n
                UNION ALL
                SELECT a.position, a.text_id FROM texts AS a
                UNION ALL
                SELECT a.position, m.second
                FROM texts AS a
                JOIN unnest(v_firsts || v_seconds, v_seconds || v_firsts) AS m (first, second) ON m.first = a.text_id
            )
            SELECT a.position AS first, b.position AS second
            FROM near AS a
            JOIN texts AS b ON b.text_id = a.other_id
            WHERE a.position < b.position
            ORDER BY a.position, b.position
        LOOP
            -- Pairs come in the order of their first: what may take it away has been looked at.
            IF v_leaders[v_pair.first] = 0 AND v_leaders[v_pair.second] = 0 THEN
                v_leaders[v_pair.second] := v_pair.first;
            END IF;
        END LOOP;
        -- Where many share a band, not every pair was compared. Those of the next that stay are, with what no better one took; then all
        -- is decided anew.
        EXIT WHEN NOT coalesce(v_settings.crowded, false) OR cardinality(v_done) >= v_most;
        v_next := ARRAY(
            SELECT u.text_id FROM unnest(v_texts, v_leaders) WITH ORDINALITY AS u (text_id, leader, position)
            WHERE u.leader = 0 AND u.position <= v_deepest AND u.text_id IS NOT NULL AND u.text_id <> ALL (v_done)
            ORDER BY u.position
            LIMIT v_step);
        EXIT WHEN v_next = '{}';
        v_done := v_done || v_next;
        WITH bands AS MATERIALIZED (
            SELECT u.text_id, u.leader, u.position, g.shingles, b.band, u.text_id >= v_settings.first_text_id AS recent
            FROM unnest(v_texts, v_leaders) WITH ORDINALITY AS u (text_id, leader, position)
            CROSS JOIN LATERAL (
                SELECT s.shingles, s.bands FROM sift.document_signatures AS s
                WHERE s.tenant_id = v_tenant_id AND s.text_id = u.text_id LIMIT 1) AS g
            CROSS JOIN LATERAL unnest(g.bands) AS b (band)
            WHERE u.position <= v_deepest
        ),
        missing AS MATERIALIZED (
            SELECT p.a, p.b
            FROM (
                SELECT DISTINCT x.text_id AS a, y.text_id AS b
                FROM (SELECT z.* FROM bands AS z WHERE z.text_id = ANY (v_next) AND z.leader = 0) AS x
                JOIN bands AS y ON y.band = x.band AND y.recent = x.recent
                WHERE y.position > x.position AND (y.leader = 0 OR y.leader > x.position) AND y.text_id <> x.text_id
                  AND least(x.shingles, y.shingles)::double precision >= v_settings.threshold * greatest(x.shingles, y.shingles)::double precision
            ) AS p
            LEFT JOIN LATERAL (
                SELECT true AS found FROM sift.similar_texts AS s
                WHERE s.tenant_id = v_tenant_id AND s.text_id = p.a AND s.other_id = p.b OFFSET 0) AS k ON true
            WHERE k.found IS NULL
        )
        SELECT v_firsts || array_agg(m.text_id), v_seconds || array_agg(m.other_id) INTO v_firsts, v_seconds
        FROM sift._similarities(v_tenant_id, ARRAY(SELECT p.a FROM missing AS p), ARRAY(SELECT p.b FROM missing AS p)) AS m
        WHERE m.similarity >= v_settings.threshold;
    END LOOP;
    RETURN QUERY
    SELECT _leaders.document_ids[l.position], _leaders.document_ids[l.leader]
    FROM unnest(v_leaders) WITH ORDINALITY AS l (leader, position)
    WHERE l.leader > 0;
END
$$;
COMMENT ON FUNCTION sift._leaders(integer, bigint[]) IS 'Which documents of a ranking give way to which better one that they resemble.';
REVOKE ALL ON FUNCTION sift._leaders(integer, bigint[]) FROM PUBLIC;
