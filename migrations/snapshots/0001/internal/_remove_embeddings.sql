-- Removes the vectors of chunks, of their tokens too, of every model, and counts them off. Called before the chunks themselves are deleted.
CREATE OR REPLACE FUNCTION sift._remove_embeddings(tenant_id integer, chunk_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    -- The order of locks is that of sift._add_embeddings: the chunks first.
    PERFORM c.chunk_id
    FROM sift.chunks AS c
    WHERE c.tenant_id = v_tenant_id AND c.chunk_id = ANY (chunk_ids)
    ORDER BY c.chunk_id
    FOR NO KEY UPDATE;
    DELETE FROM sift.chunk_token_embeddings AS e WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (chunk_ids);
    WITH removed AS (
        DELETE FROM sift.chunk_embeddings AS e
        WHERE e.tenant_id = v_tenant_id AND e.chunk_id = ANY (chunk_ids)
        RETURNING e.model_id, e.access_list_id
    )
    INSERT INTO sift.embedding_stats AS s (tenant_id, model_id, access_list_id, vectors)
    SELECT v_tenant_id, r.model_id, r.access_list_id, -count(*)
    FROM removed AS r
    GROUP BY r.model_id, r.access_list_id;
END
$$;
COMMENT ON FUNCTION sift._remove_embeddings(integer, bigint[]) IS 'Removes the vectors of chunks and counts them off.';
REVOKE ALL ON FUNCTION sift._remove_embeddings(integer, bigint[]) FROM PUBLIC;
