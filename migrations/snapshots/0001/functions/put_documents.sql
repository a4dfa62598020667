-- Stores a batch of documents: the rows, chunks, postings, statistics and vectors of each become visible in one commit.
--
-- documents is a JSON array of objects with the members
--   key              required; the stable name
--   title, source_uri, source_version, language, license, classification, parser, chunker, metadata {}, observed_at, valid_from, valid_to,
--   retain_until
--   acl              array of principals, or {"allow": [], "deny": []}; []: nobody but writers; left out: what the document has,
--                    or for a new one what its key's prefix gets (sift.set_access), else the tenant's default
--   content_hash     sha256 of the source in hexadecimal; left out: that of title and text
--   text             the whole text as one chunk; or
--   chunks           array of {body, kind, section [], page, page_breaks [], start, end, tokens, title_tokens, overlap_tokens, overlap, prefix, prefix_tokens,
--                    context_start, context_end, lead, embedding [], embeddings {},
--                    embedding_hash, entities [], supports [], evidence_span, effect {}}
--   length           characters of the text the spans count in
-- A chunk's tokens (joined by one space; those of the title in front of the first chunk's, where the tenant indexes titles) may
-- come from the client, which then names the fingerprint of its analyzer; left out, the database makes them.
--
-- Chunks of kind title, section_header and reference, and those under the tenant's min_chunk_tokens, are stored and not ranked: they have no
-- postings and no vector. The title is then put in front of the first chunk that is ranked.
--
-- Writers of the same documents wait for each other in the order of keys, so that two batches cannot deadlock.
CREATE OR REPLACE FUNCTION sift.put_documents(
    tenant      text,
    documents   jsonb,
    fingerprint text DEFAULT NULL,
    model       text DEFAULT NULL,
    run_id      bigint DEFAULT NULL
)
RETURNS TABLE (key text, status text, document_id bigint, version integer, chunks integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    c_unranked   CONSTANT text[] := ARRAY['title', 'section_header', 'reference'];
    c_kept       CONSTANT text[] := ARRAY['table', 'figure', 'claim'];  -- however short
    v_run_id     bigint := run_id;
    v_tenant_id  integer := sift._tenant_id(tenant);
    v_tenant     record;
    v_model_id   integer;
    v_now        timestamptz := now();
    v_by         text := sift._recorded_role();
    v_batch      jsonb;
    v_lists      jsonb;
    v_created    jsonb;
    v_existing   jsonb;
    v_actions    jsonb := '{}'::jsonb;
    v_replaced   bigint[];
    v_updated    bigint[];
    v_chunk_ids  bigint[];
    v_made       record;
    v_embed_ids  bigint[];
    v_embeddings text[];
    v_hashes     bytea[];
BEGIN
    -- Held to the end: whoever drops the tenant waits for this transaction, and whoever comes after finds no tenant.
    SELECT t.* INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR KEY SHARE;
    IF NOT FOUND THEN
        v_tenant_id := sift._tenant_id(tenant);
    END IF;
    IF fingerprint IS NOT NULL AND fingerprint <> v_tenant.analyzer_fingerprint THEN
        RAISE EXCEPTION USING ERRCODE = 'PS007',
            MESSAGE = format('the client''s analyzer has the fingerprint %s, the tenant %s was made with %s (%s)',
                             fingerprint, to_json(tenant), v_tenant.analyzer_fingerprint, v_tenant.analyzer),
            HINT = 'Use the client version the tenant was made with, or ingest into a new tenant.';
    END IF;
    PERFORM sift._check_run(v_tenant_id, v_run_id);
    IF model IS NOT NULL THEN
        v_model_id := sift._model_id(v_tenant_id, model);
    END IF;

    PERFORM sift._check_documents(documents, v_model_id IS NOT NULL, false);
    IF jsonb_path_exists(documents, '$[*].chunks[*] ? (exists(@.supports) || exists(@.evidence_span) || exists(@.effect))') THEN
        PERFORM sift._check_claims(documents);
    END IF;

    v_lists := sift._document_lists(v_tenant_id, documents);

    -- Everything of a document but its chunks, with defaults filled in, so that what follows reads one shape.
    SELECT coalesce(jsonb_agg(d.value - 'chunks' - 'text' || jsonb_build_object(
               'metadata', CASE WHEN jsonb_typeof(d.value -> 'metadata') = 'object' THEN d.value -> 'metadata' ELSE '{}'::jsonb END,
               'list', v_lists -> (d.value ->> 'key'),
               -- Not left to the server's parser, which reads a date in the session's time zone and style.
               'observed_at', sift._timestamp(d.value ->> 'observed_at'), 'valid_from', sift._timestamp(d.value ->> 'valid_from'),
               'valid_to', sift._timestamp(d.value ->> 'valid_to'), 'retain_until', sift._timestamp(d.value ->> 'retain_until'),
               'length', coalesce((d.value ->> 'length')::integer, char_length(d.value ->> 'text'),
                                  (SELECT max(coalesce((c.value ->> 'end')::integer, coalesce((c.value ->> 'start')::integer, 0) + char_length(c.value ->> 'body')))
                                   FROM jsonb_array_elements(CASE WHEN jsonb_typeof(d.value -> 'chunks') = 'array' THEN d.value -> 'chunks' END) AS c (value)), 0),
               'content_hash', coalesce(lower(d.value ->> 'content_hash'), encode(sha256(convert_to(jsonb_build_array(
                                   d.value -> 'title', d.value -> 'text', d.value -> 'chunks')::text, 'UTF8')), 'hex'))
           ) ORDER BY d.value ->> 'key' COLLATE "C"), '[]'::jsonb)
    INTO v_batch
    FROM jsonb_array_elements(documents) AS d (value);

    -- New keys are inserted, those that are there are locked, both in one pass in the order of keys: whoever writes, deletes or moves the same
    -- documents waits at the first they share, and no key can vanish between the two. The condition is never true, so that nothing is updated.
    WITH created AS (
        INSERT INTO sift.documents AS d (tenant_id, key, version, title, source_uri, source_version, metadata, content_hash, parser,
                                         chunker, language, license, classification, observed_at, valid_from, valid_to, retain_until,
                                         access_list_id, length, run_id, current_from, updated_at)
        SELECT v_tenant_id, n.key, 1, n.title, n.source_uri, n.source_version, n.metadata, decode(n.content_hash, 'hex'), n.parser,
               n.chunker, n.language, n.license, n.classification, coalesce(n.observed_at, v_now), n.valid_from, n.valid_to, n.retain_until,
               n.list, n.length, v_run_id, greatest(v_now, h.current_to), greatest(v_now, h.current_to)
        FROM jsonb_to_recordset(v_batch) AS n (
                 key text, title text, source_uri text, source_version text, metadata jsonb, content_hash text, parser text,
                 chunker text, language text, license text, classification text, observed_at timestamptz, valid_from timestamptz,
                 valid_to timestamptz, retain_until timestamptz, list bigint, length integer)
        -- A deletion of the same key may have begun later and been committed first.
        CROSS JOIN LATERAL (SELECT max(v.current_to) AS current_to FROM sift.document_versions AS v
                            WHERE v.tenant_id = v_tenant_id AND v.key = n.key) AS h
        ORDER BY n.key COLLATE "C"
        ON CONFLICT ON CONSTRAINT documents_key_key DO UPDATE SET title = excluded.title WHERE false
        RETURNING d.key, d.document_id
    )
    SELECT coalesce(jsonb_object_agg(r.key, jsonb_build_array('created', r.document_id, 1)), '{}'::jsonb) INTO v_created FROM created AS r;

    -- Keys that are there: compared, and sorted into replaced, updated and unchanged.
    IF (SELECT count(*) FROM jsonb_object_keys(v_created)) < jsonb_array_length(v_batch) THEN
        SELECT coalesce(jsonb_object_agg(d.key, jsonb_build_array(
                   CASE WHEN d.content_hash <> decode(n.value ->> 'content_hash', 'hex')
                             OR d.title IS DISTINCT FROM n.value ->> 'title' THEN 'replaced'
                        WHEN (n.value ? 'metadata' AND d.metadata <> n.value -> 'metadata')
                             OR (jsonb_typeof(n.value -> 'acl') <> 'null' AND d.access_list_id <> (n.value ->> 'list')::bigint)
                             OR d.source_uri IS DISTINCT FROM n.value ->> 'source_uri'
                             OR d.source_version IS DISTINCT FROM n.value ->> 'source_version'
                             OR d.license IS DISTINCT FROM n.value ->> 'license'
                             OR d.language IS DISTINCT FROM n.value ->> 'language'
                             OR d.classification IS DISTINCT FROM n.value ->> 'classification'
                             OR d.valid_from IS DISTINCT FROM (n.value ->> 'valid_from')::timestamptz
                             OR d.valid_to IS DISTINCT FROM (n.value ->> 'valid_to')::timestamptz
                             OR d.retain_until IS DISTINCT FROM (n.value ->> 'retain_until')::timestamptz THEN 'updated'
                        ELSE 'unchanged' END,
                   d.document_id, d.version)), '{}'::jsonb)
        INTO v_existing
        FROM jsonb_array_elements(v_batch) AS n (value)
        CROSS JOIN LATERAL (
            SELECT e.* FROM sift.documents AS e WHERE e.tenant_id = v_tenant_id AND e.key = n.value ->> 'key' OFFSET 0) AS d
        WHERE NOT v_created ? (n.value ->> 'key');
    END IF;
    v_actions := v_created || coalesce(v_existing, '{}'::jsonb);

    SELECT array_agg((a.value ->> 1)::bigint) INTO v_replaced FROM jsonb_each(v_actions) AS a (key, value) WHERE a.value ->> 0 = 'replaced';
    IF v_replaced IS NOT NULL THEN
        PERFORM sift._remove_documents(v_tenant_id, v_replaced, NOT v_tenant.keep_history, v_tenant.keep_history);
    END IF;
    IF coalesce(v_existing, '{}'::jsonb) <> '{}'::jsonb THEN
        -- The list moves first, while the old chunks of an updated document still stand under the old one.
        PERFORM sift._move_access(v_tenant_id, (v_actions -> (n.value ->> 'key') ->> 1)::bigint, (n.value ->> 'list')::bigint)
        FROM jsonb_array_elements(v_batch) AS n (value)
        WHERE v_existing -> (n.value ->> 'key') ->> 0 IN ('replaced', 'updated') AND jsonb_typeof(n.value -> 'acl') <> 'null';
        UPDATE sift.documents AS d
        SET version = d.version + CASE WHEN v_existing -> d.key ->> 0 = 'replaced' THEN 1 ELSE 0 END,
            title = n.title, source_uri = n.source_uri, source_version = n.source_version, metadata = n.metadata,
            content_hash = decode(n.content_hash, 'hex'), parser = n.parser, chunker = n.chunker, language = n.language,
            license = n.license, classification = n.classification, observed_at = coalesce(n.observed_at, v_now),
            valid_from = n.valid_from, valid_to = n.valid_to, retain_until = n.retain_until, length = n.length, run_id = v_run_id,
            current_from = CASE WHEN v_existing -> d.key ->> 0 = 'replaced' THEN greatest(v_now, d.updated_at) ELSE d.current_from END,
            updated_at = greatest(v_now, d.updated_at)
        FROM jsonb_to_recordset(v_batch) AS n (
                 key text, title text, source_uri text, source_version text, metadata jsonb, content_hash text, parser text,
                 chunker text, language text, license text, classification text, observed_at timestamptz, valid_from timestamptz,
                 valid_to timestamptz, retain_until timestamptz, length integer)
        WHERE d.tenant_id = v_tenant_id AND d.key = n.key AND v_existing -> n.key ->> 0 IN ('replaced', 'updated');
    END IF;

    SELECT array_agg((a.value ->> 1)::bigint) INTO v_updated FROM jsonb_each(v_actions) AS a (key, value) WHERE a.value ->> 0 = 'updated';
    IF v_updated IS NOT NULL THEN
        -- Whose versions end was closed by sift._remove_documents.
        UPDATE sift.document_versions AS h
        SET current_to = d.updated_at
        FROM unnest(v_updated) AS u (id)
        CROSS JOIN LATERAL (SELECT e.updated_at FROM sift.documents AS e WHERE e.tenant_id = v_tenant_id AND e.document_id = u.id OFFSET 0) AS d
        WHERE h.tenant_id = v_tenant_id AND h.document_id = u.id AND h.current_to IS NULL;
    END IF;
    INSERT INTO sift.document_versions AS h (
        tenant_id, document_id, version, revision, access_list_id, current_from, run_id, length, key, event, title, source_uri, source_version,
        metadata, content_hash, parser, chunker, analyzer_fingerprint, models, language, license, classification, observed_at, valid_from,
        valid_to, retain_until, changed_by)
    SELECT v_tenant_id, d.document_id, d.version, coalesce(r.revision + 1, 0), d.access_list_id, d.updated_at, v_run_id, d.length, d.key,
           x.event, d.title, d.source_uri, d.source_version, d.metadata, d.content_hash, d.parser, d.chunker, v_tenant.analyzer_fingerprint,
           CASE WHEN x.event = 'updated' THEN r.models
                ELSE ARRAY(SELECT m.name FROM sift.embedding_models AS m
                           WHERE (m.model_id = v_model_id AND jsonb_path_exists(x.doc, '$.chunks[*].embedding[0]'))
                              OR m.name IN (SELECT k.name FROM jsonb_path_query(x.doc, '$.chunks[*].embeddings ? (@.type() == "object")') AS e (value)
                                            CROSS JOIN LATERAL jsonb_object_keys(e.value) AS k (name))
                           ORDER BY m.name COLLATE "C") END,
           d.language, d.license, d.classification, d.observed_at, d.valid_from, d.valid_to, d.retain_until, v_by
    FROM (SELECT n.value AS doc, v_actions -> (n.value ->> 'key') ->> 0 AS event, (v_actions -> (n.value ->> 'key') ->> 1)::bigint AS id
          FROM jsonb_array_elements(documents) AS n (value)) AS x
    CROSS JOIN LATERAL (SELECT e.* FROM sift.documents AS e WHERE e.tenant_id = v_tenant_id AND e.document_id = x.id OFFSET 0) AS d
    LEFT JOIN LATERAL (
        SELECT p.revision, p.models FROM sift.document_versions AS p
        WHERE p.tenant_id = v_tenant_id AND p.document_id = x.id AND p.version = d.version AND x.event = 'updated'
        ORDER BY p.revision DESC
        LIMIT 1) AS r ON true
    WHERE x.event IN ('created', 'replaced', 'updated');

    -- Chunks of what is new. Their ids rise with key and ordinal, so that one batch gives one order.
    WITH inserted AS (
        INSERT INTO sift.chunks AS c (tenant_id, document_id, access_list_id, ordinal, doc_length, title_tokens, overlap_tokens, page, page_breaks, char_start,
                                      char_end, kind, section_path, text_hash, body, tokens, unranked_tokens, claim, prefix_tokens, prefix, lead, context_start, context_end)
        SELECT v_tenant_id, z.document_id, z.list, z.ordinal - 1,
               CASE WHEN z.ranked THEN z.bare + z.titled ELSE 0 END, z.titled, z.overlap,
               z.page, z.page_breaks, z.char_start, coalesce(z.char_end, z.char_start + char_length(z.body)), z.kind, z.section_path,
               sha256(convert_to(z.body, 'UTF8')), z.body,
               CASE WHEN z.ranked THEN z.tokens ELSE '' END,
               CASE WHEN z.kind = 'reference' THEN '' WHEN NOT z.ranked THEN z.tokens END, z.claim,
               CASE WHEN z.kind = 'reference' THEN 0 ELSE least(z.prefixed, z.bare) END, nullif(z.prefix, ''), nullif(z.lead, ''), z.context_start, z.context_end
        FROM (
            SELECT y.*,
                   CASE WHEN y.ordinal = y.holder THEN max(y.title) OVER w ELSE 0 END AS titled,
                   CASE WHEN y.kind = 'reference' THEN 0 WHEN y.repeated OR y.claim IS NOT NULL THEN y.bare ELSE least(y.prefixed + y.repeats, y.bare) END AS overlap,
                   -- The title stands in front of the first chunk that is ranked; where none is, of the first that is not a reference.
                   CASE WHEN y.ordinal = y.holder AND y.ordinal = 1 AND NOT y.made THEN y.sent
                        WHEN y.ordinal = y.holder THEN concat_ws(' ', nullif(max(CASE WHEN y.ordinal > 1 OR y.title = 0 THEN NULL WHEN y.made THEN y.title_text
                            ELSE array_to_string((string_to_array(y.sent, ' '))[:y.title], ' ') END) OVER w, ''), nullif(y.sent, ''))
                        WHEN y.ordinal = 1 AND NOT y.made AND y.title > 0 THEN array_to_string((string_to_array(y.sent, ' '))[y.title + 1:], ' ')
                        ELSE y.sent END AS tokens
            FROM (
                SELECT r.*,
                       coalesce(min(r.ordinal) FILTER (WHERE r.ranked) OVER w, min(r.ordinal) FILTER (WHERE r.kind <> 'reference') OVER w) AS holder
                FROM (
                    SELECT b.*,
                           b.kind <> ALL (c_unranked) AND (b.kind = ANY (c_kept) OR v_tenant.min_chunk_tokens = 1 OR b.bare - b.prefixed >= v_tenant.min_chunk_tokens)
                               AS ranked
                    FROM (
                        SELECT t.*, n.title, n.prefixed, n.tokens - CASE WHEN t.made THEN 0 ELSE n.title END AS bare
                        FROM (
                            -- What is sorted holds nothing of the document but this chunk: a row each with the whole of it were the square of its size.
                            SELECT row_number() OVER (ORDER BY i.key COLLATE "C", i.ordinal) AS position, i.*
                            FROM (
                                SELECT p.doc ->> 'key' AS key, d.document_id, d.access_list_id AS list,
                                       q.ordinal::integer AS ordinal, q.page, nullif(q.page_breaks, '{}'::integer[]) AS page_breaks, coalesce(q.start, 0) AS char_start, q."end" AS char_end,
                                       coalesce(q.kind, 'text') AS kind, q.body, coalesce(q.overlap, false) AS repeated,
                                       coalesce(q.overlap_tokens, 0) AS repeats, q.title_tokens, q.prefix, q.prefix_tokens, q.lead, q.context_start, q.context_end,
                                       coalesce(ARRAY(SELECT s.name FROM jsonb_array_elements_text(
                                           CASE WHEN jsonb_typeof(q.section) = 'array' THEN q.section END) AS s (name)), '{}'::text[]) AS section_path,
                                       CASE WHEN q.kind = 'claim' THEN sift._claim_value(p.doc -> 'chunks' -> (q.ordinal::integer - 1), p.doc -> 'chunks') END AS claim,
                                       q.tokens IS NULL AS made,
                                       coalesce(q.tokens, CASE WHEN q.kind = 'reference' THEN ''
                                                               ELSE array_to_string(x.tokens || sift.tokenize(q.body, v_tenant.analyzer), ' ') END) AS sent,
                                       cardinality(x.tokens) AS made_prefix,
                                       CASE WHEN q.ordinal = 1 AND q.title_tokens IS NULL AND v_tenant.index_title = 'first' AND p.doc ->> 'title' <> ''
                                            THEN array_to_string(sift.tokenize(p.doc ->> 'title', v_tenant.analyzer), ' ') ELSE '' END AS title_text
                                FROM (SELECT d.value AS doc, v_actions -> (d.value ->> 'key') AS action FROM jsonb_array_elements(documents) AS d (value)) AS p
                                CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(
                                    CASE WHEN jsonb_typeof(p.doc -> 'chunks') = 'array' THEN p.doc -> 'chunks'
                                         WHEN btrim(coalesce(p.doc ->> 'text', ''), E' \t\r\n') <> '' THEN jsonb_build_array(jsonb_build_object('body', p.doc -> 'text'))
                                         ELSE '[]'::jsonb END)
                                    AS (body text, kind text, section jsonb, page integer, page_breaks integer[], start integer, "end" integer, tokens text, overlap boolean,
                                        overlap_tokens integer, title_tokens integer, prefix text, prefix_tokens integer, lead text, context_start integer,
                                        context_end integer))
                                    WITH ORDINALITY AS q (body, kind, section, page, page_breaks, start, "end", tokens, overlap, overlap_tokens, title_tokens, prefix, prefix_tokens, lead,
                                                           context_start, context_end, ordinal)
                                -- A prefix is tokenized by itself: its last word and the first of the body are two.
                                CROSS JOIN LATERAL (
                                    SELECT CASE WHEN q.tokens IS NULL AND q.prefix <> '' AND q.kind IS DISTINCT FROM 'reference'
                                                THEN sift.tokenize(q.prefix, v_tenant.analyzer) ELSE '{}'::text[] END AS tokens OFFSET 0) AS x
                                CROSS JOIN LATERAL (
                                    SELECT e.document_id, e.access_list_id FROM sift.documents AS e
                                    WHERE e.tenant_id = v_tenant_id AND e.document_id = (p.action ->> 1)::bigint OFFSET 0) AS d
                                WHERE p.action ->> 0 IN ('created', 'replaced')
                                OFFSET 0
                            ) AS i
                            ORDER BY i.key COLLATE "C", i.ordinal
                            OFFSET 0
                        ) AS t
                        CROSS JOIN LATERAL (
                            SELECT CASE WHEN t.sent = '' THEN 0 ELSE 1 + char_length(t.sent) - char_length(replace(t.sent, ' ', '')) END AS tokens,
                                   CASE WHEN t.made THEN t.made_prefix ELSE coalesce(t.prefix_tokens, 0) END AS prefixed,
                                   -- The tokens of the client that says nothing of it begin with those of the title.
                                   CASE WHEN NOT t.made AND t.title_tokens IS NOT NULL THEN t.title_tokens
                                        WHEN t.title_text = '' OR (NOT t.made AND t.sent <> t.title_text AND NOT starts_with(t.sent, t.title_text || ' ')) THEN 0
                                        ELSE 1 + char_length(t.title_text) - char_length(replace(t.title_text, ' ', '')) END AS title
                            OFFSET 0) AS n
                    ) AS b
                ) AS r
                WINDOW w AS (PARTITION BY r.document_id)
            ) AS y
            WINDOW w AS (PARTITION BY y.document_id)
        ) AS z
        ORDER BY z.position
        RETURNING c.chunk_id
    )
    SELECT array_agg(i.chunk_id ORDER BY i.chunk_id) INTO v_chunk_ids FROM inserted AS i;

    IF v_chunk_ids IS NOT NULL THEN
        IF fingerprint IS NULL AND jsonb_path_exists(documents, '$[*].chunks[*].tokens ? (@ != null)') THEN
            RAISE EXCEPTION USING ERRCODE = 'PS007',
                MESSAGE = 'tokens were given without the fingerprint of the analyzer that made them',
                HINT = 'Pass fingerprint, or leave the tokens out and the database makes them.';
        END IF;
        PERFORM sift._add_postings(v_tenant_id, v_chunk_ids);
        PERFORM sift._add_document_terms(v_tenant_id, v_chunk_ids);
        -- Vectors of the model that was named, and those of others that chunks bring by name.
        FOR v_made IN
            SELECT v_model_id AS model_id, NULL::text AS name WHERE v_model_id IS NOT NULL
            UNION ALL
            SELECT sift._model_id(v_tenant_id, n.name), n.name
            FROM (SELECT DISTINCT k.name FROM jsonb_path_query(documents, '$[*].chunks[*].embeddings ? (@.type() == "object")') AS e (value)
                  CROSS JOIN LATERAL jsonb_object_keys(e.value) AS k (name)) AS n
            ORDER BY 1, 2 DESC
        LOOP
            SELECT array_agg(e.chunk_id), array_agg(e.embedding), array_agg(e.hash)
            INTO v_embed_ids, v_embeddings, v_hashes
            FROM (
                SELECT c.chunk_id, CASE WHEN v_made.name IS NULL THEN q.value ->> 'embedding' ELSE q.value -> 'embeddings' ->> v_made.name END AS embedding,
                       decode(coalesce(q.value ->> 'embedding_hash', encode(c.text_hash, 'hex')), 'hex') AS hash
                FROM (SELECT d.value AS doc, v_actions -> (d.value ->> 'key') AS action
                      FROM jsonb_array_elements(documents) AS d (value)) AS p
                CROSS JOIN LATERAL jsonb_array_elements(
                    CASE WHEN jsonb_typeof(p.doc -> 'chunks') = 'array' THEN p.doc -> 'chunks' END) WITH ORDINALITY AS q (value, ordinal)
                CROSS JOIN LATERAL (
                    SELECT s.chunk_id, s.text_hash FROM sift.chunks AS s
                    WHERE s.tenant_id = v_tenant_id AND s.document_id = (p.action ->> 1)::bigint AND s.ordinal = q.ordinal - 1
                      AND s.unranked_tokens IS NULL
                    OFFSET 0) AS c
                WHERE p.action ->> 0 IN ('created', 'replaced')
                  AND jsonb_typeof(CASE WHEN v_made.name IS NULL THEN q.value -> 'embedding' ELSE q.value -> 'embeddings' -> v_made.name END) = 'array'
            ) AS e;
            CONTINUE WHEN v_embed_ids IS NULL;
            PERFORM sift._add_embeddings(v_tenant_id, v_made.model_id, v_embed_ids, v_embeddings, v_hashes);
            -- The first model a tenant gets vectors of is its active one; of several, the one that was named.
            IF v_tenant.model_id IS NULL AND (v_made.name IS NULL OR v_model_id IS NULL) THEN
                UPDATE sift.tenants AS t SET model_id = v_made.model_id WHERE t.tenant_id = v_tenant_id AND t.model_id IS NULL;
            END IF;
        END LOOP;
        IF NOT v_tenant.has_claims AND jsonb_path_exists(documents, '$[*].chunks[*] ? (@.kind == "claim")') THEN
            UPDATE sift.tenants AS t SET has_claims = true WHERE t.tenant_id = v_tenant_id AND NOT t.has_claims;
        END IF;
        IF NOT v_tenant.has_contexts AND jsonb_path_exists(documents, '$[*].chunks[*] ? (@.context_start != null)') THEN
            UPDATE sift.tenants AS t SET has_contexts = true WHERE t.tenant_id = v_tenant_id AND NOT t.has_contexts;
        END IF;
        INSERT INTO sift.chunk_entities AS e (tenant_id, entity, chunk_id)
        SELECT DISTINCT v_tenant_id, n.entity, c.chunk_id
        FROM (SELECT d.value AS doc, v_actions -> (d.value ->> 'key') AS action
              FROM jsonb_array_elements(documents) AS d (value)
              WHERE jsonb_path_exists(d.value, '$.chunks[*].entities')) AS p
        CROSS JOIN LATERAL jsonb_array_elements(p.doc -> 'chunks') WITH ORDINALITY AS q (value, ordinal)
        CROSS JOIN LATERAL jsonb_array_elements_text(
            CASE WHEN jsonb_typeof(q.value -> 'entities') = 'array' THEN q.value -> 'entities' END) AS n (entity)
        CROSS JOIN LATERAL (
            SELECT s.chunk_id FROM sift.chunks AS s
            WHERE s.tenant_id = v_tenant_id AND s.document_id = (p.action ->> 1)::bigint AND s.ordinal = q.ordinal - 1
            OFFSET 0) AS c
        WHERE p.action ->> 0 IN ('created', 'replaced') AND n.entity <> '';
    END IF;

    -- What failed and is stored now is missing no more; what else failed in this run under the same key still is.
    DELETE FROM sift.dead_letters AS l
    WHERE l.tenant_id = v_tenant_id AND l.key IN (SELECT n.value ->> 'key' FROM jsonb_array_elements(v_batch) AS n (value))
      AND (v_run_id IS NULL OR l.run_id IS DISTINCT FROM v_run_id);

    RETURN QUERY
    SELECT n.value ->> 'key', v_actions -> (n.value ->> 'key') ->> 0, d.document_id, d.version,
           (SELECT count(*)::integer FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id)
    FROM jsonb_array_elements(documents) WITH ORDINALITY AS n (value, position)
    CROSS JOIN LATERAL (
        SELECT e.document_id, e.version FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.key = n.value ->> 'key' OFFSET 0) AS d
    ORDER BY n.position;
