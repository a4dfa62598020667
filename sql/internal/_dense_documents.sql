-- The dense leg of the document unit: documents in the order of their nearest chunks. Deeper and deeper rankings of chunks are asked for until
-- k documents are among them.
CREATE OR REPLACE FUNCTION sift._dense_documents(
    tenant_id integer, model_id integer, query real[], lists bigint[], predicate text, bound jsonb, k integer, as_of timestamptz)
RETURNS TABLE (chunk_id bigint, document_id bigint, distance double precision, path text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_k         integer := coalesce(k, 0);
    v_ask       integer := 2 * v_k;
    v_ids       bigint[];
    v_distances double precision[];
    v_path      text;
    v_chunks    bigint[];
    v_documents bigint[];
    v_nearest   double precision[];
BEGIN
    IF v_k <= 0 THEN
        RETURN;
    END IF;
    LOOP
        IF as_of IS NULL THEN
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position), max(n.path) INTO v_ids, v_distances, v_path
            FROM sift._dense_leg(v_tenant_id, model_id, query, lists, predicate, bound, v_ask) WITH ORDINALITY AS n (chunk_id, distance, path, position);
        ELSE
            SELECT array_agg(n.chunk_id ORDER BY n.position), array_agg(n.distance ORDER BY n.position), max(n.path) INTO v_ids, v_distances, v_path
            FROM sift._dense_as_of(v_tenant_id, model_id, query, lists, predicate, bound, v_ask, as_of) WITH ORDINALITY AS n (chunk_id, distance, path, position);
        END IF;
        SELECT array_agg(b.chunk_id ORDER BY b.position), array_agg(b.document_id ORDER BY b.position), array_agg(b.distance ORDER BY b.position)
        INTO v_chunks, v_documents, v_nearest
        FROM (SELECT DISTINCT ON (c.document_id) c.document_id, u.chunk_id, u.distance, u.position
              FROM unnest((SELECT v_ids), (SELECT v_distances)) WITH ORDINALITY AS u (chunk_id, distance, position)
              CROSS JOIN LATERAL (
                  SELECT s.document_id FROM sift.chunks AS s WHERE s.tenant_id = v_tenant_id AND s.chunk_id = u.chunk_id
                  UNION ALL
                  SELECT s.document_id FROM sift.chunk_history AS s
                  WHERE as_of IS NOT NULL AND s.tenant_id = v_tenant_id AND s.chunk_id = u.chunk_id
                  OFFSET 0) AS c
              ORDER BY c.document_id, u.position) AS b;
        EXIT WHEN coalesce(cardinality(v_documents), 0) >= v_k OR coalesce(cardinality(v_ids), 0) < v_ask OR v_ask > 100000000;
        v_ask := 8 * v_ask;
    END LOOP;
    RETURN QUERY
    SELECT u.chunk_id, u.document_id, u.distance, v_path
    FROM unnest((SELECT v_chunks), (SELECT v_documents), (SELECT v_nearest)) WITH ORDINALITY AS u (chunk_id, document_id, distance, position)
    ORDER BY u.position
    LIMIT v_k;
END
$$;
COMMENT ON FUNCTION sift._dense_documents(integer, integer, real[], bigint[], text, jsonb, integer, timestamptz) IS 'The k documents with the nearest chunks, as they are or were.';
REVOKE ALL ON FUNCTION sift._dense_documents(integer, integer, real[], bigint[], text, jsonb, integer, timestamptz) FROM PUBLIC;
