-- The schema and what it stands on. Existence is tested first: CREATE ... IF NOT EXISTS demands the privilege even where nothing
-- is to be created, and a managed server hands out a finished schema and extension.
DO $$
DECLARE
    v_installer oid := pg_catalog.to_regrole(pg_catalog.quote_ident(current_user))::oid;
    v_schema    record;
    v_problem   text;
BEGIN
    IF pg_catalog.current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS009',
            MESSAGE = pg_catalog.format('pgsift needs PostgreSQL 15 or newer; this server is %s',
                                        pg_catalog.current_setting('server_version')),
            HINT = 'Upgrade the server, or install into another one.';
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
    -- Whoever made the schema may have put something into it, or let somebody in, that would come to belong to sift_owner.
    SELECT n.oid, n.nspowner, n.nspacl INTO v_schema FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sift';
    IF v_schema.nspowner NOT IN (v_installer, coalesce(pg_catalog.to_regrole('sift_owner')::oid, v_installer)) THEN
        v_problem := pg_catalog.format('it belongs to %I', pg_catalog.pg_get_userbyid(v_schema.nspowner));
    ELSE
        SELECT pg_catalog.format('%s may %s in it', CASE a.grantee WHEN 0 THEN 'everybody' ELSE pg_catalog.pg_get_userbyid(a.grantee) END,
                                 pg_catalog.lower(a.privilege_type))
        INTO v_problem
        FROM pg_catalog.aclexplode(v_schema.nspacl) AS a
        LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
        WHERE a.grantee <> v_schema.nspowner
          AND NOT (a.privilege_type = 'USAGE' AND NOT a.is_grantable AND r.rolname IN ('sift_owner', 'sift_writer', 'sift_app', 'sift_reader'))
        LIMIT 1;
        IF v_problem IS NULL THEN
            -- Alembic's table of versions is there before the first migration runs.
            SELECT pg_catalog.format('it holds %s', pg_catalog.pg_describe_object(d.classid, d.objid, 0)) INTO v_problem
            FROM pg_catalog.pg_depend AS d
            LEFT JOIN pg_catalog.pg_class AS c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid
            WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.refobjid = v_schema.oid
              AND NOT (c.relname IS NOT DISTINCT FROM 'alembic_version' AND c.relkind = 'r' AND c.relowner = v_installer AND c.relacl IS NULL)
            ORDER BY d.classid, d.objid
            LIMIT 1;
        END IF;
    END IF;
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = pg_catalog.format('the schema sift cannot be used: %s', v_problem),
            HINT = 'pgsift installs into a schema that it makes, or into an empty one of the installing role to which nobody else has a right. '
                   'An installed one is brought up to date by "pgsift db upgrade".';
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
