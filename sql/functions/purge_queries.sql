-- Removes recorded queries: those of some numbers, those asked before a time, or both conditions together.
CREATE OR REPLACE FUNCTION sift.purge_queries(tenant text, before timestamptz DEFAULT NULL, ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_count     bigint;
BEGIN
    IF num_nonnulls(before, ids) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'no recorded queries are named',
            HINT = 'Pass before, a time, or ids, as listed by sift.list_queries; before => ''infinity'' takes them all.';
    END IF;
    DELETE FROM sift.query_log AS q
    WHERE q.tenant_id = v_tenant_id
      AND (purge_queries.before IS NULL OR q.asked_at < purge_queries.before)
      AND (purge_queries.ids IS NULL OR q.query_id = ANY (purge_queries.ids));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION sift.purge_queries(text, timestamptz, bigint[]) IS
    'Removes recorded queries asked before a time, or of some numbers; returns how many.';
REVOKE ALL ON FUNCTION sift.purge_queries(text, timestamptz, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.purge_queries(text, timestamptz, bigint[]) TO sift_owner, sift_writer;
