-- JSON of any shape with every string and every member's name as sift._hashed_names makes it.
CREATE OR REPLACE FUNCTION sift._hashed_members(value jsonb, names text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    CASE jsonb_typeof(value)
        WHEN 'string' THEN
            RETURN to_jsonb(sift._hashed_names(value #>> '{}'::text[], names));
        WHEN 'array' THEN
            RETURN (SELECT coalesce(jsonb_agg(sift._hashed_members(e.value, names) ORDER BY e.position), '[]'::jsonb)
                    FROM jsonb_array_elements(value) WITH ORDINALITY AS e (value, position));
        WHEN 'object' THEN
            RETURN (SELECT coalesce(jsonb_object_agg(sift._hashed_names(m.key, names), sift._hashed_members(m.value, names)), '{}'::jsonb)
                    FROM jsonb_each(value) AS m (key, value));
        ELSE
            RETURN value;
    END CASE;
END
$$;
COMMENT ON FUNCTION sift._hashed_members(jsonb, text[]) IS
    'JSON in which names of purged documents give way to their hashes, in every string and every member''s name.';
REVOKE ALL ON FUNCTION sift._hashed_members(jsonb, text[]) FROM PUBLIC;
