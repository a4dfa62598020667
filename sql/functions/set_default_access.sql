-- Who sees documents that come without an access list of their own, under no prefix that has a rule.
CREATE OR REPLACE FUNCTION sift.set_default_access(tenant text, principals text[], denied text[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    PERFORM sift._change_access(sift._tenant_id(tenant), 'set', principals, denied, NULL::text[], NULL::text, true);
END
$$;
COMMENT ON FUNCTION sift.set_default_access(text, text[], text[]) IS
    'Sets who sees documents ingested from now on without an access list, and who does not; NULL or {} is nobody but writers. Waits for documents that are being stored.';
REVOKE ALL ON FUNCTION sift.set_default_access(text, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.set_default_access(text, text[], text[]) TO sift_owner, sift_writer;
