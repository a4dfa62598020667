-- Adds claims to a document that is stored, without ingesting it anew.
--
--   claims  a JSON array of objects {body, supports [], evidence_span, effect {}, section [], page, entities []}, checked like claims that
--           come with their document (sift.put_documents)
--
-- The version of the document stays: what is added is known from now on, which document_versions records as a revision, and a search of the
-- past (as_of) does not find it before. When the document is replaced, its claims go with the text they quote. A claim that is there
-- already, word for word with the same sources, quotation and effect, is left alone, so that a call may be repeated.
--
-- Locks the document: whoever replaces, deletes or moves it waits.
CREATE OR REPLACE FUNCTION sift.put_claims(tenant text, key text, claims jsonb)
RETURNS TABLE (claim_ordinal integer, status text, chunk_id bigint, source_level text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    c_members   CONSTANT jsonb := '{"body": "string", "supports": "array", "evidence_span": "string", "effect": "object", "section": "array",
                                    "page": "number", "entities": "array"}';
    c_hint      CONSTANT text := 'A claim is an object with body and supports, and if need be evidence_span, effect, section, page and entities (docs/claims.md).';
    v_key       text := key;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_tenant    record;
    v_document  record;
    v_chunks    jsonb;
    v_bad       record;
    v_now       timestamptz;
    v_next      integer;
    v_ids       bigint[];
