-- Makes a model the one that searches of a tenant use unless they name another. A statement sees the model before or the one after, whole; the
-- one before stays kept, so that activating it again is the way back.
CREATE OR REPLACE FUNCTION sift.activate_model(tenant text, model text, allow_missing boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
    v_tenant_id integer := sift._tenant_id(tenant);
    v_model_id  integer;
    v_before    integer;
    v_count     record;
BEGIN
    IF model IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'name the model to activate', HINT = 'sift.list_models() lists those there are.';
    END IF;
    v_model_id := sift._model_id(v_tenant_id, model);
    -- Another activation, and whoever drops the model, wait for this transaction. Those who store documents do not, nor those who search.
    SELECT t.model_id INTO v_before FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id FOR NO KEY UPDATE;
    PERFORM FROM sift.embedding_models AS m WHERE m.model_id = v_model_id FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM sift._model_id(v_tenant_id, model);
    END IF;
    IF v_before IS NOT DISTINCT FROM v_model_id THEN
        RETURN model;
    END IF;
    IF allow_missing IS NOT TRUE THEN
        SELECT m.missing, m.withheld, m.lost INTO v_count FROM sift._missing_vectors(v_tenant_id, v_model_id) AS m;
        -- What is kept from remote embedders may have none, unless searches would find less than before.
        IF v_count.missing > 0 OR v_count.lost > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PS013',
                MESSAGE = format('%s chunks of the tenant %s have no vector of the model %s', v_count.missing + v_count.withheld, to_json(tenant), to_json(model))
                    || CASE WHEN v_count.withheld > 0 THEN format('; %s of them are of documents that are kept from remote embedders', v_count.withheld) ELSE '' END,
                HINT = format('Run: pgsift models backfill %s --tenant %s. With allow_missing => true searches by meaning do not find these chunks.',
                              sift._shell_word(model), sift._shell_word(tenant));
        END IF;
    END IF;
    INSERT INTO sift.tenant_models AS k (tenant_id, model_id)
    SELECT v_tenant_id, n.id
    FROM unnest(ARRAY[v_before, v_model_id]) AS n (id)
    WHERE n.id IS NOT NULL
    ON CONFLICT ON CONSTRAINT tenant_models_pkey DO NOTHING;
    UPDATE sift.tenants AS t SET model_id = v_model_id WHERE t.tenant_id = v_tenant_id;
    RETURN (SELECT m.name FROM sift.embedding_models AS m WHERE m.model_id = v_before);
END
$$;
COMMENT ON FUNCTION sift.activate_model(text, text, boolean) IS
    'Makes a model the one that searches of the tenant use by default, and returns the name of the one before, which stays kept: activating it again is the way back. Refused with PS013 while chunks lack a vector of the model, unless allow_missing.';
REVOKE ALL ON FUNCTION sift.activate_model(text, text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.activate_model(text, text, boolean) TO sift_owner, sift_writer;
