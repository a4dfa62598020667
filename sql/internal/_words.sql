-- Steps 1 to 3 of the analyzer "standard": what may become a token. Empty words may be among the result.
CREATE OR REPLACE FUNCTION sift._words(text text, query boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_text text COLLATE "C";
BEGIN
    IF octet_length(text) = length(text) THEN
        RETURN string_to_array(regexp_replace(lower(text COLLATE "C"), '[^a-z0-9]+', ' ', 'g'), ' ');
    END IF;
    v_text := regexp_replace(
        sift._casefold(sift._normalize(text)) COLLATE "C",
        '[^' || sift._analyzer_table('alphanumeric') || sift._analyzer_table('mark') || ']+', ' ', 'g');
    -- A mark belongs to a letter; after anything else it separates.
    IF v_text ~ ('(?:^|[' || sift._analyzer_table('number') || ' ])[' || sift._analyzer_table('mark') || ']') THEN
        v_text := regexp_replace(v_text,
            '(^|[' || sift._analyzer_table('number') || ' ])[' || sift._analyzer_table('mark') || ']+', E'\\1 ', 'g');
    END IF;
    IF v_text !~ ('[' || sift._analyzer_table('unspaced') || ']') THEN
        RETURN string_to_array(v_text, ' ');
    END IF;
    RETURN sift._split_words(ARRAY(
        SELECT m.match[1]
        FROM regexp_matches(v_text,
            '[' || sift._analyzer_table('unspaced') || '][' || sift._analyzer_table('unspaced') || sift._analyzer_table('mark') || ']*'
            '|[^' || sift._analyzer_table('unspaced') || ' ]+', 'g') WITH ORDINALITY AS m(match, position)
        ORDER BY m.position
    ), query);
END
$$;
COMMENT ON FUNCTION sift._words(text, boolean) IS 'Folded words of a text before stopwords and short words are dropped.';
REVOKE ALL ON FUNCTION sift._words(text, boolean) FROM PUBLIC;
