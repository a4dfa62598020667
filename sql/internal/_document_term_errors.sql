-- Where what the document unit counts beside postings differs from a recount of the tokens: by chunk, and by document the length.
CREATE OR REPLACE FUNCTION sift._document_term_errors(tenant_id integer)
RETURNS TABLE (chunk_id bigint, document_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    WITH expected AS (
        SELECT t.chunk_id, t.term, sum(t.counts)::integer AS tf
        FROM (SELECT c.chunk_id, 1 AS counts, string_to_table(c.unranked_tokens, ' ') AS term
              FROM sift.chunks AS c
              WHERE c.tenant_id = v_tenant_id AND c.unranked_tokens <> ''
              UNION ALL
              SELECT c.chunk_id, -1,
                     unnest((string_to_array(coalesce(c.unranked_tokens, c.tokens), ' '))[c.title_tokens + 1:c.title_tokens + c.overlap_tokens])
              FROM sift.chunks AS c
              WHERE c.tenant_id = v_tenant_id AND c.overlap_tokens > 0) AS t
        GROUP BY t.chunk_id, t.term
        HAVING sum(t.counts) <> 0
    ),
    present AS (
        SELECT w.chunk_id, w.term, w.tf FROM sift.unranked_terms AS w WHERE w.tenant_id = v_tenant_id
    )
    SELECT DISTINCT coalesce(e.chunk_id, p.chunk_id), NULL::bigint
    FROM expected AS e
    FULL JOIN present AS p ON p.chunk_id = e.chunk_id AND p.term = e.term
    WHERE e.tf IS DISTINCT FROM p.tf;

    RETURN QUERY
    WITH expected AS (
        SELECT c.document_id, sum(coalesce(cardinality(string_to_array(coalesce(c.unranked_tokens, c.tokens), ' ')), 0) - c.overlap_tokens) AS doc_length
        FROM sift.chunks AS c
        WHERE c.tenant_id = v_tenant_id
        GROUP BY c.document_id
        HAVING sum(coalesce(cardinality(string_to_array(coalesce(c.unranked_tokens, c.tokens), ' ')), 0) - c.overlap_tokens) > 0
    ),
    present AS (
        SELECT l.document_id, l.doc_length FROM sift.document_lengths AS l WHERE l.tenant_id = v_tenant_id
    )
    SELECT NULL::bigint, coalesce(e.document_id, p.document_id)
    FROM expected AS e
    FULL JOIN present AS p ON p.document_id = e.document_id
    WHERE e.doc_length IS DISTINCT FROM p.doc_length;
END
$$;
COMMENT ON FUNCTION sift._document_term_errors(integer) IS 'Chunks whose rows in unranked_terms, and documents whose length, differ from a recount.';
REVOKE ALL ON FUNCTION sift._document_term_errors(integer) FROM PUBLIC;
