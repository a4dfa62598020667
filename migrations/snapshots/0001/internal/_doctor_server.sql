-- The doctor on the server and the database: versions, settings, and rows that no tenant owns.
--
--   server_version  as server_version_num has it
CREATE OR REPLACE FUNCTION sift._doctor_server(server_version integer DEFAULT current_setting('server_version_num')::integer)
RETURNS TABLE (check_name text, severity text, object text, finding text, remedy text, safe_fix boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_number  integer := server_version;
    v_version text := format('%s.%s', server_version / 10000, server_version % 10000);
    v_least   integer;
    v_vector  record;
    v_parts   integer[];
    v_table   record;
    v_tenants bigint[];
BEGIN
    -- The first minor releases in which no role that may log in can run code of its own as the server, past row security, by a
    -- time zone with a long abbreviation (CVE-2026-14669; a wrapped size in CVE-2026-6473 and text cut within a character in
    -- CVE-2026-2006 let it do the same before), nor read column statistics of rows that row security hides (CVE-2025-8713, in the
    -- releases before 18).
    v_least := (SELECT m.minor FROM (VALUES (15, 19), (16, 15), (17, 11), (18, 6)) AS m (major, minor) WHERE m.major = v_number / 10000);
    IF v_number < 150000 THEN
        RETURN QUERY SELECT 'server_version'::text, 'error'::text, 'server'::text, format('PostgreSQL %s is older than 15', v_version),
            'upgrade the server'::text, false;
    ELSIF v_number >= 190000 THEN
        RETURN QUERY SELECT 'server_version'::text, 'info'::text, 'server'::text,
            format('pgsift is tested with PostgreSQL 15 to 18; this server is %s', v_version), 'run the tests of pgsift on it'::text, false;
    ELSIF v_number % 10000 < v_least THEN
        RETURN QUERY SELECT 'server_version'::text, 'warning'::text, 'server'::text,
            format('PostgreSQL %s lacks security fixes; of this major version use %s.%s or newer', v_version, v_number / 10000, v_least),
            'install the newest minor release and restart'::text, false;
    END IF;

    SELECT e.extversion AS version, n.nspname AS schema, n.oid AS schema_oid, a.default_version INTO v_vector
    FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
    LEFT JOIN pg_catalog.pg_available_extensions AS a ON a.name = e.extname
    WHERE e.extname = 'vector';
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'pgvector'::text, 'error'::text, 'extension vector'::text, 'the extension vector is not installed in this database'::text,
            'CREATE EXTENSION vector'::text, false;
    ELSE
        v_parts := ARRAY(SELECT p.part[1]::integer FROM regexp_matches(v_vector.version, '[0-9]+', 'g') AS p (part))::integer[];
        IF v_parts < ARRAY[0, 8] THEN
            RETURN QUERY SELECT 'pgvector'::text, 'error'::text, 'extension vector'::text,
                format('pgvector %s is older than 0.8.0, the first that goes on scanning where a filter leaves too few', v_vector.version),
                'install pgvector 0.8.4 or newer, then ALTER EXTENSION vector UPDATE'::text, false;
        ELSIF v_parts < ARRAY[0, 8, 4] THEN
            -- From its change log: 0.8.2 mended a buffer overflow in parallel builds of HNSW indexes (CVE-2026-3172), 0.8.3 a possible
            -- corruption of HNSW indexes by vacuum, 0.8.4 the error "hnsw graph not repaired" of vacuum and errors of inserts beside it.
            RETURN QUERY SELECT 'pgvector'::text, 'warning'::text, 'extension vector'::text,
                format('pgvector %s has faults in HNSW indexes that are mended in 0.8.4: %s', v_vector.version, concat_ws(', ',
                    CASE WHEN v_parts < ARRAY[0, 8, 2] THEN 'a parallel build may write past its buffer' END,
                    CASE WHEN v_parts < ARRAY[0, 8, 3] THEN 'vacuum may corrupt the index' END,
                    'vacuum, and inserts beside it, may fail')),
                'install pgvector 0.8.4 or newer, ALTER EXTENSION vector UPDATE, then REINDEX INDEX CONCURRENTLY each HNSW index'::text, false;
        END IF;
        IF v_vector.default_version IS NOT NULL AND v_vector.default_version <> v_vector.version
           AND ARRAY(SELECT p.part[1]::integer FROM regexp_matches(v_vector.default_version, '[0-9]+', 'g') AS p (part)) > v_parts THEN
            RETURN QUERY SELECT 'pgvector'::text, 'info'::text, 'extension vector'::text,
                format('pgvector %s is installed on the server, the database is at %s', v_vector.default_version, v_vector.version),
                'ALTER EXTENSION vector UPDATE'::text, false;
        END IF;
        IF to_regrole('sift_owner') IS NOT NULL AND NOT has_schema_privilege('sift_owner', v_vector.schema_oid, 'USAGE') THEN
            RETURN QUERY SELECT 'extension_schema'::text, 'error'::text, format('schema %s', v_vector.schema),
                'sift_owner may not use the schema of pgvector: searches by vectors fail'::text,
                format('GRANT USAGE ON SCHEMA %I TO sift_owner', v_vector.schema), true;
        END IF;
        IF EXISTS (SELECT FROM pg_catalog.pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
                   WHERE n.oid = v_vector.schema_oid AND a.grantee = 0 AND a.privilege_type = 'CREATE') THEN
            RETURN QUERY SELECT 'extension_schema'::text, 'warning'::text, format('schema %s', v_vector.schema),
                'everybody (PUBLIC) may create objects beside those of pgvector'::text,
                format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', v_vector.schema), false;
        END IF;
    END IF;

    IF current_setting('autovacuum') = 'off' OR current_setting('track_counts') = 'off' THEN
        RETURN QUERY SELECT 'autovacuum'::text, 'warning'::text, 'server'::text, 'autovacuum does not run on this server'::text,
            'ALTER SYSTEM RESET autovacuum; ALTER SYSTEM RESET track_counts; SELECT pg_reload_conf()'::text, false;
    END IF;
    RETURN QUERY
    SELECT 'wraparound'::text, CASE WHEN age(d.datfrozenxid) > 1500000000 THEN 'error' ELSE 'warning' END, 'database'::text,
           format('the oldest transaction number of the database is %s transactions back; at about 2,100,000,000 the server stops to write; end old transactions, prepared ones and replication slots first', age(d.datfrozenxid)),
           'VACUUM (FREEZE)'::text, false
    FROM pg_catalog.pg_database AS d
    WHERE d.datname = current_database() AND age(d.datfrozenxid) > 1000000000;
    RETURN QUERY
    SELECT 'durability'::text, 'warning'::text, 'server'::text, format('%s is off: a crash can lose or break what was committed', s.name),
           format('ALTER SYSTEM RESET %s; SELECT pg_reload_conf()', s.name), false
    FROM (VALUES ('fsync'), ('full_page_writes')) AS s (name)
    WHERE current_setting(s.name) = 'off'
    ORDER BY s.name;

    RETURN QUERY
    SELECT 'settings'::text,
           CASE WHEN starts_with(o.name, 'enable_') OR o.name IN ('session_replication_role', 'zero_damaged_pages', 'ignore_checksum_failure', 'row_security')
                THEN 'warning' ELSE 'info' END,
           concat_ws(', ', CASE WHEN d.setdatabase <> 0 THEN 'database' END, CASE WHEN d.setrole <> 0 THEN 'role ' || pg_get_userbyid(d.setrole) END),
           CASE WHEN o.name LIKE 'hnsw.%' THEN format('%s is set; the functions of pgsift set their own', o.setting)
                WHEN o.name = 'plan_cache_mode' THEN format('%s is set; the functions of pgsift do well with either kind of plan', o.setting)
                WHEN o.name = 'session_replication_role' THEN format('%s is set: foreign keys are not checked', o.setting)
                ELSE format('%s is set: plans and results of every query here depend on it', o.setting) END,
           format('ALTER %s RESET %s', CASE WHEN d.setrole <> 0 THEN format('ROLE %I%s', pg_get_userbyid(d.setrole),
                                                 CASE WHEN d.setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) ELSE '' END)
                                            ELSE format('DATABASE %I', current_database()) END, o.name), false
    FROM pg_catalog.pg_db_role_setting AS d
    CROSS JOIN LATERAL (SELECT u.setting, split_part(u.setting, '=', 1) AS name FROM unnest(d.setconfig) AS u (setting)) AS o
    WHERE d.setdatabase IN (0, (SELECT b.oid FROM pg_catalog.pg_database AS b WHERE b.datname = current_database()))
      AND (o.name LIKE 'hnsw.%' OR starts_with(o.name, 'enable_')
           OR o.name IN ('session_replication_role', 'plan_cache_mode', 'zero_damaged_pages', 'ignore_checksum_failure', 'row_security'))
    ORDER BY 3, 4;
    RETURN QUERY
    SELECT 'settings'::text, 'info'::text, 'server'::text, x.finding, x.remedy, false
    FROM (VALUES
        (current_setting('jit') = 'on' AND pg_jit_available(), 'jit is on: compiling can cost more than these queries take',
         format('ALTER DATABASE %I SET jit = off', current_database())),
        (current_setting('random_page_cost')::double precision >= 4::double precision,
         'random_page_cost is 4, which is for rotating disks; indexes look dearer than they are on an SSD',
         format('ALTER DATABASE %I SET random_page_cost = 1.1', current_database())),
        ((SELECT s.setting::bigint * 8192 FROM pg_catalog.pg_settings AS s WHERE s.name = 'shared_buffers') < 134217728,
         format('shared_buffers is %s: the indexes of a corpus of any size do not stay in memory', current_setting('shared_buffers')),
         'ALTER SYSTEM SET shared_buffers to a quarter of the memory, then restart')
    ) AS x (found, finding, remedy)
    WHERE x.found
    ORDER BY x.finding;

    IF NOT EXISTS (SELECT FROM sift.secrets AS s) THEN
        RETURN QUERY SELECT 'secret'::text, 'error'::text, 'sift.secrets'::text,
            'the key is missing by which functions know who calls, as after a restore without data: nobody is let in'::text,
            'SELECT sift.renew_secret()'::text, false;
    END IF;

    -- Rows that no tenant owns. The first column of each key is the tenant, so that each tenant costs one step in the index.
    v_tenants := ARRAY(SELECT t.tenant_id FROM sift.tenants AS t);
    FOR v_table IN
        SELECT c.relname, c.oid::regclass::text AS name
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnum > 0
        WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'tenants'
        ORDER BY c.relname
    LOOP
        RETURN QUERY EXECUTE format(
            'WITH RECURSIVE present AS ('
            ' (SELECT t.tenant_id FROM %1$s AS t ORDER BY t.tenant_id LIMIT 1)'
            ' UNION ALL'
            ' SELECT n.tenant_id FROM present AS p CROSS JOIN LATERAL'
            '  (SELECT t.tenant_id FROM %1$s AS t WHERE t.tenant_id > p.tenant_id ORDER BY t.tenant_id LIMIT 1) AS n)'
            ' SELECT ''orphans''::text, ''error''::text, %2$L::text, format(''rows of %2$s belong to the tenant number %%s, which does not exist'', p.tenant_id),'
            '        format(''DELETE'' || '' FROM %1$s WHERE tenant_id = %%s'', p.tenant_id), false'
            ' FROM present AS p WHERE p.tenant_id <> ALL ($1)', v_table.name, v_table.relname)
        USING v_tenants;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._doctor_server(integer) IS 'The doctor on versions, settings, and rows that no tenant owns.';
REVOKE ALL ON FUNCTION sift._doctor_server(integer) FROM PUBLIC;
