-- The number of an embedding model; for NULL, that of the tenant's active model.
CREATE OR REPLACE FUNCTION sift._model_id(tenant_id integer, model text) RETURNS integer
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer;
BEGIN
    IF model IS NULL THEN
        SELECT t.model_id INTO v_model_id FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
        RETURN v_model_id;
    END IF;
    SELECT m.model_id INTO v_model_id FROM sift.embedding_models AS m WHERE m.name = _model_id.model;
    IF v_model_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('there is no embedding model %s', to_json(left(model, 200))),
            HINT = 'Register it with sift.register_model; sift.list_models() lists those there are.';
    END IF;
    RETURN v_model_id;
END
$$;
COMMENT ON FUNCTION sift._model_id(integer, text) IS
    'Number of the model; PS006 where there is none of this name. NULL asks for the tenant''s active model, and gives NULL while it has none.';
REVOKE ALL ON FUNCTION sift._model_id(integer, text) FROM PUBLIC;
