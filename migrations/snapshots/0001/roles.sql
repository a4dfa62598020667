-- The four roles. They belong to the whole cluster, so they are created where absent and permitted, and never dropped.
--   sift_owner   owns nothing by itself; members may do what writers may, and administer tenants
--   sift_writer  ingest: puts and deletes documents, registers models
--   sift_app     a trusted application: searches, and says whose principals it searches for
--   sift_reader  people and BI tools: search with the principals their database role is mapped to
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['sift_owner', 'sift_writer', 'sift_app', 'sift_reader'] LOOP
        IF pg_catalog.to_regrole(v_role) IS NULL THEN
            BEGIN
                EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN
                    NULL;  -- another database of this cluster is being installed at this moment
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION USING ERRCODE = '42501',
                        MESSAGE = pg_catalog.format('the role %s does not exist and may not be created by %s', v_role, current_user),
                        HINT = 'Ask an administrator to run: CREATE ROLE sift_owner NOLOGIN; CREATE ROLE sift_writer NOLOGIN; '
                               'CREATE ROLE sift_app NOLOGIN; CREATE ROLE sift_reader NOLOGIN;';
            END;
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON SCHEMA sift FROM PUBLIC;
GRANT USAGE ON SCHEMA sift TO sift_owner, sift_writer, sift_app, sift_reader;
