-- Refuses a batch of documents with a claim that its sources do not bear out, naming the claim and the reason. Shapes were checked before
-- (sift._check_documents).
CREATE OR REPLACE FUNCTION sift._check_claims(documents jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_bad record;
BEGIN
    SELECT d.value -> 'key' AS key, c.ordinal, c.value ->> 'body' AS body, p.problem INTO v_bad
    FROM jsonb_array_elements(documents) WITH ORDINALITY AS d (value, position)
    CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(d.value -> 'chunks') = 'array' THEN d.value -> 'chunks' END)
        WITH ORDINALITY AS c (value, ordinal)
    CROSS JOIN LATERAL (SELECT sift._claim_problem(c.value, d.value -> 'chunks') AS problem OFFSET 0) AS p
    WHERE (c.value ->> 'supports' IS NOT NULL OR c.value ->> 'evidence_span' IS NOT NULL OR c.value ->> 'effect' IS NOT NULL)
      AND p.problem IS NOT NULL
    ORDER BY d.position, c.ordinal
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PS012',
            MESSAGE = format('%s (%s): %s', sift._document_name(v_bad.key, v_bad.ordinal), to_json(
                CASE WHEN char_length(v_bad.body) > 80 THEN left(v_bad.body, 80) || '…' ELSE v_bad.body END), v_bad.problem),
            HINT = 'A claim says nothing that its sources do not say: quote them character by character, and take numbers over as they stand (docs/claims.md).';
    END IF;
END
$$;
COMMENT ON FUNCTION sift._check_claims(jsonb) IS 'Raises PS012 for a batch of documents with a claim that its sources do not bear out.';
REVOKE ALL ON FUNCTION sift._check_claims(jsonb) FROM PUBLIC;
