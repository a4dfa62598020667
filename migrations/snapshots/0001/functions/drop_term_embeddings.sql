-- Removes the vectors of terms that a tenant has of a model: its searches by text alone are by words again, and by cached vectors.
CREATE OR REPLACE FUNCTION sift.drop_term_embeddings(tenant text, model text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer := sift._model_id(v_tenant_id, model);
    v_removed   bigint;
BEGIN
    -- First: it waits for whoever is storing vectors.
    DELETE FROM sift.term_fits AS f WHERE f.tenant_id = v_tenant_id AND f.model_id = v_model_id;
    DELETE FROM sift.term_embeddings AS e WHERE e.tenant_id = v_tenant_id AND e.model_id = v_model_id;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$$;
COMMENT ON FUNCTION sift.drop_term_embeddings(text, text) IS 'Removes the vectors of the terms of a tenant, of one model, and returns how many there were.';
REVOKE ALL ON FUNCTION sift.drop_term_embeddings(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.drop_term_embeddings(text, text) TO sift_owner, sift_writer;
