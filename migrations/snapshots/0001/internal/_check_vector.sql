-- Refuses a vector a model cannot be searched with.
CREATE OR REPLACE FUNCTION sift._check_vector(model_id integer, embedding real[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_problem text := sift._vector_problem(model_id, embedding);
BEGIN
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS005',
            MESSAGE = 'the query vector ' || v_problem,
            HINT = 'Embed the query with the model the documents were embedded with; sift.list_models() lists the models.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_vector(integer, real[]) IS
    'Raises PS005 for a query vector of the wrong length, with NaN or infinity, or without a direction under cosine; PS006 for an unknown model.';
REVOKE ALL ON FUNCTION sift._check_vector(integer, real[]) FROM PUBLIC;
