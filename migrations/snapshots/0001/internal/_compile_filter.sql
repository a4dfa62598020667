-- A JSON filter as one SQL predicate over the aliases c (sift.chunks) and d (sift.documents), for EXECUTE … USING bound first.
--
-- Nothing of the caller's text is in the predicate: columns come from a fixed list, and values, metadata paths included, are read
-- from the parameter as ($1 -> n). The predicate is true or false and never NULL. Both legs of a search use the same one. $2 is the tenant.
CREATE OR REPLACE FUNCTION sift._compile_filter(filter jsonb, OUT predicate text, OUT bound jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_node record;
BEGIN
    IF filter IS NULL OR filter = '{}'::jsonb THEN
        RETURN;
    END IF;
    IF jsonb_typeof(filter) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS004',
            MESSAGE = format('a filter is an object, not %s', CASE jsonb_typeof(filter)
                WHEN 'null' THEN 'null' WHEN 'array' THEN 'an array' ELSE 'a ' || jsonb_typeof(filter) END),
            HINT = 'Write for example {"kind": "table", "metadata.year": {"$gte": 2020}}.';
    END IF;
    IF octet_length(filter::text) > 1048576 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS004',
            MESSAGE = format('the filter has %s bytes of JSON; the limit is 1048576', octet_length(filter::text)),
            HINT = 'Ask in several searches, or keep the long list as a metadata field of the documents.';
    END IF;
    v_node := sift._filter_node(filter, NULL, 1, 0);
    predicate := v_node.predicate;
    bound := to_jsonb(v_node.bound);
END
$$;
COMMENT ON FUNCTION sift._compile_filter(jsonb) IS 'SQL predicate of a JSON filter over c (chunks) and d (documents), and the array of values it reads as $1, with the tenant as $2; NULL for no filter. PS004 names what it does not understand.';
REVOKE ALL ON FUNCTION sift._compile_filter(jsonb) FROM PUBLIC;
