-- Takes what is left of chunks in the history out of postings: packed postings of versions that were replaced, and rows that a packing which
-- was rolled back had kept from their remover. The caller has locked where they lie (sift._lock_postings).
CREATE OR REPLACE FUNCTION sift._remove_superseded(tenant_id integer, document_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_ids       bigint[];
    v_tokens    text[];
    v_packed    bigint[];
BEGIN
    SELECT array_agg(h.chunk_id), array_agg(h.tokens) INTO v_ids, v_tokens
    FROM sift.chunk_history AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = ANY (_remove_superseded.document_ids) AND h.doc_length > 0;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;
    -- The losses of these chunks stand in term_stats, and are taken back where their block does not count them any more.
    v_packed := sift._remove_packed(v_tenant_id, v_ids, v_tokens);
    INSERT INTO sift.term_stats AS s (tenant_id, term, df, max_tf, min_doc_length)
    SELECT v_tenant_id, t.term, count(DISTINCT t.id), 0, 2147483647
    FROM (SELECT i.id, string_to_table(i.tokens, ' ') AS term
          FROM unnest(v_ids, v_tokens) AS i (id, tokens)
          WHERE i.id IN (SELECT p.id FROM unnest(v_packed) AS p (id))) AS t
    GROUP BY t.term
    ORDER BY t.term;
    DELETE FROM sift.chunk_terms AS w
    WHERE w.tenant_id = v_tenant_id
      AND w.chunk_id IN (SELECT u.chunk_id FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (v_ids))
      AND w.term IN (SELECT string_to_table(i.tokens, ' ') FROM unnest(v_ids, v_tokens) AS i (id, tokens));
    DELETE FROM sift.unpacked_chunks AS u WHERE u.tenant_id = v_tenant_id AND u.chunk_id = ANY (v_ids);
    PERFORM sift._forget_terms(v_tenant_id, ARRAY(
        SELECT DISTINCT string_to_table(i.tokens, ' ') FROM unnest(v_ids, v_tokens) AS i (id, tokens)));
END
$$;
COMMENT ON FUNCTION sift._remove_superseded(integer, bigint[]) IS 'Takes the chunks of documents that are in the history out of postings.';
REVOKE ALL ON FUNCTION sift._remove_superseded(integer, bigint[]) FROM PUBLIC;
