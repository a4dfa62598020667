-- The doctor on owners, privileges, row security and roles, by rules that hold for every object of the schema whatever revision it is
-- of. What each of the four roles may execute is for the client to compare, which knows the SQL of the revision.
CREATE OR REPLACE FUNCTION sift._doctor_rights()
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_owner oid := (SELECT n.nspowner FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sift');
BEGIN
    RETURN QUERY
    WITH objects AS (
        SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS name, c.relname AS short,
               c.relowner AS owner, false AS proves, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner)) AS acl
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
        UNION ALL
        -- Internal functions that take the proof of who calls are granted to whoever may call the public one before them.
        SELECT 'FUNCTION', p.oid::regprocedure::text, p.proname, p.proowner,
               coalesce(p.prosecdef AND p.proargnames[1:2] = ARRAY['caller', 'proof'], false), coalesce(p.proacl, acldefault('f', p.proowner))
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'sift'::regnamespace
    ),
    granted AS (
        SELECT o.kind, o.name, o.short, o.owner, o.proves, a.grantee, a.is_grantable, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type) AS privileges
        FROM objects AS o
        CROSS JOIN LATERAL aclexplode(o.acl) AS a
        WHERE a.grantee <> o.owner
        GROUP BY o.kind, o.name, o.short, o.owner, o.proves, a.grantee, a.is_grantable
        UNION ALL
        SELECT 'SCHEMA', 'sift', 'sift', v_owner, false, a.grantee, a.is_grantable, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
        FROM pg_catalog.pg_namespace AS n
        CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
        WHERE n.nspname = 'sift' AND a.grantee <> n.nspowner AND (a.privilege_type = 'CREATE' OR a.grantee = 0)
        GROUP BY a.grantee, a.is_grantable
        UNION ALL
        SELECT 'TABLE', format('%s (%s)', t.attrelid::regclass, t.attname), t.attname, c.relowner, false, a.grantee, a.is_grantable,
               string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
        FROM pg_catalog.pg_attribute AS t
        JOIN pg_catalog.pg_class AS c ON c.oid = t.attrelid
        CROSS JOIN LATERAL aclexplode(t.attacl) AS a
        WHERE c.relnamespace = 'sift'::regnamespace AND a.grantee <> c.relowner
        GROUP BY t.attrelid, t.attname, c.relowner, a.grantee, a.is_grantable
    )
    SELECT 'owners'::text, 'error'::text, o.name,
           format('the %s belongs to %s, the schema to %s; find out how it came to that first', lower(o.kind), pg_get_userbyid(o.owner), pg_get_userbyid(v_owner)),
           -- Not by itself: what somebody else made or had in hand must not come to run with the owner's rights unseen.
           format('ALTER %s %s OWNER TO %I', o.kind, o.name, pg_get_userbyid(v_owner)), false
    FROM objects AS o
    WHERE o.owner <> v_owner
    UNION ALL
    SELECT 'grants', 'error', g.name,
           format('%s may %s on this %s', CASE g.grantee WHEN 0 THEN 'everybody (PUBLIC)' ELSE pg_get_userbyid(g.grantee) END,
                  g.privileges, lower(g.kind)),
           format('REVOKE ALL ON %s %s FROM %s', CASE g.kind WHEN 'VIEW' THEN 'TABLE' ELSE g.kind END, split_part(g.name, ' (', 1),
                  CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END),
           true
    FROM granted AS g
    WHERE g.grantee = 0 OR g.is_grantable OR g.kind IN ('TABLE', 'SEQUENCE', 'SCHEMA') OR (g.kind = 'FUNCTION' AND starts_with(g.short::text, '_')
           AND pg_get_userbyid(g.grantee) NOT IN ('sift_owner', 'sift_writer', 'sift_app', 'sift_reader'))
    ORDER BY 1 DESC, 3, 4;

    RETURN QUERY
    SELECT 'grants'::text, 'warning'::text, 'default privileges'::text,
           format('objects that %s makes from now on are open to %s', pg_get_userbyid(d.defaclrole),
                  CASE a.grantee WHEN 0 THEN 'everybody (PUBLIC)' ELSE pg_get_userbyid(a.grantee) END),
           format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA sift REVOKE ALL ON %s FROM %s', pg_get_userbyid(d.defaclrole),
                  CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END,
                  CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), false
    FROM pg_catalog.pg_default_acl AS d
    CROSS JOIN LATERAL aclexplode(d.defaclacl) AS a
    WHERE d.defaclnamespace = 'sift'::regnamespace AND a.grantee <> d.defaclrole
    ORDER BY 4;

    RETURN QUERY
    SELECT 'definitions'::text, 'error'::text, p.oid::regprocedure::text,
           CASE WHEN p.prosecdef THEN 'the function runs with its owner''s rights and without a pinned search_path: whoever calls it can make it run anything'
                ELSE 'the function has no pinned search_path' END,
           'pgsift doctor --fix', true
    FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace = 'sift'::regnamespace AND p.prosqlbody IS NULL
      AND NOT coalesce(p.proconfig, '{}'::text[]) @> ARRAY['search_path=pg_catalog, pg_temp']
    ORDER BY 3;

    RETURN QUERY
    SELECT 'row_security'::text, 'error'::text, c.oid::regclass::text, 'row-level security of the table is off'::text,
           format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', c.oid::regclass), true
    FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'alembic_version' AND NOT c.relrowsecurity
    ORDER BY 3;

    RETURN QUERY
    SELECT 'roles'::text, 'error'::text, x.role, x.finding, x.remedy, false
    FROM (SELECT r.rolname::text AS role, format('%s is %s', r.rolname, concat_ws(', ',
                     CASE WHEN r.rolsuper THEN 'a superuser' END, CASE WHEN r.rolbypassrls THEN 'not subject to row security' END,
                     CASE WHEN r.rolcreaterole THEN 'allowed to make roles' END, CASE WHEN r.rolreplication THEN 'allowed to replicate' END)) AS finding,
                 format('ALTER ROLE %I NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION', r.rolname) AS remedy
          FROM pg_catalog.pg_roles AS r
          WHERE r.rolname IN ('sift_owner', 'sift_writer', 'sift_app', 'sift_reader')
            AND (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication)
          UNION ALL
          SELECT r.role, format('the role %s does not exist', r.role), format('CREATE ROLE %I NOLOGIN', r.role)
          FROM (VALUES ('sift_owner'), ('sift_writer'), ('sift_app'), ('sift_reader')) AS r (role)
          WHERE to_regrole(r.role) IS NULL
          UNION ALL
          SELECT l.role, format('%s is a member of %s and may do all that it may', l.role, h.role), format('REVOKE %I FROM %I', h.role, l.role)
          FROM (VALUES (1, 'sift_reader'), (2, 'sift_app'), (3, 'sift_writer'), (4, 'sift_owner')) AS l (level, role)
          JOIN (VALUES (1, 'sift_reader'), (2, 'sift_app'), (3, 'sift_writer'), (4, 'sift_owner')) AS h (level, role) ON h.level > l.level
          WHERE to_regrole(l.role) IS NOT NULL AND to_regrole(h.role) IS NOT NULL AND pg_has_role(to_regrole(l.role), to_regrole(h.role), 'MEMBER')) AS x
    ORDER BY x.role, x.finding;
END
$$;
COMMENT ON FUNCTION sift._doctor_rights() IS 'The doctor on owners, privileges, row security and roles.';
REVOKE ALL ON FUNCTION sift._doctor_rights() FROM PUBLIC;
