-- The dense leg of a search of the past: the nearest vectors of the chunks that were current then, all of them compared. A vector that was made
-- later than its chunk counts from the chunk's beginning.
CREATE OR REPLACE FUNCTION sift._dense_as_of(
    tenant_id integer, model_id integer, query real[], lists bigint[], predicate text, bound jsonb, k integer, as_of timestamptz)
RETURNS TABLE (chunk_id bigint, distance double precision, path text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_model_id integer := model_id;
    v_schema   name := sift._vector_schema();
    v_model    record;
    v_type     text;
    v_distance text;
BEGIN
    IF query IS NULL OR coalesce(k, 0) <= 0 OR coalesce(cardinality(lists), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT m.dimensions, m.metric, m.precision INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('there is no embedding model with the number %s', coalesce(v_model_id::text, 'NULL')),
            HINT = 'sift.list_models() lists those there are.';
    END IF;
    v_type := format('%I.%s(%s)', v_schema, v_model.precision, v_model.dimensions);
    -- The function that sift._dense_leg uses, so that the bits are the same.
    v_distance := format('%I.%s', v_schema, CASE v_model.metric WHEN 'cosine' THEN 'cosine_distance' WHEN 'l2' THEN 'l2_distance'
                                                 ELSE v_model.precision || '_negative_inner_product' END);
    RETURN QUERY EXECUTE format($query$
        SELECT n.chunk_id, n.distance, 'exact'
        FROM (
            SELECT u.chunk_id, u.distance
            FROM (
                SELECT e.chunk_id, %1$s(e.%3$I, $4::%2$s) AS distance
                FROM sift.chunk_embeddings AS e
                JOIN sift.chunks AS s ON s.chunk_id = e.chunk_id
                JOIN sift.documents AS o ON o.document_id = s.document_id
                WHERE e.tenant_id = $2 AND s.tenant_id = $2 AND o.tenant_id = $2 AND e.model_id = %4$s AND o.current_from <= $6
                  AND (s.added_at <= $6) IS NOT FALSE
                UNION ALL
                SELECT e.chunk_id, %1$s(e.embedding::%2$s, $4::%2$s)
                FROM sift.vector_history AS e
                JOIN sift.chunk_history AS s ON s.chunk_id = e.chunk_id
                WHERE e.tenant_id = $2 AND s.tenant_id = $2 AND e.model_id = %4$s AND s.current_from <= $6 AND s.current_to > $6
            ) AS u
            ORDER BY u.distance, u.chunk_id
            OFFSET 0
        ) AS n
        CROSS JOIN LATERAL (
            SELECT x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens FROM sift.chunks AS x
            WHERE x.tenant_id = $2 AND x.chunk_id = n.chunk_id
            UNION ALL
            SELECT x.document_id, x.kind, x.page, x.ordinal, x.section_path, x.doc_length, x.tokens, x.unranked_tokens, x.title_tokens, x.prefix_tokens FROM sift.chunk_history AS x
            WHERE x.tenant_id = $2 AND x.chunk_id = n.chunk_id
            OFFSET 0) AS c
        CROSS JOIN LATERAL sift._version_at($2, c.document_id, $6, $3) AS d
        WHERE (d.access_list_id IN (SELECT l.id FROM unnest($3) AS l (id))) IS TRUE AND (%5$s)
        ORDER BY n.distance, n.chunk_id
        LIMIT $5
    $query$, v_distance, v_type, CASE v_model.precision WHEN 'halfvec' THEN 'half_embedding' ELSE 'embedding' END, v_model_id,
        coalesce(predicate, 'true'))
    USING bound, tenant_id, lists, query, k, as_of;
END
$$;
COMMENT ON FUNCTION sift._dense_as_of(integer, integer, real[], bigint[], text, jsonb, integer, timestamptz) IS
    'The min(k, visible) nearest chunks by vector among those that were current at a time, for today''s permissions.';
REVOKE ALL ON FUNCTION sift._dense_as_of(integer, integer, real[], bigint[], text, jsonb, integer, timestamptz) FROM PUBLIC;
