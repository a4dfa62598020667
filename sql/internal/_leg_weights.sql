-- The weights of the lexical and the dense leg in fusion: those asked for, else the tenant's, else the model's, else 1 each. PS002 for what are
-- none. One leg alone is ranked by it whatever it weighs beside the other: with a weight of 0 all scores would be 0, and the order lost.
CREATE OR REPLACE FUNCTION sift._leg_weights(
    asked double precision[], mode text, tenant_lexical double precision, tenant_dense double precision,
    model_lexical double precision, model_dense double precision)
RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_weights double precision[] := coalesce(asked, ARRAY[coalesce(tenant_lexical, model_lexical, 1::double precision),
                                                          coalesce(tenant_dense, model_dense, 1::double precision)]);
BEGIN
    IF NOT sift._are_weights(v_weights) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('weights must be two finite numbers, lexical and dense, each 0 or between 1e-100 and 1e100, and not both zero; not %s', v_weights),
            HINT = 'For example weights => ''{1, 0.5}''.';
    END IF;
    RETURN CASE WHEN mode = 'lexical' AND v_weights[1] = 0::double precision
                  OR mode = 'dense' AND v_weights[2] = 0::double precision THEN ARRAY[1, 1]::double precision[] ELSE v_weights END;
END
$$;
COMMENT ON FUNCTION sift._leg_weights(double precision[], text, double precision, double precision, double precision, double precision) IS
    'The weights of the legs of a search: asked for, the tenant''s, the model''s, or 1 each; PS002 where they are none.';
REVOKE ALL ON FUNCTION sift._leg_weights(double precision[], text, double precision, double precision, double precision, double precision) FROM PUBLIC;
