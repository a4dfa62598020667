-- Clusters of near-duplicates with their members, whoever may see them, a page of clusters at a time.
CREATE OR REPLACE FUNCTION sift.list_clusters(tenant text, k integer DEFAULT 100, after bigint DEFAULT 0)
RETURNS TABLE (
    cluster_id     bigint,
    document_id    bigint,
    key            text,
    title          text,
    source_uri     text,
    observed_at    timestamptz,
    representative boolean,
    relation       text,
    similarity     double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of clusters wanted.';
    END IF;
    RETURN QUERY
    SELECT c.cluster_id, c.document_id, d.key, d.title, d.source_uri, d.observed_at, c.representative, c.relation, c.similarity
    FROM (SELECT DISTINCT e.cluster_id FROM sift.document_clusters AS e
          WHERE e.tenant_id = v_tenant_id AND e.cluster_id > coalesce(after, 0)
          ORDER BY e.cluster_id LIMIT k) AS p
    JOIN sift.document_clusters AS c ON c.tenant_id = v_tenant_id AND c.cluster_id = p.cluster_id
    JOIN sift.documents AS d ON d.tenant_id = v_tenant_id AND d.document_id = c.document_id
    ORDER BY c.cluster_id, c.representative DESC, c.similarity DESC, d.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_clusters(text, integer, bigint) IS
    'Members of the next k clusters of near-duplicates after a given one, the representative of each first.';
REVOKE ALL ON FUNCTION sift.list_clusters(text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_clusters(text, integer, bigint) TO sift_owner, sift_writer;
