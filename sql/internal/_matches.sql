-- The chunks the caller may see that hold at least one of the terms and pass the filter; terms NULL: every visible chunk that passes it.
-- What sift.count_matches and sift.facets count. Every posting of the terms is read.
CREATE OR REPLACE FUNCTION sift._matches(tenant_id integer, terms text[], lists bigint[], predicate text, bound jsonb)
RETURNS TABLE (chunk_id bigint, document_id bigint)
LANGUAGE plpgsql STABLE ROWS 10000 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF coalesce(cardinality(lists), 0) = 0 THEN
        RETURN;
    END IF;
    IF terms IS NULL THEN
        RETURN QUERY EXECUTE format($query$
            SELECT c.chunk_id, c.document_id
            FROM unnest($3) AS l (id)
            CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.access_list_id = l.id OFFSET 0) AS c
            %s
            WHERE (%s)
        $query$,
            CASE WHEN predicate IS NULL THEN '' ELSE
                'CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d' END,
            coalesce(predicate, 'true'))
        USING bound, tenant_id, lists;
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($query$
        WITH query AS (
            SELECT DISTINCT q.term FROM unnest($4) AS q (term)
        ),
        postings AS MATERIALIZED (
            SELECT DISTINCT p.id
            FROM (SELECT r.chunk_id AS id
                  FROM query AS q
                  CROSS JOIN LATERAL (SELECT w.chunk_id FROM sift.chunk_terms AS w WHERE w.tenant_id = $2 AND w.term = q.term OFFSET 0) AS r
                  UNION ALL
                  SELECT u.p >> 23
                  FROM (SELECT unnest(r.postings) AS p
                        FROM query AS q
                        CROSS JOIN LATERAL (SELECT d.block_no FROM sift.packed_chunks AS d WHERE d.tenant_id = $2 OFFSET 0) AS n
                        CROSS JOIN LATERAL (SELECT o.postings FROM sift.posting_blocks AS o
                                            WHERE o.tenant_id = $2 AND o.block_no = n.block_no AND o.term = q.term OFFSET 0) AS r) AS u) AS p
        )
        SELECT c.chunk_id, c.document_id
        FROM postings AS p
        CROSS JOIN LATERAL (SELECT x.* FROM sift.chunks AS x WHERE x.tenant_id = $2 AND x.chunk_id = p.id OFFSET 0) AS c
        %s
        WHERE (c.access_list_id IN (SELECT l.id FROM unnest($3) AS l (id))) IS TRUE AND (%s)
    $query$,
        CASE WHEN predicate IS NULL THEN '' ELSE
            'CROSS JOIN LATERAL (SELECT x.* FROM sift.documents AS x WHERE x.tenant_id = $2 AND x.document_id = c.document_id OFFSET 0) AS d' END,
        coalesce(predicate, 'true'))
    USING bound, tenant_id, lists, terms;
END
$$;
COMMENT ON FUNCTION sift._matches(integer, text[], bigint[], text, jsonb) IS 'The visible chunks that hold one of the terms and pass the filter, in no order.';
REVOKE ALL ON FUNCTION sift._matches(integer, text[], bigint[], text, jsonb) FROM PUBLIC;
