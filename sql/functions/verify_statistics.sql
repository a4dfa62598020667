-- Counts a tenant's corpus anew and names every statistic that differs: no rows means that all are right. It reads every chunk: a
-- minute or so per million.
--
--   SELECT * FROM sift.verify_statistics('acme');
CREATE OR REPLACE FUNCTION sift.verify_statistics(tenant text)
RETURNS TABLE (statistic text, term text, access_list_id bigint, stored bigint, counted bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    RETURN QUERY
    SELECT e.statistic, e.term, e.access_list_id, e.stored, e.counted FROM sift._statistics_errors(v_tenant_id) AS e;
END
$$;
COMMENT ON FUNCTION sift.verify_statistics(text) IS
    'Counts the corpus anew and returns what differs from the maintained statistics, the stored number beside the counted one; no rows when all is right.';
REVOKE ALL ON FUNCTION sift.verify_statistics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.verify_statistics(text) TO sift_owner, sift_writer;
