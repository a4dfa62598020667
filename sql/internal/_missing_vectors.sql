-- How many ranked chunks lack a vector of a model, in the rule of sift.chunks_without_embedding; blank texts have none and do not count.
--
--   withheld  those of documents that the tenant's options keep from remote embedders
--   lost      those that have a vector of the tenant's active model
CREATE OR REPLACE FUNCTION sift._missing_vectors(tenant_id integer, model_id integer, OUT missing bigint, OUT withheld bigint, OUT lost bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_tenant    record;
BEGIN
    SELECT t.model_id, t.remote_classifications, t.remote_retained INTO v_tenant FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
    SELECT count(*) FILTER (WHERE n.sent), count(*) FILTER (WHERE NOT n.sent),
           count(*) FILTER (WHERE EXISTS (SELECT FROM sift.chunk_embeddings AS a
                                          WHERE a.tenant_id = v_tenant_id AND a.model_id = v_tenant.model_id AND a.chunk_id = n.chunk_id))
    INTO missing, withheld, lost
    FROM (
        SELECT c.chunk_id,
               (v_tenant.remote_classifications IS NULL OR d.classification = ANY (v_tenant.remote_classifications)) IS TRUE
                   AND (v_tenant.remote_retained OR d.retain_until IS NULL) AS sent
        FROM sift.chunks AS c
        JOIN sift.documents AS d ON d.document_id = c.document_id
        WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.unranked_tokens IS NULL
          AND NOT EXISTS (SELECT FROM sift.chunk_embeddings AS e
                          WHERE e.tenant_id = v_tenant_id AND e.model_id = v_model_id AND e.chunk_id = c.chunk_id)
          AND concat(d.title, c.body) ~ ('[^' || sift._blank() || ']')
        OFFSET 0) AS n;
END
$$;
COMMENT ON FUNCTION sift._missing_vectors(integer, integer) IS 'How many ranked chunks of a tenant lack a vector of a model, how many are kept from remote embedders and lack it, and how many of both have one of the active model.';
REVOKE ALL ON FUNCTION sift._missing_vectors(integer, integer) FROM PUBLIC;
