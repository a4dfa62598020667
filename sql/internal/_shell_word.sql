-- A text as one word of a POSIX shell, for commands to be copied from findings.
CREATE OR REPLACE FUNCTION sift._shell_word(word text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN word ~ '^[A-Za-z0-9_.:/@%+=,][A-Za-z0-9_.:/@%+=,-]*$' THEN word
                ELSE '''' || replace(word, '''', '''"''"''') || '''' END;
END;
COMMENT ON FUNCTION sift._shell_word(text) IS 'The text, in quotes where a shell would not take it for one word.';
REVOKE ALL ON FUNCTION sift._shell_word(text) FROM PUBLIC;
