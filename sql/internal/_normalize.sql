-- Step 1 of every analyzer, without the folding: characters the frozen tables do not know become spaces, then NFKC. Known characters
-- normalize alike in every version of Unicode since, so the server's own normalize() agrees with the client.
--
-- Servers before the fix of their Hangul composition swallow a U+11A7 that follows a syllable. Nothing composes or reorders across that
-- character, so normalizing the pieces between its occurrences is the same, and right on all servers.
CREATE OR REPLACE FUNCTION sift._normalize(text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_text text COLLATE "C";
BEGIN
    IF octet_length(text) = length(text) THEN
        RETURN text;  -- ASCII
    END IF;
    v_text := regexp_replace(text COLLATE "C", '[^' || sift._analyzer_table('known') || ']+', ' ', 'g');
    IF strpos(v_text, E'\u11a7') = 0 THEN
        RETURN normalize(v_text, NFKC);
    END IF;
    RETURN (
        SELECT string_agg(normalize(p.piece, NFKC), E'\u11a7' ORDER BY p.position)
        FROM string_to_table(v_text, E'\u11a7') WITH ORDINALITY AS p(piece, position)
    );
END
$$;
COMMENT ON FUNCTION sift._normalize(text) IS 'Text in NFKC, characters outside the frozen tables replaced by spaces.';
REVOKE ALL ON FUNCTION sift._normalize(text) FROM PUBLIC;
