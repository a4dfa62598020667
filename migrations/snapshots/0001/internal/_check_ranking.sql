-- Refuses k1, b and weights of fields that BM25 is not defined for, or that are so large or small that a score could leave the range of a double.
CREATE OR REPLACE FUNCTION sift._check_ranking(k1 double precision, b double precision, title_weight double precision, abstract_weight double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_weight record;
BEGIN
    IF NOT coalesce(k1 = 0::double precision OR k1 BETWEEN 1e-100::double precision AND 1e100::double precision, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('k1 must be 0 or between 1e-100 and 1e100, not %s', coalesce(k1::text, 'NULL')),
            HINT = 'k1 is how soon repeats of a term stop to count: 1.2 is the default, 0 counts a term once.';
    END IF;
    IF NOT coalesce(b = 0::double precision OR b BETWEEN 1e-100::double precision AND 1::double precision, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002',
            MESSAGE = format('b must lie between 0 and 1 and not be closer to 0 than 1e-100, not %s', coalesce(b::text, 'NULL')),
            HINT = 'b is how much long chunks are marked down: 0.75 is the default, 0 is not at all.';
    END IF;
    FOR v_weight IN SELECT w.name, w.value FROM (VALUES ('title_weight', title_weight), ('abstract_weight', abstract_weight)) AS w (name, value) LOOP
        IF NOT coalesce(v_weight.value = 0::double precision OR v_weight.value BETWEEN 1e-100::double precision AND 1e100::double precision, false) THEN
            RAISE EXCEPTION USING ERRCODE = 'PS002',
                MESSAGE = format('%s must be 0 or between 1e-100 and 1e100, not %s', v_weight.name, coalesce(v_weight.value::text, 'NULL')),
                HINT = 'It is what an occurrence of a term in that field counts as: 1 is the default, 2 counts it twice, 0 not at all.';
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._check_ranking(double precision, double precision, double precision, double precision) IS 'Raises PS002 for k1, b or weights of fields out of range.';
REVOKE ALL ON FUNCTION sift._check_ranking(double precision, double precision, double precision, double precision) FROM PUBLIC;
