-- The roles whose privileges a role has, as pg_has_role(…, 'USAGE') counts them: its own, and by memberships that inherit, those of others;
-- a superuser has all. Read from the catalog as the statement sees it. pg_has_role asks the session's cache, which a statement inside an
-- open transaction need not refresh: there a membership that was taken away would go on counting until the transaction ends. Where the whole
-- transaction has one snapshot, which may be older than it is, both must know of a membership.
CREATE OR REPLACE FUNCTION sift._roles_of(caller oid) RETURNS oid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Memberships say themselves whether they inherit since PostgreSQL 16; before, the member does.
    v_each  CONSTANT boolean := current_setting('server_version_num')::integer >= 160000;
    v_super boolean;
    v_roles oid[] := ARRAY[caller];
    v_next  oid[] := v_roles;
BEGIN
    SELECT r.rolsuper INTO v_super FROM pg_catalog.pg_roles AS r WHERE r.oid = caller;
    IF v_super THEN
        v_roles := ARRAY(SELECT r.oid FROM pg_catalog.pg_roles AS r);
        v_next := '{}'::oid[];
    -- The owner of the database is a member of this one without a row.
    ELSIF pg_has_role(caller, 'pg_database_owner', 'USAGE') AND to_regrole('pg_database_owner') <> caller THEN
        v_next := v_next || to_regrole('pg_database_owner')::oid;
        v_roles := v_next;
    END IF;
    WHILE v_next <> '{}'::oid[] LOOP
        IF v_each THEN
            v_next := ARRAY(SELECT DISTINCT m.roleid FROM pg_catalog.pg_auth_members AS m
                            WHERE m.member = ANY (v_next) AND m.inherit_option AND m.roleid <> ALL (v_roles));
        ELSE
            v_next := ARRAY(SELECT DISTINCT m.roleid FROM pg_catalog.pg_auth_members AS m
                            JOIN pg_catalog.pg_roles AS r ON r.oid = m.member
                            WHERE m.member = ANY (v_next) AND r.rolinherit AND m.roleid <> ALL (v_roles));
        END IF;
        v_roles := v_roles || v_next;
    END LOOP;
    IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        v_roles := ARRAY(SELECT u.id FROM unnest(v_roles) AS u (id) WHERE pg_has_role(caller, u.id, 'USAGE'));
    END IF;
    RETURN v_roles;
END
$$;
COMMENT ON FUNCTION sift._roles_of(oid) IS 'The roles whose privileges a role has, itself among them, as the statement''s snapshot has them.';
REVOKE ALL ON FUNCTION sift._roles_of(oid) FROM PUBLIC;
