-- What separates the words of a query before any analyzer sees them: the inside of a bracket expression.
CREATE OR REPLACE FUNCTION sift._blank() RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN E' \t\n\u000b\f\r\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000';
END
$$;
COMMENT ON FUNCTION sift._blank() IS 'White space, as the inside of a bracket expression.';
REVOKE ALL ON FUNCTION sift._blank() FROM PUBLIC;
