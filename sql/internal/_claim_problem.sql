-- Why a chunk cannot be stored as the claim that it says it is; NULL where it can, or where it says nothing of the kind.
--
--   chunks  those of the document in their order, of which kind and body are read; supports counts them from 0
--
-- A quotation is one character by character: nothing is normalized. What a number is says sift._numbers.
CREATE OR REPLACE FUNCTION sift._claim_problem(claim jsonb, chunks jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_supports CONSTANT integer := 100;
    c_effect   CONSTANT integer := 4000;  -- bytes
    v_count    integer := jsonb_array_length(chunks);
    v_supports integer[];
    v_bad      text;
    v_bodies   text[];
    v_numbers  text[];
BEGIN
    IF coalesce(claim ->> 'kind', 'text') <> 'claim' THEN
        SELECT m.name INTO v_bad
        FROM unnest(ARRAY['supports', 'evidence_span', 'effect']) WITH ORDINALITY AS m (name, n)
        WHERE claim ->> m.name IS NOT NULL
        ORDER BY m.n
        LIMIT 1;
        RETURN format('"%s" belongs to chunks of kind claim', v_bad);
    END IF;
    IF claim ->> 'supports' IS NULL THEN
        RETURN CASE WHEN claim ->> 'evidence_span' IS NOT NULL OR claim ->> 'effect' IS NOT NULL
                    THEN 'it has no "supports", the chunks that its evidence and its effect come from' END;
    END IF;
    IF jsonb_array_length(claim -> 'supports') NOT BETWEEN 1 AND c_supports THEN
        RETURN format('"supports" must name 1 to %s chunks, not %s', c_supports, jsonb_array_length(claim -> 'supports'));
    END IF;
    SELECT s.value::text INTO v_bad
    FROM jsonb_array_elements(claim -> 'supports') WITH ORDINALITY AS s (value, n)
    WHERE CASE WHEN jsonb_typeof(s.value) <> 'number' OR s.value::text !~ '^[0-9]{1,9}$' THEN true
               ELSE s.value::integer >= v_count END
    ORDER BY s.n
    LIMIT 1;
    IF FOUND THEN
        RETURN format('"supports" names %s, and the document''s chunks are numbered 0 to %s', left(v_bad, 50), v_count - 1);
    END IF;
    v_supports := ARRAY(SELECT DISTINCT s.value::integer FROM jsonb_array_elements(claim -> 'supports') AS s (value) ORDER BY 1);
    SELECT format('"supports" names %s, which is a %s', s.ordinal, chunks -> s.ordinal ->> 'kind') INTO v_bad
    FROM unnest(v_supports) AS s (ordinal)
    WHERE chunks -> s.ordinal ->> 'kind' IN ('claim', 'reference')
    ORDER BY s.ordinal
    LIMIT 1;
    IF FOUND THEN
        RETURN v_bad;
    END IF;
    v_bodies := ARRAY(SELECT chunks -> s.ordinal ->> 'body' FROM unnest(v_supports) AS s (ordinal) ORDER BY s.ordinal);

    IF claim ->> 'evidence_span' IS NOT NULL THEN
        IF claim ->> 'evidence_span' !~ '[^[:space:]]' THEN
            RETURN '"evidence_span" is blank';
        END IF;
        IF NOT EXISTS (SELECT FROM unnest(v_bodies) AS b (body) WHERE strpos(b.body, claim ->> 'evidence_span') > 0) THEN
            RETURN format('"evidence_span" (%s) is not a verbatim quotation of a chunk that supports it', to_json(
                CASE WHEN char_length(claim ->> 'evidence_span') > 80 THEN left(claim ->> 'evidence_span', 80) || '…' ELSE claim ->> 'evidence_span' END));
        END IF;
    END IF;

    IF claim ->> 'effect' IS NOT NULL THEN
        IF octet_length((claim -> 'effect')::text) > c_effect THEN
            RETURN format('"effect" has %s bytes of JSON; the limit is %s', octet_length((claim -> 'effect')::text), c_effect);
        END IF;
        SELECT format('"effect": %s must be a string, a number or a boolean, not an %s', to_json(left(e.key, 100)), jsonb_typeof(e.value)) INTO v_bad
        FROM jsonb_each(claim -> 'effect') AS e (key, value)
        WHERE jsonb_typeof(e.value) IN ('array', 'object')
        LIMIT 1;
        IF FOUND THEN
            RETURN v_bad;
        END IF;
    END IF;

    v_numbers := ARRAY(SELECT DISTINCT n.value FROM unnest(v_bodies) AS b (body) CROSS JOIN LATERAL unnest(sift._numbers(b.body)) AS n (value));
    SELECT CASE WHEN x.field IS NULL THEN format('the number %s of the claim', left(x.value, 50))
                ELSE format('the number %s of its "effect" (%s)', left(x.value, 50), to_json(left(x.field, 100))) END
           || ' does not occur in the chunks that support it' INTO v_bad
    FROM (SELECT NULL::text AS field, n.value FROM unnest(sift._numbers(claim ->> 'body')) AS n (value)
          UNION ALL
          SELECT e.key, n.value
          FROM jsonb_each(CASE WHEN claim ->> 'effect' IS NOT NULL THEN claim -> 'effect' ELSE '{}'::jsonb END) AS e (key, value)
          CROSS JOIN LATERAL unnest(CASE WHEN jsonb_typeof(e.value) IN ('string', 'number') THEN sift._numbers(e.value #>> '{}') END) AS n (value)) AS x
    WHERE x.value <> ALL (v_numbers)
    ORDER BY x.field NULLS FIRST, x.value
    LIMIT 1;
    RETURN v_bad;
END
$$;
COMMENT ON FUNCTION sift._claim_problem(jsonb, jsonb) IS 'Why a chunk is not the claim it says it is, by the chunks of its document; NULL where it is, or does not say so.';
REVOKE ALL ON FUNCTION sift._claim_problem(jsonb, jsonb) FROM PUBLIC;
