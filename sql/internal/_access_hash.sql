-- sha256 of an access list: each name as its length in bytes, a colon and the name; those who may see, a line break, those who may not.
CREATE OR REPLACE FUNCTION sift._access_hash(principals text[], denied text[]) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN sha256(convert_to(
        coalesce((SELECT string_agg(octet_length(p.name)::text || ':' || p.name, '' ORDER BY p.name COLLATE "C") FROM unnest(principals) AS p (name)), '')
        || E'\n'
        || coalesce((SELECT string_agg(octet_length(p.name)::text || ':' || p.name, '' ORDER BY p.name COLLATE "C") FROM unnest(denied) AS p (name)), ''),
        'UTF8'));
END
$$;
COMMENT ON FUNCTION sift._access_hash(text[], text[]) IS 'sha256 of an access list, the same for the same names.';
REVOKE ALL ON FUNCTION sift._access_hash(text[], text[]) FROM PUBLIC;
