-- Whether a string of _phrase_values stands in the tokens of the title of a chunk, which are the first of its tokens, in those of its prefix, which
-- follow, or in the rest: the last word of a title and the first of a text are no phrase.
CREATE OR REPLACE FUNCTION sift._stands_within(tokens text, title_tokens integer, prefix_tokens integer, value text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tokens text[] := string_to_array(tokens, ' ');
BEGIN
    RETURN strpos((' ' || array_to_string(v_tokens[1:title_tokens], ' ') || ' ') COLLATE "C", value COLLATE "C") > 0
        OR strpos((' ' || array_to_string(v_tokens[title_tokens + 1:title_tokens + prefix_tokens], ' ') || ' ') COLLATE "C", value COLLATE "C") > 0
        OR strpos((' ' || array_to_string(v_tokens[title_tokens + prefix_tokens + 1:], ' ') || ' ') COLLATE "C", value COLLATE "C") > 0;
END
$$;
COMMENT ON FUNCTION sift._stands_within(text, integer, integer, text) IS 'Whether a string stands in the tokens of the title of a chunk, in those of its prefix, or in the rest.';
REVOKE ALL ON FUNCTION sift._stands_within(text, integer, integer, text) FROM PUBLIC;
