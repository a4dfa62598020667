-- May a role say whose principals it searches for? Applications (sift_app) and writers may.
CREATE OR REPLACE FUNCTION sift._is_trusted(caller oid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce(pg_has_role(caller, to_regrole('sift_app'), 'USAGE'), false) OR sift._is_writer(caller);
END
$$;
COMMENT ON FUNCTION sift._is_trusted(oid) IS 'Whether the role may pass principals: has the privileges of sift_app, or is a writer.';
REVOKE ALL ON FUNCTION sift._is_trusted(oid) FROM PUBLIC;
