-- The conditions of a query as one SQL predicate over the alias c (sift.chunks, or its columns from the history), in the form of
-- sift._compile_filter: values are read from bound, which grows by them, and it is true or false and never NULL.
CREATE OR REPLACE FUNCTION sift._phrase_condition(
    analyzer text, kinds text[], texts text[], opens boolean[], INOUT predicate text, INOUT bound jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tokens CONSTANT text := 'coalesce(c.unranked_tokens, c.tokens)';
    v_values text[];
    v_any    text[];
    v_seen   text[] := '{}';
    v_item   text;
    v_read   text;
BEGIN
    FOR i IN 1 .. cardinality(kinds) LOOP
        CONTINUE WHEN kinds[i] = 'word';
        v_values := sift._phrase_values(analyzer, texts[i], opens[i]);
        v_item := (kinds[i] = 'excluded')::text || array_to_string(v_values, '|');
        CONTINUE WHEN v_values IS NULL OR v_item = ANY (v_seen);
        v_seen := v_seen || v_item;
        v_any := '{}';
        FOR j IN 1 .. cardinality(v_values) LOOP
            bound := coalesce(bound, '[]'::jsonb) || to_jsonb(v_values[j]);
            v_read := format('($1 ->> %s)', jsonb_array_length(bound) - 1);
            v_any := v_any || CASE
                WHEN strpos(btrim(v_values[j]), ' ') = 0 THEN
                    format($x$strpos((' ' || %s || ' ') COLLATE "C", %s COLLATE "C") > 0$x$, v_tokens, v_read)
                ELSE
                    format($x$(strpos((' ' || %s || ' ') COLLATE "C", %s COLLATE "C") > 0 AND (c.title_tokens = 0 OR sift._stands_within(%s, c.title_tokens, %s)))$x$,
                           v_tokens, v_read, v_tokens, v_read) END;
        END LOOP;
        predicate := coalesce(predicate || ' AND ', '')
            || CASE WHEN kinds[i] = 'excluded' THEN 'NOT ' ELSE '' END || '(' || array_to_string(v_any, ' OR ') || ')';
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._phrase_condition(text, text[], text[], boolean[], text, jsonb) IS
    'Adds to a compiled filter what the phrases, required and excluded terms of a query demand of a chunk.';
REVOKE ALL ON FUNCTION sift._phrase_condition(text, text[], text[], boolean[], text, jsonb) FROM PUBLIC;
