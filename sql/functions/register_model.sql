-- Registers an embedding model: its row, the partition of sift.chunk_embeddings for its vectors, and their HNSW index. Registering
-- it again with the same properties changes nothing and returns the same number; of two sessions that register it at once, one
-- does and the other waits for it.
--
--   quantization  binary: the index holds signs only, and what it finds is ranked by the stored vectors
--   embedder      by what name clients load what makes the vectors, where that is not the model's own
CREATE OR REPLACE FUNCTION sift.register_model(
    model           text,
    dimensions      integer,
    revision        text DEFAULT '',
    metric          text DEFAULT 'cosine',
    vector_type     text DEFAULT NULL,
    query_prefix    text DEFAULT '',
    document_prefix text DEFAULT '',
    lexical_weight  double precision DEFAULT 1::double precision,
    dense_weight    double precision DEFAULT 1::double precision,
    pooling         text DEFAULT '',
    normalized      boolean DEFAULT NULL,
    quantization    text DEFAULT 'none',
    embedder        text DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
#variable_conflict use_column
DECLARE
    v_precision text := coalesce(vector_type, CASE WHEN dimensions <= 2000 THEN 'vector' ELSE 'halfvec' END);
    v_model_id  integer;
    v_existing  record;
    v_different text;
    v_partition text;
BEGIN
    IF model IS NULL OR model = '' OR octet_length(model) > 200 OR model ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'a model needs a name of 1 to 200 bytes without control characters',
            HINT = 'The name of the model, such as intfloat/multilingual-e5-small, does well.';
    END IF;
    IF dimensions IS NULL OR dimensions < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('a model has at least 1 dimension, not %s', coalesce(dimensions::text, 'NULL')),
            HINT = 'dimensions is the length of the vectors the model makes.';
    END IF;
    IF dimensions > 4000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('%s dimensions cannot be indexed: pgvector indexes 2000 as vector and 4000 as halfvec', dimensions),
            HINT = 'Have the model return fewer dimensions (many can shorten their vectors), or cut the vectors to 4000 '
                   'and normalize them again before they are stored and searched with.';
    END IF;
    IF v_precision NOT IN ('vector', 'halfvec') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('vector_type must be vector or halfvec, not %s', to_json(left(v_precision, 200))),
            HINT = 'Leave it out: vector up to 2000 dimensions, halfvec above.';
    END IF;
    IF v_precision = 'vector' AND dimensions > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('%s dimensions cannot be indexed as vector, which takes up to 2000', dimensions),
            HINT = 'Use vector_type => ''halfvec'', which takes up to 4000, or leave it out.';
    END IF;
    IF metric IS NULL OR metric NOT IN ('cosine', 'ip', 'l2') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('metric must be cosine, ip or l2, not %s', coalesce(to_json(left(metric, 200))::text, 'NULL')),
            HINT = 'Leave it out for cosine, which is right for most models of text.';
    END IF;
    IF quantization IS NULL OR quantization NOT IN ('none', 'binary') THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('quantization must be none or binary, not %s', coalesce(to_json(left(quantization, 200))::text, 'NULL')),
            HINT = 'Leave it out for none, which indexes the vectors as they are.';
    END IF;
    IF quantization = 'binary' AND metric = 'l2' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'binary quantization does not go with the metric l2',
            HINT = 'The signs of a vector say nothing of its length; use cosine or ip, or leave quantization out.';
    END IF;
    IF embedder = '' OR octet_length(embedder) > 1000 OR embedder ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'an embedder has a name of 1 to 1000 bytes without control characters',
            HINT = 'Such as onnx:models/e5; leave it out where it is the name of the model.';
    END IF;
    IF octet_length(pooling) > 200 OR pooling ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = 'pooling has at most 200 bytes and no control characters',
            HINT = 'Such as mean or cls; leave it out where it is not known.';
    END IF;
    IF NOT sift._are_weights(ARRAY[lexical_weight, dense_weight]) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('weights must each be 0 or between 1e-100 and 1e100, and not both 0; not %s and %s',
                             coalesce(lexical_weight::text, 'NULL'), coalesce(dense_weight::text, 'NULL')),
            HINT = 'Leave them out for 1 and 1.';
    END IF;

    SELECT m.* INTO v_existing FROM sift.embedding_models AS m WHERE m.name = register_model.model;
    IF NOT FOUND THEN
        INSERT INTO sift.embedding_models AS m (model_id, name, revision, dimensions, metric, precision, query_prefix, document_prefix,
                                                lexical_weight, dense_weight, pooling, normalized, quantization, embedder)
        VALUES (nextval('sift.embedding_model_ids')::integer, model, coalesce(revision, ''), dimensions, metric, v_precision,
                coalesce(query_prefix, ''), coalesce(document_prefix, ''), lexical_weight, dense_weight, coalesce(pooling, ''), normalized,
                quantization, coalesce(embedder, model))
        ON CONFLICT ON CONSTRAINT embedding_models_name_key DO NOTHING
        RETURNING m.model_id INTO v_model_id;
        IF v_model_id IS NULL THEN
            SELECT m.* INTO v_existing FROM sift.embedding_models AS m WHERE m.name = register_model.model;
        END IF;
    END IF;
    IF v_model_id IS NULL THEN
        SELECT string_agg(format('%s is %s, not %s', p.name, to_json(p.stored), to_json(p.asked)), '; ' ORDER BY p.position) INTO v_different
        FROM (VALUES (1, 'revision', v_existing.revision, coalesce(revision, '')),
                     (2, 'dimensions', v_existing.dimensions::text, dimensions::text),
                     (3, 'metric', v_existing.metric, metric),
                     (4, 'vector_type', v_existing.precision, coalesce(vector_type, v_existing.precision)),
                     (5, 'query_prefix', v_existing.query_prefix, coalesce(query_prefix, '')),
                     (6, 'document_prefix', v_existing.document_prefix, coalesce(document_prefix, '')),
                     (7, 'lexical_weight', v_existing.lexical_weight::text, lexical_weight::text),
                     (8, 'dense_weight', v_existing.dense_weight::text, dense_weight::text),
                     (9, 'pooling', v_existing.pooling, coalesce(pooling, '')),
                     (10, 'normalized', coalesce(v_existing.normalized::text, 'unknown'), coalesce(normalized::text, 'unknown')),
                     (11, 'quantization', v_existing.quantization, quantization),
                     (12, 'embedder', v_existing.embedder, coalesce(embedder, v_existing.embedder))) AS p (position, name, stored, asked)
        WHERE p.stored <> p.asked;
        IF v_different IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PS011',
                MESSAGE = format('the model %s is registered with other properties: %s', to_json(model), v_different),
                HINT = 'Vectors made in different ways are never mixed: register the other one under another name, or pass what is stored.';
        END IF;
        RETURN v_existing.model_id;
    END IF;

    -- Made apart and attached when complete: making it in place would lock every reader out of the table above it.
    v_partition := format('chunk_embeddings_m%s', v_model_id);
    EXECUTE format('CREATE TABLE sift.%I (LIKE sift.chunk_embeddings INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', v_partition);
    EXECUTE format('REVOKE ALL ON TABLE sift.%I FROM PUBLIC', v_partition);
    EXECUTE format('ALTER TABLE sift.%I ENABLE ROW LEVEL SECURITY', v_partition);
    EXECUTE format('ALTER TABLE sift.%I ALTER COLUMN tenant_id SET STATISTICS 0', v_partition);
    -- Without the name of the model: comments are read by every login of the database.
    EXECUTE format('COMMENT ON TABLE sift.%I IS %L', v_partition, format('Vectors of the model of number %s.', v_model_id));
    EXECUTE format('CREATE INDEX %I ON sift.%I %s', v_partition || '_hnsw_idx', v_partition, sift._hnsw_definition(v_model_id));
    EXECUTE format('ALTER TABLE sift.chunk_embeddings ATTACH PARTITION sift.%I FOR VALUES IN (%s)', v_partition, v_model_id);
    RETURN v_model_id;
END
$$;
COMMENT ON FUNCTION sift.register_model(text, integer, text, text, text, text, text, double precision, double precision, text, boolean, text, text) IS
    'Registers an embedding model and returns its number: dimensions up to 2,000 as vector or 4,000 as halfvec; metric cosine, ip or l2; prefixes that queries and documents are embedded with; default weights in fusion; pooling and normalized as the embedder says; quantization binary for an index of signs. Repeating it is harmless; other properties under the same name are refused.';
REVOKE ALL ON FUNCTION sift.register_model(text, integer, text, text, text, text, text, double precision, double precision, text, boolean, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.register_model(text, integer, text, text, text, text, text, double precision, double precision, text, boolean, text, text)
    TO sift_owner, sift_writer;
