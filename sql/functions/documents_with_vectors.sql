-- The next documents that have a vector of a model, in the order of their numbers, whoever may see them.
CREATE OR REPLACE FUNCTION sift.documents_with_vectors(tenant text, model text DEFAULT NULL, k integer DEFAULT 500, after bigint DEFAULT 0)
RETURNS TABLE (document_id bigint, version integer, key text, title text, text_hash bytea, vectors integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
BEGIN
    IF k IS NULL OR k < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('k must not be negative, not %s', coalesce(k::text, 'NULL')),
            HINT = 'k is the number of documents wanted.';
    END IF;
    RETURN QUERY
    SELECT d.document_id, d.version, d.key, d.title, v.text_hash, v.vectors
    FROM (SELECT s.* FROM sift.documents AS s WHERE s.tenant_id = v_tenant_id AND s.document_id > coalesce(after, 0)
          ORDER BY s.document_id OFFSET 0) AS d
    CROSS JOIN LATERAL (
        SELECT sha256(string_agg(e.text_hash, ''::bytea ORDER BY c.ordinal)) AS text_hash, count(*)::integer AS vectors
        FROM (SELECT s.chunk_id, s.ordinal FROM sift.chunks AS s
              WHERE s.tenant_id = v_tenant_id AND s.document_id = d.document_id OFFSET 0) AS c
        CROSS JOIN LATERAL (SELECT x.text_hash FROM sift.chunk_embeddings AS x
                            WHERE x.tenant_id = v_tenant_id AND x.chunk_id = c.chunk_id AND x.model_id = v_model_id OFFSET 0) AS e
    ) AS v
    WHERE v.vectors > 0
    ORDER BY d.document_id
    LIMIT k;
END
$$;
COMMENT ON FUNCTION sift.documents_with_vectors(text, text, integer, bigint) IS
    'The next k documents after a given one that have a vector of the model (NULL: the tenant''s active one), with their version, the number of their vectors, and one hash of the texts that were embedded.';
REVOKE ALL ON FUNCTION sift.documents_with_vectors(text, text, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.documents_with_vectors(text, text, integer, bigint) TO sift_owner, sift_writer;
