-- Makes documents findable as a whole: what the document unit counts beside postings (sift.unranked_terms), and lengths.
CREATE OR REPLACE FUNCTION sift._add_document_terms(tenant_id integer, chunk_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    INSERT INTO sift.unranked_terms AS w (tenant_id, term, chunk_id, tf)
    SELECT v_tenant_id, t.term, t.chunk_id, sum(t.counts)
    FROM (SELECT c.chunk_id, 1 AS counts, string_to_table(c.unranked_tokens, ' ') AS term
          FROM sift.chunks AS c
          WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_add_document_terms.chunk_ids) AND c.unranked_tokens <> ''
          UNION ALL
          SELECT c.chunk_id, -1,
                 unnest((string_to_array(coalesce(c.unranked_tokens, c.tokens), ' '))[c.title_tokens + 1:c.title_tokens + c.overlap_tokens])
          FROM sift.chunks AS c
          WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_add_document_terms.chunk_ids) AND c.overlap_tokens > 0) AS t
    GROUP BY t.term, t.chunk_id
    HAVING sum(t.counts) <> 0
    ORDER BY t.term, t.chunk_id;
    INSERT INTO sift.document_lengths AS l (tenant_id, document_id, doc_length)
    SELECT v_tenant_id, c.document_id, sum(c.doc_length - c.overlap_tokens + CASE WHEN c.unranked_tokens <> ''
               THEN 1 + char_length(c.unranked_tokens) - char_length(replace(c.unranked_tokens, ' ', '')) ELSE 0 END) AS doc_length
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (_add_document_terms.chunk_ids)
    GROUP BY c.document_id
    HAVING sum(c.doc_length - c.overlap_tokens + CASE WHEN c.unranked_tokens <> ''
               THEN 1 + char_length(c.unranked_tokens) - char_length(replace(c.unranked_tokens, ' ', '')) ELSE 0 END) > 0
    ORDER BY c.document_id;
END
$$;
COMMENT ON FUNCTION sift._add_document_terms(integer, bigint[]) IS 'Makes what the document unit counts beside postings, and the lengths of documents, from all chunks of them.';
REVOKE ALL ON FUNCTION sift._add_document_terms(integer, bigint[]) FROM PUBLIC;
