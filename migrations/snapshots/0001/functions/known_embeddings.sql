-- Vectors that are stored already for texts about to be embedded.
CREATE OR REPLACE FUNCTION sift.known_embeddings(tenant text, model text, hashes bytea[])
RETURNS TABLE (hash bytea, embedding real[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
BEGIN
    IF v_model_id IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE
        'SELECT h.hash, v.embedding'
        ' FROM (SELECT DISTINCT u.hash FROM unnest($3) AS u (hash)) AS h'
        ' CROSS JOIN LATERAL ('
        '  SELECT coalesce(e.embedding::real[], e.half_embedding::real[]) AS embedding'
        '  FROM sift.chunk_embeddings AS e'
        '  WHERE e.tenant_id = $1 AND e.model_id = $2 AND e.text_hash = substring(h.hash, 1, 16)'
        '  ORDER BY e.chunk_id LIMIT 1) AS v'
        USING v_tenant_id, v_model_id, hashes;
END
$$;
COMMENT ON FUNCTION sift.known_embeddings(text, text, bytea[]) IS
    'Stored vectors of the texts with these sha256 hashes, so that the same text is not embedded twice; texts without one are left out.';
REVOKE ALL ON FUNCTION sift.known_embeddings(text, text, bytea[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.known_embeddings(text, text, bytea[]) TO sift_owner, sift_writer;
