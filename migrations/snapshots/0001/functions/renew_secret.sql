-- Makes a new key for the proofs of who calls. Wanted where a dump was restored for people who may read its tables (the key is in the dump),
-- or restored without its data. Calls that are under way when it commits fail once with PS008.
CREATE OR REPLACE FUNCTION sift.renew_secret() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    INSERT INTO sift.secrets AS s (inner_key, outer_key)
    SELECT sha512(r.a || r.b || r.c), sha512(r.d || r.e || r.f)
    FROM (SELECT uuid_send(gen_random_uuid()) AS a, uuid_send(gen_random_uuid()) AS b, uuid_send(gen_random_uuid()) AS c,
                 uuid_send(gen_random_uuid()) AS d, uuid_send(gen_random_uuid()) AS e, uuid_send(gen_random_uuid()) AS f) AS r
    ON CONFLICT ON CONSTRAINT secrets_pkey DO UPDATE SET inner_key = excluded.inner_key, outer_key = excluded.outer_key;
END
$$;
COMMENT ON FUNCTION sift.renew_secret() IS
    'Makes a new key for the proofs by which the functions know who calls: after a dump was restored where others may read its tables.';
REVOKE ALL ON FUNCTION sift.renew_secret() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.renew_secret() TO sift_owner;
