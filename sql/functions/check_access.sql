-- May somebody see a document, and why?
CREATE OR REPLACE FUNCTION sift.check_access(tenant text, key text, principals text[])
RETURNS TABLE (visible boolean, reason text, granted_by text[], denied_by text[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.visible, r.reason, r.granted_by, r.denied_by
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._check_access(c.role_id, c.proof, check_access.tenant, check_access.key, check_access.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.check_access(text, text, text[]) IS
    'Whether these principals may see the document of the key, and by which entries of its access list, those that name a group of theirs included. Reasons: granted, denied, not granted, writer, no such document; applications are told granted or not visible alone, so that they cannot tell what is invisible from what is absent.';
REVOKE ALL ON FUNCTION sift.check_access(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.check_access(text, text, text[]) TO sift_owner, sift_writer, sift_app;
