-- What a misspelt name was probably meant to be, for hints. Edit distance, so that no extension is needed.
CREATE OR REPLACE FUNCTION sift._nearest_name(name text, names text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Lower case of ASCII alone, and a bounded length: the cost does not depend on what a caller sends.
    v_name      text := lower(left(name, 64) COLLATE "C");
    v_limit     integer := greatest(1, least(3, (char_length(left(name, 64)) + 1) / 2));
    v_best      text;
    v_candidate text;
    v_row       integer[];
    v_above     integer;
    v_old       integer;
BEGIN
    FOREACH v_candidate IN ARRAY names LOOP
        v_row := ARRAY(SELECT generate_series(0, char_length(v_candidate)));
        FOR i IN 1 .. char_length(v_name) LOOP
            v_above := v_row[1];
            v_row[1] := i;
            FOR j IN 1 .. char_length(v_candidate) LOOP
                v_old := v_row[j + 1];
                v_row[j + 1] := least(v_row[j + 1] + 1, v_row[j] + 1,
                                      v_above + CASE WHEN substr(v_name, i, 1) = substr(v_candidate, j, 1) THEN 0 ELSE 1 END);
                v_above := v_old;
            END LOOP;
        END LOOP;
        IF v_row[char_length(v_candidate) + 1] <= v_limit THEN
            v_best := v_candidate;
            v_limit := v_row[char_length(v_candidate) + 1] - 1;
        END IF;
    END LOOP;
    RETURN v_best;
END
$$;
COMMENT ON FUNCTION sift._nearest_name(text, text[]) IS 'The name most like a misspelt one by edit distance, the first of equals; NULL when none is like it.';
REVOKE ALL ON FUNCTION sift._nearest_name(text, text[]) FROM PUBLIC;
