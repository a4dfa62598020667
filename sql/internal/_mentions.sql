-- The mentions that sift.put_entities and sift.remove_entities take, checked, each once: name and chunk. Locks the document, so that it is not
-- replaced meanwhile. PS012 for what is no mention, and for a document or chunk that there is not.
CREATE OR REPLACE FUNCTION sift._mentions(tenant_id integer, key text, mentions jsonb) RETURNS TABLE (entity text, chunk_id bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_hint      CONSTANT text := 'A mention is {"ordinal": 3, "entities": ["pump", "seal"]}: the number of a chunk of the document, from 0, and names.';
    v_key       text := key;
    v_tenant_id integer := tenant_id;
    v_document  bigint;
    v_bad       record;
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
    RETURN QUERY
    SELECT DISTINCT n.entity, c.chunk_id
    FROM jsonb_array_elements(mentions) AS m (value)
    CROSS JOIN LATERAL jsonb_array_elements_text(m.value -> 'entities') AS n (entity)
    CROSS JOIN LATERAL (
        SELECT s.chunk_id FROM sift.chunks AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = v_document AND s.ordinal = (m.value ->> 'ordinal')::integer OFFSET 0) AS c;
END
$$;
COMMENT ON FUNCTION sift._mentions(integer, text, jsonb) IS 'The mentions of entities that are to be put or removed, checked, with their chunks; locks the document.';
REVOKE ALL ON FUNCTION sift._mentions(integer, text, jsonb) FROM PUBLIC;
