-- The chunks that were current at a time, with their tokens: those that still are, and those of the history. With lists, only the chunks that
-- are visible to somebody who sees these, by today's permissions.
CREATE OR REPLACE FUNCTION sift._chunks_at(tenant_id integer, as_of timestamptz, lists bigint[])
RETURNS TABLE (chunk_id bigint, document_id bigint, kind text, doc_length integer, title_tokens integer, overlap_tokens integer, tokens text, unranked_tokens text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    SELECT c.chunk_id, c.document_id, c.kind, c.doc_length, c.title_tokens, c.overlap_tokens, c.tokens, c.unranked_tokens
    FROM sift.chunks AS c
    JOIN sift.documents AS d ON d.document_id = c.document_id
    WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND d.current_from <= as_of AND (c.added_at <= as_of) IS NOT FALSE
      AND (lists IS NULL OR (d.access_list_id IN (SELECT l.id FROM unnest(lists) AS l (id))) IS TRUE);
    IF lists IS NULL THEN
        RETURN QUERY
        SELECT h.chunk_id, h.document_id, h.kind, h.doc_length, h.title_tokens, h.overlap_tokens, h.tokens, h.unranked_tokens
        FROM sift.chunk_history AS h
        WHERE h.tenant_id = v_tenant_id AND h.current_to > as_of AND h.current_from <= as_of;
    ELSE
        RETURN QUERY
        SELECT h.chunk_id, h.document_id, h.kind, h.doc_length, h.title_tokens, h.overlap_tokens, h.tokens, h.unranked_tokens
        FROM sift.chunk_history AS h
        CROSS JOIN LATERAL sift._version_at(v_tenant_id, h.document_id, as_of, lists) AS v
        WHERE h.tenant_id = v_tenant_id AND h.current_to > as_of AND h.current_from <= as_of
          AND (v.access_list_id IN (SELECT l.id FROM unnest(lists) AS l (id))) IS TRUE;
    END IF;
END
$$;
COMMENT ON FUNCTION sift._chunks_at(integer, timestamptz, bigint[]) IS 'The chunks that were current at a time, of the tenant or of some access lists.';
REVOKE ALL ON FUNCTION sift._chunks_at(integer, timestamptz, bigint[]) FROM PUBLIC;
