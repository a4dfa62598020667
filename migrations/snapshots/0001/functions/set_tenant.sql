-- Changes options of a tenant.
--
--   SELECT sift.set_tenant('acme', '{"keep_history": false}');
--
--   keep_history            whether superseded and deleted versions are kept from now on, for searches of the past; what was kept stays,
--                           but a time before it was switched on again cannot be searched
--   remote_classifications  classifications whose documents may be sent to a remote embedder; null: all documents may
--   remote_retained         whether documents with a retain_until may be sent to one
--   statistics              whose N, df and avgdl score a search: "tenant", or "visible", those of the chunks the caller may see, slower
--   strip_questions         whether questions are searched for without their interrogatives and auxiliaries
--   expand                  whether the words that an acronym stands for are searched for too (sift.set_acronyms)
--   k1, b                   of BM25, for searches that name no others
--   title_weight, abstract_weight  what an occurrence of a term in the title, and in a chunk of kind abstract, counts as; 1 is like any other
--   chunker                 what cuts the documents that are ingested from now on: "window", "window:words=150,overlap=30"; null: structure
--   context_prefix          whether title and section are indexed and embedded with every chunk of what is ingested from now on
--   min_chunk_tokens        chunks with fewer tokens are not ranked, tables, figures and claims excepted; 1: none is too short. Refused
--                           where it would change chunks that are stored
CREATE OR REPLACE FUNCTION sift.set_tenant(tenant text, options jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_known     text[] := ARRAY['keep_history', 'remote_classifications', 'remote_retained', 'statistics', 'strip_questions', 'expand',
                               'k1', 'b', 'title_weight', 'abstract_weight', 'min_chunk_tokens', 'chunker', 'context_prefix'];
    v_option    record;
    v_number    double precision;
    v_changed   bigint;
BEGIN
    IF options IS NULL OR jsonb_typeof(options) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'options must be a JSON object', HINT = format('Options: %s.', array_to_string(v_known, ', '));
    END IF;
    FOR v_option IN SELECT o.key AS name, o.value FROM jsonb_each(options) AS o (key, value) LOOP
        IF v_option.name <> ALL (v_known) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('unknown option %s', to_json(left(v_option.name, 100))),
                HINT = format('Options: %s.', array_to_string(v_known, ', '));
        ELSIF v_option.name = 'remote_classifications' THEN
            IF jsonb_typeof(v_option.value) NOT IN ('array', 'null')
               OR jsonb_path_exists(v_option.value, 'strict $[*] ? (@.type() != "string")', '{}'::jsonb, true) THEN
                RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'remote_classifications must be an array of strings, or null',
            HINT = 'For example {"remote_classifications": ["public"]}; null allows all.';
            END IF;
            UPDATE sift.tenants AS t
            SET remote_classifications = CASE WHEN jsonb_typeof(v_option.value) = 'array'
                THEN ARRAY(SELECT DISTINCT e.value FROM jsonb_array_elements_text(v_option.value) AS e (value) ORDER BY e.value) END
            WHERE t.tenant_id = v_tenant_id;
        ELSIF v_option.name IN ('k1', 'b', 'title_weight', 'abstract_weight', 'min_chunk_tokens') AND jsonb_typeof(v_option.value) <> 'number' THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('%s must be a number', v_option.name),
                HINT = format('For example {"%s": 1}.', v_option.name);
        ELSIF v_option.name = 'min_chunk_tokens' THEN
            IF v_option.value::numeric NOT BETWEEN 1 AND 10000 OR v_option.value::numeric <> trunc(v_option.value::numeric) THEN
                RAISE EXCEPTION USING ERRCODE = 'PS002',
                    MESSAGE = format('min_chunk_tokens must be a whole number from 1 to 10000, not %s', left(v_option.value::text, 50)),
                    HINT = 'Chunks with fewer tokens are not ranked; 1 ranks all, 20 is usual for papers.';
            END IF;
            -- Waits for whoever is storing documents by the old limit; who comes after sees the new one.
            PERFORM FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR UPDATE;
            SELECT count(*) INTO v_changed
            FROM sift.chunks AS c
            CROSS JOIN LATERAL (SELECT coalesce(cardinality(string_to_array(coalesce(c.unranked_tokens, c.tokens), ' ')), 0) - c.title_tokens - c.prefix_tokens AS tokens OFFSET 0) AS n
            WHERE c.tenant_id = v_tenant_id AND c.kind IN ('text', 'abstract')
              AND (c.unranked_tokens IS NULL) <> (v_option.value::integer = 1 OR n.tokens >= v_option.value::integer);
            IF v_changed > 0 THEN
                RAISE EXCEPTION USING ERRCODE = 'PS011',
                    MESSAGE = format('min_chunk_tokens cannot become %s: %s chunks are stored that it would rank, or no longer rank', v_option.value, v_changed),
                    HINT = 'Set it before documents are stored: make a tenant with it, and ingest into that.';
            END IF;
            UPDATE sift.tenants AS t SET min_chunk_tokens = v_option.value::integer WHERE t.tenant_id = v_tenant_id;
        ELSIF v_option.name IN ('k1', 'b', 'title_weight', 'abstract_weight') THEN
            -- What a double cannot hold is out of range, whatever it is; numeric text as jsonb has no NaN and no infinity.
            v_number := CASE WHEN abs(v_option.value::numeric) > 1e101 THEN 'Infinity'::double precision
                             WHEN abs(v_option.value::numeric) < 1e-101 AND v_option.value::numeric <> 0 THEN -1::double precision
                             ELSE v_option.value::double precision END;
            PERFORM sift._check_ranking(CASE v_option.name WHEN 'k1' THEN v_number ELSE 1::double precision END,
                                        CASE v_option.name WHEN 'b' THEN v_number ELSE 1::double precision END,
                                        CASE v_option.name WHEN 'title_weight' THEN v_number ELSE 1::double precision END,
                                        CASE v_option.name WHEN 'abstract_weight' THEN v_number ELSE 1::double precision END);
            UPDATE sift.tenants AS t
            SET k1 = CASE v_option.name WHEN 'k1' THEN v_number ELSE t.k1 END, b = CASE v_option.name WHEN 'b' THEN v_number ELSE t.b END,
                title_weight = CASE v_option.name WHEN 'title_weight' THEN v_number ELSE t.title_weight END,
                abstract_weight = CASE v_option.name WHEN 'abstract_weight' THEN v_number ELSE t.abstract_weight END
            WHERE t.tenant_id = v_tenant_id;
        ELSIF v_option.name = 'chunker' THEN
            IF jsonb_typeof(v_option.value) NOT IN ('string', 'null')
               OR v_option.value #>> '{}' !~ '^[a-z][a-z0-9_]{0,39}(:[a-z_]{1,40}=[0-9]{1,9}(,[a-z_]{1,40}=[0-9]{1,9}){0,9})?$' THEN
                RAISE EXCEPTION USING ERRCODE = 'PS002',
                    MESSAGE = format('chunker must name a chunker, or be null, not %s', left(v_option.value::text, 100)),
                    HINT = 'For example {"chunker": "window"} or {"chunker": "window:words=150,overlap=30"}; docs/chunkers.md lists them.';
            END IF;
            UPDATE sift.tenants AS t SET chunker = v_option.value #>> '{}' WHERE t.tenant_id = v_tenant_id;
        ELSIF v_option.name = 'statistics' THEN
            IF v_option.value NOT IN ('"tenant"'::jsonb, '"visible"'::jsonb) THEN
                RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'statistics must be "tenant" or "visible"',
                    HINT = 'tenant: scores rest on all chunks of the tenant; visible: on those the caller may see, which is slower.';
            END IF;
            UPDATE sift.tenants AS t SET statistics = v_option.value #>> '{}' WHERE t.tenant_id = v_tenant_id;
        ELSIF jsonb_typeof(v_option.value) <> 'boolean' THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('%s must be true or false', v_option.name),
            HINT = format('Write {"%s": true} or {"%s": false}.', v_option.name, v_option.name);
        ELSE
            IF v_option.name = 'keep_history' THEN
                -- Waits for whoever is storing or deleting without a history: what they lose is lost before the time that is noted.
                PERFORM FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR UPDATE;
                UPDATE sift.tenants AS t SET history_since = clock_timestamp()
                WHERE t.tenant_id = v_tenant_id AND v_option.value::boolean AND NOT t.keep_history;
            END IF;
            UPDATE sift.tenants AS t
            SET keep_history = CASE WHEN v_option.name = 'keep_history' THEN v_option.value::boolean ELSE t.keep_history END,
                remote_retained = CASE WHEN v_option.name = 'remote_retained' THEN v_option.value::boolean ELSE t.remote_retained END,
                strip_questions = CASE WHEN v_option.name = 'strip_questions' THEN v_option.value::boolean ELSE t.strip_questions END,
                expand = CASE WHEN v_option.name = 'expand' THEN v_option.value::boolean ELSE t.expand END,
                context_prefix = CASE WHEN v_option.name = 'context_prefix' THEN v_option.value::boolean ELSE t.context_prefix END
            WHERE t.tenant_id = v_tenant_id;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.set_tenant(text, jsonb) IS
    'Changes options of a tenant, those named alone: keep_history, remote_classifications, remote_retained, statistics, strip_questions, expand, k1, b, title_weight, abstract_weight, min_chunk_tokens, chunker, context_prefix.';
REVOKE ALL ON FUNCTION sift.set_tenant(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_tenant(text, jsonb) TO sift_owner, sift_writer;
