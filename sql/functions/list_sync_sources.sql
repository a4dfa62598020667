-- The synchronized sources of a tenant.
CREATE OR REPLACE FUNCTION sift.list_sync_sources(tenant text)
RETURNS TABLE (
    name        text,
    kind        text,
    location    text,
    prefix      text,
    documents   bigint,
    watermark   text,
    run_id      bigint,
    started_at  timestamptz,
    finished_at timestamptz,
    counts      jsonb
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    RETURN QUERY
    SELECT s.name, s.kind, s.location, s.prefix, n.documents, s.watermark, s.run_id, s.started_at, s.finished_at, s.counts
    FROM sift.sync_sources AS s
    CROSS JOIN LATERAL (SELECT count(*) AS documents FROM sift.sync_items AS i
                        WHERE i.tenant_id = v_tenant_id AND i.sync_source_id = s.sync_source_id) AS n
    WHERE s.tenant_id = v_tenant_id
    ORDER BY s.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_sync_sources(text) IS 'Folders and feeds that are synchronized, with the number of their documents and what came of the last complete run.';
REVOKE ALL ON FUNCTION sift.list_sync_sources(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_sync_sources(text) TO sift_owner, sift_writer;
