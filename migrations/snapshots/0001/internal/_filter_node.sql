-- An object of a filter: conditions and combinations joined by AND. Under a field (field not NULL) the object holds operators.
CREATE OR REPLACE FUNCTION sift._filter_node(
    node           jsonb,
    field          text,
    depth          integer,
    first          integer,
    OUT predicate  text,
    OUT bound      jsonb[],
    OUT conditions integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_logical   CONSTANT text[] := ARRAY['$and', '$or', '$not', '$nor'];
    c_condition CONSTANT text[] := ARRAY['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$exists', '$not'];
    v_name  text := CASE WHEN char_length(field) > 100 THEN left(field, 100) || '…' ELSE field END;
    v_parts text[] := '{}'::text[];
    v_inner text[];
    v_key   text;
    v_value jsonb;
    v_item  jsonb;
    v_part  record;
    v_known text[];
BEGIN
    IF depth > 32 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS004', MESSAGE = 'the filter is nested more than 32 deep',
            HINT = 'Flatten it: $and and $or take any number of parts.';
    END IF;
    bound := '{}'::jsonb[];
    conditions := 0;
    IF field IS NOT NULL THEN
        PERFORM sift._filter_field(field);
        IF node = '{}'::jsonb THEN
            RAISE EXCEPTION USING ERRCODE = 'PS004', MESSAGE = format('filter field "%s" has no operator', v_name),
                HINT = 'Write for example {"kind": "table", "metadata.year": {"$gte": 2020}}.';
        END IF;
    END IF;

    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(node) AS e (key, value) LOOP
        IF field IS NULL AND v_key = ANY (ARRAY['$and', '$or', '$nor']) THEN
            IF jsonb_typeof(v_value) <> 'array' OR v_value = '[]'::jsonb THEN
                RAISE EXCEPTION USING ERRCODE = 'PS004',
                    MESSAGE = format('filter operator "%s" takes an array of one or more filters, not %s', v_key, CASE
                        WHEN v_value = '[]'::jsonb THEN 'an empty array' WHEN jsonb_typeof(v_value) = 'null' THEN 'null'
                        WHEN jsonb_typeof(v_value) = 'object' THEN 'an object' ELSE 'a ' || jsonb_typeof(v_value) END),
                    HINT = format('Write {"%s": [{"kind": "table"}, {"page": 1}]}.', v_key);
            END IF;
            v_inner := '{}'::text[];
            FOR v_item IN SELECT e.value FROM jsonb_array_elements(v_value) AS e (value) LOOP
                IF jsonb_typeof(v_item) <> 'object' THEN
                    RAISE EXCEPTION USING ERRCODE = 'PS004',
                        MESSAGE = format('filter operator "%s" takes an array of filters, not of %s values', v_key, jsonb_typeof(v_item)),
                        HINT = format('Write {"%s": [{"kind": "table"}, {"page": 1}]}.', v_key);
                END IF;
                v_part := sift._filter_node(v_item, NULL, depth + 1, first + cardinality(bound));
                v_inner := v_inner || v_part.predicate;
                bound := bound || v_part.bound;
                conditions := conditions + v_part.conditions;
                EXIT WHEN conditions > 256;
            END LOOP;
            v_parts := v_parts || format(CASE v_key WHEN '$nor' THEN '(NOT (%s))' ELSE '(%s)' END,
                                         array_to_string(v_inner, CASE v_key WHEN '$and' THEN ' AND ' ELSE ' OR ' END));
        ELSIF v_key = '$not' THEN
            IF jsonb_typeof(v_value) <> 'object' THEN
                RAISE EXCEPTION USING ERRCODE = 'PS004',
                    MESSAGE = format('filter operator "$not" takes an object, not %s', CASE jsonb_typeof(v_value)
                        WHEN 'null' THEN 'null' WHEN 'array' THEN 'an array' ELSE 'a ' || jsonb_typeof(v_value) END),
                    HINT = CASE WHEN field IS NULL THEN 'Write {"$not": {"kind": "table"}}.' ELSE 'Write {"FIELD": {"$not": {"$gt": 5}}}.' END;
            END IF;
            v_part := sift._filter_node(v_value, field, depth + 1, first + cardinality(bound));
            v_parts := v_parts || format('(NOT %s)', v_part.predicate);
            bound := bound || v_part.bound;
            conditions := conditions + v_part.conditions;
        ELSIF field IS NOT NULL AND v_key = ANY (c_condition) THEN
            v_part := sift._filter_condition(field, v_key, v_value, first + cardinality(bound));
            v_parts := v_parts || v_part.predicate;
            bound := bound || v_part.bound;
            conditions := conditions + 1;
        ELSIF field IS NULL AND v_key = ANY (c_condition) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS004', MESSAGE = format('filter operator "%s" needs a field', v_key),
                HINT = format('Write {"FIELD": {"%s": …}}.', v_key);
        ELSIF field IS NOT NULL AND v_key = ANY (c_logical) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS004',
                MESSAGE = format('filter operator "%s" cannot stand under the field "%s"', v_key, v_name),
                HINT = format('Write {"%s": [{"FIELD": …}, {"FIELD": …}]}.', v_key);
        ELSIF field IS NOT NULL OR starts_with(v_key, '$') THEN
            v_known := CASE WHEN field IS NULL THEN ARRAY['$and', '$or', '$not', '$nor', '$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in',
                                                          '$nin', '$exists'] ELSE c_condition END;
            RAISE EXCEPTION USING ERRCODE = 'PS004',
                MESSAGE = format('unknown filter operator "%s"', CASE WHEN char_length(v_key) > 100 THEN left(v_key, 100) || '…' ELSE v_key END),
                HINT = coalesce('Did you mean "' || sift._nearest_name(v_key, v_known) || '"? ', '')
                    || format('Operators: %s.', array_to_string(v_known, ', '));
        ELSIF jsonb_typeof(v_value) = 'object' THEN
            v_part := sift._filter_node(v_value, v_key, depth + 1, first + cardinality(bound));
            v_parts := v_parts || v_part.predicate;
            bound := bound || v_part.bound;
            conditions := conditions + v_part.conditions;
        ELSE
            v_part := sift._filter_condition(v_key, '$eq', v_value, first + cardinality(bound));
            v_parts := v_parts || v_part.predicate;
            bound := bound || v_part.bound;
            conditions := conditions + 1;
        END IF;
        IF conditions > 256 THEN
            RAISE EXCEPTION USING ERRCODE = 'PS004', MESSAGE = 'the filter has more than 256 conditions',
                HINT = 'Many values of one field go into one list: {"key": {"$in": […]}}.';
        END IF;
    END LOOP;
    predicate := CASE cardinality(v_parts) WHEN 0 THEN '(true)' WHEN 1 THEN v_parts[1]
                                           ELSE format('(%s)', array_to_string(v_parts, ' AND ')) END;
END
$$;
COMMENT ON FUNCTION sift._filter_node(jsonb, text, integer, integer) IS 'Predicate of an object of a filter, the values it reads from ($1 -> first) on, and the number of conditions in it.';
REVOKE ALL ON FUNCTION sift._filter_node(jsonb, text, integer, integer) FROM PUBLIC;