EXCEPTION
    -- What the tables or the types refuse is the document's fault, and the caller can isolate it.
    WHEN data_exception OR check_violation OR not_null_violation OR program_limit_exceeded THEN
        PERFORM sift._check_documents(documents, v_model_id IS NOT NULL, true);
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = format('a document of the batch cannot be stored: %s', sqlerrm),
            HINT = CASE WHEN jsonb_array_length(documents) > 1 THEN 'Put the documents one by one to find it. ' ELSE '' END
                || 'The comment of this function lists the members of a document and of a chunk, and their types.';
END
$$;
COMMENT ON FUNCTION sift.put_documents(text, jsonb, text, text, bigint) IS
    'Stores a batch of documents, a JSON array of objects, each wholly or not at all; a document whose content_hash is known is left alone. Returns one row per document: created, replaced, updated or unchanged.

Members of a document; null is the same as leaving one out, and another name is an error:
- key: string of 1 to 2,000 bytes, required; the stable name of the source
- text: string, the whole text as one chunk; or chunks: array of objects, see below; not both
- title, source_uri, source_version, language, license, classification, parser, chunker: strings
- metadata: object, for filters and for display
- acl: array of principals, or {"allow": [], "deny": []}; []: nobody but writers; left out: what the document has, or for a new one what the prefix of its key or the tenant gives
- content_hash: sha256 of the source, 64 hexadecimal digits; left out: that of title, text and chunks
- observed_at, valid_from, valid_to, retain_until: strings, an ISO 8601 date or time, in UTC where it names no offset
- length: number of characters of the text the spans of chunks count in

