-- What is wrong with prefix and context of a chunk as it is sent; NULL where nothing is, or where a number is none, which is found elsewhere.
CREATE OR REPLACE FUNCTION sift._prefix_problem(chunk jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_member text;
    v_tokens integer := coalesce(cardinality(string_to_array(chunk ->> 'tokens', ' ')), 0);
    v_start  integer;
    v_end    integer;
BEGIN
    FOREACH v_member IN ARRAY ARRAY['start', 'end', 'title_tokens', 'prefix_tokens', 'context_start', 'context_end'] LOOP
        IF chunk ->> v_member !~ '^[0-9]{1,9}$' THEN
            RETURN NULL;
        END IF;
    END LOOP;
    v_start := coalesce((chunk ->> 'start')::integer, 0);
    v_end := coalesce((chunk ->> 'end')::integer, v_start + char_length(chunk ->> 'body'));
    RETURN CASE
        WHEN chunk ->> 'prefix_tokens' IS NOT NULL AND (chunk ->> 'tokens' IS NULL OR chunk ->> 'prefix' IS NULL)
            THEN ': "prefix_tokens" says how many of its "tokens" are those of its "prefix", and one of these is missing'
        WHEN chunk ->> 'prefix' IS NOT NULL AND chunk ->> 'tokens' IS NOT NULL AND chunk ->> 'prefix_tokens' IS NULL
            THEN ': it has "tokens" and a "prefix", and "prefix_tokens" does not say how many of them are the prefix''s'
        WHEN (chunk ->> 'prefix_tokens')::integer + coalesce((chunk ->> 'title_tokens')::integer, 0) > v_tokens
            THEN format(': "prefix_tokens" is %s and "title_tokens" %s, but it has %s tokens', chunk ->> 'prefix_tokens',
                        coalesce(chunk ->> 'title_tokens', '0'), v_tokens)
        WHEN (chunk ->> 'context_start' IS NULL) <> (chunk ->> 'context_end' IS NULL)
            THEN ': "context_start" and "context_end" go together, and one of them is missing'
        WHEN (chunk ->> 'context_start')::integer > v_start OR (chunk ->> 'context_end')::integer < v_end
            THEN format(': its context, characters %s to %s, does not hold it, which is characters %s to %s', chunk ->> 'context_start',
                        chunk ->> 'context_end', v_start, v_end)
        WHEN char_length(chunk ->> 'lead') > v_start
            THEN format(': "lead" has %s characters, and it starts at character %s', char_length(chunk ->> 'lead'), v_start)
    END;
END
$$;
COMMENT ON FUNCTION sift._prefix_problem(jsonb) IS 'What is wrong with prefix and context of a chunk as it is sent; NULL where nothing is.';
REVOKE ALL ON FUNCTION sift._prefix_problem(jsonb) FROM PUBLIC;
