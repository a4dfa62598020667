-- The role the caller acts as. Inside a SECURITY DEFINER function current_user is the owner, so the caller is the role set by
-- SET ROLE, or else the login.
CREATE OR REPLACE FUNCTION sift._effective_role() RETURNS name
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_role name := current_setting('role')::name;
BEGIN
    RETURN CASE WHEN v_role = 'none' THEN session_user ELSE v_role END;
END
$$;
COMMENT ON FUNCTION sift._effective_role() IS 'The role the caller acts as: that of SET ROLE, or else the login.';
REVOKE ALL ON FUNCTION sift._effective_role() FROM PUBLIC;
