-- Stores a run of topics in place of the last one, in one transaction: whoever reads sees the one or the other, whole.
--
-- The arrays have one element per document. labels are the caller's numbers, -1 for outliers; the topics are numbered anew, the largest
-- first. A document that was replaced, or is gone, since its vector was read is left out.
CREATE OR REPLACE FUNCTION sift.put_topics(
    tenant       text,
    document_ids bigint[],
    versions     integer[],
    labels       integer[],
    strengths    double precision[],
    distances    double precision[],
    xs           double precision[],
    ys           double precision[],
    model        text,
    parameters   jsonb DEFAULT '{}'::jsonb
)
RETURNS TABLE (run integer, topics integer, documents integer, outliers integer, left_out integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET enable_nestloop = off
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_number    integer := coalesce(cardinality(document_ids), 0);
    v_run       integer;
    v_placed    record;
BEGIN
    IF NOT coalesce(v_number = ALL (ARRAY[cardinality(versions), cardinality(labels), cardinality(strengths), cardinality(distances),
                                          cardinality(xs), cardinality(ys)]), false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'the arrays must have one element for each document',
            HINT = 'distances has NULL for outliers; the other arrays have a value for every document.';
    END IF;
    IF EXISTS (SELECT FROM unnest(document_ids, versions, labels, strengths, distances, xs, ys) AS u (id, version, label, strength, distance, x, y)
               WHERE NOT coalesce(u.label >= -1 AND u.strength BETWEEN 0::double precision AND 1::double precision
                                  AND (u.label = -1 OR u.distance BETWEEN 0::double precision AND 2::double precision)
                                  AND abs(u.x) < 'Infinity'::double precision AND abs(u.y) < 'Infinity'::double precision, false)
                  OR u.id IS NULL OR u.version IS NULL)
       OR v_number <> (SELECT count(DISTINCT u.id) FROM unnest(document_ids) AS u (id)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a document is there twice, or has an impossible place',
            HINT = 'Labels begin at -1; strengths lie between 0 and 1, distances between 0 and 2, and x and y are finite numbers.';
    END IF;
    IF coalesce(model, '') = '' OR jsonb_typeof(parameters) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'model and parameters must say what the topics were made of',
            HINT = 'model is the name of the embedding model; parameters is a JSON object.';
    END IF;
    -- The row stands for the whole: two runs of a tenant wait here for each other, before they lock any document.
    INSERT INTO sift.topic_runs AS r (tenant_id, run, model, parameters, documents, made_by, made_at)
    VALUES (v_tenant_id, 0, put_topics.model, put_topics.parameters, 0, sift._recorded_role(), now())
    ON CONFLICT ON CONSTRAINT topic_runs_pkey DO NOTHING;
    UPDATE sift.topic_runs AS r
    SET run = r.run + 1, model = put_topics.model, parameters = put_topics.parameters, made_by = sift._recorded_role(), made_at = now()
    WHERE r.tenant_id = v_tenant_id
    RETURNING r.run INTO v_run;
    -- In the order of keys, as everybody locks who writes what hangs on several documents.
    PERFORM d.document_id FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id
      AND d.document_id = ANY (document_ids || ARRAY(SELECT o.document_id FROM sift.document_topics AS o WHERE o.tenant_id = v_tenant_id))
    ORDER BY d.key COLLATE "C"
    FOR SHARE;
    WITH placed AS MATERIALIZED (
        SELECT u.id, u.label, u.strength, u.distance, u.x, u.y
        FROM unnest(document_ids, versions, labels, strengths, distances, xs, ys) AS u (id, version, label, strength, distance, x, y)
        JOIN sift.documents AS d ON d.document_id = u.id AND d.version = u.version
        WHERE d.tenant_id = v_tenant_id
    ),
    numbered AS MATERIALIZED (
        SELECT g.label, CASE WHEN g.label = -1 THEN -1 ELSE row_number() OVER (PARTITION BY g.label = -1 ORDER BY g.documents DESC, g.first) - 1 END AS topic
        FROM (SELECT p.label, count(*) AS documents, min(p.id) AS first FROM placed AS p GROUP BY p.label) AS g
    )
    SELECT coalesce(array_agg(p.id), '{}') AS ids, coalesce(array_agg(n.topic::integer), '{}') AS topics, array_agg(p.strength) AS strengths,
           array_agg(CASE WHEN n.topic >= 0 THEN p.distance END) AS distances, array_agg(p.x) AS xs, array_agg(p.y) AS ys
    INTO v_placed
    FROM placed AS p
    JOIN numbered AS n ON n.label = p.label;
    DELETE FROM sift.document_topics AS t WHERE t.tenant_id = v_tenant_id;
    DELETE FROM sift.topics AS t WHERE t.tenant_id = v_tenant_id;
    INSERT INTO sift.topics AS t (tenant_id, topic, documents)
    SELECT v_tenant_id, u.topic, count(*)::integer FROM unnest(v_placed.topics) AS u (topic) GROUP BY u.topic;
    INSERT INTO sift.document_topics AS t (tenant_id, document_id, topic, strength, distance, x, y)
    SELECT v_tenant_id, u.id, u.topic, u.strength, u.distance, u.x, u.y
    FROM unnest(v_placed.ids, v_placed.topics, v_placed.strengths, v_placed.distances, v_placed.xs, v_placed.ys)
         AS u (id, topic, strength, distance, x, y);
    UPDATE sift.topic_runs AS r SET documents = cardinality(v_placed.ids) WHERE r.tenant_id = v_tenant_id;
    RETURN QUERY
    SELECT v_run, (count(DISTINCT u.topic) FILTER (WHERE u.topic >= 0))::integer, count(*)::integer,
           (count(*) FILTER (WHERE u.topic = -1))::integer, v_number - count(*)::integer
    FROM unnest(v_placed.topics) AS u (topic);
END
$$;
COMMENT ON FUNCTION sift.put_topics(text, bigint[], integer[], integer[], double precision[], double precision[], double precision[], double precision[], text, jsonb) IS
    'Stores which topic each document is in, in place of the last run: number of the run, of topics, of documents placed, of outliers among them, and of documents left out because they were replaced or deleted meanwhile.';
REVOKE ALL ON FUNCTION sift.put_topics(text, bigint[], integer[], integer[], double precision[], double precision[], double precision[], double precision[], text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_topics(text, bigint[], integer[], integer[], double precision[], double precision[], double precision[], double precision[], text, jsonb) TO sift_owner, sift_writer;
