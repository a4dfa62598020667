-- Refuses token vectors that a search cannot be reranked with.
CREATE OR REPLACE FUNCTION sift._check_token_query(model text, dimensions integer, query real[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_problem text;
BEGIN
    v_problem := CASE
        WHEN array_ndims(query) IS DISTINCT FROM 2 THEN
            format('must be an array of arrays, one for each token, not one of %s dimensions', coalesce(array_ndims(query), 0))
        WHEN array_length(query, 2) <> dimensions THEN
            format('have %s dimensions, the model %s has %s', array_length(query, 2), to_json(model), dimensions)
        WHEN array_length(query, 1) > 1024 THEN format('are of %s tokens; 1024 is the most', array_length(query, 1))
        WHEN EXISTS (SELECT FROM unnest(query) AS q (value) WHERE q.value IS NULL) THEN 'hold a NULL'
        WHEN EXISTS (SELECT FROM unnest(query) AS q (value) WHERE q.value = 'NaN'::real) THEN 'hold NaN'
        WHEN EXISTS (SELECT FROM unnest(query) AS q (value) WHERE abs(q.value) > 65504::real) THEN
            'hold a number beyond 65504, the largest of half precision'
        END;
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS005', MESSAGE = 'the token vectors of the query ' || v_problem,
            HINT = 'Embed the query with the model the token vectors of the chunks were made with; sift.list_token_models() lists the models.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_token_query(text, integer, real[]) IS
    'Raises PS005 for token vectors of a query that are no matrix of the model''s dimensions, or not finite.';
REVOKE ALL ON FUNCTION sift._check_token_query(text, integer, real[]) FROM PUBLIC;
