-- Where the counts of vectors differ from a recount; in one snapshot, like sift._size_errors.
CREATE OR REPLACE FUNCTION sift._vector_errors(tenant_id integer)
RETURNS TABLE (model_id integer, access_list_id bigint, stored bigint, counted bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
BEGIN
    RETURN QUERY
    SELECT coalesce(k.model_id, s.model_id), coalesce(k.access_list_id, s.access_list_id), coalesce(s.vectors, 0), coalesce(k.vectors, 0)
    FROM (SELECT e.model_id, e.access_list_id, count(*) AS vectors
          FROM sift.chunk_embeddings AS e
          WHERE e.tenant_id = v_tenant_id
          GROUP BY e.model_id, e.access_list_id) AS k
    FULL JOIN (SELECT t.model_id, t.access_list_id, sum(t.vectors)::bigint AS vectors
               FROM sift.embedding_stats AS t
               WHERE t.tenant_id = v_tenant_id
               GROUP BY t.model_id, t.access_list_id) AS s
        ON s.model_id = k.model_id AND s.access_list_id = k.access_list_id
    WHERE coalesce(s.vectors, 0) <> coalesce(k.vectors, 0)
    ORDER BY 1, 2;
END
$$;
COMMENT ON FUNCTION sift._vector_errors(integer) IS 'Where the counts of vectors by model and access list differ from a recount.';
REVOKE ALL ON FUNCTION sift._vector_errors(integer) FROM PUBLIC;
