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
CREATE OR REPLACE FUNCTION sift.set_tenant(tenant text, options jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_known     text[] := ARRAY['keep_history', 'remote_classifications', 'remote_retained', 'statistics', 'strip_questions', 'expand'];
    v_option    record;
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
                expand = CASE WHEN v_option.name = 'expand' THEN v_option.value::boolean ELSE t.expand END
            WHERE t.tenant_id = v_tenant_id;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift.set_tenant(text, jsonb) IS
    'Changes options of a tenant, those named alone: keep_history, remote_classifications, remote_retained, statistics, strip_questions, expand.';
REVOKE ALL ON FUNCTION sift.set_tenant(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_tenant(text, jsonb) TO sift_owner, sift_writer;
