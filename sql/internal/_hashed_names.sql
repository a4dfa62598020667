-- A text in which names of purged documents, where they stand as names or at the end of a path, give way to their hashes: of
-- a.md in 'one/a.md' and 'cannot read a.md: empty', not in 'b-a.md' nor in 'a.md.bak', which are names of something else.
-- Longer names should come first: one may be the end of another.
CREATE OR REPLACE FUNCTION sift._hashed_names(value text, names text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_value text := value;
    v_name  text;
BEGIN
    FOREACH v_name IN ARRAY names LOOP
        CONTINUE WHEN v_name = '' OR strpos(v_value, v_name) = 0;
        v_value := regexp_replace(
            v_value,
            CASE WHEN left(v_name, 1) ~ '[[:alnum:]_.-]' THEN '(?<![[:alnum:]_.-])' ELSE '(?:)' END
                || regexp_replace(v_name, E'([][(){}.*+?^$|\\\\])', E'\\\\\\1', 'g') || '(?![[:alnum:]_/-]|[.][[:alnum:]])',
            sift._key_hash(v_name), 'g');
    END LOOP;
    RETURN v_value;
END
$$;
COMMENT ON FUNCTION sift._hashed_names(text, text[]) IS
    'A text in which names of purged documents give way to their hashes, where they stand as names or at the end of a path.';
REVOKE ALL ON FUNCTION sift._hashed_names(text, text[]) FROM PUBLIC;
