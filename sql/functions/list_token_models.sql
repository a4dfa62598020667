-- The models of late interaction there are; as little a secret as sift.list_models.
CREATE OR REPLACE FUNCTION sift.list_token_models()
RETURNS TABLE (model text, revision text, dimensions integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    RETURN QUERY
    SELECT m.name, m.revision, m.dimensions FROM sift.token_models AS m ORDER BY m.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_token_models() IS 'The registered models that give one vector per token.';
REVOKE ALL ON FUNCTION sift.list_token_models() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_token_models() TO sift_owner, sift_writer, sift_app, sift_reader;
