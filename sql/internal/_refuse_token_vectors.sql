-- Refuses vectors of tokens of another length than the model's; true where all are right.
CREATE OR REPLACE FUNCTION sift._refuse_token_vectors(model text, dimensions integer, lengths integer[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_place integer;
BEGIN
    IF cardinality(lengths) > 4096 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS005', MESSAGE = format('there are vectors of %s tokens; 4096 can be stored of a chunk', cardinality(lengths)),
            HINT = 'Cut long chunks before they are embedded.';
    END IF;
    SELECT f.place INTO v_place FROM unnest(lengths) WITH ORDINALITY AS f (length, place) WHERE f.length <> dimensions ORDER BY f.place LIMIT 1;
    IF v_place IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PS005',
            MESSAGE = format('the vector of token %s has %s dimensions, the model %s has %s', v_place, lengths[v_place], to_json(model), dimensions),
            HINT = 'sift.list_token_models() shows the dimensions of the models.';
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sift._refuse_token_vectors(text, integer, integer[]) IS 'Raises PS005 for token vectors of the wrong length, or too many; else true.';
REVOKE ALL ON FUNCTION sift._refuse_token_vectors(text, integer, integer[]) FROM PUBLIC;
