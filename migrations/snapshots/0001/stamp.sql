-- Marks the revision that install.sql produces, so that "pgsift db upgrade" continues from here. The last line is written by
-- "make snapshot"; migrations do not run this file, alembic marks the revision itself.
INSERT INTO sift.alembic_version (version_num)
SELECT '0001' WHERE NOT EXISTS (SELECT FROM sift.alembic_version);
