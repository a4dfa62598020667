-- Stores vectors of chunks that are there already: a backfill, or a second model beside the first.
CREATE OR REPLACE FUNCTION sift.put_embeddings(
    tenant     text,
    model      text,
    chunk_ids  bigint[],
    embeddings text[],
    hashes     bytea[] DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer;
    v_stored    integer;
BEGIN
    IF model IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'name the model the vectors were made with',
            HINT = 'sift.list_models() lists those there are.';
    END IF;
    v_model_id := sift._model_id(v_tenant_id, model);
    -- The documents first, in the order of keys, as everybody does who changes chunks of several: their chunks have another order.
    PERFORM d.document_id
    FROM sift.documents AS d
    WHERE d.tenant_id = v_tenant_id
      AND d.document_id = ANY (ARRAY(
          SELECT DISTINCT x.document_id
          FROM unnest((SELECT put_embeddings.chunk_ids)) AS i (id)
          CROSS JOIN LATERAL (SELECT c.document_id FROM sift.chunks AS c
                              WHERE c.tenant_id = v_tenant_id AND c.chunk_id = i.id OFFSET 0) AS x))
    ORDER BY d.key COLLATE "C"
    FOR SHARE;
    v_stored := sift._add_embeddings(v_tenant_id, v_model_id, chunk_ids, embeddings, hashes);
    IF v_stored > 0 AND EXISTS (SELECT FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id AND t.model_id IS NULL) THEN
        UPDATE sift.tenants AS t SET model_id = v_model_id WHERE t.tenant_id = v_tenant_id AND t.model_id IS NULL;
    END IF;
    RETURN v_stored;
END
$$;
COMMENT ON FUNCTION sift.put_embeddings(text, text, bigint[], text[], bytea[]) IS
    'Stores vectors, written as [0.1,0.2,…], of chunks that are there already, and returns how many. hashes: sha256 of each embedded text. The first model a tenant gets vectors of becomes its active one.';
REVOKE ALL ON FUNCTION sift.put_embeddings(text, text, bigint[], text[], bytea[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.put_embeddings(text, text, bigint[], text[], bytea[]) TO sift_owner, sift_writer;
