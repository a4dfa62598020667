-- The longest beginning of a token that has at most 256 bytes and ends between two characters.
CREATE OR REPLACE FUNCTION sift._cut_token(token text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_token text := left(token, 256);
BEGIN
    WHILE octet_length(v_token) > 256 LOOP
        -- A character has at most four bytes, so this many of the last ones are certainly too much.
        v_token := left(v_token, -((octet_length(v_token) - 256 + 3) / 4));
    END LOOP;
    RETURN v_token;
END
$$;
COMMENT ON FUNCTION sift._cut_token(text) IS 'A token cut at 256 bytes, between two characters.';
REVOKE ALL ON FUNCTION sift._cut_token(text) FROM PUBLIC;
