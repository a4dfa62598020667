-- What becomes of a set of principals: the names take its place, join it, or leave it.
CREATE OR REPLACE FUNCTION sift._changed_set(principals text[], change text, names text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE change
        WHEN 'set' THEN sift._principal_set(names)
        WHEN 'grant' THEN sift._principal_set(principals || names)
        WHEN 'revoke' THEN sift._principal_set(ARRAY(SELECT p.name FROM unnest(principals) AS p (name) WHERE p.name <> ALL (names)))
    END;
END
$$;
COMMENT ON FUNCTION sift._changed_set(text[], text, text[]) IS 'The set after a change: set, grant or revoke. names has no NULL.';
REVOKE ALL ON FUNCTION sift._changed_set(text[], text, text[]) FROM PUBLIC;
