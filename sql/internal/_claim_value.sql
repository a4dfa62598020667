-- What is stored beside a claim (sift.chunks.claim); NULL for one without sources. Both arguments as for sift._claim_problem, which found none.
CREATE OR REPLACE FUNCTION sift._claim_value(claim jsonb, chunks jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_supports jsonb;
    v_abstract boolean;
    v_fulltext boolean;
BEGIN
    IF claim ->> 'supports' IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_agg(s.ordinal ORDER BY s.ordinal), bool_or(coalesce(chunks -> s.ordinal ->> 'kind', 'text') = 'abstract'),
           bool_or(coalesce(chunks -> s.ordinal ->> 'kind', 'text') <> 'abstract')
    INTO v_supports, v_abstract, v_fulltext
    FROM (SELECT DISTINCT e.value::integer AS ordinal FROM jsonb_array_elements(claim -> 'supports') AS e (value)) AS s;
    RETURN jsonb_build_object(
        'supports', v_supports, 'evidence_span', claim -> 'evidence_span', 'effect', claim -> 'effect',
        'source_level', CASE WHEN NOT v_fulltext THEN 'abstract' WHEN NOT v_abstract THEN 'fulltext' ELSE 'mixed' END);
END
$$;
COMMENT ON FUNCTION sift._claim_value(jsonb, jsonb) IS 'The numbers of the chunks that support a claim, its quotation and effect, and the level derived from its sources.';
REVOKE ALL ON FUNCTION sift._claim_value(jsonb, jsonb) FROM PUBLIC;
