-- Of a text whose last word goes on: the tokens before that word, and what it begins with, folded and not stemmed. word is NULL where that can
-- be no beginning: it is shorter than two characters or longer than a token, or of a script written without spaces.
CREATE OR REPLACE FUNCTION sift._open_word(analyzer text, text text, OUT head text[], OUT word text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words text[];
    v_last  text;
BEGIN
    head := '{}';
    v_last := sift._casefold(sift._normalize(text));
    IF v_last COLLATE "C" ~ ('[' || sift._analyzer_table('unspaced') || ']') THEN
        RETURN;
    END IF;
    IF analyzer = 'identifiers' THEN
        v_words := sift._identifier_words(text, true);
        IF v_words[1] IS DISTINCT FROM v_last THEN
            RETURN;
        END IF;
    ELSE
        v_words := array_remove(sift._words(text, false), '');
        v_last := v_words[cardinality(v_words)];
        IF v_last IS NULL THEN
            RETURN;
        END IF;
        head := sift._tokens(analyzer, array_to_string(v_words[1:cardinality(v_words) - 1], ' '), false);
    END IF;
    IF length(v_last) >= 2 AND octet_length(v_last) <= 256 THEN
        word := v_last;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._open_word(text, text) IS 'The tokens before the last word of a text, and what that word begins with.';
REVOKE ALL ON FUNCTION sift._open_word(text, text) FROM PUBLIC;
