-- Names of principals as a set: distinct, in C order, each checked.
CREATE OR REPLACE FUNCTION sift._principal_set(principals text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_set text[];
    v_bad text;
BEGIN
    SELECT coalesce(array_agg(DISTINCT p.name COLLATE "C"), '{}'::text[]) INTO v_set
    FROM unnest(principals) AS p (name);
    SELECT p.name INTO v_bad
    FROM unnest(v_set) AS p (name)
    WHERE p.name IS NULL OR p.name = '' OR p.name LIKE 'sift:%' OR octet_length(p.name) > 500
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('%s cannot be a principal', coalesce(to_json(left(v_bad, 100))::text, 'NULL')),
            HINT = 'A principal is a name such as user:1042, group:hr or public: not empty, at most 500 bytes, not beginning with sift: (reserved).';
    END IF;
    RETURN v_set;
END
$$;
COMMENT ON FUNCTION sift._principal_set(text[]) IS 'The names as a set in C order; NULL is the empty set; PS002 where one cannot be a principal.';
REVOKE ALL ON FUNCTION sift._principal_set(text[]) FROM PUBLIC;
