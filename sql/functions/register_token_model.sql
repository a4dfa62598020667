-- Registers a model of late interaction. Registering it again with the same properties changes nothing and returns the same number.
CREATE OR REPLACE FUNCTION sift.register_token_model(model text, dimensions integer, revision text DEFAULT '') RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_row record;
BEGIN
    IF model IS NULL OR model = '' OR octet_length(model) > 200 OR model ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a model needs a name of 1 to 200 bytes without control characters',
            HINT = 'The name of the model does well.';
    END IF;
    IF register_token_model.dimensions IS NULL OR register_token_model.dimensions NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('token vectors have 1 to 4000 dimensions, not %s', coalesce(register_token_model.dimensions::text, 'NULL')),
            HINT = 'dimensions is the length of the vector of one token, 128 for most such models.';
    END IF;
    INSERT INTO sift.token_models AS m (token_model_id, name, revision, dimensions)
    SELECT nextval('sift.token_model_ids')::integer, register_token_model.model, coalesce(register_token_model.revision, ''), register_token_model.dimensions
    WHERE NOT EXISTS (SELECT FROM sift.token_models AS e WHERE e.name = register_token_model.model)
    ON CONFLICT ON CONSTRAINT token_models_name_key DO NOTHING;
    SELECT m.* INTO v_row FROM sift.token_models AS m WHERE m.name = register_token_model.model;
    IF v_row.dimensions <> register_token_model.dimensions OR v_row.revision <> coalesce(register_token_model.revision, '') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS011',
            MESSAGE = format('the model %s is registered with revision %s and %s dimensions, not revision %s and %s dimensions', to_json(model),
                             to_json(v_row.revision), v_row.dimensions, to_json(coalesce(register_token_model.revision, '')),
                             register_token_model.dimensions),
            HINT = 'Vectors made in different ways are never mixed: register the other one under another name, or pass what is stored.';
    END IF;
    RETURN v_row.token_model_id;
END
$$;
COMMENT ON FUNCTION sift.register_token_model(text, integer, text) IS
    'Registers a model that gives one vector per token and returns its number. Repeating it is harmless; other properties under the same name are refused.';
REVOKE ALL ON FUNCTION sift.register_token_model(text, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.register_token_model(text, integer, text) TO sift_owner, sift_writer;
