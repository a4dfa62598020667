-- May a role write? Those with the privileges of sift_writer or sift_owner, superusers, and the owner of the schema may. The latter is
-- current_user, since internal functions run with the rights of the owner; a catalog need not be asked for it.
CREATE OR REPLACE FUNCTION sift._is_writer(caller oid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce(pg_has_role(caller, to_regrole('sift_writer'), 'USAGE'), false)
        OR coalesce(pg_has_role(caller, to_regrole('sift_owner'), 'USAGE'), false)
        OR coalesce(pg_has_role(caller, current_user, 'USAGE'), false);
END
$$;
COMMENT ON FUNCTION sift._is_writer(oid) IS 'Whether the role may write: has the privileges of sift_writer, sift_owner, or the owner of the schema.';
REVOKE ALL ON FUNCTION sift._is_writer(oid) FROM PUBLIC;
