-- How the vectors of a model are indexed: what stands behind "CREATE INDEX … ON table", for those who make the index and those who
-- look whether it is there.
CREATE OR REPLACE FUNCTION sift._hnsw_definition(model_id integer) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_model_id integer := model_id;
    v_model    record;
    v_schema   name := sift._vector_schema();
    v_column   text;
BEGIN
    SELECT m.dimensions, m.metric, m.precision, m.quantization INTO v_model FROM sift.embedding_models AS m WHERE m.model_id = v_model_id;
    v_column := CASE v_model.precision WHEN 'halfvec' THEN 'half_embedding' ELSE 'embedding' END;
    RETURN CASE v_model.quantization
        WHEN 'binary' THEN format('USING hnsw ((%1$I.binary_quantize(%2$I)::bit(%3$s)) %1$I.bit_hamming_ops)', v_schema, v_column, v_model.dimensions)
        ELSE format('USING hnsw ((%2$I::%1$I.%4$s(%3$s)) %1$I.%4$s_%5$s_ops)', v_schema, v_column, v_model.dimensions, v_model.precision, v_model.metric) END;
END
$$;
COMMENT ON FUNCTION sift._hnsw_definition(integer) IS 'Access method, expression and operator class of the index of a model''s vectors, as in CREATE INDEX.';
REVOKE ALL ON FUNCTION sift._hnsw_definition(integer) FROM PUBLIC;
