-- {"a": {"b": value}} for the path {a, b}: what a document's metadata contains when it has this value there.
CREATE OR REPLACE FUNCTION sift._filter_at_path(path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_value jsonb := value;
BEGIN
    FOR i IN REVERSE cardinality(path) .. 1 LOOP
        v_value := jsonb_build_object(path[i], v_value);
    END LOOP;
    RETURN v_value;
END
$$;
COMMENT ON FUNCTION sift._filter_at_path(text[], jsonb) IS 'The object that holds a value at the end of a path of member names.';
REVOKE ALL ON FUNCTION sift._filter_at_path(text[], jsonb) FROM PUBLIC;
