-- Puts a document, and what is derived from it, under another access list. The caller holds the document's row lock.
CREATE OR REPLACE FUNCTION sift._move_access(tenant_id integer, document_id bigint, access_list_id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_new         bigint := access_list_id;
    v_old         bigint;
    v_chunk_ids   bigint[];
    v_chunks      bigint;
    v_length      bigint;
BEGIN
    SELECT d.access_list_id INTO v_old FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document_id;
    IF v_old IS NOT DISTINCT FROM v_new THEN
        RETURN false;
    END IF;
    UPDATE sift.documents AS d SET access_list_id = v_new WHERE d.tenant_id = v_tenant_id AND d.document_id = v_document_id;
    SELECT array_agg(c.chunk_id ORDER BY c.chunk_id), count(*) FILTER (WHERE c.doc_length > 0), coalesce(sum(c.doc_length), 0)
    INTO v_chunk_ids, v_chunks, v_length
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document_id;
    IF v_chunk_ids IS NULL THEN
        RETURN true;
    END IF;
    UPDATE sift.chunks AS c SET access_list_id = v_new WHERE c.tenant_id = v_tenant_id AND c.document_id = v_document_id;
    IF v_chunks > 0 THEN
        INSERT INTO sift.corpus_stats AS s (tenant_id, access_list_id, chunks, total_length)
        VALUES (v_tenant_id, v_old, -v_chunks, -v_length), (v_tenant_id, v_new, v_chunks, v_length);
    END IF;
    INSERT INTO sift.embedding_stats AS s (tenant_id, model_id, access_list_id, vectors)
    SELECT v_tenant_id, n.model_id, l.list, l.sign * n.vectors
    FROM (SELECT e.model_id, count(*) AS vectors
          FROM sift.chunk_embeddings AS e
          WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (v_chunk_ids)
          GROUP BY e.model_id) AS n
    CROSS JOIN (VALUES (v_old, -1::bigint), (v_new, 1::bigint)) AS l (list, sign);
    UPDATE sift.chunk_embeddings AS e SET access_list_id = v_new WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (v_chunk_ids);
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift._move_access(integer, bigint, bigint) IS 'Puts a document and its chunks, vectors and counts under another access list; false where it was there already.';
REVOKE ALL ON FUNCTION sift._move_access(integer, bigint, bigint) FROM PUBLIC;
