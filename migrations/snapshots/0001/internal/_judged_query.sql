-- What two ways to write one query have in common: NFKC, folded case, single spaces. Operators and punctuation stay: "cold water" in
-- quotation marks is another query than without. NULL where nothing is left.
CREATE OR REPLACE FUNCTION sift._judged_query(query text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_query text := btrim(regexp_replace(sift._casefold(normalize(query, NFKC)) COLLATE "C", '[[:space:]]+', ' ', 'g'));
BEGIN
    RETURN CASE WHEN v_query <> '' THEN sha256(convert_to(v_query, 'UTF8')) END;
END
$$;
COMMENT ON FUNCTION sift._judged_query(text) IS 'sha256 of a query in NFKC, folded, with single spaces; NULL where nothing is left.';
REVOKE ALL ON FUNCTION sift._judged_query(text) FROM PUBLIC;
