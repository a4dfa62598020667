-- The dense leg: the min(k, visible) nearest visible vectors, nearest first, ties by chunk number, and how they were found.
--
-- How many vectors are visible is known beforehand, from counts per access list. Few: all of them are compared (path 'exact').
-- Many: the HNSW index is walked until it has given twice as many visible rows as asked for, and these are ranked again by the
-- same distance ('hnsw'). Where the walk ends early, because what lies around the query is mostly invisible or filtered out, all
-- visible ones are compared after all ('hnsw+exact'). So the number of rows never depends on the path. docs/decisions/0008-dense-path.md
-- has the measurements behind the numbers.
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
    v_expected  double precision;
    v_fetch     integer;
    v_path      text := 'exact';
    v_ids       bigint[];
    v_hashes    bytea[];
    v_distances double precision[];
    v_kth       double precision;
    v_last      double precision;
BEGIN
    IF query IS NULL OR k IS NULL OR k <= 0 OR coalesce(cardinality(lists), 0) = 0 THEN
        RETURN;
    END IF;
    SELECT m.dimensions, m.metric, m.precision INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('there is no embedding model with the number %s', coalesce(v_model_id::text, 'NULL'));
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
    -- Rows of all tenants, whose vectors share the index: from the size of the table, which unlike its statistics is never stale.
    v_stored := greatest(v_visible, pg_relation_size(to_regclass(format('sift.chunk_embeddings_m%s', v_model_id))) / 8192
        * greatest(1, 8168 / (96 + v_model.dimensions * CASE v_model.precision WHEN 'halfvec' THEN 2 ELSE 4 END)));
    v_fetch := 2 * least(k, 1000000) + 20;
    -- Candidates that hold so many visible ones, if those are spread evenly.
    v_expected := v_fetch * v_stored / greatest(v_visible, 1);

    IF v_visible > greatest(10000, 4::bigint * k) AND v_visible > 30::double precision * v_expected THEN
        IF predicate IS NOT NULL THEN
            -- How much the predicate leaves is not known: the walk may go as far as costs little beside the exact way.
            v_expected := greatest(v_expected, least(10::double precision * v_fetch, 1000::double precision));
        END IF;
        EXECUTE format(
            'SELECT array_agg(h.chunk_id), array_agg(h.text_hash), array_agg(h.distance) FROM sift.%I($6, $1, $2, $3, $4, $5) AS h',
            CASE WHEN v_expected <= 100::double precision THEN '_dense_hnsw_200'
                 WHEN v_expected <= 400::double precision THEN '_dense_hnsw_400'
                 WHEN v_expected <= 2000::double precision THEN '_dense_hnsw_1000'
                 ELSE '_dense_hnsw_max' END)
        INTO v_ids, v_hashes, v_distances
        USING bound, v_tenant_id, lists, query, v_fetch,
              format('SELECT e.chunk_id, e.text_hash, %s %s ORDER BY e.%s::%s OPERATOR(%I.%s) $4::%s LIMIT $5',
                     v_distance, format(v_from, v_filter), v_column, v_type, v_schema,
                     CASE v_model.metric WHEN 'cosine' THEN '<=>' WHEN 'l2' THEN '<->' ELSE '<#>' END, v_type);
        v_path := 'hnsw';
        -- Enough came, and the last are farther than the k-th? Where they are as far, rows that did not come may have smaller
        -- numbers; unless all of them have one text, whose twins are looked up below.
        SELECT max(n.distance), (array_agg(n.distance ORDER BY n.distance))[k] INTO v_last, v_kth FROM unnest(v_distances) AS n (distance);
        IF coalesce(cardinality(v_ids), 0) < v_fetch
           OR (v_kth = v_last AND (SELECT count(DISTINCT n.text_hash) > 1 FROM unnest(v_hashes, v_distances) AS n (text_hash, distance)
                                   WHERE n.distance = v_last)) THEN
            v_path := 'hnsw+exact';
        END IF;
    END IF;

    IF v_path = 'hnsw' THEN
        -- An index of equal vectors gives some of them and not others, by chance; so each text found brings its twins along.
        RETURN QUERY EXECUTE format(
            'WITH near AS (SELECT n.chunk_id, n.text_hash, n.distance FROM unnest($6, $7, $8) AS n (chunk_id, text_hash, distance)'
            ' ORDER BY n.distance, n.chunk_id LIMIT $5)'
            'SELECT u.chunk_id, u.distance, ''hnsw'' FROM ('
            ' SELECT n.chunk_id, n.distance FROM near AS n'
            ' UNION'
            ' SELECT t.chunk_id, t.distance FROM (SELECT DISTINCT n.text_hash FROM near AS n) AS h'
            ' CROSS JOIN LATERAL (SELECT e.chunk_id, %s AS distance %s AND e.text_hash = h.text_hash ORDER BY e.chunk_id LIMIT $5) AS t'
            ') AS u ORDER BY u.distance, u.chunk_id LIMIT $5',
            v_distance, format(v_from, v_filter))
        USING bound, v_tenant_id, lists, query, k, v_ids, v_hashes, v_distances;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT s.chunk_id, s.distance, %L FROM (SELECT e.chunk_id, %s AS distance %s) AS s ORDER BY s.distance, s.chunk_id LIMIT $5',
            v_path, v_distance,
            CASE WHEN predicate IS NULL OR v_visible <= 10000 THEN format(v_from, v_filter)
                 -- Many rows to filter: joins in bulk, in the order the planner finds best.
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
