-- What sift.list_topics does once it is known who asks. Everything but the numbers of the topics, and which visible documents lie together,
-- is made of visible documents alone.
CREATE OR REPLACE FUNCTION sift._list_topics(
    caller     oid,
    proof      bytea,
    tenant     text,
    principals text[],
    terms_k    integer,
    keys_k     integer,
    sample     integer
)
RETURNS TABLE (topic integer, documents bigint, share double precision, terms text[], weights double precision[], keys text[], titles text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_sampled   record;
BEGIN
    IF NOT coalesce(terms_k >= 0 AND keys_k >= 0, false) OR sample < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'terms_k and keys_k must not be negative, and sample must be at least 1',
            HINT = 'terms_k is how many terms of each topic are wanted, keys_k how many documents; sample, of how many documents the terms are computed at most; NULL, of all.';
    END IF;
    SELECT array_agg(s.document_id ORDER BY s.topic, s.place) AS ids, array_agg(s.topic ORDER BY s.topic, s.place) AS topics
    INTO v_sampled
    FROM (
        SELECT m.document_id, m.topic, row_number() OVER (PARTITION BY m.topic ORDER BY m.distance, m.document_id) AS place
        FROM sift.document_topics AS m
        JOIN sift.documents AS d ON d.document_id = m.document_id
        WHERE m.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND d.access_list_id = ANY (v_lists)
    ) AS s
    WHERE s.place <= sample OR sample IS NULL;
    RETURN QUERY
    WITH visible AS MATERIALIZED (
        SELECT m.topic, d.key, d.title, row_number() OVER (PARTITION BY m.topic ORDER BY m.distance, m.document_id) AS place
        FROM sift.document_topics AS m
        JOIN sift.documents AS d ON d.document_id = m.document_id
        WHERE m.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND d.access_list_id = ANY (v_lists)
    )
    SELECT g.topic, g.documents, g.documents::double precision / (sum(g.documents) OVER ())::double precision,
           coalesce(t.terms, '{}'::text[]), coalesce(t.weights, '{}'::double precision[]),
           coalesce(g.keys, '{}'::text[]), coalesce(g.titles, '{}'::text[])
    FROM (
        SELECT v.topic, count(*) AS documents,
               array_agg(v.key ORDER BY v.place) FILTER (WHERE v.place <= keys_k) AS keys,
               array_agg(v.title ORDER BY v.place) FILTER (WHERE v.place <= keys_k) AS titles
        FROM visible AS v
        GROUP BY v.topic
    ) AS g
    LEFT JOIN sift._topic_terms(v_tenant_id, v_sampled.ids, v_sampled.topics, terms_k) AS t ON t.topic = g.topic
    ORDER BY g.topic = -1, g.topic;
END
$$;
COMMENT ON FUNCTION sift._list_topics(oid, bytea, text, text[], integer, integer, integer) IS 'The body of sift.list_topics, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._list_topics(oid, bytea, text, text[], integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._list_topics(oid, bytea, text, text[], integer, integer, integer) TO sift_owner, sift_writer, sift_app, sift_reader;
