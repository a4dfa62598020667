-- One condition of a filter: a field, an operator, a literal.
--
-- The predicate is assembled from text written in this file; what the caller sent is in bound, and the predicate reads it as
-- ($1 -> n). It is never NULL. Casts of bound values are immutable, so the planner folds them to constants and may use an index.
CREATE OR REPLACE FUNCTION sift._filter_condition(
    field         text,
    operator      text,
    literal       jsonb,
    first         integer,
    OUT predicate text,
    OUT bound     jsonb[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_name    text := CASE WHEN char_length(field) > 100 THEN left(field, 100) || '…' ELSE field END;
    v_field   record;
    v_list    boolean := operator IN ('$in', '$nin');
    v_negated boolean := operator IN ('$ne', '$nin');
    v_compare text := CASE operator WHEN '$gt' THEN '>' WHEN '$gte' THEN '>=' WHEN '$lt' THEN '<' WHEN '$lte' THEN '<=' END;
    v_takes   text[];
    v_values  jsonb[];
    v_bad     jsonb;
    v_got     text;
    v_wanted  text;
    v_hint    text;
    v_strings text[];
    v_numbers text[];
    v_strings_sql text;
    v_numbers_sql text;
    v_value   text;   -- SQL of the metadata value
    v_test    text;   -- SQL of one comparison, %1$s stands for the value
    -- Looked up chunk by chunk; OFFSET 0 keeps the planner from making a join of it, whose plan would hang on statistics. $2 is the tenant,
    -- as it is in every leg.
    c_mention CONSTANT text := 'EXISTS (SELECT FROM sift.chunk_entities AS n WHERE n.tenant_id = $2 AND n.chunk_id = c.chunk_id%s OFFSET 0)';
BEGIN
    v_field := sift._filter_field(field);
    bound := '{}'::jsonb[];

    -- Types first.
    v_takes := CASE WHEN v_field.field_type IN ('text', 'texts', 'timestamp') THEN ARRAY['string']
                    WHEN v_field.field_type = 'integer' THEN ARRAY['number']
                    WHEN v_compare IS NOT NULL THEN ARRAY['string', 'number']
                    ELSE ARRAY['string', 'number', 'boolean'] END;
    v_wanted := 'a ' || array_to_string(v_takes, ' or a ');
    IF operator = '$exists' THEN
        v_takes := ARRAY['boolean'];
        v_wanted := 'true or false';
    END IF;
    IF v_list AND jsonb_typeof(literal) <> 'array' THEN
        v_bad := literal;
        v_wanted := 'an array';
    ELSIF v_list THEN
        IF jsonb_array_length(literal) > 10000 THEN
            RAISE EXCEPTION USING ERRCODE = 'PS004',
                MESSAGE = format('filter field "%s" with "%s" has %s values; the limit is 10000', v_name, operator, jsonb_array_length(literal)),
                HINT = 'Ask in several searches, or keep the long list as a metadata field of the documents.';
        END IF;
        v_values := ARRAY(SELECT DISTINCT e.value FROM jsonb_array_elements(literal) AS e (value));
        SELECT e.value INTO v_bad
        FROM jsonb_array_elements(literal) WITH ORDINALITY AS e (value, position)
        WHERE jsonb_typeof(e.value) <> ALL (v_takes)
        ORDER BY e.position
        LIMIT 1;
    ELSE
        v_values := ARRAY[literal];
        v_bad := CASE WHEN jsonb_typeof(literal) <> ALL (v_takes) THEN literal END;
    END IF;
    IF v_bad IS NOT NULL THEN
        v_got := jsonb_typeof(v_bad);
        v_hint := CASE
            WHEN v_got = 'null' THEN
                format('To ask whether it is %s write {"%s": {"$exists": %s}}.',
                       CASE WHEN v_negated THEN 'present' ELSE 'missing' END, v_name, CASE WHEN v_negated THEN 'true' ELSE 'false' END)
            WHEN v_got = 'array' AND operator IN ('$eq', '$ne') THEN
                format('For any of several values write {"%s": {"%s": […]}}.', v_name, CASE operator WHEN '$eq' THEN '$in' ELSE '$nin' END)
            END;
        RAISE EXCEPTION USING ERRCODE = 'PS004',
            MESSAGE = format('filter field "%s" with "%s" takes %s, not %s', v_name, operator, v_wanted,
                             CASE WHEN v_got = 'null' THEN v_got WHEN v_got IN ('array', 'object') THEN 'an ' || v_got ELSE 'a ' || v_got END),
            HINT = coalesce(v_hint, 'docs/filters.md describes the language.');
    END IF;

    -- Whether there is a value at all.
    IF operator = '$exists' THEN
        IF v_field.field_type = 'json' THEN
            v_value := format('d.metadata%s', (SELECT string_agg(format(' -> ($1 -> %s ->> %s)', first, s.step), '' ORDER BY s.step)
                                               FROM generate_series(0, cardinality(v_field.metadata_path) - 1) AS s (step)));
            bound := ARRAY[to_jsonb(v_field.metadata_path)];
            predicate := format('coalesce(jsonb_typeof(%s) <> ''null'', false)', v_value);
        ELSIF field = 'entity' THEN
            predicate := format(c_mention, '');
        ELSIF v_field.field_type = 'texts' THEN
            predicate := format('cardinality(%s) > 0', v_field.column_name);
        ELSE
            predicate := format('%s IS NOT NULL', v_field.column_name);
        END IF;
        predicate := CASE WHEN literal = 'true'::jsonb THEN format('(%s)', predicate) ELSE format('(NOT (%s))', predicate) END;
        RETURN;
    END IF;

    -- Lists are bound as one text, cut at a character that none of the values contains: that is immutable where the input
    -- functions of arrays are not, so the list becomes a constant, which can be hashed or looked up in an index.
    v_strings := ARRAY(SELECT e.value #>> '{}' FROM unnest(v_values) AS e (value) WHERE jsonb_typeof(e.value) = 'string'
                       ORDER BY (e.value #>> '{}') COLLATE "C");
    v_numbers := ARRAY(SELECT e.value #>> '{}' FROM unnest(v_values) AS e (value) WHERE jsonb_typeof(e.value) = 'number'
                       ORDER BY e.value);

    CASE v_field.field_type
    WHEN 'text', 'texts' THEN
        IF cardinality(v_strings) = 0 THEN
            predicate := 'false';
        ELSIF cardinality(v_strings) = 1 THEN
            bound := ARRAY[to_jsonb(v_strings[1])];
            v_strings_sql := format('ARRAY[$1 ->> %s]', first);
        ELSE
            bound := sift._filter_list(v_strings);
            v_strings_sql := format('string_to_array($1 ->> %s, $1 ->> %s)', first, first + 1);
        END IF;
        IF predicate IS NOT NULL THEN
            NULL;
        ELSIF field = 'entity' THEN
            predicate := format(c_mention, CASE
                WHEN v_compare IS NOT NULL THEN format(' AND n.entity COLLATE pg_catalog."C" %s ($1 ->> %s)', v_compare, first)
                WHEN cardinality(v_strings) = 1 THEN format(' AND n.entity = ($1 ->> %s)', first)
                ELSE format(' AND n.entity = ANY (%s)', v_strings_sql) END);
        ELSIF v_field.field_type = 'texts' THEN
            predicate := CASE WHEN v_compare IS NULL THEN format('%s && %s', v_field.column_name, v_strings_sql)
                ELSE format('EXISTS (SELECT FROM unnest(%s) AS e (value) WHERE e.value COLLATE pg_catalog."C" %s ($1 ->> %s))',
                            v_field.column_name, v_compare, first) END;
        ELSIF v_compare IS NOT NULL THEN
            predicate := format('%s COLLATE pg_catalog."C" %s ($1 ->> %s)', v_field.column_name, v_compare, first);
        ELSIF field = 'language' THEN
            -- A tag names what begins with it: de is de-AT too.
            predicate := CASE WHEN cardinality(v_strings) = 1
                THEN format('(%1$s = ($1 ->> %2$s) OR starts_with(%1$s, ($1 ->> %2$s) || ''-''))', v_field.column_name, first)
                ELSE format('(%1$s = ANY (%2$s) OR EXISTS (SELECT FROM unnest(%2$s) AS e (value) WHERE starts_with(%1$s, e.value || ''-'')))',
                            v_field.column_name, v_strings_sql) END;
        ELSIF cardinality(v_strings) = 1 THEN
            predicate := format('%s = ($1 ->> %s)', v_field.column_name, first);
        ELSE
            predicate := format('%s = ANY (%s)', v_field.column_name, v_strings_sql);
        END IF;

    WHEN 'integer' THEN
        IF v_compare IS NULL THEN
            -- No integer equals a fraction or a number out of range.
            v_numbers := ARRAY(
                SELECT DISTINCT n.value::numeric::integer::text
                FROM unnest(v_numbers) AS n (value)
                WHERE CASE WHEN n.value::numeric BETWEEN -2147483648 AND 2147483647 THEN n.value::numeric % 1 = 0 ELSE false END);
            IF cardinality(v_numbers) = 0 THEN
                predicate := 'false';
            ELSE
                bound := ARRAY[to_jsonb(array_to_string(v_numbers, ','))];
                predicate := CASE WHEN cardinality(v_numbers) = 1 THEN format('%s = ($1 ->> %s)::integer', v_field.column_name, first)
                    ELSE format('%s = ANY (string_to_array($1 ->> %s, '','')::integer[])', v_field.column_name, first) END;
            END IF;
        ELSE
            bound := ARRAY[literal];
            predicate := format('%s %s ($1 -> %s)::%s', v_field.column_name, v_compare, first,
                CASE WHEN literal::numeric BETWEEN -2147483648 AND 2147483647 AND literal::numeric % 1 = 0 THEN 'integer' ELSE 'numeric' END);
        END IF;

    WHEN 'timestamp' THEN
        bound := ARRAY(SELECT sift._filter_timestamp(s.value) FROM unnest(v_strings) AS s (value));
        IF array_position(bound, NULL) IS NOT NULL THEN
            v_value := v_strings[array_position(bound, NULL)];
            RAISE EXCEPTION USING ERRCODE = 'PS004',
                MESSAGE = format('filter field "%s" with "%s" takes a timestamp, not "%s"', v_name, operator,
                                 CASE WHEN char_length(v_value) > 100 THEN left(v_value, 100) || '…' ELSE v_value END),
                HINT = 'Write "2024-05-31", "2024-05-31T16:30:00Z" or "2024-05-31T16:30:00+02:00".';
        END IF;
        IF cardinality(bound) = 0 THEN
            predicate := 'false';
        ELSE
            v_test := (SELECT string_agg(format(
                    'timezone(''UTC'', ''1970-01-01''::timestamp + make_interval(days => ($1 -> %1$s -> 0)::integer, '
                    'secs => ($1 -> %1$s -> 1)::double precision))', first + s.n - 1), ', ' ORDER BY s.n)
                FROM generate_series(1, cardinality(bound)) AS s (n));
            predicate := CASE WHEN v_list THEN format('%s = ANY (ARRAY[%s])', v_field.column_name, v_test)
                              ELSE format('%s %s %s', v_field.column_name, coalesce(v_compare, '='), v_test) END;
        END IF;

    WHEN 'json' THEN
        IF cardinality(v_values) = 0 THEN
            predicate := 'false';
        ELSIF v_compare IS NULL AND cardinality(v_values) <= 8 THEN
            -- Containment, which the index on metadata answers: the value itself at the path, or a list that holds it.
            bound := ARRAY(
                SELECT sift._filter_at_path(v_field.metadata_path, x.value)
                FROM unnest(v_values) WITH ORDINALITY AS e (value, position)
                CROSS JOIN LATERAL (VALUES (1, e.value), (2, jsonb_build_array(e.value))) AS x (form, value)
                ORDER BY e.position, x.form);
            predicate := (SELECT string_agg(format('d.metadata @> ($1 -> %s)', first + s.n - 1), ' OR ' ORDER BY s.n)
                          FROM generate_series(1, cardinality(bound)) AS s (n));
        ELSE
            v_value := format('d.metadata%s', (SELECT string_agg(format(' -> ($1 -> %s ->> %s)', first, s.step), '' ORDER BY s.step)
                                               FROM generate_series(0, cardinality(v_field.metadata_path) - 1) AS s (step)));
            bound := ARRAY[to_jsonb(v_field.metadata_path)];
            IF v_compare IS NOT NULL THEN
                bound := bound || literal;
                v_test := CASE jsonb_typeof(literal)
                    WHEN 'number' THEN format('WHEN ''number'' THEN (%%1$s)::numeric %s ($1 -> %s)::numeric', v_compare, first + 1)
                    ELSE format('WHEN ''string'' THEN (%%1$s #>> ''{}'') COLLATE pg_catalog."C" %s ($1 ->> %s)', v_compare, first + 1) END;
            ELSE
                v_test := '';
                IF cardinality(v_strings) = 1 THEN
                    v_test := v_test || format('WHEN ''string'' THEN (%%1$s #>> ''{}'') = ($1 ->> %s) ', first + cardinality(bound));
                    bound := bound || to_jsonb(v_strings[1]);
                ELSIF cardinality(v_strings) > 1 THEN
                    v_test := v_test || format('WHEN ''string'' THEN (%%1$s #>> ''{}'') = ANY (string_to_array($1 ->> %s, $1 ->> %s)) ',
                                               first + cardinality(bound), first + cardinality(bound) + 1);
                    bound := bound || sift._filter_list(v_strings);
                END IF;
                IF cardinality(v_numbers) > 0 THEN
                    v_test := v_test || format('WHEN ''number'' THEN (%%1$s)::numeric = ANY (string_to_array($1 ->> %s, '','')::numeric[]) ',
                                               first + cardinality(bound));
                    bound := bound || to_jsonb(array_to_string(v_numbers, ','));
                END IF;
                IF 'true'::jsonb = ANY (v_values) OR 'false'::jsonb = ANY (v_values) THEN
                    v_test := v_test || format('WHEN ''boolean'' THEN ($1 -> %s) @> (%%1$s) ', first + cardinality(bound));
                    bound := bound || (SELECT jsonb_agg(e.value) FROM unnest(v_values) AS e (value) WHERE jsonb_typeof(e.value) = 'boolean');
                END IF;
            END IF;
            -- %1$s is the value, or in a list each element; the most likely types are asked for first.
            predicate := format('CASE jsonb_typeof(%1$s) %2$s WHEN ''array'' THEN EXISTS (SELECT FROM jsonb_array_elements(%1$s) AS e (value) '
                                'WHERE CASE jsonb_typeof(e.value) %3$s ELSE false END) ELSE false END',
                                v_value, format(v_test, '(' || v_value || ')'), format(v_test, 'e.value'));
        END IF;
    END CASE;

    IF v_field.may_be_null AND v_field.field_type <> 'json' AND predicate <> 'false' THEN
        predicate := format('%s IS NOT NULL AND %s', v_field.column_name, predicate);
    END IF;
    predicate := CASE WHEN v_negated THEN format('(NOT (%s))', predicate) ELSE format('(%s)', predicate) END;
END
$$;
COMMENT ON FUNCTION sift._filter_condition(text, text, jsonb, integer) IS 'Predicate of one filter condition and the values it reads as ($1 -> first), ($1 -> first + 1), …';
REVOKE ALL ON FUNCTION sift._filter_condition(text, text, jsonb, integer) FROM PUBLIC;
