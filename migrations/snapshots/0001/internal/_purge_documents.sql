-- Deletes documents and all that is kept of them and of deleted ones under the same keys: chunks, history, sources, packed postings of
-- superseded versions, dead letters. What stays is in document_versions: a hash of the key, who, when, why, and the numbers the chunks
-- had. Returns the keys of which there was anything.
--
-- Names of what is purged, and of what was purged before, are taken out of the records of others too (sift._forget_names).
--
-- Locks, in the order of sift.delete_documents: list 0 where a rule of access is for exactly such a key, documents by key, rows of
-- unpacked_chunks, blocks; then nothing is waited for but chunks.
CREATE OR REPLACE FUNCTION sift._purge_documents(tenant_id integer, keys text[], reason text, changed_by text) RETURNS text[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_keys      text[] := keys;
    v_reason    text := reason;
    v_by        text := changed_by;
    v_now       timestamptz := now();
    v_live      bigint[];
    v_ids       bigint[];
    v_found     text[];
    v_uris      text[];
    v_all_keys  text[];
    v_again     text[];
    v_chunk_ids bigint[];
    v_blank     bigint[];
    v_block_no  bigint;
BEGIN
    PERFORM sift._lock_rules(v_tenant_id, v_keys);
    v_live := ARRAY(
        SELECT l.document_id
        FROM (SELECT d.document_id FROM sift.documents AS d
              WHERE d.tenant_id = v_tenant_id AND d.key = ANY (v_keys)
              ORDER BY d.key COLLATE "C"
              FOR UPDATE) AS l);
    -- All documents that ever had one of the keys; rows of a document that was purged before are found by the hash and left alone.
    SELECT coalesce(array_agg(DISTINCT h.document_id), '{}'::bigint[]), coalesce(array_agg(DISTINCT h.key), '{}'::text[])
    INTO v_ids, v_found
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.key = ANY (v_keys);
    v_ids := ARRAY(SELECT DISTINCT i.id FROM unnest(v_ids || v_live) AS i (id)
                   -- One that is there under another key was moved: it is not what is purged.
                   WHERE i.id = ANY (v_live)
                      OR NOT EXISTS (SELECT FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = i.id));
    -- What was written down again since a purge.
    v_again := ARRAY(
        SELECT k.key FROM unnest(v_keys) AS k (key)
        WHERE EXISTS (SELECT FROM sift.document_versions AS h WHERE h.tenant_id = v_tenant_id AND h.key = sift._key_hash(k.key)));
    IF cardinality(v_ids) = 0 THEN
        PERFORM sift._forget_names(v_tenant_id, v_again, '{}'::text[]);
        RETURN '{}'::text[];
    END IF;
    SELECT coalesce(array_agg(DISTINCT h.key), '{}'::text[]),
           coalesce(array_agg(DISTINCT h.source_uri) FILTER (WHERE h.source_uri IS NOT NULL), '{}'::text[])
    INTO v_all_keys, v_uris
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids);
    v_chunk_ids := ARRAY(
        SELECT unnest(h.chunk_ids) FROM sift.document_versions AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids)
        UNION
        SELECT c.chunk_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (v_live));

    PERFORM sift._lock_postings(v_tenant_id, v_chunk_ids);

    -- What is there becomes history first, in which everything that goes is alike.
    IF cardinality(v_live) > 0 THEN
        PERFORM sift._remove_documents(v_tenant_id, v_live, false, true);
    END IF;
    PERFORM sift._remove_superseded(v_tenant_id, v_ids);
    -- Packed postings of chunks whose terms nobody knows any more: their blocks are written anew.
    v_blank := ARRAY(
        SELECT i.id FROM unnest(v_chunk_ids) AS i (id)
        WHERE NOT EXISTS (SELECT FROM sift.chunk_history AS h WHERE h.tenant_id = v_tenant_id AND h.chunk_id = i.id));
    FOREACH v_block_no IN ARRAY sift._lock_blocks(v_tenant_id, v_blank) LOOP
        PERFORM sift._merge_blocks(v_tenant_id, ARRAY[v_block_no]);
    END LOOP;
    DELETE FROM sift.chunk_history AS h WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids);
    DELETE FROM sift.document_sources AS o WHERE o.tenant_id = v_tenant_id AND o.document_id = ANY (v_ids);

    PERFORM sift._forget_hits(v_tenant_id, v_ids, '{}'::text[]);
    DELETE FROM sift.judgments AS j WHERE j.tenant_id = v_tenant_id AND j.document_id = ANY (v_ids);
    UPDATE sift.manifest_documents AS m
    SET document_id = NULL, key = sift._key_hash(m.key), content_hash = NULL, access_hash = NULL
    WHERE m.tenant_id = v_tenant_id AND m.document_id = ANY (v_ids);

    INSERT INTO sift.document_versions AS h (
        tenant_id, document_id, version, access_list_id, current_from, current_to, key, event, reason, changed_by)
    SELECT v_tenant_id, l.document_id, l.version + 1, l.access_list_id, greatest(v_now, l.current_to), greatest(v_now, l.current_to), l.key,
           'purged', v_reason, v_by
    FROM (SELECT DISTINCT ON (v.document_id) v.document_id, v.version, v.access_list_id, v.current_to, v.key
          FROM sift.document_versions AS v
          WHERE v.tenant_id = v_tenant_id AND v.document_id = ANY (v_ids)
          ORDER BY v.document_id, v.version DESC, v.revision DESC) AS l;
    UPDATE sift.document_versions AS h
    SET key = sift._key_hash(h.key), title = NULL, source_uri = NULL, source_version = NULL, metadata = NULL, content_hash = NULL,
        text_hashes = NULL, length = NULL, language = NULL, license = NULL, classification = NULL, observed_at = NULL, valid_from = NULL,
        valid_to = NULL, retain_until = NULL
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (v_ids);
    DELETE FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id AND d.document_id = ANY (v_live);
    PERFORM sift._forget_names(v_tenant_id, v_all_keys || v_again, v_uris);
    RETURN v_found;
END
$$;
COMMENT ON FUNCTION sift._purge_documents(integer, text[], text, text) IS
    'Deletes documents with everything that is kept of them and of deleted ones under the same keys; returns the keys of which there was anything.';
REVOKE ALL ON FUNCTION sift._purge_documents(integer, text[], text, text) FROM PUBLIC;
