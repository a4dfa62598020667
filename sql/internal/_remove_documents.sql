-- Removes what was derived from documents: postings, statistics, vectors, entities, chunks. The caller holds the documents' row
-- locks; the rows of sift.documents themselves stay.
CREATE OR REPLACE FUNCTION sift._remove_documents(tenant_id integer, document_ids bigint[], purge boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_chunk_ids bigint[];
BEGIN
    SELECT array_agg(c.chunk_id ORDER BY c.chunk_id) INTO v_chunk_ids
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (document_ids);
    IF v_chunk_ids IS NULL THEN
        RETURN;
    END IF;
    PERFORM sift._remove_postings(v_tenant_id, v_chunk_ids, purge);
    PERFORM sift._remove_embeddings(v_tenant_id, v_chunk_ids);
    DELETE FROM sift.chunk_entities AS e WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (v_chunk_ids);
    DELETE FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_chunk_ids);
END
$$;
COMMENT ON FUNCTION sift._remove_documents(integer, bigint[], boolean) IS 'Removes everything derived from the documents, statistics included.';
REVOKE ALL ON FUNCTION sift._remove_documents(integer, bigint[], boolean) FROM PUBLIC;