BEGIN
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR KEY SHARE;
    IF NOT FOUND THEN
        v_tenant_id := sift._tenant_id(tenant);
    END IF;
    IF claims IS NULL OR jsonb_typeof(claims) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = 'claims must be a JSON array of objects', HINT = c_hint;
    END IF;
    SELECT c.n, c.value, CASE
               WHEN jsonb_typeof(c.value) <> 'object' THEN format('it is not an object, but %s', sift._json_types(ARRAY[jsonb_typeof(c.value)]))
               WHEN m.name IS NOT NULL AND NOT c_members ? m.name THEN format('it has the unknown member %s', to_json(left(m.name, 100)))
               WHEN m.name IS NOT NULL THEN format('%s must be %s, not %s', to_json(m.name), sift._json_types(ARRAY[c_members ->> m.name]),
                                                   sift._json_types(ARRAY[jsonb_typeof(c.value -> m.name)]))
               WHEN coalesce(btrim(c.value ->> 'body', E' \t\r\n'), '') = '' THEN 'it has no "body"'
               WHEN c.value ->> 'supports' IS NULL THEN 'it has no "supports", the chunks that bear it out'
               WHEN c.value ->> 'page' !~ '^[1-9][0-9]{0,8}$' THEN '"page" must be a whole number from 1 to 999999999'
               WHEN jsonb_path_exists(c.value, '$.section[*] ? (@.type() != "string")') THEN '"section" may hold nothing but strings'
               WHEN EXISTS (SELECT FROM jsonb_path_query(c.value, '$.entities[*]') AS e (value)
                            WHERE jsonb_typeof(e.value) <> 'string' OR octet_length(e.value #>> '{}') NOT BETWEEN 1 AND 1000)
                   THEN '"entities" must be names of 1 to 1000 bytes each'
           END AS problem
    INTO v_bad
    FROM jsonb_array_elements(claims) WITH ORDINALITY AS c (value, n)
    LEFT JOIN LATERAL (
        SELECT o.name FROM jsonb_each(CASE WHEN jsonb_typeof(c.value) = 'object' THEN c.value ELSE '{}'::jsonb END) AS o (name, value)
        WHERE NOT c_members ? o.name OR (jsonb_typeof(o.value) <> 'null' AND jsonb_typeof(o.value) <> c_members ->> o.name)
        LIMIT 1) AS m ON true
    WHERE jsonb_typeof(c.value) <> 'object' OR m.name IS NOT NULL OR coalesce(btrim(c.value ->> 'body', E' \t\r\n'), '') = ''
       OR c.value ->> 'supports' IS NULL OR c.value ->> 'page' !~ '^[1-9][0-9]{0,8}$'
       OR jsonb_path_exists(c.value, '$.section[*] ? (@.type() != "string")')
       OR EXISTS (SELECT FROM jsonb_path_query(c.value, '$.entities[*]') AS e (value)
                  WHERE jsonb_typeof(e.value) <> 'string' OR octet_length(e.value #>> '{}') NOT BETWEEN 1 AND 1000)
    ORDER BY c.n
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = format('claim %s for the document %s: %s', v_bad.n, to_json(left(v_key, 200)), v_bad.problem),
            HINT = c_hint;
    END IF;

    SELECT d.* INTO v_document FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.key = v_key FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = format('there is no document with the key %s', coalesce(to_json(left(v_key, 200))::text, 'NULL')),
            HINT = 'Store the document first; sift.list_documents(tenant) lists those there are.';
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_object('kind', c.kind, 'body', c.body) ORDER BY c.ordinal), '[]'::jsonb), count(*)
    INTO v_chunks, v_next
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document.document_id;
    SELECT c.n, c.value ->> 'body' AS body, p.problem INTO v_bad
    FROM jsonb_array_elements(claims) WITH ORDINALITY AS c (value, n)
    CROSS JOIN LATERAL (SELECT sift._claim_problem(c.value || '{"kind": "claim"}', v_chunks) AS problem OFFSET 0) AS p
    WHERE p.problem IS NOT NULL
    ORDER BY c.n
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = format('claim %s for the document %s (%s): %s', v_bad.n, to_json(left(v_key, 200)), to_json(
                CASE WHEN char_length(v_bad.body) > 80 THEN left(v_bad.body, 80) || '…' ELSE v_bad.body END), v_bad.problem),
            HINT = 'A claim says nothing that its sources do not say: quote them character by character, and take numbers over as they stand (docs/claims.md).';
    END IF;

    v_now := greatest(now(), v_document.updated_at);
    WITH given AS (
        SELECT c.n, c.value, sift._claim_value(c.value, v_chunks) AS claim FROM jsonb_array_elements(claims) WITH ORDINALITY AS c (value, n)
    ),
    fresh AS (
        SELECT DISTINCT ON (g.value ->> 'body', g.claim) g.n, g.value, g.claim
        FROM given AS g
        WHERE NOT EXISTS (SELECT FROM sift.chunks AS c
                          WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document.document_id AND c.body = g.value ->> 'body' AND c.claim = g.claim)
        ORDER BY g.value ->> 'body', g.claim, g.n
    ),
    inserted AS (
        INSERT INTO sift.chunks AS c (tenant_id, document_id, access_list_id, ordinal, doc_length, overlap_tokens, page, char_start, char_end, kind,
                                      section_path, text_hash, body, tokens, claim, added_at)
        SELECT v_tenant_id, v_document.document_id, v_document.access_list_id, v_next - 1 + (row_number() OVER (ORDER BY f.n))::integer,
               cardinality(t.tokens), cardinality(t.tokens), coalesce((f.value ->> 'page')::integer, s.page), s.char_start, s.char_end, 'claim',
               CASE WHEN jsonb_typeof(f.value -> 'section') = 'array'
                    THEN ARRAY(SELECT e.name FROM jsonb_array_elements_text(f.value -> 'section') AS e (name)) ELSE s.section_path END,
               sha256(convert_to(f.value ->> 'body', 'UTF8')), f.value ->> 'body', array_to_string(t.tokens, ' '), f.claim, v_now
        FROM fresh AS f
        CROSS JOIN LATERAL (SELECT sift.tokenize(f.value ->> 'body', v_tenant.analyzer) AS tokens OFFSET 0) AS t
        -- It stands where its first source does.
        CROSS JOIN LATERAL (
            SELECT x.page, x.char_start, x.char_end, x.section_path FROM sift.chunks AS x
            WHERE x.tenant_id = v_tenant_id AND x.document_id = v_document.document_id AND x.ordinal = (f.claim -> 'supports' -> 0)::integer OFFSET 0) AS s
        ORDER BY f.n
        RETURNING c.chunk_id
    )
    SELECT array_agg(i.chunk_id ORDER BY i.chunk_id) INTO v_ids FROM inserted AS i;

    IF v_ids IS NOT NULL THEN
        PERFORM sift._add_postings(v_tenant_id, v_ids);
        PERFORM sift._add_document_terms(v_tenant_id, v_ids);
        UPDATE sift.documents AS d SET updated_at = v_now WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document.document_id;
        UPDATE sift.document_versions AS h SET current_to = v_now
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document.document_id AND h.current_to IS NULL;
        INSERT INTO sift.document_versions AS h (
            tenant_id, document_id, version, revision, access_list_id, current_from, run_id, length, key, event, title, source_uri, source_version,
            metadata, content_hash, parser, chunker, analyzer_fingerprint, models, language, license, classification, observed_at, valid_from,
            valid_to, retain_until, reason, changed_by)
        SELECT v_tenant_id, p.document_id, p.version, p.revision + 1, v_document.access_list_id, v_now, v_document.run_id, p.length, p.key, 'updated',
               p.title, p.source_uri, p.source_version, p.metadata, p.content_hash, p.parser, p.chunker, p.analyzer_fingerprint, p.models, p.language,
               p.license, p.classification, p.observed_at, p.valid_from, p.valid_to, p.retain_until, format('%s claims added', cardinality(v_ids)),
               sift._recorded_role()
        FROM (SELECT q.* FROM sift.document_versions AS q
              WHERE q.tenant_id = v_tenant_id AND q.document_id = v_document.document_id AND q.version = v_document.version
              ORDER BY q.revision DESC
              LIMIT 1) AS p;
        IF NOT v_tenant.has_claims THEN
            UPDATE sift.tenants AS t SET has_claims = true WHERE t.tenant_id = v_tenant_id AND NOT t.has_claims;
        END IF;
    END IF;
    INSERT INTO sift.chunk_entities AS e (tenant_id, entity, chunk_id)
    SELECT DISTINCT v_tenant_id, n.entity, s.chunk_id
    FROM jsonb_array_elements(claims) AS c (value)
    CROSS JOIN LATERAL jsonb_array_elements_text(CASE WHEN jsonb_typeof(c.value -> 'entities') = 'array' THEN c.value -> 'entities' END) AS n (entity)
    CROSS JOIN LATERAL (
        SELECT x.chunk_id FROM sift.chunks AS x
        WHERE x.tenant_id = v_tenant_id AND x.document_id = v_document.document_id AND x.body = c.value ->> 'body'
          AND x.claim = sift._claim_value(c.value, v_chunks)
        ORDER BY x.ordinal
        LIMIT 1) AS s
    ON CONFLICT ON CONSTRAINT chunk_entities_pkey DO NOTHING;

    RETURN QUERY
    SELECT c.n::integer, CASE WHEN s.chunk_id = ANY (v_ids) THEN 'created' ELSE 'unchanged' END, s.chunk_id, s.claim ->> 'source_level'
    FROM jsonb_array_elements(claims) WITH ORDINALITY AS c (value, n)
    CROSS JOIN LATERAL (
        SELECT x.chunk_id, x.claim FROM sift.chunks AS x
        WHERE x.tenant_id = v_tenant_id AND x.document_id = v_document.document_id AND x.body = c.value ->> 'body'
          AND x.claim = sift._claim_value(c.value, v_chunks)
        ORDER BY x.ordinal
        LIMIT 1) AS s
    ORDER BY c.n;
END
$$;
COMMENT ON FUNCTION sift.put_claims(text, text, jsonb) IS
    'Adds claims to a stored document: a JSON array of {body, supports [], evidence_span, effect {}, section [], page, entities []}, of which body and supports are required, checked like those that come with a document (sift.put_documents; PS012 names the claim and the reason). supports counts the chunks of the document from 0. Returns one row per claim, created or unchanged, with its number in the array from 1, its chunk and its source level: abstract, fulltext or mixed. The version stays; searches of the past do not find the claims before they were added; they go when the document is replaced.';
REVOKE ALL ON FUNCTION sift.put_claims(text, text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_claims(text, text, jsonb) TO sift_owner, sift_writer;