Members of a chunk:
- body: string, required; the text of the chunk
- kind: text, abstract, title, section_header, table, figure, reference or claim; left out: text
- section: array of strings, the headings it stands under, the outermost first
- page: number from 1, the page body begins on
- page_breaks: array of pairs [character of body, counted from 0, at which another page begins; that page], in the order of the text
- start, end: numbers from 0, first character and one past the last in the text of the document
- tokens: string, tokens joined by one blank each, made by a client of the same analyzer (fingerprint is required then); left out: the database makes them
- title_tokens: how many tokens at the head of the first chunk are those of the title; left out: as many as the title has, where they stand there
- overlap_tokens: number of the tokens, after those of the title, that repeat the end of the chunk before; or overlap: true, all of them do. Search in the document unit counts them once
- prefix: string, what is indexed and embedded in front of body and is no part of the text, such as title and section; it is neither shown nor marked, and the document unit does not count it
- prefix_tokens: how many of tokens, after those of the title, are those of prefix; needed where there are both
- context_start, context_end: characters of the passage that is shown for the chunk where it is found; left out: the chunk itself
- lead: string, the white space between the chunk before and this one, of which a context that reaches over it is made
- embedding: array of numbers, made by the model the call names; that of a chunk that is not ranked is not stored
- embeddings: object of further vectors, arrays of numbers by the names of the models that made them
- embedding_hash: sha256 of the text that was embedded, 64 hexadecimal digits; left out: that of body
- entities: array of strings of 1 to 1,000 bytes each, for sift.chunks_by_entity and filters
- supports, of a claim: array of 1 to 100 numbers, the chunks of this document that bear it out, counted from 0; none may be a claim or a reference. Every number of the claim must occur in them. A claim with supports repeats what they say, and the document unit does not count it
- evidence_span, with supports: string, a verbatim quotation, character by character, of one of these chunks
- effect, with supports: object of strings, numbers and booleans, such as {"measure": "RR", "value": 0.82}; its numbers must occur in these chunks too

What has another shape is refused with PS012, naming the document and the member. PostgreSQL has no text with the character U+0000 or half of a surrogate pair: JSON with the escape of either fails as it becomes jsonb (22P05, 22P02), before this function sees it.';
REVOKE ALL ON FUNCTION sift.put_documents(text, jsonb, text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_documents(text, jsonb, text, text, bigint) TO sift_owner, sift_writer;
