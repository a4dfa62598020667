-- Refuses a batch of documents that has a wrong shape anywhere, in the name of the document and the member that has it: nothing of what
-- is sent is left out or taken for something else in silence.
--
-- This is the one list of the members of a document and of a chunk, with the types each may have in JSON. null is the same as leaving
-- a member out, but for those that are required.
--
-- A batch that is right, as nearly all are, costs a few passes of jsonpath, which copies nothing out of it. They let through nothing
-- that is wrong, save numbers written like 1.0; what they stop may be right still, and is looked at member by member, as everything
-- is when the caller wants it (thorough), after the tables refused something.
CREATE OR REPLACE FUNCTION sift._check_documents(documents jsonb, with_model boolean, thorough boolean) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_document CONSTANT jsonb := '{
        "key": ["string"], "title": ["string"], "text": ["string"], "chunks": ["array"], "metadata": ["object"], "acl": ["array", "object"],
        "source_uri": ["string"], "source_version": ["string"], "content_hash": ["string"], "parser": ["string"], "chunker": ["string"],
        "language": ["string"], "license": ["string"], "classification": ["string"], "observed_at": ["string"], "valid_from": ["string"],
        "valid_to": ["string"], "retain_until": ["string"], "length": ["number"]}';
    c_chunk CONSTANT jsonb := '{
        "body": ["string"], "kind": ["string"], "section": ["array"], "page": ["number"], "page_breaks": ["array"], "start": ["number"], "end": ["number"],
        "tokens": ["string"], "title_tokens": ["number"], "overlap_tokens": ["number"], "overlap": ["boolean"], "embedding": ["array"],
        "prefix": ["string"], "prefix_tokens": ["number"], "context_start": ["number"], "context_end": ["number"], "lead": ["string"],
        "embeddings": ["object"], "embedding_hash": ["string"], "entities": ["array"], "supports": ["array"], "evidence_span": ["string"], "effect": ["object"]}';
    c_kinds CONSTANT text[] := ARRAY['text', 'abstract', 'title', 'section_header', 'table', 'figure', 'reference', 'claim'];
    c_read  CONSTANT text := 'The comment of sift.put_documents (docs/sql-api.md) lists the members of a document and of a chunk, and their types.';
    v_bad     record;
    v_members jsonb;
    v_types   text;
