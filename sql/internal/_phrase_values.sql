-- What a chunk must hold, in ' ' || tokens || ' ', for a phrase or a word to stand in it: one of these strings. NULL where the analyzer leaves
-- nothing of the text.
--
-- A phrase stands where the tokens that the analyzer makes of it follow each other. What the analyzer drops counts on neither side: "state of the
-- art" also stands in "state-art". A compound of "identifiers" that is asked for alone stands where its whole token does, whatever joins it there
-- to others ("1.18.6" stands in "nginx-v1.18.6"); within a longer phrase the tokens follow each other as they are written.
--
-- open: the last word goes on. It is not stemmed, as stems are what it is to be the beginning of; the stem of the word itself counts too.
CREATE OR REPLACE FUNCTION sift._phrase_values(analyzer text, text text, open boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tokens text[];
    v_query  text[];
    v_last   record;
    v_head   text;
BEGIN
    IF open THEN
        SELECT o.head, o.word INTO v_last FROM sift._open_word(analyzer, text) AS o;
        IF v_last.word IS NOT NULL THEN
            v_head := ' ' || array_to_string(v_last.head || ''::text, ' ');
            RETURN array_remove(ARRAY[v_head || v_last.word, v_head || sift._prefix_stem(analyzer, v_last.word) || ' '], NULL);
        END IF;
    END IF;
    v_tokens := sift._tokens(analyzer, text, false);
    IF v_tokens = '{}' THEN
        RETURN NULL;
    END IF;
    IF analyzer = 'identifiers' THEN
        v_query := sift._tokens(analyzer, text, true);
        IF v_query[1] = sift._casefold(sift._normalize(text)) THEN
            v_tokens := v_query[1:1];
        END IF;
    END IF;
    RETURN ARRAY[' ' || array_to_string(v_tokens, ' ') || ' '];
END
$$;
COMMENT ON FUNCTION sift._phrase_values(text, text, boolean) IS
    'Strings of which the tokens of a chunk, joined and enclosed by spaces, hold one where a phrase stands in it; NULL for a phrase without tokens.';
REVOKE ALL ON FUNCTION sift._phrase_values(text, text, boolean) FROM PUBLIC;
