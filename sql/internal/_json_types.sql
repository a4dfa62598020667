-- Types of JSON in words.
CREATE OR REPLACE FUNCTION sift._json_types(types text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT string_agg(CASE WHEN t.type IN ('array', 'object') THEN 'an ' || t.type WHEN t.type = 'null' THEN t.type ELSE 'a ' || t.type END,
                              ' or ' ORDER BY t.position)
            FROM unnest(types) WITH ORDINALITY AS t (type, position));
END
$$;
COMMENT ON FUNCTION sift._json_types(text[]) IS 'Types of JSON in words: a string, an array or an object, null.';
REVOKE ALL ON FUNCTION sift._json_types(text[]) FROM PUBLIC;
