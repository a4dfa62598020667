-- Tells what acronyms stand for.
--
--   SELECT sift.set_acronyms('acme', '{"MRI": "magnetic resonance imaging", "CI": ["confidence interval", "continuous integration"]}');
--
-- An acronym is found in a query as it is written here, capitals included; what it stood for before is replaced. replace: the vocabulary is this
-- and nothing else.
CREATE OR REPLACE FUNCTION sift.set_acronyms(tenant text, vocabulary jsonb, replace boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_most      CONSTANT integer := 16;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_analyzer  text;
    v_replace   boolean := coalesce(replace, false);
    v_entry     record;
    v_expansion text;
    v_acronyms  text[] := '{}';
    v_rows      text[] := '{}';
    v_of        text[] := '{}';
    v_trim      text := E' \t\r\n';
BEGIN
    IF vocabulary IS NULL OR jsonb_typeof(vocabulary) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a vocabulary is a JSON object',
            HINT = 'For example {"MRI": "magnetic resonance imaging"}; a list names several expansions.';
    END IF;
    SELECT t.analyzer INTO v_analyzer FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    FOR v_entry IN
        SELECT btrim(o.key, v_trim) AS acronym, CASE jsonb_typeof(o.value) WHEN 'array' THEN o.value ELSE jsonb_build_array(o.value) END AS expansions
        FROM jsonb_each(vocabulary) AS o (key, value)
        ORDER BY o.key COLLATE "C"
    LOOP
        IF length(v_entry.acronym) NOT BETWEEN 2 AND 100 OR v_entry.acronym COLLATE "C" ~ ('[' || sift._blank() || ']') THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002',
                MESSAGE = format('an acronym is one word of 2 to 100 characters, not %s', to_json(left(v_entry.acronym, 100))),
                HINT = 'A single character is never expanded, and neither are several words.';
        END IF;
        IF v_entry.acronym = ANY (v_acronyms) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('the acronym %s is given twice', to_json(v_entry.acronym)),
                HINT = 'Give all its expansions in one list.';
        END IF;
        v_acronyms := array_append(v_acronyms, v_entry.acronym);
        IF jsonb_array_length(v_entry.expansions) NOT BETWEEN 1 AND v_most
           OR jsonb_path_exists(v_entry.expansions, 'strict $[*] ? (@.type() != "string")', '{}'::jsonb, true) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002',
                MESSAGE = format('%s must stand for a text or a list of 1 to %s texts', to_json(v_entry.acronym), v_most),
                HINT = 'sift.remove_acronyms takes one out of the vocabulary.';
        END IF;
        FOR v_expansion IN
            SELECT DISTINCT btrim(e.value, v_trim) COLLATE "C" FROM jsonb_array_elements_text(v_entry.expansions) AS e (value)
        LOOP
            IF length(v_expansion) > 500 OR sift._query_terms(v_analyzer, v_expansion) = '{}' THEN
                RAISE EXCEPTION USING ERRCODE = 'PS002',
                    MESSAGE = format('the expansion of %s must have 1 to 500 characters and a searchable term, not %s', to_json(v_entry.acronym),
                                     to_json(left(v_expansion, 100))),
                    HINT = 'Stopwords and single characters are not searched for.';
            END IF;
            v_of := array_append(v_of, v_entry.acronym);
            v_rows := array_append(v_rows, v_expansion);
        END LOOP;
    END LOOP;
    -- One at a time: two that replace the same would each leave what the other brought.
    PERFORM FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR NO KEY UPDATE;
    DELETE FROM sift.acronyms AS a WHERE a.tenant_id = v_tenant_id AND (v_replace OR a.acronym = ANY (v_acronyms));
    INSERT INTO sift.acronyms (tenant_id, acronym, expansion)
    SELECT v_tenant_id, u.acronym, u.expansion FROM unnest(v_of, v_rows) AS u (acronym, expansion);
    RETURN cardinality(v_acronyms);
END
$$;
COMMENT ON FUNCTION sift.set_acronyms(text, jsonb, boolean) IS
    'Tells what acronyms stand for, as an object of texts or lists of texts, and returns how many; the words are added to queries that hold the acronym as it is written here. replace: others are forgotten.';
REVOKE ALL ON FUNCTION sift.set_acronyms(text, jsonb, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_acronyms(text, jsonb, boolean) TO sift_owner, sift_writer;
