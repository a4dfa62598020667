-- Puts near-duplicates into clusters: documents in the order of observed_at, then document_id; each that no earlier representative
-- resembles becomes a representative, and takes what resembles it and is not taken yet. So every member resembles its representative,
-- and the same documents give the same clusters, in whatever order they were stored and signed.
CREATE OR REPLACE FUNCTION sift.cluster_documents(tenant text)
RETURNS TABLE (clusters integer, copies integer, revisions integer, syndicated integer, changed integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_texts     bigint[];
    v_leaders   bigint[];
    v_pair      record;
    v_ids       bigint[];
    v_rows      jsonb;
    v_changed   integer;
BEGIN
    PERFORM FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id FOR UPDATE;
    DELETE FROM sift.similar_texts AS s
    WHERE s.tenant_id = v_tenant_id
      AND (NOT EXISTS (SELECT FROM sift.document_signatures AS g WHERE g.tenant_id = v_tenant_id AND g.text_id = s.text_id)
           OR NOT EXISTS (SELECT FROM sift.document_signatures AS g WHERE g.tenant_id = v_tenant_id AND g.text_id = s.other_id));

    -- Texts that resemble another one, in the order of their first documents.
    SELECT array_agg(f.text_id ORDER BY f.observed_at, f.document_id) INTO v_texts
    FROM (
        SELECT DISTINCT ON (g.text_id) g.text_id, d.observed_at, g.document_id
        FROM (SELECT DISTINCT s.text_id FROM sift.similar_texts AS s WHERE s.tenant_id = v_tenant_id) AS t
        JOIN sift.document_signatures AS g ON g.tenant_id = v_tenant_id AND g.text_id = t.text_id
        JOIN sift.documents AS d ON d.tenant_id = v_tenant_id AND d.document_id = g.document_id
        ORDER BY g.text_id, d.observed_at, g.document_id
    ) AS f;
    v_leaders := array_fill(0::bigint, ARRAY[coalesce(cardinality(v_texts), 0)]);
    FOR v_pair IN
        SELECT a.position::integer AS first, b.position::integer AS second
        FROM sift.similar_texts AS s
        JOIN unnest(v_texts) WITH ORDINALITY AS a (text_id, position) ON a.text_id = s.text_id
        JOIN unnest(v_texts) WITH ORDINALITY AS b (text_id, position) ON b.text_id = s.other_id
        WHERE s.tenant_id = v_tenant_id AND a.position < b.position
        ORDER BY a.position, b.position
    LOOP
        IF v_leaders[v_pair.first] = 0 AND v_leaders[v_pair.second] = 0 THEN
            v_leaders[v_pair.second] := v_texts[v_pair.first];
        END IF;
    END LOOP;

    -- Every document that belongs into a cluster, or is in one, where the two differ.
    WITH placed AS MATERIALIZED (
        SELECT g.document_id, g.text_id, d.observed_at, d.key, d.source_uri, d.title,
               coalesce(nullif(l.leader, 0), g.text_id) AS leader
        FROM sift.document_signatures AS g
        JOIN sift.documents AS d ON d.tenant_id = v_tenant_id AND d.document_id = g.document_id
        LEFT JOIN unnest(v_texts, v_leaders) AS l (text_id, leader) ON l.text_id = g.text_id
        WHERE g.tenant_id = v_tenant_id
    ),
    ranked AS MATERIALIZED (
        SELECT p.*, count(*) OVER (PARTITION BY p.leader) AS members,
               first_value(p.document_id) OVER w AS cluster_id, first_value(p.key) OVER w AS first_key,
               first_value(p.source_uri) OVER w AS first_uri, first_value(p.title) OVER w AS first_title
        FROM placed AS p
        WINDOW w AS (PARTITION BY p.leader ORDER BY p.observed_at, p.document_id)
    ),
    wanted AS MATERIALIZED (
        SELECT r.document_id, r.text_id, r.cluster_id, r.cluster_id = r.document_id AS representative,
               coalesce(s.similarity, 1::double precision) AS similarity,
               CASE WHEN r.cluster_id <> r.document_id THEN sift._relation(
                   r.text_id = r.leader, r.first_key, r.first_uri, r.first_title, r.key, r.source_uri, r.title) END AS relation
        FROM ranked AS r
        LEFT JOIN sift.similar_texts AS s ON s.tenant_id = v_tenant_id AND s.text_id = r.leader AND s.other_id = r.text_id
        WHERE r.members > 1
    )
    SELECT array_agg(coalesce(w.document_id, c.document_id)),
           jsonb_agg(to_jsonb(w)) FILTER (WHERE w.document_id IS NOT NULL)
    INTO v_ids, v_rows
    FROM wanted AS w
    FULL JOIN (SELECT e.* FROM sift.document_clusters AS e WHERE e.tenant_id = v_tenant_id) AS c ON c.document_id = w.document_id
    WHERE (w.cluster_id, w.similarity, w.relation) IS DISTINCT FROM (c.cluster_id, c.similarity, c.relation);

    -- In the order of keys, as everybody locks who writes what hangs on several documents.
    PERFORM d.document_id FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids)
    ORDER BY d.key COLLATE "C"
    FOR SHARE;
    DELETE FROM sift.document_clusters AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_ids);
    INSERT INTO sift.document_clusters AS c (tenant_id, document_id, cluster_id, similarity, representative, relation)
    SELECT v_tenant_id, r.document_id, r.cluster_id, r.similarity, r.representative, r.relation
    FROM jsonb_to_recordset(v_rows) AS r (document_id bigint, text_id bigint, cluster_id bigint, similarity double precision,
                                          representative boolean, relation text)
    CROSS JOIN LATERAL (
        -- Not of a document that was replaced or deleted meanwhile.
        SELECT s.text_id FROM sift.document_signatures AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = r.document_id OFFSET 0) AS g
    WHERE g.text_id = r.text_id;
    v_changed := coalesce(cardinality(v_ids), 0);
    RETURN QUERY
    SELECT count(*) FILTER (WHERE c.representative)::integer, count(*) FILTER (WHERE c.relation = 'copy')::integer,
           count(*) FILTER (WHERE c.relation = 'revision')::integer, count(*) FILTER (WHERE c.relation = 'syndicated')::integer, v_changed
    FROM sift.document_clusters AS c
    WHERE c.tenant_id = v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift.cluster_documents(text) IS
    'Puts the documents that signatures found to resemble each other into clusters; writes only what changed. Numbers of clusters, of members by relation to their representative, and of documents whose place changed.';
REVOKE ALL ON FUNCTION sift.cluster_documents(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.cluster_documents(text) TO sift_owner, sift_writer;
