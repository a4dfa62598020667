-- Removes dead letters: those named by their numbers, those of keys that are ingested, or those of a source that was read as a whole.
--
--   ids         these letters
--   keys        letters of these keys
--   root        letters whose origin has this root, and prefix if it has one
--   before_run  only letters that failed in an earlier run than this, or in none: what failed in this run stays
CREATE OR REPLACE FUNCTION sift.clear_dead_letters(
    tenant     text,
    ids        bigint[] DEFAULT NULL,
    keys       text[] DEFAULT NULL,
    root       text DEFAULT NULL,
    prefix     text DEFAULT NULL,
    before_run bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_count     bigint := 0;
    v_part      bigint;
BEGIN
    IF num_nonnulls(ids, keys, root) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'no dead letters are named',
            HINT = 'Pass ids, as listed by sift.list_dead_letters, or keys, or root.';
    END IF;
    IF ids IS NOT NULL THEN
        DELETE FROM sift.dead_letters AS l
        WHERE l.tenant_id = v_tenant_id AND l.dead_letter_id = ANY (clear_dead_letters.ids)
          AND (before_run IS NULL OR l.run_id IS NULL OR l.run_id < before_run);
        GET DIAGNOSTICS v_part = ROW_COUNT;
        v_count := v_count + v_part;
    END IF;
    IF keys IS NOT NULL THEN
        DELETE FROM sift.dead_letters AS l
        WHERE l.tenant_id = v_tenant_id AND l.key = ANY (clear_dead_letters.keys)
          AND (before_run IS NULL OR l.run_id IS NULL OR l.run_id < before_run);
        GET DIAGNOSTICS v_part = ROW_COUNT;
        v_count := v_count + v_part;
    END IF;
    IF root IS NOT NULL THEN
        DELETE FROM sift.dead_letters AS l
        WHERE l.tenant_id = v_tenant_id AND l.origin ->> 'root' = clear_dead_letters.root
          AND coalesce(l.origin ->> 'prefix', '') = coalesce(clear_dead_letters.prefix, '')
          AND (before_run IS NULL OR l.run_id IS NULL OR l.run_id < before_run);
        GET DIAGNOSTICS v_part = ROW_COUNT;
        v_count := v_count + v_part;
    END IF;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION sift.clear_dead_letters(text, bigint[], text[], text, text, bigint) IS
    'Removes dead letters by number, by key, or of a source that was read as a whole; with before_run those alone that did not fail in this run or a later one. Returns how many.';
REVOKE ALL ON FUNCTION sift.clear_dead_letters(text, bigint[], text[], text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.clear_dead_letters(text, bigint[], text[], text, text, bigint) TO sift_owner, sift_writer;
