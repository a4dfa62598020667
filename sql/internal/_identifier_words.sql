-- What may become a token of the analyzer "identifiers": the words of "standard", and compounds whole. For a query the words of
-- dotted numbers start with a dot.
CREATE OR REPLACE FUNCTION sift._identifier_words(text text, query boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_text  text COLLATE "C" := replace(sift._normalize(text) COLLATE "C", E'\u2010', '-');
    v_words text[] := '{}';
    v_run   text COLLATE "C";
    v_word  text;
BEGIN
    v_text := regexp_replace(v_text,
        '[^' || sift._analyzer_table('alphanumeric') || sift._analyzer_table('mark') || E'_./@:&+#>\\\\-]+', ' ', 'g');
    v_text := regexp_replace(v_text,
        '(^|[' || sift._analyzer_table('number') || E' _./@:&+#>\\\\-])[' || sift._analyzer_table('mark') || ']+', E'\\1 ', 'g');
    FOR v_run IN
        SELECT m.match[1]
        FROM regexp_matches(v_text,
            '[' || sift._analyzer_table('unspaced') || '][' || sift._analyzer_table('unspaced') || sift._analyzer_table('mark') || ']*'
            || replace(
                -- W is a character of a word, S the ++ or # that may follow one
                replace(E'|W+(?:S)?(?:(?:_+|[./@:&#\\\\-]|\\+\\+?|::|://|->)W+(?:S)?)*', 'S', E'(?:\\+\\+|#)(?!W)'),
                'W', '[^' || sift._analyzer_table('unspaced') || E' _./@:&+#>\\\\-]'),
            'g') WITH ORDINALITY AS m(match, position)
        ORDER BY m.position
    LOOP
        IF v_run ~ (E'[_./@:&+#>\\\\-]|[' || sift._analyzer_table('lower') || sift._analyzer_table('number') || ']['
            || sift._analyzer_table('upper') || ']|[' || sift._analyzer_table('upper') || ']{2}[' || sift._analyzer_table('lower') || ']')
        THEN
            -- one by one: appending in place, where || would copy the array
            FOREACH v_word IN ARRAY sift._compound_words(v_run, query) LOOP
                v_words := array_append(v_words, v_word);
            END LOOP;
        ELSE
            v_words := array_append(v_words, v_run::text);
        END IF;
    END LOOP;
    IF v_text ~ ('[' || sift._analyzer_table('unspaced') || ']') THEN
        v_words := sift._split_words(v_words, query);
    END IF;
    RETURN string_to_array(sift._casefold(array_to_string(v_words, ' ')), ' ');
END
$$;
COMMENT ON FUNCTION sift._identifier_words(text, boolean) IS 'Folded words and compounds of a text, for the analyzer "identifiers".';
REVOKE ALL ON FUNCTION sift._identifier_words(text, boolean) FROM PUBLIC;
