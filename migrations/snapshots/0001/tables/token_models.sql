-- Models of late interaction, which give a text one vector for each of its tokens.
CREATE SEQUENCE sift.token_model_ids AS bigint MAXVALUE 2147483647;
COMMENT ON SEQUENCE sift.token_model_ids IS 'Numbers for sift.token_models.';
REVOKE ALL ON SEQUENCE sift.token_model_ids FROM PUBLIC;

CREATE TABLE sift.token_models (
    token_model_id integer NOT NULL,
    name           text NOT NULL,
    revision       text NOT NULL,
    dimensions     integer NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT token_models_pkey PRIMARY KEY (token_model_id),
    CONSTRAINT token_models_name_key UNIQUE (name),
    CONSTRAINT token_models_dimensions_check CHECK (dimensions BETWEEN 1 AND 4000)
);
COMMENT ON TABLE sift.token_models IS 'Registered models of late interaction; token vectors of different models are never mixed.';
REVOKE ALL ON TABLE sift.token_models FROM PUBLIC;
ALTER TABLE sift.token_models ENABLE ROW LEVEL SECURITY;
