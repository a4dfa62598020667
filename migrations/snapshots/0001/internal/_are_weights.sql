-- Weights of two legs that fusion can work with: neither is out of all proportion, because a quotient too small for a double is an error to
-- PostgreSQL and not 0, and not both are 0.
CREATE OR REPLACE FUNCTION sift._are_weights(weights double precision[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN array_ndims(weights) IS NOT DISTINCT FROM 1 AND cardinality(weights) = 2
       AND coalesce((weights[1] = 0::double precision OR weights[1] BETWEEN 1e-100::double precision AND 1e100::double precision)
                    AND (weights[2] = 0::double precision OR weights[2] BETWEEN 1e-100::double precision AND 1e100::double precision)
                    AND weights[1] + weights[2] > 0::double precision, false);
END
$$;
COMMENT ON FUNCTION sift._are_weights(double precision[]) IS 'Whether these are two weights, lexical and dense, each 0 or between 1e-100 and 1e100, and not both 0.';
REVOKE ALL ON FUNCTION sift._are_weights(double precision[]) FROM PUBLIC;
