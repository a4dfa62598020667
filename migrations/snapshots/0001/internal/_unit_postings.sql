-- Every occurrence of some terms, with what sift._lexical_units needs of it. One row per term and chunk, and for the overlap of a chunk that is
-- ranked one more.
--
--   lists       NULL, or the only access lists whose chunks count
--   whole       whether documents are counted: with chunks that are not ranked, overlaps once
--   fields      whether title_tf and abstract_tf are wanted; 0 otherwise
--   ranked      whether the chunk is ranked by itself
--   tf          how often the term occurs in the chunk; 0 in the row of an overlap
--   counted     how often it occurs there for the document: as tf; in the row of an overlap, minus what repeats the chunk before
--   doc_length  of a ranked chunk; NULL in other rows
--   title_tf, abstract_tf  how much of counted lies in the title, and in an abstract
CREATE OR REPLACE FUNCTION sift._unit_postings(
    tenant_id integer, terms text[], lists bigint[], as_of timestamptz, fields boolean, whole boolean)
RETURNS TABLE (term text, chunk_id bigint, document_id bigint, ranked boolean, tf integer, counted integer, doc_length integer, title_tf integer, abstract_tf integer)
LANGUAGE plpgsql STABLE ROWS 10000 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_terms     text[] := ARRAY(SELECT DISTINCT u.term FROM unnest(terms) AS u (term));
BEGIN
    IF as_of IS NOT NULL THEN
        RETURN QUERY
        SELECT n.term, h.chunk_id, h.document_id, h.unranked_tokens IS NULL, n.tf, n.tf - n.again,
               CASE WHEN h.unranked_tokens IS NULL THEN h.doc_length END, n.of_title,
               CASE WHEN h.kind = 'abstract' THEN n.tf - n.again - n.of_title ELSE 0 END
        FROM sift._chunks_at(v_tenant_id, as_of, lists) AS h
        CROSS JOIN LATERAL (
            SELECT t.term, count(*)::integer AS tf, (count(*) FILTER (WHERE t.position <= h.title_tokens))::integer AS of_title,
                   (count(*) FILTER (WHERE whole AND t.position > h.title_tokens AND t.position <= h.title_tokens + h.overlap_tokens))::integer AS again
            FROM unnest(string_to_array(coalesce(h.unranked_tokens, h.tokens), ' ')) WITH ORDINALITY AS t (term, position)
            WHERE t.term = ANY (v_terms)
            GROUP BY t.term
            OFFSET 0) AS n
        -- As in unranked_terms, which holds nothing of what is an overlap whole.
        WHERE h.unranked_tokens IS NULL OR n.tf > n.again;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT p.term, p.id, c.document_id, p.ranked, p.tf, p.counted, p.dl, coalesce(f.of_title, 0),
           CASE WHEN f.kind = 'abstract' THEN p.counted - coalesce(f.of_title, 0) ELSE 0 END
    FROM (
        SELECT q.term, r.chunk_id AS id, true AS ranked, r.tf, r.tf AS counted, r.doc_length AS dl
        FROM unnest(v_terms) AS q (term)
        CROSS JOIN LATERAL (SELECT w.chunk_id, w.tf, w.doc_length FROM sift.chunk_terms AS w
                            WHERE w.tenant_id = v_tenant_id AND w.term = q.term OFFSET 0) AS r
        UNION ALL
        SELECT u.term, u.p >> 23, true, (u.p & 255)::integer, (u.p & 255)::integer, ((u.p >> 8) & 32767)::integer
        FROM (SELECT q.term, unnest(r.postings) AS p
              FROM unnest(v_terms) AS q (term)
              CROSS JOIN LATERAL (SELECT d.block_no FROM sift.packed_chunks AS d WHERE d.tenant_id = v_tenant_id OFFSET 0) AS n
              CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                  WHERE o.tenant_id = v_tenant_id AND o.block_no = n.block_no AND o.term = q.term OFFSET 0) AS r) AS u
        UNION ALL
        SELECT q.term, r.chunk_id, r.tf < 0, greatest(r.tf, 0), r.tf, NULL
        FROM unnest(v_terms) AS q (term)
        CROSS JOIN LATERAL (SELECT w.chunk_id, w.tf FROM sift.unranked_terms AS w
                            WHERE w.tenant_id = v_tenant_id AND w.term = q.term OFFSET 0) AS r
        WHERE whole
    ) AS p
    -- Postings of chunks that are gone may lie in their block still.
    CROSS JOIN LATERAL (SELECT x.document_id, x.access_list_id FROM sift.chunks AS x
                        WHERE x.tenant_id = v_tenant_id AND x.chunk_id = p.id OFFSET 0) AS c
    -- In the row of an overlap there is nothing of the title.
    LEFT JOIN LATERAL (
        SELECT x.kind, CASE WHEN x.title_tokens > 0 AND p.counted > 0
                            THEN cardinality(array_positions((string_to_array(coalesce(x.unranked_tokens, x.tokens), ' '))[:x.title_tokens], p.term))
                            ELSE 0 END AS of_title
        FROM sift.chunks AS x
        WHERE x.tenant_id = v_tenant_id AND x.chunk_id = p.id AND fields OFFSET 0) AS f ON true
    WHERE lists IS NULL OR (c.access_list_id IN (SELECT l.id FROM unnest((SELECT lists)) AS l (id))) IS TRUE;
END
$$;
COMMENT ON FUNCTION sift._unit_postings(integer, text[], bigint[], timestamptz, boolean, boolean) IS 'Every occurrence of some terms, for documents as a whole and for weighted fields.';
REVOKE ALL ON FUNCTION sift._unit_postings(integer, text[], bigint[], timestamptz, boolean, boolean) FROM PUBLIC;
