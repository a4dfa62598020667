-- The stem of a prefix where it is not among the terms that begin with the prefix: "simulation*" also stands for "simul". NULL otherwise.
CREATE OR REPLACE FUNCTION sift._prefix_stem(analyzer text, prefix text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_stem text;
BEGIN
    IF analyzer = 'english' THEN
        v_stem := (sift._stem_english(ARRAY[prefix]))[1];
    END IF;
    RETURN CASE WHEN NOT starts_with(v_stem, prefix) THEN v_stem END;
END
$$;
COMMENT ON FUNCTION sift._prefix_stem(text, text) IS 'The stem of a prefix, unless it begins with the prefix.';
REVOKE ALL ON FUNCTION sift._prefix_stem(text, text) FROM PUBLIC;
