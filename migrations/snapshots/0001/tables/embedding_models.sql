-- Embedding models. What makes two vectors comparable is the whole row: name, revision, dimensions, metric, precision, pooling,
-- normalization, prefixes. One embedder may stand behind several models that are stored differently.
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
    pooling         text NOT NULL DEFAULT '',
    normalized      boolean,
    quantization    text NOT NULL DEFAULT 'none',
    embedder        text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT embedding_models_pkey PRIMARY KEY (model_id),
    CONSTRAINT embedding_models_name_key UNIQUE (name),
    CONSTRAINT embedding_models_metric_check CHECK (metric IN ('cosine', 'ip', 'l2')),
    CONSTRAINT embedding_models_precision_check CHECK (
        (precision = 'vector' AND dimensions BETWEEN 1 AND 2000) OR (precision = 'halfvec' AND dimensions BETWEEN 1 AND 4000)),
    -- By signs one can tell directions apart, not lengths.
    CONSTRAINT embedding_models_quantization_check CHECK (quantization = 'none' OR (quantization = 'binary' AND metric <> 'l2'))
);
COMMENT ON TABLE sift.embedding_models IS 'Registered embedding models; vectors of different models are never mixed.';
COMMENT ON COLUMN sift.embedding_models.precision IS 'vector: 4 bytes a dimension, up to 2,000; halfvec: 2 bytes, up to 4,000.';
COMMENT ON COLUMN sift.embedding_models.pooling IS 'How the vector of a text is made of those of its tokens: mean, cls and so on; empty where nobody said.';
COMMENT ON COLUMN sift.embedding_models.normalized IS 'Whether the vectors have length one; NULL where nobody said.';
COMMENT ON COLUMN sift.embedding_models.quantization IS 'none: the index holds the vectors; binary: their signs, one bit a dimension, and what it finds is ranked by the vectors.';
COMMENT ON COLUMN sift.embedding_models.embedder IS 'By what name clients load the embedder.';
COMMENT ON COLUMN sift.embedding_models.lexical_weight IS 'Weight of the lexical leg when fused with this model, unless tenant or call says otherwise.';
COMMENT ON COLUMN sift.embedding_models.dense_weight IS 'Weight of the dense leg when fused, likewise.';
REVOKE ALL ON TABLE sift.embedding_models FROM PUBLIC;
ALTER TABLE sift.embedding_models ENABLE ROW LEVEL SECURITY;
