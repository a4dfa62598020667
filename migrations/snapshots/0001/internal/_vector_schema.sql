-- The schema pgvector was installed in. Its types and operators are named through it, never through the search path.
CREATE OR REPLACE FUNCTION sift._vector_schema()
RETURNS name
LANGUAGE sql
STABLE
PARALLEL SAFE
BEGIN ATOMIC
    SELECT n.nspname
    FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
    WHERE e.extname OPERATOR(pg_catalog.=) 'vector';
END;
COMMENT ON FUNCTION sift._vector_schema() IS 'The schema pgvector lives in.';
REVOKE ALL ON FUNCTION sift._vector_schema() FROM PUBLIC;
