-- One vector per document: the mean of the vectors of its chunks.
CREATE OR REPLACE FUNCTION sift.document_vectors(tenant text, document_ids bigint[], model text DEFAULT NULL)
RETURNS TABLE (document_id bigint, text_hash bytea, embedding real[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
BEGIN
    RETURN QUERY EXECUTE format($query$
        SELECT i.id, v.text_hash, v.embedding
        FROM (SELECT DISTINCT u.id FROM unnest($3) AS u (id)) AS i
        CROSS JOIN LATERAL (
            SELECT sha256(string_agg(e.text_hash, ''::bytea ORDER BY c.ordinal)) AS text_hash, %1$I.avg(e.embedding)::real[] AS embedding
            FROM (SELECT s.chunk_id, s.ordinal FROM sift.chunks AS s WHERE s.tenant_id = $1 AND s.document_id = i.id OFFSET 0) AS c
            CROSS JOIN LATERAL (SELECT x.text_hash, coalesce(x.embedding, x.half_embedding::%1$I.vector) AS embedding
                                FROM sift.chunk_embeddings AS x
                                WHERE x.tenant_id = $1 AND x.chunk_id = c.chunk_id AND x.model_id = $2 OFFSET 0) AS e
        ) AS v
        WHERE v.embedding IS NOT NULL
        ORDER BY i.id
    $query$, sift._vector_schema())
    USING v_tenant_id, v_model_id, document_ids;
END
$$;
COMMENT ON FUNCTION sift.document_vectors(text, bigint[], text) IS
    'Of each of the documents the mean of its chunks'' vectors of the model (NULL: the tenant''s active one), not normalized, with the hash of sift.documents_with_vectors; none of a document without a vector.';
REVOKE ALL ON FUNCTION sift.document_vectors(text, bigint[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_vectors(text, bigint[], text) TO sift_owner, sift_writer;
