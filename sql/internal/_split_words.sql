-- Runs of scripts written without spaces, in an array of runs, become their code points, each followed by the overlapping pair that
-- starts there; for a query the pairs alone. A run of one code point and other runs stay.
CREATE OR REPLACE FUNCTION sift._split_words(runs text[], query boolean) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words text[] := '{}';
    v_run   text COLLATE "C";
    v_chars text[];
    v_last  integer;
BEGIN
    FOREACH v_run IN ARRAY coalesce(runs, '{}'::text[]) LOOP
        IF length(v_run) < 2 OR v_run !~ ('^[' || sift._analyzer_table('unspaced') || ']') THEN
            v_words := array_append(v_words, v_run::text);
            CONTINUE;
        END IF;
        v_chars := string_to_array(v_run, NULL);
        v_last := array_length(v_chars, 1);
        FOR i IN 1 .. v_last - 1 LOOP
            IF NOT query THEN
                v_words := array_append(v_words, v_chars[i]);
            END IF;
            v_words := array_append(v_words, v_chars[i] || v_chars[i + 1]);
        END LOOP;
        IF NOT query THEN
            v_words := array_append(v_words, v_chars[v_last]);
        END IF;
    END LOOP;
    RETURN v_words;
END
$$;
COMMENT ON FUNCTION sift._split_words(text[], boolean) IS
    'The runs, those of scripts written without spaces as code points and overlapping pairs, for a query as pairs.';
REVOKE ALL ON FUNCTION sift._split_words(text[], boolean) FROM PUBLIC;
