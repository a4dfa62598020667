-- Names of people as CSL-JSON: from an array of them, or from one text in which BibTeX's " and ", or a semicolon, separates them. A name is an
-- object as CSL has it, "Family, Given", or "Given Family", where small words before the last one belong to the family; {in braces} it is a name
-- in one piece.
CREATE OR REPLACE FUNCTION sift._csl_names(names jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_all   jsonb := '[]';
    v_one   jsonb;
    v_text  text;
    v_parts text[];
BEGIN
    FOR v_one IN
        SELECT to_jsonb(s.name) FROM regexp_split_to_table(CASE jsonb_typeof(names) WHEN 'string' THEN names #>> '{}' END, E'\\s+and\\s+|;') AS s (name)
        UNION ALL
        SELECT a.element FROM jsonb_array_elements(CASE jsonb_typeof(names) WHEN 'array' THEN names ELSE '[]' END) AS a (element)
        UNION ALL
        SELECT names WHERE jsonb_typeof(names) = 'object'
    LOOP
        IF jsonb_typeof(v_one) = 'object' AND v_one ?| '{family,given,literal}' THEN
            v_all := v_all || v_one;
        ELSIF jsonb_typeof(v_one) = 'object' AND jsonb_typeof(v_one -> 'name') = 'string' THEN
            v_all := v_all || jsonb_build_object('literal', v_one -> 'name');
        ELSIF jsonb_typeof(v_one) = 'string' THEN
            v_text := btrim(v_one #>> '{}', E' \t\r\n');
            CONTINUE WHEN v_text = '';
            v_parts := regexp_match(v_text, '^{(.*)}$');
            IF v_parts IS NULL AND strpos(v_text, ',') = 0 THEN
                v_parts := regexp_match(v_text, E'^(\\S.*?)\\s+((?:[[:lower:]]\\S*\\s+)*\\S+)$');
                v_all := v_all || CASE WHEN v_text ~ '^[[:lower:]]' AND v_parts IS NOT NULL THEN jsonb_build_object('family', v_text)
                                       WHEN v_parts IS NULL THEN jsonb_build_object('literal', v_text)
                                       ELSE jsonb_build_object('family', v_parts[2], 'given', v_parts[1]) END;
            ELSIF v_parts IS NULL THEN
                v_all := v_all || jsonb_strip_nulls(jsonb_build_object(
                    'family', btrim(split_part(v_text, ',', 1)),
                    'given', nullif(btrim(substr(v_text, strpos(v_text, ',') + 1)), '')));
            ELSE
                v_all := v_all || jsonb_build_object('literal', v_parts[1]);
            END IF;
        END IF;
    END LOOP;
    RETURN nullif(v_all, '[]');
END
$$;
COMMENT ON FUNCTION sift._csl_names(jsonb) IS 'Names of people as CSL-JSON; NULL where there are none.';
REVOKE ALL ON FUNCTION sift._csl_names(jsonb) FROM PUBLIC;
