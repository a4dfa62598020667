-- Takes principals off who may see documents, or off who may not.
CREATE OR REPLACE FUNCTION sift.revoke_access(
    tenant     text,
    keys       text[] DEFAULT NULL,
    principals text[] DEFAULT NULL,
    denied     text[] DEFAULT NULL,
    key_prefix text DEFAULT NULL,
    on_default boolean DEFAULT false
)
RETURNS TABLE (key text, changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.key, c.changed
    FROM sift._change_access(sift._tenant_id(tenant), 'revoke', principals, denied, keys, key_prefix, on_default) AS c;
END
$$;
COMMENT ON FUNCTION sift.revoke_access(text, text[], text[], text[], text, boolean) IS
    'Takes principals off those who may see the documents of the keys, or everything under key_prefix (what comes later without an acl as well), or what the tenant gives by default (on_default), and denied off those who may not. Whoever sees through a group of theirs still does: deny them, or take them out of it. What such documents were that are deleted goes along. One row per document found; effective with the commit.';
REVOKE ALL ON FUNCTION sift.revoke_access(text, text[], text[], text[], text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.revoke_access(text, text[], text[], text[], text, boolean) TO sift_owner, sift_writer;
