-- Adds mentions of entities to chunks of a document that is stored.
--
--   mentions  a JSON array of {"ordinal": 3, "entities": ["pump"]}: the number of a chunk of the document, from 0, and names, compared byte by byte
--
-- They go with the chunks when the document is replaced. Locks the document, so that it is not replaced meanwhile.
CREATE OR REPLACE FUNCTION sift.put_entities(tenant text, key text, mentions jsonb) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_rows      integer;
BEGIN
    INSERT INTO sift.chunk_entities AS e (tenant_id, entity, chunk_id)
    SELECT v_tenant_id, m.entity, m.chunk_id FROM sift._mentions(v_tenant_id, put_entities.key, mentions) AS m
    ON CONFLICT ON CONSTRAINT chunk_entities_pkey DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_rows;
END
$$;
COMMENT ON FUNCTION sift.put_entities(text, text, jsonb) IS
    'Adds mentions of entities to chunks of a stored document: a JSON array of {"ordinal": number of a chunk from 0, "entities": [names of 1 to 1,000 bytes]}. Returns how many were not there before. They go when the document is replaced.';
REVOKE ALL ON FUNCTION sift.put_entities(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_entities(text, text, jsonb) TO sift_owner, sift_writer;
