-- Sets who may see documents: those of the keys, or everything under a prefix of the key.
CREATE OR REPLACE FUNCTION sift.set_access(
    tenant     text,
    keys       text[] DEFAULT NULL,
    principals text[] DEFAULT NULL,
    denied     text[] DEFAULT NULL,
    key_prefix text DEFAULT NULL
)
RETURNS TABLE (key text, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.key, c.changed
    FROM sift._change_access(sift._tenant_id(tenant), 'set', principals, denied, keys, key_prefix, false) AS c;
END
$$;
COMMENT ON FUNCTION sift.set_access(text, text[], text[], text[], text) IS
    'Sets who may see the documents: exactly these principals and nobody denied; NULL or {} is nobody but writers. With key_prefix, of all documents whose key begins so, and with a rule of those that come later without an acl; rules of longer prefixes are dropped, and the empty prefix sets the tenant''s default. What such documents were that are deleted goes along. One row per document found; effective with the commit.';
REVOKE ALL ON FUNCTION sift.set_access(text, text[], text[], text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_access(text, text[], text[], text[], text) TO sift_owner, sift_writer;
