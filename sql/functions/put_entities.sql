-- Adds mentions of entities to chunks of a document that is stored.
--
--   mentions  a JSON array of {"ordinal": 3, "entities": ["pump"]}: the number of a chunk of the document, from 0, and names, compared byte by byte
--
-- They go with the chunks when the document is replaced. Locks the document, so that it is not replaced meanwhile.
CREATE OR REPLACE FUNCTION sift.put_entities(tenant text, key text, mentions jsonb) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    c_hint      CONSTANT text := 'A mention is {"ordinal": 3, "entities": ["pump", "seal"]}: the number of a chunk of the document, from 0, and names.';
    v_key       text := key;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_document  bigint;
    v_bad       record;
    v_rows      integer;
BEGIN
    IF mentions IS NULL OR jsonb_typeof(mentions) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = 'mentions must be a JSON array of objects', HINT = c_hint;
    END IF;
    SELECT m.n, CASE
               WHEN jsonb_typeof(m.value) <> 'object' THEN format('it is not an object, but %s', sift._json_types(ARRAY[jsonb_typeof(m.value)]))
               WHEN m.value - '{ordinal,entities}'::text[] <> '{}'::jsonb THEN 'it has members other than ordinal and entities'
               WHEN jsonb_typeof(m.value -> 'ordinal') IS DISTINCT FROM 'number' OR m.value ->> 'ordinal' !~ '^[0-9]{1,9}$'
                   THEN '"ordinal" must be the number of a chunk, counted from 0'
               WHEN jsonb_typeof(m.value -> 'entities') IS DISTINCT FROM 'array' THEN '"entities" must be an array of names'
               ELSE '"entities" must be names of 1 to 1000 bytes each' END AS problem
    INTO v_bad
    FROM jsonb_array_elements(mentions) WITH ORDINALITY AS m (value, n)
    WHERE CASE WHEN jsonb_typeof(m.value) <> 'object' THEN true
               WHEN m.value - '{ordinal,entities}'::text[] <> '{}'::jsonb OR jsonb_typeof(m.value -> 'ordinal') IS DISTINCT FROM 'number'
                    OR m.value ->> 'ordinal' !~ '^[0-9]{1,9}$' OR jsonb_typeof(m.value -> 'entities') IS DISTINCT FROM 'array' THEN true
               ELSE EXISTS (SELECT FROM jsonb_array_elements(m.value -> 'entities') AS e (value)
                            WHERE jsonb_typeof(e.value) <> 'string' OR octet_length(e.value #>> '{}') NOT BETWEEN 1 AND 1000) END
    ORDER BY m.n
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = format('mention %s for the document %s: %s', v_bad.n, to_json(left(v_key, 200)), v_bad.problem),
            HINT = c_hint;
    END IF;
    SELECT d.document_id INTO v_document FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = v_key FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = format('there is no document with the key %s', coalesce(to_json(left(v_key, 200))::text, 'NULL')),
            HINT = 'Store the document first; sift.list_documents(tenant) lists those there are.';
    END IF;
    SELECT m.n, m.value ->> 'ordinal' AS ordinal INTO v_bad
    FROM jsonb_array_elements(mentions) WITH ORDINALITY AS m (value, n)
    WHERE NOT EXISTS (SELECT FROM sift.chunks AS c
                      WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document AND c.ordinal = (m.value ->> 'ordinal')::integer)
    ORDER BY m.n
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = format('mention %s for the document %s: it has no chunk %s', v_bad.n, to_json(left(v_key, 200)), v_bad.ordinal),
            HINT = 'Chunks are numbered from 0 in the order of the document.';
    END IF;
    INSERT INTO sift.chunk_entities AS e (tenant_id, entity, chunk_id)
    SELECT DISTINCT v_tenant_id, n.entity, c.chunk_id
    FROM jsonb_array_elements(mentions) AS m (value)
    CROSS JOIN LATERAL jsonb_array_elements_text(m.value -> 'entities') AS n (entity)
    CROSS JOIN LATERAL (
        SELECT s.chunk_id FROM sift.chunks AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = v_document AND s.ordinal = (m.value ->> 'ordinal')::integer OFFSET 0) AS c
    ON CONFLICT ON CONSTRAINT chunk_entities_pkey DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_rows;
END
$$;
COMMENT ON FUNCTION sift.put_entities(text, text, jsonb) IS
    'Adds mentions of entities to chunks of a stored document: a JSON array of {"ordinal": number of a chunk from 0, "entities": [names of 1 to 1,000 bytes]}. Returns how many were not there before. They go when the document is replaced.';
REVOKE ALL ON FUNCTION sift.put_entities(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_entities(text, text, jsonb) TO sift_owner, sift_writer;
