-- May the caller say whose principals it searches for? Applications (sift_app) and writers may.
CREATE OR REPLACE FUNCTION sift._is_trusted() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce(pg_has_role(sift._effective_role(), to_regrole('sift_app'), 'USAGE'), false) OR sift._is_writer();
END
$$;
COMMENT ON FUNCTION sift._is_trusted() IS 'Whether the caller may pass principals: has the privileges of sift_app, or is a writer.';
REVOKE ALL ON FUNCTION sift._is_trusted() FROM PUBLIC;
