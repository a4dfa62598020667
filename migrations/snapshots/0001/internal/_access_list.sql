-- The access list of a set of principals, made where it is not there yet. {} is list 0, which nobody is on.
CREATE OR REPLACE FUNCTION sift._access_list(tenant_id integer, principals text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id      integer := tenant_id;
    v_set            text[];
    v_access_list_id bigint;
    v_bad            text;
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
    IF cardinality(v_set) = 0 THEN
        RETURN 0;
    END IF;
    SELECT a.access_list_id INTO v_access_list_id
    FROM sift.access_lists AS a
    WHERE a.tenant_id = v_tenant_id AND hash_array_extended(a.principals, 0) = hash_array_extended(v_set, 0) AND a.principals = v_set
    ORDER BY a.access_list_id
    LIMIT 1;
    IF v_access_list_id IS NULL THEN
        INSERT INTO sift.access_lists AS a (tenant_id, principals) VALUES (v_tenant_id, v_set)
        RETURNING a.access_list_id INTO v_access_list_id;
    END IF;
    RETURN v_access_list_id;
END
$$;
COMMENT ON FUNCTION sift._access_list(integer, text[]) IS 'Number of the access list that holds exactly these principals, made where absent.';
REVOKE ALL ON FUNCTION sift._access_list(integer, text[]) FROM PUBLIC;
