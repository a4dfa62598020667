-- The embedding models there are. What they are is no secret; how many vectors a tenant has is not told here.
CREATE OR REPLACE FUNCTION sift.list_models()
RETURNS TABLE (
    model text, revision text, dimensions integer, metric text, "precision" text, query_prefix text, document_prefix text,
    lexical_weight double precision, dense_weight double precision, pooling text, normalized boolean, quantization text, embedder text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
BEGIN
    RETURN QUERY
    SELECT m.name, m.revision, m.dimensions, m.metric, m.precision, m.query_prefix, m.document_prefix, m.lexical_weight, m.dense_weight,
           m.pooling, m.normalized, m.quantization, m.embedder
    FROM sift.embedding_models AS m
    ORDER BY m.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION sift.list_models() IS 'The registered embedding models with their properties.';
REVOKE ALL ON FUNCTION sift.list_models() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.list_models() TO sift_owner, sift_writer, sift_app, sift_reader;
