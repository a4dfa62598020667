-- What the log keeps of hits: their identity and scores, not their text. NULL where they are not an array of objects with rank, chunk_id and
-- key, as rows of sift.search are.
CREATE OR REPLACE FUNCTION sift._logged_hits(hits jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_bad boolean;
BEGIN
    IF jsonb_typeof(hits) IS DISTINCT FROM 'array' THEN
        RETURN NULL;
    END IF;
    SELECT bool_or((jsonb_typeof(h.value) = 'object' AND jsonb_typeof(h.value -> 'key') = 'string'
                    AND h.value ->> 'rank' ~ '^[1-9][0-9]{0,8}$' AND jsonb_typeof(h.value -> 'rank') = 'number'
                    AND h.value ->> 'chunk_id' ~ '^[0-9]{1,18}$' AND jsonb_typeof(h.value -> 'chunk_id') = 'number'
                    AND coalesce(jsonb_typeof(h.value -> 'document_id') = 'null'
                                 OR (jsonb_typeof(h.value -> 'document_id') = 'number' AND h.value ->> 'document_id' ~ '^[0-9]{1,18}$'), true)
                    AND coalesce(jsonb_typeof(h.value -> 'body') IN ('null', 'string'), true)) IS NOT TRUE)
    INTO v_bad
    FROM jsonb_array_elements(hits) AS h (value);
    IF v_bad THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT coalesce(jsonb_agg((SELECT jsonb_object_agg(m.key, m.value) FROM jsonb_each(h.value) AS m (key, value)
                                       WHERE m.key = ANY ('{rank,chunk_id,document_id,key,document_version,score,lexical_score,distance,rerank_score}'::text[])
                                         AND (jsonb_typeof(m.value) = 'number' OR m.key = 'key'))
                                      ORDER BY (h.value ->> 'rank')::integer, h.position), '[]'::jsonb)
            FROM jsonb_array_elements(hits) WITH ORDINALITY AS h (value, position));
END
$$;
COMMENT ON FUNCTION sift._logged_hits(jsonb) IS
    'Hits without their texts, in the order of their ranks; NULL where they are not what a search returns.';
REVOKE ALL ON FUNCTION sift._logged_hits(jsonb) FROM PUBLIC;
