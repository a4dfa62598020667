-- Stores the token vectors of chunks that are there already, instead of those they have of the same model.
--
--   SELECT sift.put_token_embeddings('acme', 'colbert', '{17}', ARRAY['[[0.1,0.9],[0.8,-0.2],[0.3,0.3]]']);
CREATE OR REPLACE FUNCTION sift.put_token_embeddings(
    tenant     text,
    model      text,
    chunk_ids  bigint[],
    embeddings text[]
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model     record;
    v_schema    name := sift._vector_schema();
    v_text      text;
    v_problem   text;
    v_stored    integer := 0;
    v_row       integer;
BEGIN
    IF model IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'name the model the token vectors were made with',
            HINT = 'sift.list_token_models() lists those there are.';
    END IF;
    SELECT m.* INTO v_model FROM sift._token_model(v_tenant_id, model) AS m;
    IF coalesce(cardinality(chunk_ids), 0) <> coalesce(cardinality(embeddings), 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('there are %s chunks and %s lists of vectors', coalesce(cardinality(chunk_ids), 0), coalesce(cardinality(embeddings), 0)),
            HINT = 'Pass one list of vectors (or NULL) for each chunk.';
    END IF;
    -- The documents first, as in sift.put_embeddings, then their chunks.
    PERFORM d.document_id
    FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id
      AND d.document_id = ANY (ARRAY(
          SELECT DISTINCT x.document_id
          FROM unnest((SELECT put_token_embeddings.chunk_ids)) AS i (id)
          CROSS JOIN LATERAL (SELECT c.document_id FROM sift.chunks AS c
                              WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS x))
    ORDER BY d.key COLLATE "C"
    FOR SHARE;
    PERFORM c.chunk_id
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (put_token_embeddings.chunk_ids)
    ORDER BY c.chunk_id
    FOR NO KEY UPDATE;

    FOR v_i IN 1 .. coalesce(cardinality(chunk_ids), 0) LOOP
        CONTINUE WHEN embeddings[v_i] IS NULL;
        v_text := embeddings[v_i];
        -- Looked for first: to take white space out of so long a text takes longer than all that follows.
        IF v_text ~ '[[:space:]]' THEN
            v_text := regexp_replace(v_text, '[[:space:]]+', '', 'g');
        END IF;
        v_problem := NULL;
        BEGIN
            IF v_text !~ '^[[][[][-+.,0-9eE]+([]],[[][-+.,0-9eE]+)*[]][]]$' THEN
                v_problem := 'are not a list of lists of numbers like [[0.1,0.2],[0.3,0.4]], but something that begins with '
                             || left(embeddings[v_i], 20);
            ELSE
                EXECUTE format(
                    'INSERT INTO sift.chunk_token_embeddings AS t (tenant_id, chunk_id, token_model_id, embeddings)'
                    ' SELECT $1, c.chunk_id, $3, x.embeddings'
                    ' FROM (SELECT (''{"'' || replace(substr($4, 2, length($4) - 2), ''],['', '']","['') || ''"}'')::%1$I.halfvec[] AS embeddings) AS x'
                    ' CROSS JOIN LATERAL (SELECT s.chunk_id FROM sift.chunks AS s WHERE s.tenant_id = $1 AND s.chunk_id = $2 OFFSET 0) AS c'
                    ' WHERE sift._refuse_token_vectors($5, $6, (SELECT array_agg(%1$I.vector_dims(v.one) ORDER BY v.place)'
                    '                                   FROM unnest(x.embeddings) WITH ORDINALITY AS v (one, place)))'
                    ' ON CONFLICT (tenant_id, chunk_id, token_model_id) DO UPDATE SET embeddings = excluded.embeddings', v_schema)
                USING v_tenant_id, chunk_ids[v_i], v_model.token_model_id, v_text, v_model.name, v_model.dimensions;
                GET DIAGNOSTICS v_row = ROW_COUNT;
                v_stored := v_stored + v_row;
            END IF;
        EXCEPTION WHEN data_exception THEN
            v_problem := format('cannot be stored in half precision (%s)', SQLERRM);
        END;
        IF v_problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS005',
                MESSAGE = format('the token vectors of chunk number %s %s', chunk_ids[v_i], v_problem),
                DETAIL = format('It is number %s of the %s chunks passed.', v_i, cardinality(chunk_ids)),
                HINT = 'A chunk may be without token vectors: leave it out, or pass NULL.';
        END IF;
    END LOOP;
    IF v_stored > 0 AND EXISTS (SELECT FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id AND t.token_model_id IS NULL) THEN
        UPDATE sift.tenants AS t SET token_model_id = v_model.token_model_id WHERE t.tenant_id = v_tenant_id AND t.token_model_id IS NULL;
    END IF;
    RETURN v_stored;
END
$$;
COMMENT ON FUNCTION sift.put_token_embeddings(text, text, bigint[], text[]) IS
    'Stores the token vectors of chunks, each written as [[0.1,0.2],[0.3,0.4]], and returns of how many chunks. NULL stores nothing, and a chunk that is gone is passed over. The first model a tenant gets token vectors of is the one its searches take.';
REVOKE ALL ON FUNCTION sift.put_token_embeddings(text, text, bigint[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_token_embeddings(text, text, bigint[], text[]) TO sift_owner, sift_writer;
