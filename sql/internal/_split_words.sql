-- Runs of scripts written without spaces, in an array of runs, become overlapping pairs of code points; other runs stay.
CREATE OR REPLACE FUNCTION sift._split_words(runs text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words text[] := '{}';
    v_run   text COLLATE "C";
    v_chars text[];
BEGIN
    FOREACH v_run IN ARRAY coalesce(runs, '{}'::text[]) LOOP
        IF length(v_run) < 2 OR v_run !~ ('^[' || sift._analyzer_table('unspaced') || ']') THEN
            v_words := array_append(v_words, v_run::text);
        ELSE
            v_chars := string_to_array(v_run, NULL);
            FOR i IN 1 .. array_length(v_chars, 1) - 1 LOOP
                v_words := array_append(v_words, v_chars[i] || v_chars[i + 1]);
            END LOOP;
        END IF;
    END LOOP;
    RETURN v_words;
END
$$;
COMMENT ON FUNCTION sift._split_words(text[]) IS 'The runs, those of scripts written without spaces as overlapping pairs.';
REVOKE ALL ON FUNCTION sift._split_words(text[]) FROM PUBLIC;
