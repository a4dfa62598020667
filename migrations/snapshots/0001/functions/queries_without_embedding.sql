-- The next texts whose vector of another model is cached for searches by text alone, and not that of this one.
CREATE OR REPLACE FUNCTION sift.queries_without_embedding(tenant text, model text, k integer DEFAULT 1000, after text DEFAULT '')
RETURNS TABLE (query text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
BEGIN
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('the tenant %s has no embedding model yet', to_json(tenant)),
            HINT = 'Name the model; sift.list_models() lists those there are.';
    END IF;
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of queries wanted at most; 1000 is the default.';
    END IF;
    RETURN QUERY
    SELECT DISTINCT q.query
    FROM sift.query_embeddings AS q
    WHERE q.tenant_id = v_tenant_id AND q.query > coalesce(after, '')
      AND NOT EXISTS (SELECT FROM sift.query_embeddings AS o
                      WHERE o.tenant_id = v_tenant_id AND o.model_id = v_model_id AND o.query = q.query)
    ORDER BY q.query
    LIMIT k;
END
$$;
COMMENT ON FUNCTION sift.queries_without_embedding(text, text, integer, text) IS
    'The next k queries after a given one whose vector is cached for another model and not for this one; for a backfill that stores them with sift.cache_query_embedding.';
REVOKE ALL ON FUNCTION sift.queries_without_embedding(text, text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.queries_without_embedding(text, text, integer, text) TO sift_owner, sift_writer;
