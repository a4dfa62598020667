-- The revision of the schema, for clients to compare with the one they were written for.
CREATE OR REPLACE FUNCTION sift.schema_version()
RETURNS text
LANGUAGE plpgsql
STABLE
PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    RETURN (SELECT v.version_num FROM sift.alembic_version AS v);
END
$$;

COMMENT ON FUNCTION sift.schema_version() IS
    'The revision of the schema sift in this database, e.g. 0001. A client of another version refuses to work with it.';
REVOKE ALL ON FUNCTION sift.schema_version() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.schema_version() TO sift_owner, sift_writer, sift_app, sift_reader;
