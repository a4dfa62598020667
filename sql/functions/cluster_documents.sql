-- Puts near-duplicates into clusters: documents in the order of observed_at, then document_id; each that no earlier representative
-- resembles becomes a representative, and takes what resembles it and is not taken yet. So every member resembles its representative,
-- and the same documents give the same clusters, in whatever order they were stored and signed.
CREATE OR REPLACE FUNCTION sift.cluster_documents(tenant text)
RETURNS TABLE (clusters integer, copies integer, revisions integer, syndicated integer, changed integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
DECLARE
    -- A band that more documents share is not compared whole, as in sift.put_signatures.
    v_members         CONSTANT integer := 32;
    -- So many representatives of such a band are compared with the others that share it.
    v_representatives CONSTANT integer := 8;
    -- Pairs compared by one statement.
    v_pairs           CONSTANT integer := 50000;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_texts     bigint[];
    v_leaders   integer[];
    v_firsts    bigint[];
    v_seconds   bigint[];
    v_bands     bigint[] := '{}';
    v_settings  record;
    v_pair      record;
    v_ids       bigint[];
    v_rows      jsonb;
    v_changed   integer;
BEGIN
    SELECT s.threshold, s.first_text_id, s.crowded INTO v_settings
    FROM sift.signature_settings AS s WHERE s.tenant_id = v_tenant_id FOR UPDATE;
    v_ids := ARRAY(
        SELECT t.text_id FROM (SELECT DISTINCT s.text_id FROM sift.similar_texts AS s WHERE s.tenant_id = v_tenant_id) AS t
        WHERE NOT EXISTS (SELECT FROM sift.document_signatures AS g WHERE g.tenant_id = v_tenant_id AND g.text_id = t.text_id));
    DELETE FROM sift.similar_texts AS s
    WHERE s.tenant_id = v_tenant_id AND (s.text_id, s.other_id) IN (
        SELECT x.text_id, x.other_id FROM sift.similar_texts AS x WHERE x.tenant_id = v_tenant_id AND x.text_id = ANY (v_ids)
        UNION ALL
        SELECT x.other_id, x.text_id FROM sift.similar_texts AS x WHERE x.tenant_id = v_tenant_id AND x.text_id = ANY (v_ids));

    -- What few share by now is compared whole, though many shared it once.
    WHILE v_settings.crowded LOOP
        EXECUTE $q$
            WITH bands AS MATERIALIZED (
                SELECT b.band FROM sift.signature_bands AS b
                WHERE b.tenant_id = $1
                GROUP BY b.band
                HAVING count(*) BETWEEN 2 AND $3
            ),
            members AS MATERIALIZED (
                SELECT DISTINCT b.band, g.text_id, g.shingles, g.text_id >= $4 AS recent
                FROM bands AS f
                JOIN sift.signature_bands AS b ON b.tenant_id = $1 AND b.band = f.band
                JOIN sift.document_signatures AS g ON g.tenant_id = $1 AND g.document_id = b.document_id
            )
            SELECT array_agg(p.a), array_agg(p.b)
            FROM (
                SELECT DISTINCT x.text_id AS a, y.text_id AS b
                FROM members AS x
                JOIN members AS y ON y.band = x.band AND y.recent = x.recent AND y.text_id > x.text_id
                WHERE least(x.shingles, y.shingles)::double precision >= $2 * greatest(x.shingles, y.shingles)::double precision
                  AND NOT EXISTS (SELECT FROM sift.similar_texts AS s
                                  WHERE s.tenant_id = $1 AND s.text_id = x.text_id AND s.other_id = y.text_id)
                LIMIT $5
            ) AS p $q$
        INTO v_firsts, v_seconds USING v_tenant_id, v_settings.threshold, v_members, v_settings.first_text_id, v_pairs;
        EXIT WHEN v_firsts IS NULL
            OR (SELECT c.compared FROM sift._compare_texts(v_tenant_id, v_settings.threshold, v_firsts, v_seconds) AS c) = 0;
    END LOOP;
    IF v_settings.crowded THEN
        v_bands := ARRAY(SELECT b.band FROM sift.signature_bands AS b WHERE b.tenant_id = v_tenant_id
                         GROUP BY b.band HAVING count(*) > v_members);
        UPDATE sift.signature_settings AS s SET crowded = false WHERE s.tenant_id = v_tenant_id AND cardinality(v_bands) = 0;
    END IF;

    -- Texts that resemble another one, or share a band with many, in the order of their first documents.
    SELECT array_agg(f.text_id ORDER BY f.observed_at, f.document_id) INTO v_texts
    FROM (
        SELECT DISTINCT ON (g.text_id) g.text_id, d.observed_at, g.document_id
        FROM (SELECT s.text_id FROM sift.similar_texts AS s WHERE s.tenant_id = v_tenant_id AND s.similarity IS NOT NULL
              UNION
              SELECT g.text_id FROM sift.document_signatures AS g WHERE g.tenant_id = v_tenant_id AND g.bands && v_bands) AS t
        JOIN sift.document_signatures AS g ON g.tenant_id = v_tenant_id AND g.text_id = t.text_id
        JOIN sift.documents AS d ON d.tenant_id = v_tenant_id AND d.document_id = g.document_id
        ORDER BY g.text_id, d.observed_at, g.document_id
    ) AS f;
    LOOP
        v_leaders := array_fill(0, ARRAY[coalesce(cardinality(v_texts), 0)]);
        FOR v_pair IN EXECUTE $q$
            WITH texts AS MATERIALIZED (
                SELECT t.text_id, t.position::integer AS position FROM unnest($2) WITH ORDINALITY AS t (text_id, position)
            )
            SELECT a.position AS first, b.position AS second
            FROM (SELECT s.text_id, s.other_id FROM sift.similar_texts AS s WHERE s.tenant_id = $1 AND s.similarity IS NOT NULL) AS p
            JOIN texts AS a ON a.text_id = p.text_id
            JOIN texts AS b ON b.text_id = p.other_id
            WHERE a.position < b.position
            ORDER BY a.position, b.position $q$
            USING v_tenant_id, v_texts
        LOOP
            IF v_leaders[v_pair.first] = 0 AND v_leaders[v_pair.second] = 0 THEN
                v_leaders[v_pair.second] := v_pair.first;
            END IF;
        END LOOP;
        EXIT WHEN v_bands = '{}';
        -- Of a band that many share, its first representatives are compared with what no earlier one took; then all is decided anew,
        -- until nothing is left to compare. The earliest representative is right at once, and each that follows when it is known.
        EXECUTE $q$
            WITH texts AS MATERIALIZED (
                SELECT t.text_id, t.leader, t.position::integer AS position
                FROM unnest($2, $3) WITH ORDINALITY AS t (text_id, leader, position)
            ),
            members AS MATERIALIZED (
                SELECT DISTINCT f.band, t.position, t.leader, t.text_id, g.shingles, t.text_id >= $6 AS recent
                FROM unnest($4) AS f (band)
                JOIN sift.signature_bands AS b ON b.tenant_id = $1 AND b.band = f.band
                JOIN sift.document_signatures AS g ON g.tenant_id = $1 AND g.document_id = b.document_id
                JOIN texts AS t ON t.text_id = g.text_id
            ),
            leaders AS MATERIALIZED (
                SELECT m.*, row_number() OVER (PARTITION BY m.band, m.recent ORDER BY m.position) AS number
                FROM members AS m WHERE m.leader = 0
            )
            SELECT array_agg(p.a), array_agg(p.b)
            FROM (
                SELECT DISTINCT m.position, l.text_id AS a, m.text_id AS b
                FROM leaders AS l
                JOIN members AS m ON m.band = l.band AND m.recent = l.recent
                WHERE l.number <= $7 AND m.position > l.position AND (m.leader = 0 OR m.leader > l.position)
                  AND least(l.shingles, m.shingles)::double precision >= $5 * greatest(l.shingles, m.shingles)::double precision
                  AND NOT EXISTS (SELECT FROM sift.similar_texts AS s
                                  WHERE s.tenant_id = $1 AND s.text_id = l.text_id AND s.other_id = m.text_id)
                ORDER BY m.position, l.text_id
                LIMIT $8
            ) AS p $q$
        INTO v_firsts, v_seconds
        USING v_tenant_id, v_texts, v_leaders, v_bands, v_settings.threshold, v_settings.first_text_id, v_representatives, v_pairs;
        EXIT WHEN v_firsts IS NULL
            OR (SELECT c.compared FROM sift._compare_texts(v_tenant_id, v_settings.threshold, v_firsts, v_seconds) AS c) = 0;
    END LOOP;

    -- Every document that belongs into a cluster, or is in one, where the two differ.
    WITH placed AS MATERIALIZED (
        SELECT g.document_id, g.text_id, d.observed_at, d.key, d.source_uri, d.title,
               CASE WHEN l.leader > 0 THEN v_texts[l.leader] ELSE g.text_id END AS leader
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
