-- The schema and what it stands on. Existence is tested first: CREATE ... IF NOT EXISTS demands the privilege even where nothing
-- is to be created, and a managed server hands out a finished schema and extension.
DO $$
BEGIN
    IF pg_catalog.current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS009',
            MESSAGE = pg_catalog.format('pgsift needs PostgreSQL 15 or newer; this server is %s',
                                        pg_catalog.current_setting('server_version'));
    END IF;
    IF pg_catalog.current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS009',
            MESSAGE = pg_catalog.format('pgsift needs a database encoded in UTF8; this one is %s',
                                        pg_catalog.current_setting('server_encoding')),
            HINT = 'Create the database with ENCODING ''UTF8'' TEMPLATE template0.';
    END IF;
    IF pg_catalog.to_regnamespace('sift') IS NULL THEN
        CREATE SCHEMA sift;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') THEN
        CREATE EXTENSION vector SCHEMA public;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e
               WHERE e.extname = 'vector'
                 AND (pg_catalog.string_to_array(e.extversion, '.')::integer[])[1:2] < ARRAY[0, 8]) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS009',
            MESSAGE = 'pgsift needs pgvector 0.8 or newer',
            HINT = 'ALTER EXTENSION vector UPDATE; or install a newer package of it.';
    END IF;
    -- Types of pgvector in the table definitions below are found wherever the extension lives; an object's type is
    -- bound once, when it is created.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, ' || pg_catalog.quote_ident(
        (SELECT n.nspname
         FROM pg_catalog.pg_extension AS e
         JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
         WHERE e.extname = 'vector')) || ', pg_temp', false);
END
$$;

COMMENT ON SCHEMA sift IS
    'pgsift: documents with lineage and permissions, found by exact BM25, by vectors, and by both fused. Start with sift.search.';
