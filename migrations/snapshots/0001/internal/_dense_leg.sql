-- The dense leg: the min(k, visible) nearest visible vectors, nearest first, ties by chunk number, and how they were found.
--
-- How many vectors are visible is known beforehand, from counts per access list. Few: all of them are compared (path 'exact').
-- Many: the HNSW index gives its nearest 200, 400 or 1000 vectors, and the visible ones among them are ranked again by the same
-- distance ('hnsw'). Where fewer of those are visible than their share of the whole promises, what lies around the query is hidden
-- from this reader or filtered out, and an index knows its way badly far from the query: all visible ones are compared after all
-- ('hnsw+exact'). So the number of rows never depends on the path. docs/decisions/0008-dense-path.md has the measurements.
--
-- The index of a model with binary quantization holds signs, and is asked for at least eight times as many: those that come are ranked by their
-- vectors all the same.
--
-- Statements are run by EXECUTE: each is planned for the values at hand, never generically. Their parameters are $1 the values bound
-- in predicate, $2 the tenant, $3 the visible lists, $4 the query vector, $5 the number of rows.
CREATE OR REPLACE FUNCTION sift._dense_leg(
    tenant_id integer, model_id integer, query real[], lists bigint[], predicate text, bound jsonb, k integer)
RETURNS TABLE (chunk_id bigint, distance double precision, path text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_schema    name := sift._vector_schema();
    v_model     record;
    v_column    text;
    v_type      text;
    v_distance  text;
    v_from      text;
    v_filter    text;
    v_visible   bigint;
    v_stored    double precision;
    v_share     double precision;
    v_need      double precision;
    v_spare     double precision;
    v_walk      integer;
    v_path      text := 'exact';
    v_ids       bigint[];
    v_hashes    bytea[];
    v_distances double precision[];
    v_found     integer;
BEGIN
    IF query IS NULL OR k IS NULL OR k <= 0 OR coalesce(cardinality(lists), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT m.dimensions, m.metric, m.precision, m.quantization INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('there is no embedding model with the number %s', coalesce(v_model_id::text, 'NULL')),
            HINT = 'sift.list_models() lists those there are.';
    END IF;
    v_column := CASE v_model.precision WHEN 'halfvec' THEN 'half_embedding' ELSE 'embedding' END;
    v_type := format('%I.%s(%s)', v_schema, v_model.precision, v_model.dimensions);
    -- The function behind the operator: the planner sees no index in it, and it gives the same bits in every statement.
    v_distance := format('%I.%s(e.%s, $4::%s)', v_schema,
                         CASE v_model.metric WHEN 'cosine' THEN 'cosine_distance' WHEN 'l2' THEN 'l2_distance'
                                             ELSE v_model.precision || '_negative_inner_product' END,
                         v_column, v_type);
    v_from := format('FROM sift.chunk_embeddings AS e%s WHERE e.tenant_id = $2 AND e.model_id = %s AND e.access_list_id = ANY ($3)',
                     '%s', v_model_id);
    -- Looked up row by row through two primary keys; OFFSET 0 keeps the planner from turning that into scans of both tables.
    v_filter := CASE WHEN predicate IS NULL THEN '' ELSE format(
        ' CROSS JOIN LATERAL (SELECT FROM sift.chunks AS c'
        ' JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id'
        ' WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND c.chunk_id = e.chunk_id AND (%s) OFFSET 0) AS f', predicate) END;

    SELECT coalesce(sum(s.vectors), 0)::bigint INTO v_visible
    FROM sift.embedding_stats AS s
    WHERE s.tenant_id = v_tenant_id AND s.model_id = v_model_id AND s.access_list_id = ANY (lists);

    IF v_visible > 10000 AND k <= 500 THEN
        -- The index holds the vectors of all tenants. How many, from the size of the table, which unlike its statistics is never stale.
        v_stored := greatest(v_visible, pg_relation_size(to_regclass(format('sift.chunk_embeddings_m%s', v_model_id))) / 8192
            * (8168 / (4 + (76 + 7 + v_model.dimensions * CASE v_model.precision WHEN 'halfvec' THEN 2 ELSE 4 END) / 8 * 8)));
        v_share := v_visible / v_stored;
        -- More than k: the last of those that come are the least certain.
        v_need := CASE v_model.quantization WHEN 'binary' THEN 8::double precision * k + 50::double precision
                                            ELSE 1.25::double precision * k + 10::double precision END;
        v_spare := CASE v_model.quantization WHEN 'binary' THEN 1::double precision ELSE 1.3::double precision END;
        -- How much a predicate leaves is not known beforehand; a shallow walk is tried, as it costs little beside evaluating the
        -- predicate on every visible chunk.
        v_walk := CASE WHEN 200::double precision * v_share >= v_spare * v_need AND predicate IS NULL THEN 200
                       WHEN 400::double precision * v_share >= v_spare * v_need THEN 400
                       WHEN 1000::double precision * v_share >= v_spare * v_need THEN 1000 END;
    END IF;

    IF v_walk IS NOT NULL THEN
        EXECUTE format(
            'SELECT array_agg(h.chunk_id), array_agg(h.text_hash), array_agg(h.distance), count(*)'
            ' FROM sift._dense_hnsw_%s($6, $1, $2, $3, $4, $5) AS h', v_walk)
        INTO v_ids, v_hashes, v_distances, v_found
        USING bound, v_tenant_id, lists, query, v_walk,
              format('SELECT e.chunk_id, e.text_hash, %s %s ORDER BY %s LIMIT $5', v_distance, format(v_from, v_filter),
                     -- The expression of the index: sift._hnsw_definition.
                     CASE v_model.quantization
                         WHEN 'binary' THEN format('%1$I.binary_quantize(e.%2$I)::bit(%3$s) OPERATOR(%1$I.<~>) %1$I.binary_quantize($4::%4$s)::bit(%3$s)',
                                                   v_schema, v_column, v_model.dimensions, v_type)
                         ELSE format('e.%s::%s OPERATOR(%I.%s) $4::%s', v_column, v_type, v_schema,
                                     CASE v_model.metric WHEN 'cosine' THEN '<=>' WHEN 'l2' THEN '<->' ELSE '<#>' END, v_type) END);
        v_path := CASE
            WHEN v_found < v_need OR (predicate IS NULL AND v_found < 0.7::double precision * v_share * v_walk) THEN 'hnsw+exact'
            -- Of vectors as far as the k-th, some may have stayed in the index that have smaller numbers. Those of one text are
            -- looked up below; of several texts, only if some vector that came is farther is it sure that none is missing.
            WHEN (SELECT max(n.distance) = (array_agg(n.distance ORDER BY n.distance))[k] AND count(DISTINCT n.text_hash) > 1
                  FROM unnest(v_hashes, v_distances) AS n (text_hash, distance)) THEN 'hnsw+exact'
            ELSE 'hnsw' END;
    END IF;

    IF v_path = 'hnsw' THEN
        -- Of many equal vectors an index gives some and not others, by chance; so each text found brings its twins along.
        RETURN QUERY EXECUTE format(
            'WITH near AS (SELECT n.chunk_id, n.text_hash, n.distance FROM unnest($6, $7, $8) AS n (chunk_id, text_hash, distance)'
            ' ORDER BY n.distance, n.chunk_id LIMIT $5)'
            'SELECT u.chunk_id, u.distance, ''hnsw'' FROM ('
            ' SELECT n.chunk_id, n.distance FROM near AS n'
            ' UNION'
            ' SELECT t.chunk_id, t.distance FROM (SELECT DISTINCT n.text_hash FROM near AS n) AS h'
            ' CROSS JOIN LATERAL (SELECT e.chunk_id, %s AS distance %s AND e.text_hash = h.text_hash ORDER BY distance, e.chunk_id LIMIT $5) AS t'
            ') AS u ORDER BY u.distance, u.chunk_id LIMIT $5',
            v_distance, format(v_from, v_filter))
        USING bound, v_tenant_id, lists, query, k, v_ids, v_hashes, v_distances;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT s.chunk_id, s.distance, %L FROM (SELECT e.chunk_id, %s AS distance %s) AS s ORDER BY s.distance, s.chunk_id LIMIT $5',
            v_path, v_distance,
            CASE WHEN predicate IS NULL OR v_visible <= 5000 THEN format(v_from, v_filter)
                 -- Many rows to filter: joined in bulk, in the order the planner finds best.
                 ELSE format(v_from,
                     ' JOIN sift.chunks AS c ON c.tenant_id = e.tenant_id AND c.chunk_id = e.chunk_id'
                     ' JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id')
                     || format(' AND c.tenant_id = $2 AND d.tenant_id = $2 AND (%s)', predicate) END)
        USING bound, v_tenant_id, lists, query, k;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._dense_leg(integer, integer, real[], bigint[], text, jsonb, integer) IS
    'The min(k, visible) nearest visible chunks by vector, in the order (distance, chunk_id), with the path taken: exact, hnsw or hnsw+exact. No rows for a NULL query vector.';
REVOKE ALL ON FUNCTION sift._dense_leg(integer, integer, real[], bigint[], text, jsonb, integer) FROM PUBLIC;
