-- The hash of a shingle by which anchors are chosen: the first eight bytes of its MD5, as a signed number. The client makes the same.
CREATE OR REPLACE FUNCTION sift._anchor(shingle text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT ('x' || pg_catalog."left"(pg_catalog.md5(shingle), 16))::bit(64)::bigint;
END;
COMMENT ON FUNCTION sift._anchor(text) IS 'Hash of a shingle: the first eight bytes of its MD5.';
REVOKE ALL ON FUNCTION sift._anchor(text) FROM PUBLIC;
