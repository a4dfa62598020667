-- Whom the record names for a change: the role set by SET ROLE, or else the login. Never asked for a permission: inside somebody else's
-- SECURITY DEFINER function it names the login that called that function, and the functions that ask are for writers alone.
CREATE OR REPLACE FUNCTION sift._recorded_role() RETURNS name
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_role name := current_setting('role')::name;
BEGIN
    RETURN CASE WHEN v_role = 'none' THEN session_user ELSE v_role END;
END
$$;
COMMENT ON FUNCTION sift._recorded_role() IS 'The name under which a change is recorded: the role of SET ROLE, or else the login.';
REVOKE ALL ON FUNCTION sift._recorded_role() FROM PUBLIC;
