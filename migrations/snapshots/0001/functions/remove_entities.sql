-- Takes mentions of entities away from chunks of a stored document: those named, in the form of sift.put_entities, or all of it where mentions is NULL.
CREATE OR REPLACE FUNCTION sift.remove_entities(tenant text, key text, mentions jsonb DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_key       text := key;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_entities  text[];
    v_chunks    bigint[];
    v_rows      integer;
BEGIN
    IF mentions IS NULL THEN
        DELETE FROM sift.chunk_entities AS e
        USING sift.documents AS d, sift.chunks AS c
        WHERE e.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.tenant_id = v_tenant_id AND d.key = v_key
          AND c.document_id = d.document_id AND e.chunk_id = c.chunk_id;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        RETURN v_rows;
    END IF;
    -- A statement of its own: the one that removes is to see what was there once the document is locked.
    SELECT array_agg(m.entity), array_agg(m.chunk_id) INTO v_entities, v_chunks FROM sift._mentions(v_tenant_id, v_key, mentions) AS m;
    DELETE FROM sift.chunk_entities AS e
    USING unnest(v_entities, v_chunks) AS g (entity, chunk_id)
    WHERE e.tenant_id = v_tenant_id AND e.entity = g.entity AND e.chunk_id = g.chunk_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_rows;
END
$$;
COMMENT ON FUNCTION sift.remove_entities(text, text, jsonb) IS
    'Takes mentions of entities away from chunks of a stored document, in the form of sift.put_entities; all mentions in the document where mentions is left out. Returns how many there were.';
REVOKE ALL ON FUNCTION sift.remove_entities(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remove_entities(text, text, jsonb) TO sift_owner, sift_writer;
