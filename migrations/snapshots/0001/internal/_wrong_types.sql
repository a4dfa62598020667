-- The beginning of a jsonpath that finds the objects of which a member has none of its types; more conditions and ")" are to follow.
CREATE OR REPLACE FUNCTION sift._wrong_types(members jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN '$[*] ? (' || (
        SELECT string_agg('(' || (SELECT string_agg(format('@."%s".type() != "%s"', m.name, t.type), ' && ')
                                  FROM jsonb_array_elements_text(m.types || '"null"'::jsonb) AS t (type)) || ')', ' || ')
        FROM jsonb_each(members) AS m (name, types));
END
$$;
COMMENT ON FUNCTION sift._wrong_types(jsonb) IS 'Beginning of a jsonpath for objects with a member of a wrong type, from {"member": ["type"]}; null is right everywhere.';
REVOKE ALL ON FUNCTION sift._wrong_types(jsonb) FROM PUBLIC;
