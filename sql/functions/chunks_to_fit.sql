-- The next ranked chunks after a given one, whose terms are to get vectors, whoever may see them. The title stands with the chunk it is indexed with.
--
--   remote  for an embedder to which words are sent: without those of documents that the tenant's options keep from it
CREATE OR REPLACE FUNCTION sift.chunks_to_fit(
    tenant text,
    k      integer DEFAULT 1000,
    after  bigint DEFAULT 0,
    remote boolean DEFAULT false
) RETURNS TABLE (chunk_id bigint, title text, body text, prefix text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_tenant    record;
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of chunks wanted at most; 1000 is the default.';
    END IF;
    SELECT t.remote_classifications, t.remote_retained INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    RETURN QUERY
    SELECT c.chunk_id, CASE WHEN c.title_tokens > 0 THEN d.title END, c.body, c.prefix
    FROM sift.chunks AS c
    CROSS JOIN LATERAL (
        SELECT s.title, s.classification, s.retain_until FROM sift.documents AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = c.document_id OFFSET 0) AS d
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id > coalesce(after, 0) AND c.doc_length > 0
      AND (remote IS NOT TRUE
           OR ((v_tenant.remote_classifications IS NULL OR d.classification = ANY (v_tenant.remote_classifications)) IS TRUE
               AND (v_tenant.remote_retained OR d.retain_until IS NULL)))
    ORDER BY c.chunk_id
    LIMIT k;
END
$$;
COMMENT ON FUNCTION sift.chunks_to_fit(text, integer, bigint, boolean) IS
    'The next k ranked chunks after a given one with title, body and prefix: for whoever makes vectors of their terms and stores them with sift.put_term_embeddings.';
REVOKE ALL ON FUNCTION sift.chunks_to_fit(text, integer, bigint, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.chunks_to_fit(text, integer, bigint, boolean) TO sift_owner, sift_writer;
