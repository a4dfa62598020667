-- Records a query: what was asked, for whom, with which settings, and what came back. Searching writes nothing, so that it works on a
-- standby; whoever wants a record makes it with this call of its own.
--
--   SELECT sift.log_query('acme', 'pump recall', principals => '{public}', settings => '{"k": 5}', hits => (
--       SELECT jsonb_agg(to_jsonb(s)) FROM sift.search('acme', 'pump recall', k => 5, principals => '{public}') AS s));
--
--   settings   arguments of the search that were given, by their names; the tenant's own settings are recorded beside them
--   hits       rows of the search as JSON; kept are rank, chunk_id, document_id, key, document_version and scores, not the text
--   payload_bytes, payload_characters
--              size of the texts that came back; counted from "body" in hits where they are left out
CREATE OR REPLACE FUNCTION sift.log_query(
    tenant             text,
    query              text,
    principals         text[] DEFAULT NULL,
    settings           jsonb DEFAULT '{}',
    query_embedding    real[] DEFAULT NULL,
    hits               jsonb DEFAULT '[]',
    payload_bytes      bigint DEFAULT NULL,
    payload_characters bigint DEFAULT NULL,
    milliseconds       double precision DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_variable
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_settings  jsonb := coalesce(settings, '{}'::jsonb);
    v_given     jsonb := coalesce(hits, '[]'::jsonb);
    v_hits      jsonb;
    v_bytes     bigint := payload_bytes;
    v_chars     bigint := payload_characters;
    v_defaults  jsonb;
    v_query_id  bigint;
BEGIN
    IF octet_length(query) > 1000000 OR octet_length(v_settings::text) > 1000000 OR jsonb_typeof(v_settings) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'query and settings must be a text and a JSON object, each of at most 1,000,000 bytes',
            HINT = 'settings holds the arguments of the search by their names, for example {"k": 5, "mode": "lexical"}.';
    END IF;
    IF EXISTS (SELECT FROM unnest(principals) AS p (name) WHERE p.name IS NULL) OR milliseconds < 0::double precision OR milliseconds = 'NaN'::double precision
       OR milliseconds = 'Infinity'::double precision OR payload_bytes < 0 OR payload_characters < 0 OR cardinality(query_embedding) > 20000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = 'principals must hold no NULL, milliseconds and sizes must not be negative, and a vector has at most 20000 numbers',
            HINT = 'Leave out what is not known.';
    END IF;
    IF jsonb_typeof(v_given) = 'array' AND jsonb_array_length(v_given) <= 10000 THEN
        v_hits := sift._logged_hits(v_given);
    END IF;
    IF v_hits IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = 'hits must be a JSON array of at most 10000 objects, each with rank, chunk_id and key',
            HINT = 'Pass (SELECT jsonb_agg(to_jsonb(s)) FROM sift.search(…) AS s).';
    END IF;
    IF v_bytes IS NULL OR v_chars IS NULL THEN
        SELECT coalesce(v_bytes, sum(octet_length(h.value ->> 'body'))), coalesce(v_chars, sum(char_length(h.value ->> 'body')))
        INTO v_bytes, v_chars
        FROM jsonb_array_elements(v_given) AS h (value);
    END IF;
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'k1', t.k1, 'b', t.b, 'rrf_k', t.rrf_k, 'depth', t.depth, 'title_weight', t.title_weight, 'abstract_weight', t.abstract_weight,
               'strip_questions', t.strip_questions, 'expand', t.expand, 'statistics', t.statistics, 'model', m.name,
               'weights', jsonb_build_array(coalesce(t.lexical_weight, m.lexical_weight, 1::double precision),
                                            coalesce(t.dense_weight, m.dense_weight, 1::double precision))))
    INTO v_defaults
    FROM sift.tenants AS t
    LEFT JOIN sift.embedding_models AS m ON m.model_id = t.model_id
    WHERE t.tenant_id = v_tenant_id
    -- A tenant that is being dropped takes no more entries.
    FOR KEY SHARE OF t;
    IF v_defaults IS NULL THEN
        PERFORM sift._unknown_tenant(tenant);
    END IF;
    INSERT INTO sift.query_log AS q (
        tenant_id, asked_by, query, principals, settings, defaults, query_embedding, hits, payload_bytes, payload_characters, milliseconds)
    VALUES (v_tenant_id, sift._recorded_role(), query, principals, v_settings, v_defaults, query_embedding, v_hits, v_bytes, v_chars, milliseconds)
    RETURNING q.query_id INTO v_query_id;
    RETURN v_query_id;
END
$$;
COMMENT ON FUNCTION sift.log_query(text, text, text[], jsonb, real[], jsonb, bigint, bigint, double precision) IS
    'Records what was asked, for whom, with which settings, and what came back; returns the number of the entry. Only the caller decides what is recorded: searches write nothing.';
REVOKE ALL ON FUNCTION sift.log_query(text, text, text[], jsonb, real[], jsonb, bigint, bigint, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.log_query(text, text, text[], jsonb, real[], jsonb, bigint, bigint, double precision) TO sift_owner, sift_writer, sift_app;
