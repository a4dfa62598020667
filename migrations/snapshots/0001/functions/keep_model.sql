-- Says whether ingest keeps the vectors of a model current for a tenant, beside those of its active model. A model that is kept no longer is
-- retired: its vectors stay, new documents get none.
CREATE OR REPLACE FUNCTION sift.keep_model(tenant text, model text, kept boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer;
BEGIN
    IF model IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'name the model to keep', HINT = 'sift.list_models() lists those there are.';
    END IF;
    v_model_id := sift._model_id(v_tenant_id, model);
    -- An activation, and whoever drops the model, wait for this transaction.
    PERFORM FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR SHARE;
    PERFORM FROM sift.embedding_models AS m WHERE m.model_id = v_model_id FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM sift._model_id(v_tenant_id, model);
    END IF;
    IF kept IS NOT FALSE THEN
        INSERT INTO sift.tenant_models AS k (tenant_id, model_id) VALUES (v_tenant_id, v_model_id)
        ON CONFLICT ON CONSTRAINT tenant_models_pkey DO NOTHING;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id AND t.model_id = v_model_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = format('the model %s is the active one of the tenant %s, which is always kept', to_json(model), to_json(tenant)),
            HINT = 'Activate another one first: sift.activate_model(tenant, model).';
    END IF;
    DELETE FROM sift.tenant_models AS k WHERE k.tenant_id = v_tenant_id AND k.model_id = v_model_id;
END
$$;
COMMENT ON FUNCTION sift.keep_model(text, text, boolean) IS
    'Has ingest keep the vectors of a model current for a tenant beside those of the active one, or no longer, which retires the model; the active one is always kept.';
REVOKE ALL ON FUNCTION sift.keep_model(text, text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.keep_model(text, text, boolean) TO sift_owner, sift_writer;
