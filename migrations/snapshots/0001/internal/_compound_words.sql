-- A compound and what it consists of, as written: itself; then for each of its words the dotted number that starts there (with the
-- letters it touches, and without), the form with ++ or #, the word, its camelCase parts. For a query the words of dotted numbers
-- start with a dot, which no word does.
CREATE OR REPLACE FUNCTION sift._compound_words(compound text, query boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words   text[] := ARRAY[compound];
    v_prefix  text := CASE WHEN query THEN '.' ELSE '' END;
    v_segment text COLLATE "C";
    v_bare    text COLLATE "C";
    v_dotted  text COLLATE "C";
    v_number  text COLLATE "C";
    v_part    text COLLATE "C";
    v_camel   text COLLATE "C";
    v_outside text COLLATE "C" := E'[^ _./@:&+#>\\\\-]';  -- a compound holds no letter of a script written without spaces
BEGIN
    -- A dot between two numbers is written as a comma, which a compound cannot hold.
    FOR v_segment IN
        SELECT m.match[1]
        FROM regexp_matches(
            regexp_replace(compound COLLATE "C",
                '([' || sift._analyzer_table('number') || E'])\\.(?=[' || sift._analyzer_table('number') || '])', E'\\1,', 'g'),
            v_outside || E'+(?:\\+\\+|#(?!' || v_outside || '))?', 'g') WITH ORDINALITY AS m(match, position)
        ORDER BY m.position
    LOOP
        v_bare := rtrim(v_segment, '+#');
        IF v_segment <> v_bare AND v_segment <> compound THEN
            v_words := array_append(v_words, replace(v_segment, ',', '.'));
        END IF;
        IF strpos(v_bare, ',') = 0 THEN
            IF v_bare <> compound THEN
                v_words := array_append(v_words, v_bare::text);
            END IF;
            FOREACH v_camel IN ARRAY sift._camel_parts(v_bare) LOOP
                v_words := array_append(v_words, v_camel::text);
            END LOOP;
            CONTINUE;
        END IF;
        v_dotted := replace(v_bare, ',', '.');
        IF v_dotted <> compound THEN
            v_words := array_append(v_words, v_dotted::text);
        END IF;
        v_number := regexp_replace(v_dotted,
            '^[^' || sift._analyzer_table('number') || '.]+(?=[' || sift._analyzer_table('number') || E']+\\.)', '');
        v_number := regexp_replace(v_number,
            E'(\\.[' || sift._analyzer_table('number') || ']+)[^' || sift._analyzer_table('number') || '.][^.]*$', E'\\1');
        IF v_number <> v_dotted THEN
            v_words := array_append(v_words, v_number::text);
        END IF;
        FOREACH v_part IN ARRAY string_to_array(v_bare, ',') LOOP
            v_words := array_append(v_words, v_prefix || v_part);
            FOREACH v_camel IN ARRAY sift._camel_parts(v_part) LOOP
                v_words := array_append(v_words, v_prefix || v_camel);
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN v_words;
END
$$;
COMMENT ON FUNCTION sift._compound_words(text, boolean) IS 'A compound and its parts, for the analyzer "identifiers".';
REVOKE ALL ON FUNCTION sift._compound_words(text, boolean) FROM PUBLIC;
