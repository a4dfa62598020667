-- What sift.lexical_candidates does once it is known who asks.
CREATE OR REPLACE FUNCTION sift._lexical_candidates(
    caller     oid,
    proof      bytea,
    tenant     text,
    terms      text[],
    k          integer,
    principals text[],
    filter     jsonb
)
RETURNS TABLE (
    chunk_id    bigint,
    document_id bigint,
    key         text,
    ordinal     integer,
    doc_length  integer,
    matched     integer,
    frequencies jsonb
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._enter(tenant, caller, proof);
    v_lists     bigint[] := sift._visible_lists(v_tenant_id, principals, caller);
    v_predicate text;
    v_bound     jsonb;
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of candidates wanted at most.';
    END IF;
    SELECT f.predicate, f.bound INTO v_predicate, v_bound FROM sift._compile_filter(filter) AS f;
    IF k = 0 OR cardinality(v_lists) = 0 OR coalesce(cardinality(terms), 0) = 0 THEN
        RETURN;
    END IF;
    -- Postings of chunks that were deleted may still lie in packed blocks; the join with the chunks drops them.
    RETURN QUERY EXECUTE format($query$
        WITH matches AS MATERIALIZED (
            SELECT p.chunk_id, count(*)::integer AS matched, jsonb_object_agg(q.term, p.tf) AS frequencies
            FROM (SELECT DISTINCT u.term FROM unnest($3) AS u (term)) AS q
            CROSS JOIN LATERAL (
                SELECT o.p >> 23 AS chunk_id, (o.p & 255)::integer AS tf
                FROM (SELECT unnest(r.postings) AS p
                      FROM sift.packed_chunks AS d
                      CROSS JOIN LATERAL (SELECT b.postings FROM sift.posting_blocks AS b
                                          WHERE b.tenant_id = $2 AND b.block_no = d.block_no AND b.term = q.term OFFSET 0) AS r
                      WHERE d.tenant_id = $2) AS o
                UNION ALL
                SELECT w.chunk_id, w.tf FROM sift.chunk_terms AS w WHERE w.tenant_id = $2 AND w.term = q.term
                OFFSET 0) AS p
            GROUP BY p.chunk_id
        )
        SELECT m.chunk_id, s.document_id, s.key, s.ordinal, s.doc_length, m.matched, m.frequencies
        FROM matches AS m
        CROSS JOIN LATERAL (
            SELECT c.document_id, d.key, c.ordinal, c.doc_length
            FROM sift.chunks AS c
            JOIN sift.documents AS d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
            WHERE c.tenant_id = $2 AND d.tenant_id = $2 AND c.chunk_id = m.chunk_id AND c.access_list_id = ANY ($4) AND (%s)
            OFFSET 0) AS s
        ORDER BY m.matched DESC, m.chunk_id
        LIMIT $5
    $query$, coalesce(v_predicate, 'true'))
    USING v_bound, v_tenant_id, terms, v_lists, k;
END
$$;
COMMENT ON FUNCTION sift._lexical_candidates(oid, bytea, text, text[], integer, text[], jsonb) IS 'The body of sift.lexical_candidates, for a caller who proves its role.';
REVOKE ALL ON FUNCTION sift._lexical_candidates(oid, bytea, text, text[], integer, text[], jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift._lexical_candidates(oid, bytea, text, text[], integer, text[], jsonb) TO sift_owner, sift_writer, sift_app, sift_reader;
