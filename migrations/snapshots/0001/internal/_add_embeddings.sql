-- Stores the vectors of chunks, in pgvector's text form. A chunk that has one of this model gets the new one instead; a NULL
-- stores nothing, and a chunk that is gone or not ranked is passed over. Returns how many were stored.
--
-- The chunks' rows stay locked until commit: whoever moves a chunk to another access list, or stores a vector for it too, comes
-- before or after, so that neither the list beside the vector nor the counts can go wrong.
CREATE OR REPLACE FUNCTION sift._add_embeddings(
    tenant_id integer, model_id integer, chunk_ids bigint[], embeddings text[], hashes bytea[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_schema    name := sift._vector_schema();
    v_model     record;
    v_column    text;
    v_old       bigint[];
    v_new       bigint[];
    v_bad       bigint;
    v_reason    text;
BEGIN
    IF coalesce(cardinality(chunk_ids), 0) = 0 THEN
        RETURN 0;
    END IF;
    -- Whoever drops the model waits for this transaction, and whoever comes after finds no model.
    SELECT m.name, m.dimensions, m.metric, m.precision INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('there is no embedding model with the number %s', coalesce(v_model_id::text, 'NULL')),
            HINT = 'sift.list_models() lists those there are.';
    END IF;
    IF coalesce(cardinality(embeddings), 0) <> cardinality(chunk_ids)
       OR (hashes IS NOT NULL AND cardinality(hashes) <> cardinality(chunk_ids)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s chunks, %s vectors and %s hashes', cardinality(chunk_ids),
                             coalesce(cardinality(embeddings), 0), coalesce(cardinality(hashes), 0)),
            HINT = 'Pass one vector (or NULL) and one hash for each chunk.';
    END IF;
    SELECT octet_length(h.hash) INTO v_bad FROM unnest(hashes) AS h (hash) WHERE octet_length(h.hash) <> 32 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('a hash has %s bytes instead of the 32 of a sha256', v_bad),
            HINT = 'Pass the sha256 of each text that was embedded, or leave hashes out.';
    END IF;
    v_column := CASE v_model.precision WHEN 'halfvec' THEN 'half_embedding' ELSE 'embedding' END;

    PERFORM c.chunk_id
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (chunk_ids)
    ORDER BY c.chunk_id
    FOR NO KEY UPDATE;
    SELECT coalesce(array_agg(e.access_list_id), '{}'::bigint[]) INTO v_old
    FROM (SELECT DISTINCT u.chunk_id FROM unnest(chunk_ids, embeddings) AS u (chunk_id, embedding) WHERE u.embedding IS NOT NULL) AS n
    CROSS JOIN LATERAL (
        SELECT t.access_list_id FROM sift.chunk_embeddings AS t
        WHERE t.tenant_id = v_tenant_id AND t.model_id = v_model_id AND t.chunk_id = n.chunk_id
        OFFSET 0) AS e;

    BEGIN
        EXECUTE format(
            'WITH stored AS ('
            ' INSERT INTO sift.chunk_embeddings AS t (tenant_id, model_id, chunk_id, access_list_id, text_hash, %1$I)'
            ' SELECT $1, $2, n.chunk_id, c.access_list_id,'
            '        substring(coalesce(n.hash, sha256(convert_to(''vector:'' || n.embedding, ''UTF8''))), 1, 16), n.embedding::%2$I.%3$s(%4$s)'
            ' FROM (SELECT DISTINCT ON (u.chunk_id) u.chunk_id, u.embedding, u.hash'
            '       FROM unnest($3, $4, $5) WITH ORDINALITY AS u (chunk_id, embedding, hash, position)'
            '       WHERE u.embedding IS NOT NULL'
            '       ORDER BY u.chunk_id, u.position DESC) AS n'
            ' CROSS JOIN LATERAL (SELECT s.access_list_id FROM sift.chunks AS s'
            '                     WHERE s.tenant_id = $1 AND s.chunk_id = n.chunk_id AND s.unranked_tokens IS NULL OFFSET 0) AS c'
            ' ON CONFLICT (tenant_id, chunk_id, model_id) DO UPDATE'
            ' SET access_list_id = excluded.access_list_id, text_hash = excluded.text_hash, %1$I = excluded.%1$I'
            ' RETURNING t.access_list_id)'
            'SELECT coalesce(array_agg(s.access_list_id), ''{}''::bigint[]) FROM stored AS s',
            v_column, v_schema, v_model.precision, v_model.dimensions)
        INTO v_new
        USING v_tenant_id, v_model_id, chunk_ids, embeddings, coalesce(hashes, array_fill(NULL::bytea, ARRAY[cardinality(chunk_ids)]));
        -- pgvector has refused NaN, infinity and a wrong length by now; what it lets pass is seen in the precision it is stored in.
        EXECUTE format(
            'SELECT t.chunk_id FROM unnest($3) AS n (chunk_id) CROSS JOIN LATERAL ('
            ' SELECT e.chunk_id FROM sift.chunk_embeddings AS e'
            ' WHERE e.tenant_id = $1 AND e.model_id = $2 AND e.chunk_id = n.chunk_id'
            '   AND NOT -%2$I.%3$s_negative_inner_product(e.%1$I, e.%1$I) BETWEEN $4 AND 3.4028235e38::double precision'
            ' OFFSET 0) AS t LIMIT 1',
            v_column, v_schema, v_model.precision)
        INTO v_bad
        USING v_tenant_id, v_model_id, chunk_ids,
              CASE v_model.metric WHEN 'cosine' THEN 1e-45::double precision ELSE 0::double precision END;
        IF v_bad IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'data_exception', MESSAGE = format('the vector of chunk %s cannot be compared', v_bad);
        END IF;
    EXCEPTION WHEN data_exception THEN
        v_reason := SQLERRM;
        PERFORM sift._refuse_vectors(v_tenant_id, v_model_id, chunk_ids, embeddings, v_reason);
    END;

    INSERT INTO sift.embedding_stats AS s (tenant_id, model_id, access_list_id, vectors)
    SELECT v_tenant_id, v_model_id, d.access_list_id, sum(d.vectors)
    FROM (SELECT n.access_list_id, 1::bigint AS vectors FROM unnest(v_new) AS n (access_list_id)
          UNION ALL
          SELECT o.access_list_id, -1::bigint FROM unnest(v_old) AS o (access_list_id)) AS d
    GROUP BY d.access_list_id
    HAVING sum(d.vectors) <> 0
    ORDER BY d.access_list_id;
    RETURN cardinality(v_new);
END
$$;
COMMENT ON FUNCTION sift._add_embeddings(integer, integer, bigint[], text[], bytea[]) IS
    'Stores vectors of chunks with their counts, replacing those of the same model; PS005 names the vector that is refused and why.';
REVOKE ALL ON FUNCTION sift._add_embeddings(integer, integer, bigint[], text[], bytea[]) FROM PUBLIC;
