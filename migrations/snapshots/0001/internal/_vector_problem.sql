-- What keeps a vector from being stored or searched with, in words that follow "the vector"; NULL where nothing does.
CREATE OR REPLACE FUNCTION sift._vector_problem(model_id integer, embedding real[]) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_model_id integer := model_id;
    v_model    record;
    v_schema   name := sift._vector_schema();
    v_square   double precision;
BEGIN
    SELECT m.name, m.dimensions, m.metric, m.precision INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS006', MESSAGE = format('there is no embedding model with the number %s', coalesce(v_model_id::text, 'NULL')),
            HINT = 'sift.list_models() lists those there are.';
    END IF;
    IF embedding IS NULL THEN
        RETURN 'is missing';
    END IF;
    IF coalesce(array_ndims(embedding), 1) <> 1 THEN
        RETURN format('is an array of %s dimensions instead of a list of numbers', array_ndims(embedding));
    END IF;
    IF cardinality(embedding) <> v_model.dimensions THEN
        RETURN format('has %s dimensions, the model %s has %s', cardinality(embedding), to_json(v_model.name), v_model.dimensions);
    END IF;
    IF array_position(embedding, NULL) IS NOT NULL THEN
        RETURN format('has no number at position %s', array_position(embedding, NULL) - array_lower(embedding, 1) + 1);
    END IF;
    IF 'NaN'::real = ANY (embedding) THEN
        RETURN format('has NaN at position %s', array_position(embedding, 'NaN'::real) - array_lower(embedding, 1) + 1);
    END IF;
    IF 'Infinity'::real = ANY (embedding) OR '-Infinity'::real = ANY (embedding) THEN
        RETURN format('has an infinite number at position %s',
                      coalesce(array_position(embedding, 'Infinity'::real), array_position(embedding, '-Infinity'::real))
                          - array_lower(embedding, 1) + 1);
    END IF;
    IF v_model.precision = 'halfvec' AND (65504::real < ANY (embedding) OR (-65504)::real > ANY (embedding)) THEN
        RETURN format('has a number beyond 65504, the largest that the half precision of the model %s holds', to_json(v_model.name));
    END IF;
    -- In the precision it is stored in: small numbers may become zero there, and large ones have an infinite square.
    EXECUTE format('SELECT -%1$I.%2$s_negative_inner_product($1::%1$I.%2$s, $1::%1$I.%2$s)', v_schema, v_model.precision)
        INTO v_square USING embedding;
    IF v_square = 'Infinity'::double precision THEN
        RETURN 'has numbers too large: their squares do not fit single precision';
    END IF;
    IF v_model.metric = 'cosine' AND v_square = 0::double precision THEN
        RETURN format('has zero norm in the precision of the model %s, so it has no direction and no cosine distance', to_json(v_model.name));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION sift._vector_problem(integer, real[]) IS 'What is wrong with a vector for a model, or NULL.';
REVOKE ALL ON FUNCTION sift._vector_problem(integer, real[]) FROM PUBLIC;
