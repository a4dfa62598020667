-- Of documents in the order of a ranking, those that give way to a better one: the first stays, and what resembles it gives way; of the
-- rest likewise. Only pairs among the documents given count.
CREATE OR REPLACE FUNCTION sift._leaders(tenant_id integer, document_ids bigint[])
RETURNS TABLE (document_id bigint, leader_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_texts     bigint[];
    v_leaders   integer[] := array_fill(0, ARRAY[coalesce(cardinality(document_ids), 0)]);
    v_pair      record;
BEGIN
    SELECT array_agg(s.text_id ORDER BY i.position) INTO v_texts
    FROM unnest(document_ids) WITH ORDINALITY AS i (id, position)
    LEFT JOIN LATERAL (
        SELECT g.text_id FROM sift.document_signatures AS g
        WHERE g.tenant_id = v_tenant_id AND g.document_id = i.id OFFSET 0) AS s ON true;
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
                WHERE s.tenant_id = v_tenant_id AND s.text_id = a.text_id OFFSET 0) AS n
            UNION ALL
            SELECT a.position, a.text_id FROM texts AS a
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
    RETURN QUERY
    SELECT _leaders.document_ids[l.position], _leaders.document_ids[l.leader]
    FROM unnest(v_leaders) WITH ORDINALITY AS l (leader, position)
    WHERE l.leader > 0;
END
$$;
COMMENT ON FUNCTION sift._leaders(integer, bigint[]) IS 'Which documents of a ranking give way to which better one that they resemble.';
REVOKE ALL ON FUNCTION sift._leaders(integer, bigint[]) FROM PUBLIC;
