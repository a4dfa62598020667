-- Deletes documents by key, with everything derived from them; a tombstone stays in document_versions, and the text in the history where
-- the tenant keeps one.
--
--   purge  nothing stays but the tombstone: see sift.purge_documents
CREATE OR REPLACE FUNCTION sift.delete_documents(tenant text, keys text[], reason text DEFAULT NULL, purge boolean DEFAULT false)
RETURNS TABLE (key text, deleted boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_reason    text := reason;
    v_tenant_id integer := sift._tenant_id(tenant);
    v_by        text := sift._recorded_role();
    v_now       timestamptz := now();
    v_keep      boolean;
    v_ids       bigint[];
    v_keys      text[];
    v_old       bigint[];
BEGIN
    -- Held to the end: whoever switches history on again waits for what goes without one (sift.set_tenant).
    SELECT t.keep_history INTO v_keep FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR KEY SHARE;
    IF purge THEN
        -- Before any document is locked, as in sift._purge_documents.
        PERFORM sift._lock_rules(v_tenant_id, delete_documents.keys);
    END IF;
    SELECT array_agg(l.document_id), array_agg(l.key) INTO v_ids, v_keys
    FROM (
        SELECT d.document_id, d.key FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.key = ANY (delete_documents.keys)
        ORDER BY d.key COLLATE "C"
        FOR UPDATE
    ) AS l;
    IF v_ids IS NOT NULL AND purge THEN
        PERFORM sift._purge_documents(v_tenant_id, v_keys, v_reason, v_by);
    ELSIF v_ids IS NOT NULL THEN
        -- Versions that were replaced may have packed postings still; all locks are taken before anything is removed.
        v_old := ARRAY(SELECT h.chunk_id FROM sift.chunk_history AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids));
        IF cardinality(v_old) > 0 THEN
            PERFORM sift._lock_postings(v_tenant_id, v_old || ARRAY(
                SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_ids)));
        END IF;
        PERFORM sift._remove_documents(v_tenant_id, v_ids, true, v_keep);
        IF cardinality(v_old) > 0 THEN
            PERFORM sift._remove_superseded(v_tenant_id, v_ids);
        END IF;
        INSERT INTO sift.document_versions AS h (
            tenant_id, document_id, version, access_list_id, current_from, current_to, key, event, title, source_uri, source_version, content_hash,
            classification, reason, changed_by)
        SELECT v_tenant_id, d.document_id, d.version + 1, d.access_list_id, greatest(v_now, d.updated_at), greatest(v_now, d.updated_at), d.key,
               'deleted', d.title, d.source_uri, d.source_version, d.content_hash, d.classification, v_reason, v_by
        FROM sift.documents AS d
        WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids);
        DELETE FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_ids);
    END IF;
    RETURN QUERY
    SELECT k.key, k.key = ANY (coalesce(v_keys, '{}'::text[]))
    FROM unnest(delete_documents.keys) WITH ORDINALITY AS k (key, position)
    WHERE k.key IS NOT NULL
    ORDER BY k.position;
END
$$;
COMMENT ON FUNCTION sift.delete_documents(text, text[], text, boolean) IS
    'Deletes documents with their chunks, postings, statistics and vectors in one transaction, and keeps a tombstone with the reason; with purge nothing else, otherwise their history. Says of each key whether there was such a document.';
REVOKE ALL ON FUNCTION sift.delete_documents(text, text[], text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.delete_documents(text, text[], text, boolean) TO sift_owner, sift_writer;