BEGIN
    IF documents IS NULL OR jsonb_typeof(documents) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012', MESSAGE = 'documents must be a JSON array of objects', HINT = c_read;
    END IF;

    IF NOT thorough
       AND NOT jsonb_path_exists(documents, '$[*].type() ? (@ != "object")')
       AND NOT jsonb_path_exists(documents, (sift._wrong_types(c_document) || ' || '
           '!exists(@.key) || @.key == "" || @.key like_regex "^(.{250}){2}" flag "s" || '
           '(@.text.type() == "string" && @.chunks.type() == "array") || (@.chunks.type() == "array" && @.chunks[*].type() != "object") || '
           '(@.acl.type() == "array" && @.acl[*].type() != "string") || '
           '(@.acl.type() == "object" && (exists(@.acl.keyvalue() ? ((@.key != "allow" && @.key != "deny") || @.value.type() != "array")) || '
           '@.acl.allow[*].type() != "string" || @.acl.deny[*].type() != "string")) || '
           '@.length < 0 || @.length > 999999999 || @.length.floor() != @.length || @.chunks[*].end > @.length || '
           '(exists(@.length) && (exists(@.text) || exists(@.chunks[*] ? (!exists(@.end))))) || '
           'exists(@.content_hash ? (!(@ like_regex "^[0-9a-fA-F]{64}$"))))')::jsonpath)
       AND NOT jsonb_path_exists(documents, (replace(sift._wrong_types(c_chunk), '$[*]', '$[*].chunks[*]') || ' || '
           '(@.type() == "object" && !exists(@.body)) || @.body == null || '
           '@.page < 1 || @.page > 999999999 || @.page.floor() != @.page || @.start < 0 || @.start > 999999999 || @.start.floor() != @.start || '
           '@.end < 0 || @.end > 999999999 || @.end.floor() != @.end || @.end < @.start || '
           '@.title_tokens < 0 || @.title_tokens > 999999999 || @.title_tokens.floor() != @.title_tokens || '
           '(@.title_tokens.type() == "number" && !(@.tokens.type() == "string")) || '
           '@.prefix_tokens < 0 || @.prefix_tokens > 999999999 || @.prefix_tokens.floor() != @.prefix_tokens || '
           '(@.prefix_tokens.type() == "number" && !(@.tokens.type() == "string" && @.prefix.type() == "string")) || '
           '(@.prefix.type() == "string" && @.tokens.type() == "string" && !(@.prefix_tokens.type() == "number")) || '
           '@.context_start < 0 || @.context_start > 999999999 || @.context_start.floor() != @.context_start || '
           '@.context_end < 0 || @.context_end > 999999999 || @.context_end.floor() != @.context_end || '
           '@.overlap_tokens < 0 || @.overlap_tokens > 999999999 || @.overlap_tokens.floor() != @.overlap_tokens || '
           '@.section[*].type() != "string" || @.entities[*].type() != "string" || @.entities[*] == "" || '
           '@.entities[*] like_regex "^.{250}" flag "s" || '
           'exists(@.embedding_hash ? (!(@ like_regex "^[0-9a-fA-F]{64}$"))) || '
           '(@.embeddings.type() == "object" && exists(@.embeddings.keyvalue() ? (@.value.type() != "array")))'
           -- A token of more than 256 bytes has at least 65 characters.
           || E' || @.tokens like_regex "^ |  | $|[\\\\u0001-\\\\u001f]|[^ ]{65}"'
           || CASE WHEN with_model THEN '' ELSE ' || @.embedding.type() == "array"' END
           || (SELECT ' || (' || string_agg(format('@.kind != "%s"', k.kind), ' && ') || ')' FROM unnest(c_kinds) AS k (kind)) || ')')::jsonpath)
       AND NOT EXISTS (
           SELECT FROM jsonb_array_elements(documents) AS d (value)
           WHERE d.value - ARRAY(SELECT k.name FROM jsonb_object_keys(c_document) AS k (name)) <> '{}'::jsonb)
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*].chunks[*] ? (@.type() == "object")') AS c (value)
           WHERE c.value - ARRAY(SELECT k.name FROM jsonb_object_keys(c_chunk) AS k (name)) <> '{}'::jsonb)
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*].chunks[*] ? (exists(@.page_breaks))') AS c (value)
           WHERE sift._page_breaks_problem(c.value) IS NOT NULL)
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*].chunks[*] ? (exists(@.prefix) || exists(@.prefix_tokens) || exists(@.context_start) || '
                                                   'exists(@.context_end) || exists(@.lead))') AS c (value)
           WHERE sift._prefix_problem(c.value) IS NOT NULL)
       AND NOT jsonb_path_exists(documents, '$[*].chunks[1 to last] ? (@.title_tokens > 0)')
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*].chunks[0] ? (@.title_tokens > 0)') AS c (value)
           WHERE (c.value ->> 'title_tokens')::integer > 1 + char_length(c.value ->> 'tokens') - char_length(replace(c.value ->> 'tokens', ' ', ''))
              OR c.value ->> 'tokens' = '')
       AND NOT EXISTS (
           SELECT
           FROM (SELECT jsonb_path_query(documents, '$[*].observed_at') UNION ALL SELECT jsonb_path_query(documents, '$[*].valid_from')
                 UNION ALL SELECT jsonb_path_query(documents, '$[*].valid_to') UNION ALL SELECT jsonb_path_query(documents, '$[*].retain_until'))
                AS t (value)
           WHERE t.value <> 'null'::jsonb AND sift._filter_timestamp(t.value #>> '{}') IS NULL)
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*] ? (exists(@.valid_from) && exists(@.valid_to))') AS d (value)
           WHERE sift._timestamp(d.value ->> 'valid_from') > sift._timestamp(d.value ->> 'valid_to'))
       AND NOT EXISTS (
           SELECT FROM jsonb_path_query(documents, '$[*].key') AS k (key)
           GROUP BY k.key
           HAVING count(*) > 1)
    THEN
        RETURN;
    END IF;

    SELECT d.position, jsonb_typeof(d.value) AS type INTO v_bad
    FROM jsonb_array_elements(documents) WITH ORDINALITY AS d (value, position)
    WHERE jsonb_typeof(d.value) <> 'object' OR coalesce(jsonb_typeof(d.value -> 'key'), 'null') = 'null'
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = CASE WHEN v_bad.type = 'object' THEN format('document %s of the batch has no "key"', v_bad.position)
                           ELSE format('document %s of the batch is not an object, but %s', v_bad.position, sift._json_types(ARRAY[v_bad.type])) END,
            HINT = c_read;
    END IF;

    -- Each member alone: first those of documents, then those of chunks.
    SELECT x.position, x.key, NULL::bigint AS ordinal, x.member, x.type, x.problem INTO v_bad
    FROM (
        SELECT d.position, d.value -> 'key' AS key, m.member, jsonb_typeof(m.value) AS type,
               CASE
                   WHEN NOT coalesce(c_document -> m.member ? jsonb_typeof(m.value), false)
                       THEN CASE WHEN jsonb_typeof(m.value) = 'null' AND c_document ? m.member THEN NULL ELSE 'type' END
                   WHEN m.member IN ('title', 'text', 'metadata', 'source_uri', 'source_version', 'parser', 'chunker', 'language', 'license', 'classification',
                                     'chunks') THEN NULL
                   WHEN m.member = 'key' THEN
                       CASE WHEN octet_length(m.value #>> '{}') NOT BETWEEN 1 AND 2000 THEN 'must have 1 to 2000 bytes' END
                   WHEN m.member = 'content_hash' THEN
                       CASE WHEN m.value #>> '{}' !~ '^[0-9a-fA-F]{64}$' THEN 'must be a sha256 of 64 hexadecimal digits' END
                   WHEN m.member = 'length' THEN
                       CASE WHEN m.value #>> '{}' !~ '^[0-9]{1,9}$' THEN 'must be a whole number from 0 to 999999999' END
                   WHEN m.member = 'acl' THEN
                       CASE WHEN jsonb_typeof(m.value) = 'array' THEN
                                CASE WHEN jsonb_path_exists(m.value, 'strict $[*] ? (@.type() != "string")') THEN 'may hold nothing but strings' END
                            WHEN m.value - '{allow,deny}'::text[] <> '{}'::jsonb THEN 'may have the members allow and deny and no others'
                            WHEN jsonb_path_exists(m.value, 'strict $.* ? (@.type() != "array")') THEN 'must have arrays as allow and deny'
                            WHEN jsonb_path_exists(m.value, 'strict $.*[*] ? (@.type() != "string")') THEN 'may hold nothing but strings' END
                   WHEN sift._filter_timestamp(m.value #>> '{}') IS NULL THEN 'must be a date or time in ISO 8601'
               END AS problem
        FROM jsonb_array_elements(documents) WITH ORDINALITY AS d (value, position)
        CROSS JOIN LATERAL jsonb_each(d.value) AS m (member, value)
        OFFSET 0
    ) AS x
    WHERE x.problem IS NOT NULL
    LIMIT 1;
    v_members := c_document;

    IF NOT FOUND THEN
        SELECT x.position, x.key, x.ordinal, x.member, x.type, x.problem INTO v_bad
        FROM (
            SELECT d.position, d.value -> 'key' AS key, c.ordinal, m.member, jsonb_typeof(m.value) AS type,
                   CASE
                       WHEN jsonb_typeof(c.value) <> 'object' THEN 'shape'
                       WHEN NOT coalesce(c_chunk -> m.member ? jsonb_typeof(m.value), false)
                           THEN CASE WHEN jsonb_typeof(m.value) = 'null' AND c_chunk ? m.member AND m.member <> 'body' THEN NULL ELSE 'type' END
                       WHEN m.member IN ('body', 'overlap', 'prefix', 'lead', 'supports', 'evidence_span', 'effect') THEN NULL  -- sift._check_claims
                       WHEN m.member = 'tokens' THEN
                           CASE WHEN strpos(m.value #>> '{}', '  ') > 0 OR m.value #>> '{}' LIKE ' %' OR m.value #>> '{}' LIKE '% '
                                     OR m.value #>> '{}' ~ E'[\\x01-\\x1f]' THEN 'must be tokens joined by one blank each'
                                -- A token of more than 256 bytes has at least 65 characters.
                                WHEN m.value #>> '{}' ~ '[^ ]{65}'
                                     AND EXISTS (SELECT FROM string_to_table(m.value #>> '{}', ' ') AS t (token) WHERE octet_length(t.token) > 256)
                                    THEN 'has a token of more than 256 bytes' END
                       WHEN m.member = 'embedding' THEN CASE WHEN NOT with_model THEN 'needs a model' END
                       WHEN m.member = 'embeddings' THEN
                           CASE WHEN jsonb_path_exists(m.value, 'strict $.* ? (@.type() != "array")') THEN 'must have arrays of numbers, by names of models' END
                       WHEN m.member = 'page' THEN
                           CASE WHEN m.value #>> '{}' !~ '^[1-9][0-9]{0,8}$' THEN 'must be a whole number from 1 to 999999999' END
                       WHEN m.member = 'page_breaks' THEN sift._page_breaks_problem(c.value)
                       WHEN m.member IN ('start', 'end', 'title_tokens', 'overlap_tokens', 'prefix_tokens', 'context_start', 'context_end') THEN
                           CASE WHEN m.value #>> '{}' !~ '^[0-9]{1,9}$' THEN 'must be a whole number from 0 to 999999999' END
                       WHEN m.member = 'kind' THEN
                           CASE WHEN m.value #>> '{}' <> ALL (c_kinds) THEN format('must be one of %s', array_to_string(c_kinds, ', ')) END
                       WHEN m.member = 'embedding_hash' THEN
                           CASE WHEN m.value #>> '{}' !~ '^[0-9a-fA-F]{64}$' THEN 'must be a sha256 of 64 hexadecimal digits' END
                       WHEN jsonb_path_exists(m.value, 'strict $[*] ? (@.type() != "string")') THEN 'may hold nothing but strings'
                       WHEN m.member = 'entities' THEN
                           CASE WHEN EXISTS (SELECT FROM jsonb_array_elements_text(m.value) AS e (entity) WHERE octet_length(e.entity) NOT BETWEEN 1 AND 1000)
                                    THEN 'must be names of 1 to 1000 bytes each' END
                   END AS problem
            FROM jsonb_array_elements(documents) WITH ORDINALITY AS d (value, position)
            CROSS JOIN LATERAL jsonb_array_elements(
                CASE WHEN jsonb_typeof(d.value -> 'chunks') = 'array' THEN d.value -> 'chunks' ELSE '[]'::jsonb END)
                WITH ORDINALITY AS c (value, ordinal)
            CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(c.value) = 'object' THEN c.value ELSE jsonb_build_object('', c.value) END)
                AS m (member, value)
            OFFSET 0
        ) AS x
        WHERE x.problem IS NOT NULL
        LIMIT 1;
        v_members := c_chunk;
    END IF;
    IF FOUND THEN
        v_types := sift._json_types(ARRAY(SELECT t.type FROM jsonb_array_elements_text(v_members -> v_bad.member) AS t (type)));
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = sift._document_name(v_bad.key, v_bad.ordinal) || CASE
                WHEN v_bad.problem = 'shape' THEN format(' is not an object, but %s', sift._json_types(ARRAY[v_bad.type]))
                WHEN v_bad.problem = 'type' AND NOT v_members ? v_bad.member THEN format(' has the unknown member %s', to_json(left(v_bad.member, 100)))
                WHEN v_bad.problem = 'type' THEN format(': %s must be %s, not %s', to_json(v_bad.member), v_types, sift._json_types(ARRAY[v_bad.type]))
                WHEN v_bad.problem = 'needs a model' THEN ' brings an "embedding", and no model is named'
                ELSE format(': %s %s', to_json(v_bad.member), v_bad.problem) END,
            HINT = CASE
                WHEN v_bad.problem = 'type' AND NOT v_members ? v_bad.member THEN
                    CASE WHEN v_bad.ordinal IS NULL AND c_chunk ? v_bad.member THEN 'That is a member of a chunk. '
                         WHEN v_bad.ordinal IS NOT NULL AND c_document ? v_bad.member THEN 'That is a member of a document. '
                         ELSE coalesce(format('Did you mean "%s"? ', sift._nearest_name(
                             v_bad.member, ARRAY(SELECT k.name FROM jsonb_object_keys(v_members) AS k (name)))), '') END
                    || format('Members of a %s: %s.', CASE WHEN v_bad.ordinal IS NULL THEN 'document' ELSE 'chunk' END,
                              (SELECT string_agg(k.name, ', ') FROM jsonb_object_keys(v_members) AS k (name)))
                WHEN v_bad.problem = 'needs a model' THEN 'Pass model => with the name of the model that made the vectors; sift.list_models() lists those there are.'
                WHEN v_bad.problem LIKE '%ISO 8601' THEN 'Write "2024-05-31", "2024-05-31T16:30:00Z" or "2024-05-31T16:30:00+02:00"; without an offset it is UTC.'
                WHEN v_bad.member = 'acl' THEN 'acl is an array of principals, or {"allow": [], "deny": []}; left out, the document gets what its key''s prefix or the tenant gives.'
                WHEN v_bad.member = 'tokens' THEN 'Tokens are what sift.tokenize returns for the body; leave them out and the database makes them.'
                ELSE c_read END;
    END IF;

    -- Members together.
    SELECT x.key, x.ordinal, x.problem INTO v_bad
    FROM (
        SELECT d.value -> 'key' AS key, NULL::bigint AS ordinal,
               CASE WHEN d.value ->> 'text' IS NOT NULL AND d.value ->> 'chunks' IS NOT NULL THEN 'text and chunks'
                    WHEN sift._timestamp(d.value ->> 'valid_from') > sift._timestamp(d.value ->> 'valid_to')
                        THEN format(': "valid_from" (%s) is after "valid_to" (%s)', d.value ->> 'valid_from', d.value ->> 'valid_to')
                    WHEN char_length(d.value ->> 'text') > (d.value ->> 'length')::integer
                        THEN format(': "length" is %s, but its text has %s characters', d.value ->> 'length', char_length(d.value ->> 'text'))
               END AS problem
        FROM jsonb_array_elements(documents) AS d (value)
        UNION ALL
        SELECT d.value -> 'key', c.ordinal,
               CASE WHEN NOT c.value ? 'body' THEN ' has no "body"'
                    WHEN c.value ->> 'title_tokens' IS NOT NULL AND c.value ->> 'tokens' IS NULL THEN ': "title_tokens" says how many of its "tokens" are the title''s, and there are none'
                    WHEN (c.value ->> 'title_tokens')::integer > 0 AND c.ordinal > 1 THEN ': "title_tokens" belongs to the first chunk'
                    WHEN (c.value ->> 'title_tokens')::integer > coalesce(cardinality(string_to_array(c.value ->> 'tokens', ' ')), 0)
                        THEN format(': "title_tokens" is %s, but it has %s tokens', c.value ->> 'title_tokens',
                                    coalesce(cardinality(string_to_array(c.value ->> 'tokens', ' ')), 0))
                    WHEN sift._prefix_problem(c.value) IS NOT NULL THEN sift._prefix_problem(c.value)
                    WHEN (c.value ->> 'end')::integer < coalesce((c.value ->> 'start')::integer, 0)
                        THEN format(': it ends at character %s, before its start at %s', c.value ->> 'end', coalesce(c.value ->> 'start', '0'))
                    WHEN coalesce((c.value ->> 'end')::integer, coalesce((c.value ->> 'start')::integer, 0) + char_length(c.value ->> 'body'))
                         > (d.value ->> 'length')::integer
                        THEN format(': it ends at character %s of a text whose "length" is %s',
                                    coalesce(c.value ->> 'end', (coalesce((c.value ->> 'start')::integer, 0) + char_length(c.value ->> 'body'))::text),
                                    d.value ->> 'length')
               END
        FROM jsonb_array_elements(documents) AS d (value)
        CROSS JOIN LATERAL jsonb_array_elements(
            CASE WHEN jsonb_typeof(d.value -> 'chunks') = 'array' THEN d.value -> 'chunks' ELSE '[]'::jsonb END)
            WITH ORDINALITY AS c (value, ordinal)
    ) AS x
    WHERE x.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = sift._document_name(v_bad.key, v_bad.ordinal)
                || CASE v_bad.problem WHEN 'text and chunks' THEN ' has both a "text" and "chunks"' ELSE v_bad.problem END,
            HINT = CASE v_bad.problem WHEN 'text and chunks' THEN 'Give text, which becomes one chunk, or chunks; what stands in both is in the chunks already.'
                                      ELSE c_read END;
    END IF;

    SELECT d.value -> 'key' AS key INTO v_bad
    FROM jsonb_array_elements(documents) AS d (value)
    GROUP BY d.value -> 'key'
    HAVING count(*) > 1
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = format('the key %s stands twice in one batch', to_json(left(v_bad.key #>> '{}', 200))),
            HINT = 'Put the two versions in two calls.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_documents(jsonb, boolean, boolean) IS
    'Raises PS012 for a batch of documents with an unknown member, a wrong type or a value out of range, naming the document''s key and the member. with_model: whether vectors have a model to belong to; thorough: look at every member at once.';
REVOKE ALL ON FUNCTION sift._check_documents(jsonb, boolean, boolean) FROM PUBLIC;
