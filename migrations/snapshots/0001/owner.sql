-- Hands everything to sift_owner, so that the SECURITY DEFINER functions run with the rights of that role and not with those of the
-- superuser who installed them. Only what the installing role made itself: something of another's must not come to run with those rights. Where the installing role may not do that, all stays its own, which works as well. A migration that
-- creates something runs this file last.
DO $$
DECLARE
    v_object    record;
    v_installer oid := pg_catalog.to_regrole(pg_catalog.quote_ident(current_user))::oid;
    v_vector    name := (SELECT n.nspname
                      FROM pg_catalog.pg_extension AS e
                      JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
                      WHERE e.extname = 'vector');
BEGIN
    IF NOT pg_catalog.has_schema_privilege('sift_owner', v_vector, 'USAGE') THEN
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA %I TO sift_owner', v_vector);
    END IF;
    IF NOT pg_catalog.has_schema_privilege('sift_owner', v_vector, 'USAGE') THEN
        RAISE insufficient_privilege;  -- GRANT without the right to grant only warns
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sift' AND n.nspowner = v_installer) THEN
        ALTER SCHEMA sift OWNER TO sift_owner;
    END IF;
    FOR v_object IN
        SELECT c.oid::pg_catalog.regclass::text AS name, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sift'::pg_catalog.regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
          AND c.relowner = v_installer
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d  -- sequences of identity columns follow their table
                          WHERE d.objid = c.oid AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype = 'i'
                            AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.relkind = 'S')
        UNION ALL
        SELECT p.oid::pg_catalog.regprocedure::text, 'FUNCTION'
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'sift'::pg_catalog.regnamespace AND p.proowner = v_installer
    LOOP
        EXECUTE pg_catalog.format('ALTER %s %s OWNER TO sift_owner', v_object.kind, v_object.name);
    END LOOP;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'the objects of pgsift stay with %, which may not give them to sift_owner', current_user;
END
$$;
