-- Repair, first part: what does not belong to anything goes, what is under a list that does not exist becomes invisible, and copies of
-- access lists become what the document says.
CREATE OR REPLACE FUNCTION sift._repair_references(tenant_id integer)
RETURNS TABLE (object text, mended text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_rows      bigint;
BEGIN
    -- What hangs on such a chunk goes below, and its packed postings when their block is next rewritten.
    DELETE FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id
      AND NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = c.document_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunks'::text, format('%s chunks without a document are gone', v_rows);
    END IF;

    DELETE FROM sift.chunk_embeddings AS e
    WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = e.chunk_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunk_embeddings'::text, format('%s vectors without a chunk are gone', v_rows);
    END IF;
    DELETE FROM sift.chunk_token_embeddings AS e
    WHERE e.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = e.chunk_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunk_token_embeddings'::text, format('token vectors of %s chunks that do not exist are gone', v_rows);
    END IF;
    DELETE FROM sift.chunk_entities AS n
    WHERE n.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = n.chunk_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunk_entities'::text, format('%s mentions of entities without a chunk are gone', v_rows);
    END IF;
    DELETE FROM sift.unpacked_chunks AS u
    WHERE u.tenant_id = v_tenant_id AND NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = u.chunk_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'unpacked_chunks'::text, format('%s rows without a chunk are gone', v_rows);
    END IF;
    DELETE FROM sift.chunk_terms AS w
    WHERE w.tenant_id = v_tenant_id
      AND NOT EXISTS (SELECT FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = w.chunk_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunk_terms'::text, format('%s postings without a chunk are gone', v_rows);
    END IF;
    DELETE FROM sift.posting_blocks AS b
    WHERE b.tenant_id = v_tenant_id
      AND NOT EXISTS (SELECT FROM sift.packed_chunks AS k WHERE k.tenant_id = v_tenant_id AND k.block_no = b.block_no);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'posting_blocks'::text, format('%s rows of blocks that no chunk belongs to are gone', v_rows);
    END IF;

    UPDATE sift.tenants AS t SET default_access_list_id = 0
    WHERE t.tenant_id = v_tenant_id AND t.default_access_list_id <> 0
      AND NOT EXISTS (SELECT FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = t.default_access_list_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'default access list'::text, 'new documents are visible to nobody but writers now: set the default access anew'::text;
    END IF;
    UPDATE sift.documents AS d SET access_list_id = 0
    WHERE d.tenant_id = v_tenant_id AND d.access_list_id <> 0
      AND NOT EXISTS (SELECT FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id AND a.access_list_id = d.access_list_id);
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'documents'::text,
            format('%s documents whose access list did not exist are visible to nobody but writers now: set their access anew', v_rows);
    END IF;
    -- The documents are locked, so that their lists stay what they are meanwhile.
    WITH held AS MATERIALIZED (
        SELECT d.document_id, d.access_list_id
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id
          AND EXISTS (SELECT FROM sift.chunks AS c
                      WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id AND c.access_list_id <> d.access_list_id)
        ORDER BY d.document_id
        FOR NO KEY UPDATE
    )
    UPDATE sift.chunks AS c SET access_list_id = h.access_list_id
    FROM held AS h
    WHERE c.tenant_id = v_tenant_id AND c.document_id = h.document_id AND c.access_list_id <> h.access_list_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunks'::text, format('%s chunks are under the access list of their document again', v_rows);
    END IF;
    WITH held AS MATERIALIZED (
        SELECT c.chunk_id, c.access_list_id
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id
          AND EXISTS (SELECT FROM sift.chunk_embeddings AS e
                      WHERE e.tenant_id = v_tenant_id AND e.chunk_id = c.chunk_id AND e.access_list_id <> c.access_list_id)
        ORDER BY c.chunk_id
        FOR NO KEY UPDATE
    )
    UPDATE sift.chunk_embeddings AS e SET access_list_id = h.access_list_id
    FROM held AS h
    WHERE e.tenant_id = v_tenant_id AND e.chunk_id = h.chunk_id AND e.access_list_id <> h.access_list_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
        RETURN QUERY SELECT 'chunk_embeddings'::text, format('%s vectors are under the access list of their chunk again', v_rows);
    END IF;
END
$$;
COMMENT ON FUNCTION sift._repair_references(integer) IS 'Repair of rows without what they belong to, and of copies of access lists.';
REVOKE ALL ON FUNCTION sift._repair_references(integer) FROM PUBLIC;
