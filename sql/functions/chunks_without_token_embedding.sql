-- The next chunks that lack token vectors of a model, in the order of their numbers, whoever may see them; as
-- sift.chunks_without_embedding does for vectors of whole chunks.
CREATE OR REPLACE FUNCTION sift.chunks_without_token_embedding(
    tenant text,
    model  text DEFAULT NULL,
    k      integer DEFAULT 1000,
    after  bigint DEFAULT 0,
    remote boolean DEFAULT false
) RETURNS TABLE (chunk_id bigint, title text, body text, prefix text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_tenant    record;
    v_model_id  integer := (SELECT m.token_model_id FROM sift._token_model(v_tenant_id, model) AS m);
BEGIN
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('the tenant %s has no token model yet', to_json(tenant)),
            HINT = 'Name the model; sift.list_token_models() lists those there are.';
    END IF;
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of chunks wanted at most; 1000 is the default.';
    END IF;
    SELECT t.remote_classifications, t.remote_retained INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    RETURN QUERY
    SELECT c.chunk_id, d.title, c.body, c.prefix
    FROM sift.chunks AS c
    CROSS JOIN LATERAL (
        SELECT s.title, s.classification, s.retain_until FROM sift.documents AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS d
    LEFT JOIN LATERAL (
        SELECT true AS found FROM sift.chunk_token_embeddings AS v
        WHERE v.tenant_id = v_tenant_id AND v.token_model_id = v_model_id AND v.chunk_id = c.chunk_id OFFSET 0) AS e ON true
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id > coalesce(after, 0) AND e.found IS NULL
      AND (remote IS NOT TRUE
           OR ((v_tenant.remote_classifications IS NULL OR d.classification = ANY (v_tenant.remote_classifications)) IS TRUE
               AND (v_tenant.remote_retained OR d.retain_until IS NULL)))
    ORDER BY c.chunk_id
    LIMIT k;
END
$$;
COMMENT ON FUNCTION sift.chunks_without_token_embedding(text, text, integer, bigint, boolean) IS
    'The next k chunks after a given one that lack token vectors of the model, with the title, body and prefix to embed; for a backfill that stores them with sift.put_token_embeddings.';
REVOKE ALL ON FUNCTION sift.chunks_without_token_embedding(text, text, integer, bigint, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.chunks_without_token_embedding(text, text, integer, bigint, boolean) TO sift_owner, sift_writer;
