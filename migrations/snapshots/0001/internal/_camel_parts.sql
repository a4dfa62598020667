-- The parts of a word in camelCase; an empty array where there is but one.
CREATE OR REPLACE FUNCTION sift._camel_parts(word text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_word text COLLATE "C" := word;
BEGIN
    IF v_word !~ ('[' || sift._analyzer_table('lower') || sift._analyzer_table('number') || '][' || sift._analyzer_table('upper') || ']'
        || '|[' || sift._analyzer_table('upper') || ']{2}[' || sift._analyzer_table('lower') || ']')
    THEN
        RETURN '{}'::text[];
    END IF;
    v_word := regexp_replace(v_word, '([' || sift._analyzer_table('lower') || '])([' || sift._analyzer_table('upper') || '])', E'\\1 \\2', 'g');
    v_word := regexp_replace(v_word,
        '([' || sift._analyzer_table('upper') || '])([' || sift._analyzer_table('upper') || '][' || sift._analyzer_table('lower') || '])',
        E'\\1 \\2', 'g');
    v_word := regexp_replace(v_word,
        '([' || sift._analyzer_table('number') || '])([' || sift._analyzer_table('upper') || '][' || sift._analyzer_table('lower') || '])',
        E'\\1 \\2', 'g');
    RETURN CASE WHEN strpos(v_word, ' ') > 0 THEN string_to_array(v_word, ' ') ELSE '{}'::text[] END;
END
$$;
COMMENT ON FUNCTION sift._camel_parts(text) IS 'Parts of a word in camelCase, none where it has only one.';
REVOKE ALL ON FUNCTION sift._camel_parts(text) FROM PUBLIC;
