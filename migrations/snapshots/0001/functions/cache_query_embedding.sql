-- Keeps the vector of a query, so that a caller with nothing but its text gets the dense leg too.
CREATE OR REPLACE FUNCTION sift.cache_query_embedding(
    tenant    text,
    query     text,
    embedding real[],
    model     text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
    v_query     text := btrim(query, E' \t\r\n');
BEGIN
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('the tenant %s has no embedding model yet', to_json(tenant)),
            HINT = 'Name the model; sift.list_models() lists those there are.';
    END IF;
    IF v_query IS NULL OR v_query = '' OR octet_length(v_query) > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('the vector of a query of 1 to 2000 bytes can be kept, not of %s', coalesce(octet_length(v_query), 0)),
            HINT = 'Pass the vector of a longer query with each search, as query_embedding.';
    END IF;
    -- Whoever drops the model waits for this transaction.
    PERFORM FROM sift.embedding_models AS m WHERE m.model_id = v_model_id FOR KEY SHARE;
    PERFORM sift._check_vector(v_model_id, cache_query_embedding.embedding);
    INSERT INTO sift.query_embeddings AS q (tenant_id, model_id, query, embedding)
    VALUES (v_tenant_id, v_model_id, v_query, cache_query_embedding.embedding)
    ON CONFLICT ON CONSTRAINT query_embeddings_pkey DO UPDATE
    SET embedding = excluded.embedding, cached_at = excluded.cached_at;
END
$$;
COMMENT ON FUNCTION sift.cache_query_embedding(text, text, real[], text) IS
    'Keeps the vector of a query (blanks at its ends do not count), so that searching by its text uses the dense leg; model: the tenant''s active one unless named.';
REVOKE ALL ON FUNCTION sift.cache_query_embedding(text, text, real[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.cache_query_embedding(text, text, real[], text) TO sift_owner, sift_writer, sift_app;
