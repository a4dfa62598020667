-- Two or more strings as one, and the character to cut it at: the lowest that none of them contains.
CREATE OR REPLACE FUNCTION sift._filter_list(strings text[]) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_all  text := array_to_string(strings, '');
    v_code integer := 1;
BEGIN
    WHILE strpos(v_all, chr(v_code)) > 0 LOOP
        v_code := CASE WHEN v_code = 55295 THEN 57344 ELSE v_code + 1 END;
    END LOOP;
    RETURN ARRAY[to_jsonb(array_to_string(strings, chr(v_code))), to_jsonb(chr(v_code))];
END
$$;
COMMENT ON FUNCTION sift._filter_list(text[]) IS 'Strings joined by a character none of them contains, and that character: undone by string_to_array.';
REVOKE ALL ON FUNCTION sift._filter_list(text[]) FROM PUBLIC;
