-- The vector of a query, approximated by those of its terms: their sum weighted by idf, scaled to length one. NULL where no term has one.
--
--   S. Arora, Y. Liang, T. Ma: A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR 2017 (weights by rarity, the common
--   component removed, which was done when the vectors were made).
--
--   known, total  how many of the distinct terms have a vector that counts, and how many there are
--
-- Summed in double precision, term after term in the order of the query, so that the same corpus and text give the same bits.
CREATE OR REPLACE FUNCTION sift._approximate_vector(
    tenant_id integer, model_id integer, terms text[], lists bigint[], OUT vector real[], OUT known integer, OUT total integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_row    record;
    v_sum    double precision[];
    v_length double precision;
BEGIN
    known := 0;
    total := 0;
    FOR v_row IN
        SELECT f.weight, f.embedding FROM sift._fitted_terms(tenant_id, model_id, terms, lists) AS f
    LOOP
        total := total + 1;
        CONTINUE WHEN v_row.embedding IS NULL;
        known := known + 1;
        IF v_sum IS NULL THEN
            v_sum := ARRAY(SELECT v_row.weight * u.x FROM unnest(v_row.embedding) WITH ORDINALITY AS u (x, n) ORDER BY u.n);
        ELSE
            v_sum := ARRAY(SELECT u.s + v_row.weight * u.x FROM unnest(v_sum, v_row.embedding) WITH ORDINALITY AS u (s, x, n) ORDER BY u.n);
        END IF;
    END LOOP;
    SELECT sqrt(sum(u.s * u.s ORDER BY u.n)) INTO v_length FROM unnest(v_sum) WITH ORDINALITY AS u (s, n);
    IF v_length > 1e-6::double precision THEN
        vector := ARRAY(SELECT (u.s / v_length)::real FROM unnest(v_sum) WITH ORDINALITY AS u (s, n) ORDER BY u.n);
    END IF;
END
$$;
COMMENT ON FUNCTION sift._approximate_vector(integer, integer, text[], bigint[]) IS
    'The vector of a query, approximated by those of its terms; NULL where none of them has one.';
REVOKE ALL ON FUNCTION sift._approximate_vector(integer, integer, text[], bigint[]) FROM PUBLIC;
