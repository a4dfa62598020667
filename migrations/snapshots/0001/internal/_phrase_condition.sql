-- The conditions of a query as one SQL predicate over the alias c (sift.chunks, or its columns from the history), in the form of
-- sift._compile_filter: values are read from bound, which grows by them, and it is true or false and never NULL.
--
-- documents: the conditions are those of a document. A phrase stands in it where it stands in one of its chunks as they are, or were (as_of);
-- the chunks of a document that meet its conditions are all those of the document. $2 is the tenant, as it is in every leg.
CREATE OR REPLACE FUNCTION sift._phrase_condition(
    analyzer text, kinds text[], texts text[], opens boolean[], INOUT predicate text, INOUT bound jsonb,
    documents boolean DEFAULT false, as_of timestamptz DEFAULT NULL)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_alias  CONSTANT text := CASE WHEN documents THEN 'x' ELSE 'c' END;
    v_tokens CONSTANT text := format('coalesce(%1$s.unranked_tokens, %1$s.tokens)', v_alias);
    v_time   text;
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
                    format($x$(strpos((' ' || %s || ' ') COLLATE "C", %s COLLATE "C") > 0 AND (%s.title_tokens + %s.prefix_tokens = 0
                             OR sift._stands_within(%s, %s.title_tokens, %s.prefix_tokens, %s)))$x$,
                           v_tokens, v_read, v_alias, v_alias, v_tokens, v_alias, v_alias, v_read) END;
        END LOOP;
        v_item := '(' || array_to_string(v_any, ' OR ') || ')';
        IF documents AND as_of IS NULL THEN
            v_item := 'EXISTS (SELECT FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id AND ' || v_item || ')';
        ELSIF documents THEN
            IF v_time IS NULL THEN
                bound := bound || to_jsonb(as_of);
                v_time := format('($1 ->> %s)::timestamptz', jsonb_array_length(bound) - 1);
            END IF;
            v_item := format('(EXISTS (SELECT FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id AND %1$s AND (x.added_at <= %2$s) IS NOT FALSE'
                             ' AND EXISTS (SELECT FROM sift.documents AS e WHERE e.tenant_id = $2 AND e.document_id = c.document_id AND e.current_from <= %2$s))'
                             ' OR EXISTS (SELECT FROM sift.chunk_history AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id AND %1$s'
                             ' AND x.current_from <= %2$s AND x.current_to > %2$s))', v_item, v_time);
        END IF;
        predicate := coalesce(predicate || ' AND ', '') || CASE WHEN kinds[i] = 'excluded' THEN 'NOT ' ELSE '' END || v_item;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._phrase_condition(text, text[], text[], boolean[], text, jsonb, boolean, timestamptz) IS
    'Adds to a compiled filter what the phrases, required and excluded terms of a query demand of a chunk.';
REVOKE ALL ON FUNCTION sift._phrase_condition(text, text[], text[], boolean[], text, jsonb, boolean, timestamptz) FROM PUBLIC;
