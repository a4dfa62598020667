-- Embedding models. What makes two vectors comparable is the whole row: name, revision, dimensions, metric, precision, prefixes.
CREATE SEQUENCE sift.embedding_model_ids AS bigint MAXVALUE 2147483647;
COMMENT ON SEQUENCE sift.embedding_model_ids IS 'Numbers for sift.embedding_models.';
REVOKE ALL ON SEQUENCE sift.embedding_model_ids FROM PUBLIC;

CREATE TABLE sift.embedding_models (
    model_id        integer NOT NULL,
    name            text NOT NULL,
    revision        text NOT NULL,
    dimensions      integer NOT NULL,
    metric          text NOT NULL,
    precision       text NOT NULL,
    query_prefix    text NOT NULL,
    document_prefix text NOT NULL,
    lexical_weight  double precision NOT NULL,
    dense_weight    double precision NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT embedding_models_pkey PRIMARY KEY (model_id),
    CONSTRAINT embedding_models_name_key UNIQUE (name),
    CONSTRAINT embedding_models_metric_check CHECK (metric IN ('cosine', 'ip', 'l2')),
    CONSTRAINT embedding_models_precision_check CHECK (
        (precision = 'vector' AND dimensions BETWEEN 1 AND 2000) OR (precision = 'halfvec' AND dimensions BETWEEN 1 AND 4000))
);
COMMENT ON TABLE sift.embedding_models IS 'Registered embedding models; vectors of different models are never mixed.';
COMMENT ON COLUMN sift.embedding_models.precision IS 'vector: 4 bytes a dimension, up to 2,000; halfvec: 2 bytes, up to 4,000.';
COMMENT ON COLUMN sift.embedding_models.lexical_weight IS 'Weight of the lexical leg when fused with this model, unless tenant or call says otherwise.';
COMMENT ON COLUMN sift.embedding_models.dense_weight IS 'Weight of the dense leg when fused, likewise.';
REVOKE ALL ON TABLE sift.embedding_models FROM PUBLIC;
ALTER TABLE sift.embedding_models ENABLE ROW LEVEL SECURITY;
