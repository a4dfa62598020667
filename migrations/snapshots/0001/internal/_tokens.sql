-- The tokens of a text, in order, repeats included. For a query the single characters of
-- longer runs of scripts written without spaces are left out, and by "identifiers" the words of dotted numbers.
CREATE OR REPLACE FUNCTION sift._tokens(analyzer text, text text, query boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words  text[];
    v_tokens text[];
BEGIN
    IF analyzer = 'identifiers' THEN
        v_words := sift._identifier_words(text, query);
    ELSIF analyzer IN ('standard', 'english') THEN
        v_words := sift._words(text, query);
    ELSE
        PERFORM sift.analyzer_fingerprint(analyzer);  -- says so
    END IF;
    SELECT array_agg(CASE WHEN octet_length(w.word) > 256 THEN sift._cut_token(w.word) ELSE w.word END ORDER BY w.position)
    INTO v_tokens
    FROM unnest(v_words) WITH ORDINALITY AS w(word, position)
    WHERE (length(w.word) > 1 OR w.word COLLATE "C" ~ ('^[' || sift._analyzer_table('unspaced') || ']'))
        AND w.word COLLATE "C" <> ALL (string_to_array(sift._analyzer_table('stopwords'), ' '))
        AND (NOT query OR left(w.word, 1) <> '.');
    IF v_tokens IS NULL THEN
        RETURN '{}'::text[];
    END IF;
    RETURN CASE WHEN analyzer = 'english' THEN sift._stem_english(v_tokens) ELSE v_tokens END;
END
$$;
COMMENT ON FUNCTION sift._tokens(text, text, boolean) IS 'Tokens of a text to be indexed, or of a query.';
REVOKE ALL ON FUNCTION sift._tokens(text, text, boolean) FROM PUBLIC;
