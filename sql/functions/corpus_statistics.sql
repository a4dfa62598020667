-- The size of a tenant's corpus, in numbers.
CREATE OR REPLACE FUNCTION sift.corpus_statistics(tenant text)
RETURNS TABLE (
    documents      bigint,
    chunks         bigint,
    indexed_chunks bigint,
    unranked_chunks bigint,
    reference_chunks bigint,
    unranked_documents bigint,
    total_length   bigint,
    average_length double precision,
    access_lists   bigint,
    dead_letters   bigint,
    vectors        jsonb,
    pending_rows   bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_indexed   bigint;
    v_length    bigint;
BEGIN
    SELECT coalesce(sum(s.chunks), 0)::bigint, coalesce(sum(s.total_length), 0)::bigint INTO v_indexed, v_length
    FROM sift.corpus_stats AS s
    WHERE s.tenant_id = v_tenant_id;
    RETURN QUERY
    SELECT (SELECT count(*) FROM sift.documents AS d WHERE d.tenant_id = v_tenant_id),
           (SELECT count(*) FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id),
           v_indexed,
           (SELECT count(*) FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.unranked_tokens IS NOT NULL AND c.kind <> 'reference'),
           (SELECT count(*) FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.kind = 'reference'),
           (SELECT count(*) FROM sift.documents AS d
            WHERE d.tenant_id = v_tenant_id
              AND NOT EXISTS (SELECT FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.document_id = d.document_id))
           + (SELECT count(*)
              FROM (SELECT DISTINCT c.document_id FROM sift.chunks AS c WHERE c.tenant_id = v_tenant_id AND c.unranked_tokens IS NOT NULL) AS u
              LEFT JOIN LATERAL (SELECT true AS found FROM sift.chunks AS c
                                 WHERE c.tenant_id = v_tenant_id AND c.document_id = u.document_id AND c.unranked_tokens IS NULL LIMIT 1) AS r ON true
              WHERE r.found IS NULL),
           v_length,
           CASE WHEN v_indexed > 0 THEN v_length::double precision / v_indexed::double precision ELSE 0::double precision END,
           (SELECT count(*) FROM sift.access_lists AS a WHERE a.tenant_id = v_tenant_id),
           (SELECT count(*) FROM sift.dead_letters AS l WHERE l.tenant_id = v_tenant_id),
           (SELECT coalesce(jsonb_object_agg(m.name, n.vectors), '{}'::jsonb)
            FROM (SELECT e.model_id, sum(e.vectors)::bigint AS vectors
                  FROM sift.embedding_stats AS e
                  WHERE e.tenant_id = v_tenant_id
                  GROUP BY e.model_id) AS n
            JOIN sift.embedding_models AS m ON m.model_id = n.model_id),
           (SELECT count(*) FROM sift.corpus_stats AS s WHERE s.tenant_id = v_tenant_id);
END
$$;
COMMENT ON FUNCTION sift.corpus_statistics(text) IS
    'Documents, chunks, chunks with at least one term (N of BM25), chunks that are not ranked, references, documents without a chunk that is ranked (sift.unranked_documents names them), tokens, average length (avgdl), vectors per model, dead letters, and rows of corpus statistics waiting to be folded.';
REVOKE ALL ON FUNCTION sift.corpus_statistics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.corpus_statistics(text) TO sift_owner, sift_writer, sift_app;
