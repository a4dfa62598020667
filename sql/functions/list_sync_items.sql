-- One page of the documents of a synchronized source, by key: those it gave, and those ingested without synchronizing from an address under
-- its own (of a feed, from its address), unless they are another source's.
--
--   mark  left out where the document is not what the source gave, or has chunks without a vector of the model: it is read again then
CREATE OR REPLACE FUNCTION sift.list_sync_items(
    tenant         text,
    sync_source_id bigint,
    k              integer DEFAULT 1000,
    after          text DEFAULT NULL,
    model          text DEFAULT NULL
)
RETURNS TABLE (key text, content_hash text, mark text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_id        bigint := sync_source_id;
    v_model_id  integer;
    v_source    record;
BEGIN
    SELECT s.kind, s.prefix, s.location INTO v_source
    FROM sift.sync_sources AS s
    WHERE s.tenant_id = v_tenant_id AND s.sync_source_id = v_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant has no synchronized source %s', coalesce(v_id::text, 'NULL')),
            HINT = 'sift.start_sync returns its number.';
    END IF;
    IF k IS NULL OR k < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must be positive, but is %s', coalesce(k::text, 'NULL')),
            HINT = 'It is the number of rows wanted at most.';
    END IF;
    IF model IS NOT NULL THEN
        v_model_id := sift._model_id(v_tenant_id, model);
    END IF;
    RETURN QUERY
    SELECT d.key, encode(d.content_hash, 'hex'),
           CASE WHEN o.content_hash = d.content_hash
                     AND (v_model_id IS NULL OR NOT EXISTS (
                         SELECT FROM sift.chunks AS c
                         WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id AND c.body <> ''
                           AND NOT EXISTS (SELECT FROM sift.chunk_embeddings AS e
                                           WHERE e.tenant_id = v_tenant_id AND e.model_id = v_model_id AND e.chunk_id = c.chunk_id)))
                THEN o.mark END
    FROM sift.documents AS d
    LEFT JOIN LATERAL (SELECT i.sync_source_id, i.content_hash, i.mark FROM sift.sync_items AS i
                       WHERE i.tenant_id = v_tenant_id AND i.key = d.key OFFSET 0) AS o ON true
    WHERE d.tenant_id = v_tenant_id AND (list_sync_items.after IS NULL OR d.key > list_sync_items.after)
      AND starts_with(d.key, v_source.prefix)
      AND CASE WHEN o.sync_source_id IS NOT NULL THEN o.sync_source_id = v_id
               WHEN v_source.kind = 'folder' THEN starts_with(d.source_uri, rtrim(v_source.location, '/') || '/')
               ELSE d.source_uri = v_source.location END
    ORDER BY d.key
    LIMIT list_sync_items.k;
END
$$;
COMMENT ON FUNCTION sift.list_sync_items(text, bigint, integer, text, text) IS
    'One page of the documents of a synchronized source, by key, with the mark by which a change of each is seen.';
REVOKE ALL ON FUNCTION sift.list_sync_items(text, bigint, integer, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_sync_items(text, bigint, integer, text, text) TO sift_owner, sift_writer;
