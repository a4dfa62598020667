-- May the caller write? Those with the privileges of sift_writer or sift_owner, superusers, and the owner of the schema may.
CREATE OR REPLACE FUNCTION sift._is_writer() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_role name := sift._effective_role();
BEGIN
    RETURN coalesce(pg_has_role(v_role, to_regrole('sift_writer'), 'USAGE'), false)
        OR coalesce(pg_has_role(v_role, to_regrole('sift_owner'), 'USAGE'), false)
        OR pg_has_role(v_role, (SELECT n.nspowner FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sift'), 'USAGE');
END
$$;
COMMENT ON FUNCTION sift._is_writer() IS 'Whether the caller may write: has the privileges of sift_writer, sift_owner, or the owner of the schema.';
REVOKE ALL ON FUNCTION sift._is_writer() FROM PUBLIC;
