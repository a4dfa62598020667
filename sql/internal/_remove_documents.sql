-- Removes what was derived from documents: postings, statistics, vectors, entities, chunks; and closes their versions. The caller holds
-- the documents' row locks; the rows of sift.documents themselves stay, and are read for what ends here.
--
--   purge  packed postings go too (see sift._remove_postings)
--   keep   chunks and vectors go into the history
CREATE OR REPLACE FUNCTION sift._remove_documents(tenant_id integer, document_ids bigint[], purge boolean, keep boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_now       timestamptz := now();
    v_chunk_ids bigint[];
BEGIN
    SELECT array_agg(c.chunk_id ORDER BY c.chunk_id) INTO v_chunk_ids
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.document_id = ANY (document_ids);
    UPDATE sift.document_versions AS h
    SET current_to = greatest(v_now, d.updated_at), access_list_id = d.access_list_id, chunk_ids = c.ids, text_hashes = c.hashes, models = m.names
    FROM unnest(document_ids) AS i (id)
    CROSS JOIN LATERAL (
        SELECT e.updated_at, e.access_list_id FROM sift.documents AS e
        WHERE e.tenant_id = v_tenant_id AND e.document_id = i.id OFFSET 0) AS d
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(s.chunk_id ORDER BY s.chunk_id), '{}'::bigint[]) AS ids,
               coalesce(array_agg(s.text_hash ORDER BY s.chunk_id), '{}'::bytea[]) AS hashes
        FROM sift.chunks AS s
        WHERE s.tenant_id = v_tenant_id AND s.document_id = i.id OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(n.name ORDER BY n.name COLLATE "C"), '{}'::text[]) AS names
        FROM (SELECT DISTINCT e.model_id
              FROM unnest(c.ids) AS s (id)
              CROSS JOIN LATERAL (SELECT v.model_id FROM sift.chunk_embeddings AS v
                                  WHERE v.tenant_id = v_tenant_id AND v.chunk_id = s.id OFFSET 0) AS e) AS u
        JOIN sift.embedding_models AS n ON n.model_id = u.model_id
        OFFSET 0) AS m
    WHERE h.tenant_id = v_tenant_id AND h.document_id = i.id AND h.current_to IS NULL;
    PERFORM sift._remove_signatures(v_tenant_id, document_ids);
    DELETE FROM sift.document_topics AS t WHERE t.tenant_id = v_tenant_id AND t.document_id = ANY (document_ids);
    IF v_chunk_ids IS NULL THEN
        RETURN;
    END IF;
    IF keep THEN
        INSERT INTO sift.chunk_history AS h (tenant_id, chunk_id, document_id, current_from, current_to, version, ordinal, doc_length, page,
                                             char_start, char_end, kind, section_path, text_hash, body, tokens, unranked_tokens, title_tokens,
                                             overlap_tokens, claim, page_breaks, prefix_tokens, prefix, lead, context_start, context_end)
        SELECT v_tenant_id, c.chunk_id, c.document_id, greatest(d.current_from, c.added_at), greatest(v_now, d.updated_at), d.version, c.ordinal, c.doc_length, c.page,
               c.char_start, c.char_end, c.kind, c.section_path, c.text_hash, c.body, c.tokens, c.unranked_tokens, c.title_tokens,
               c.overlap_tokens, c.claim, c.page_breaks, c.prefix_tokens, c.prefix, c.lead, c.context_start, c.context_end
        FROM unnest(document_ids) AS i (id)
        CROSS JOIN LATERAL (
            SELECT e.version, e.current_from, e.updated_at FROM sift.documents AS e
            WHERE e.tenant_id = v_tenant_id AND e.document_id = i.id OFFSET 0) AS d
        CROSS JOIN LATERAL (
            SELECT s.* FROM sift.chunks AS s WHERE s.tenant_id = v_tenant_id AND s.document_id = i.id OFFSET 0) AS c;
        INSERT INTO sift.vector_history AS h (tenant_id, chunk_id, model_id, text_hash, embedding)
        SELECT v_tenant_id, e.chunk_id, e.model_id, e.text_hash, coalesce(e.embedding::real[], e.half_embedding::real[])
        FROM unnest(v_chunk_ids) AS i (id)
        CROSS JOIN LATERAL (
            SELECT s.* FROM sift.chunk_embeddings AS s WHERE s.tenant_id = v_tenant_id AND s.chunk_id = i.id OFFSET 0) AS e;
    END IF;
    PERFORM sift._remove_postings(v_tenant_id, v_chunk_ids, purge);
    DELETE FROM sift.unranked_terms AS w
    USING unnest(v_chunk_ids) AS i (id)
    WHERE w.tenant_id = v_tenant_id AND w.chunk_id = i.id;
    DELETE FROM sift.document_lengths AS l
    USING unnest(document_ids) AS i (id)
    WHERE l.tenant_id = v_tenant_id AND l.document_id = i.id;
    PERFORM sift._remove_embeddings(v_tenant_id, v_chunk_ids);
    DELETE FROM sift.chunk_entities AS e WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (v_chunk_ids);
    DELETE FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (v_chunk_ids);
END
$$;
COMMENT ON FUNCTION sift._remove_documents(integer, bigint[], boolean, boolean) IS
    'Removes everything derived from the documents, statistics included; into the history if it is kept.';
REVOKE ALL ON FUNCTION sift._remove_documents(integer, bigint[], boolean, boolean) FROM PUBLIC;
