-- Takes a judgment back, named by its number.
CREATE OR REPLACE FUNCTION sift.remove_judgment(tenant text, judgment bigint, principals text[] DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT sift._remove_judgment(c.role_id, c.proof, remove_judgment.tenant, remove_judgment.judgment, remove_judgment.principals)
            FROM sift._caller AS c);
END
$$;
COMMENT ON FUNCTION sift.remove_judgment(text, bigint, text[]) IS
    'Removes a judgment; false where there is none of this number, or none of a document that the principals may see. For applications and writers.';
REVOKE ALL ON FUNCTION sift.remove_judgment(text, bigint, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.remove_judgment(text, bigint, text[]) TO sift_owner, sift_writer, sift_app;
