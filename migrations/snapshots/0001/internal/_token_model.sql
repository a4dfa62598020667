-- A model of late interaction by its name; for NULL, the tenant's: that of which it got token vectors first.
CREATE OR REPLACE FUNCTION sift._token_model(tenant_id integer, model text, OUT token_model_id integer, OUT name text, OUT dimensions integer)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id integer := _token_model.tenant_id;
    v_id        integer;
BEGIN
    IF model IS NULL THEN
        SELECT t.token_model_id INTO v_id FROM sift.tenants AS t WHERE t.tenant_id = v_tenant_id;
        SELECT m.token_model_id, m.name, m.dimensions INTO _token_model.token_model_id, _token_model.name, _token_model.dimensions
        FROM sift.token_models AS m WHERE m.token_model_id = v_id;
        RETURN;
    END IF;
    SELECT m.token_model_id, m.name, m.dimensions INTO _token_model.token_model_id, _token_model.name, _token_model.dimensions
    FROM sift.token_models AS m WHERE m.name = _token_model.model;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006',
            MESSAGE = format('there is no token model %s', to_json(left(model, 200))),
            HINT = 'Register it with sift.register_token_model; sift.list_token_models() lists those there are.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._token_model(integer, text) IS
    'The token model of a name, PS006 where there is none; for NULL the tenant''s, with NULLs while it has none.';
REVOKE ALL ON FUNCTION sift._token_model(integer, text) FROM PUBLIC;
