-- Which of some keys belong to another synchronized source than this one.
CREATE OR REPLACE FUNCTION sift.sync_owners(tenant text, sync_source_id bigint, keys text[]) RETURNS TABLE (key text, owner text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_id        bigint := sync_source_id;
BEGIN
    RETURN QUERY
    SELECT i.key, s.name
    FROM unnest(sync_owners.keys) AS k (key)
    CROSS JOIN LATERAL (SELECT e.key, e.sync_source_id FROM sift.sync_items AS e
                        WHERE e.tenant_id = v_tenant_id AND e.key = k.key AND e.sync_source_id IS DISTINCT FROM v_id OFFSET 0) AS i
    CROSS JOIN LATERAL (SELECT o.name FROM sift.sync_sources AS o
                        WHERE o.tenant_id = v_tenant_id AND o.sync_source_id = i.sync_source_id OFFSET 0) AS s
    -- One whose document was deleted is free.
    WHERE EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = i.key)
    ORDER BY i.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.sync_owners(text, bigint, text[]) IS 'Those of the keys whose document belongs to another synchronized source, and its name; with NULL for the source, to any.';
REVOKE ALL ON FUNCTION sift.sync_owners(text, bigint, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.sync_owners(text, bigint, text[]) TO sift_owner, sift_writer;
