-- Notes that documents are those of a synchronized source, with the marks by which a change is seen. Called in the transaction that stores
-- them. Keys of which there is no document are passed over; those of another source are left to it and returned.
CREATE OR REPLACE FUNCTION sift.put_sync_items(tenant text, sync_source_id bigint, keys text[], marks text[]) RETURNS TABLE (key text, owner text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_id        bigint := sync_source_id;
BEGIN
    IF cardinality(keys) <> cardinality(marks) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'keys and marks are of different length', HINT = 'Pass one mark, or NULL, for each key.';
    END IF;
    IF NOT EXISTS (SELECT FROM sift.sync_sources AS s WHERE s.tenant_id = v_tenant_id AND s.sync_source_id = v_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the tenant has no synchronized source %s', coalesce(v_id::text, 'NULL')),
            HINT = 'sift.start_sync returns its number.';
    END IF;
    INSERT INTO sift.sync_items AS i (tenant_id, sync_source_id, key, content_hash, mark)
    SELECT v_tenant_id, v_id, d.key, d.content_hash, k.mark
    FROM unnest(put_sync_items.keys, put_sync_items.marks) AS k (key, mark)
    CROSS JOIN LATERAL (SELECT e.key, e.content_hash FROM sift.documents AS e
                        WHERE e.tenant_id = v_tenant_id AND e.key = k.key OFFSET 0) AS d
    ORDER BY d.key COLLATE "C"
    ON CONFLICT ON CONSTRAINT sync_items_pkey DO UPDATE SET content_hash = excluded.content_hash, mark = excluded.mark
    WHERE i.sync_source_id = excluded.sync_source_id
      AND (i.mark IS DISTINCT FROM excluded.mark OR i.content_hash <> excluded.content_hash);
    RETURN QUERY
    SELECT i.key, s.name
    FROM unnest(put_sync_items.keys) AS k (key)
    CROSS JOIN LATERAL (SELECT e.key, e.sync_source_id FROM sift.sync_items AS e
                        WHERE e.tenant_id = v_tenant_id AND e.key = k.key AND e.sync_source_id <> v_id OFFSET 0) AS i
    CROSS JOIN LATERAL (SELECT o.name FROM sift.sync_sources AS o
                        WHERE o.tenant_id = v_tenant_id AND o.sync_source_id = i.sync_source_id OFFSET 0) AS s
    ORDER BY i.key COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.put_sync_items(text, bigint, text[], text[]) IS
    'Notes that documents belong to a synchronized source, with their marks; returns the keys that belong to another source, and its name.';
REVOKE ALL ON FUNCTION sift.put_sync_items(text, bigint, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_sync_items(text, bigint, text[], text[]) TO sift_owner, sift_writer;
