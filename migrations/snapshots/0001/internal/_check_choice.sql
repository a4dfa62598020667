-- Refuses settings that a page cannot be chosen by.
CREATE OR REPLACE FUNCTION sift._check_choice(per_document integer, mmr double precision, token_budget integer, rows integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF per_document < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('per_document must be at least 1, not %s', per_document),
            HINT = 'NULL is no cap.';
    END IF;
    IF NOT mmr BETWEEN 0::double precision AND 1::double precision THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('mmr must lie between 0 and 1, not %s', mmr),
            HINT = '1 is relevance alone, 0 difference alone; 0.7 is a good start. NULL is the order of scores.';
    END IF;
    IF mmr IS NOT NULL AND rows > 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('mmr compares each row with all others, so it gives at most 1000 rows, not %s', rows),
            HINT = 'Ask for fewer rows, or leave mmr out.';
    END IF;
    IF token_budget < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PS002', MESSAGE = format('token_budget must be at least 1, not %s', token_budget),
            HINT = 'It is how many tokens all texts of the result may have together, one for every four bytes; NULL is no budget.';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_choice(integer, double precision, integer, integer) IS 'Raises PS002 for a cap, an mmr or a token budget that makes no sense.';
REVOKE ALL ON FUNCTION sift._check_choice(integer, double precision, integer, integer) FROM PUBLIC;
