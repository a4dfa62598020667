-- The revision this schema is at. Alembic writes it; sift.schema_version reads it. The definition is alembic's own, so that a schema
-- installed by psql and one installed by "pgsift db upgrade" are the same and can be upgraded alike.
CREATE TABLE IF NOT EXISTS sift.alembic_version (
    version_num varchar(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
COMMENT ON TABLE sift.alembic_version IS 'The revision of this schema; one row. Changed by "pgsift db upgrade" alone.';
REVOKE ALL ON TABLE sift.alembic_version FROM PUBLIC;
