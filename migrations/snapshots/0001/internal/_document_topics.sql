-- What sift.document_topics does once it is known who asks. Where a document lies, and how firmly in its topic, depends on all the others:
-- readers are told the topic alone.
CREATE OR REPLACE FUNCTION sift._document_topics(caller oid, proof bytea, tenant text, of_topic integer, k integer, principals text[])
RETURNS TABLE (
    topic       integer,
    key         text,
    title       text,
    document_id bigint,
    observed_at timestamptz,
    strength    double precision,
    distance    double precision,
    x           double precision,
    y           double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_trusted   boolean := sift._is_trusted(caller);
BEGIN
    IF k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', k),
            HINT = 'k is the number of documents wanted; NULL is for all of them.';
    END IF;
    RETURN QUERY
    SELECT m.topic, d.key, d.title, d.document_id, d.observed_at, CASE WHEN v_trusted THEN m.strength END,
           CASE WHEN v_trusted THEN m.distance END, CASE WHEN v_trusted THEN m.x END, CASE WHEN v_trusted THEN m.y END
    FROM sift.document_topics AS m
    JOIN sift.documents AS d ON d.document_id = m.document_id
    WHERE m.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND d.access_list_id = ANY (v_lists)
      AND (_document_topics.of_topic IS NULL OR m.topic = _document_topics.of_topic)
    ORDER BY m.topic = -1, m.topic, m.distance, d.document_id
    LIMIT _document_topics.k;
END
$$;
COMMENT ON FUNCTION sift._document_topics(oid, bytea, text, integer, integer, text[]) IS 'The body of sift.document_topics, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._document_topics(oid, bytea, text, integer, integer, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._document_topics(oid, bytea, text, integer, integer, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
