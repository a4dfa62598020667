-- The last run of topics, and what it does not know of. For writers: its numbers speak of every document.
CREATE OR REPLACE FUNCTION sift.topic_run(tenant text)
RETURNS TABLE (run integer, made_at timestamptz, made_by text, model text, parameters jsonb, documents integer, topics integer, outliers integer, unplaced integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
BEGIN
    RETURN QUERY
    SELECT r.run, r.made_at, r.made_by, r.model, r.parameters, r.documents,
           (SELECT count(*) FROM sift.topics AS t WHERE t.tenant_id = v_tenant_id AND t.topic >= 0)::integer,
           coalesce((SELECT t.documents FROM sift.topics AS t WHERE t.tenant_id = v_tenant_id AND t.topic = -1), 0),
           (SELECT count(*) FROM sift.documents AS d
            LEFT JOIN sift.document_topics AS p ON p.tenant_id = v_tenant_id AND p.document_id = d.document_id
            WHERE d.tenant_id = v_tenant_id AND p.document_id IS NULL)::integer
    FROM sift.topic_runs AS r
    WHERE r.tenant_id = v_tenant_id;
END
$$;
COMMENT ON FUNCTION sift.topic_run(text) IS
    'The last run of topics: its number, when and by whom it was stored, of which model and with which parameters, how many documents it placed, in how many topics, how many as outliers; and how many documents have no place now: those stored since, or without a vector. No row where there was none.';
REVOKE ALL ON FUNCTION sift.topic_run(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.topic_run(text) TO sift_owner, sift_writer;
