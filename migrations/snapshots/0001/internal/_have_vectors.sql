-- Which chunks have a vector of a model, in the order given; with as_of, of superseded versions too.
CREATE OR REPLACE FUNCTION sift._have_vectors(tenant_id integer, model_id integer, chunk_ids bigint[], as_of timestamptz) RETURNS boolean[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_model_id  integer := model_id;
    v_found     boolean[];
BEGIN
    SELECT array_agg(e.found IS NOT NULL ORDER BY i.n) INTO v_found
    FROM unnest(chunk_ids) WITH ORDINALITY AS i (id, n)
    LEFT JOIN LATERAL (
        SELECT true AS found FROM sift.chunk_embeddings AS v
        WHERE v.tenant_id = v_tenant_id AND v.model_id = v_model_id AND v.chunk_id = i.id
        UNION ALL
        SELECT true FROM sift.vector_history AS v
        WHERE as_of IS NOT NULL AND v.tenant_id = v_tenant_id AND v.model_id = v_model_id AND v.chunk_id = i.id
        OFFSET 0) AS e ON true;
    RETURN v_found;
END
$$;
COMMENT ON FUNCTION sift._have_vectors(integer, integer, bigint[], timestamptz) IS 'Which of the chunks have a vector of the model.';
REVOKE ALL ON FUNCTION sift._have_vectors(integer, integer, bigint[], timestamptz) FROM PUBLIC;
