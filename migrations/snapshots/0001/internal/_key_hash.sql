-- What stands for the key of a purged document.
CREATE OR REPLACE FUNCTION sift._key_hash(key text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT 'sha256:' || pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(key, 'UTF8')), 'hex');
END;
COMMENT ON FUNCTION sift._key_hash(text) IS 'The hash that stands for the key of a purged document.';
REVOKE ALL ON FUNCTION sift._key_hash(text) FROM PUBLIC;
