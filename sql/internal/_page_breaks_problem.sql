-- What is wrong with the page_breaks of a chunk as sift.put_documents is given it; NULL where nothing is, or where they are no array.
CREATE OR REPLACE FUNCTION sift._page_breaks_problem(chunk jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_breaks jsonb := chunk -> 'page_breaks';
    v_before integer := 0;
    v_place  integer;
    v_break  jsonb;
BEGIN
    IF jsonb_typeof(v_breaks) IS DISTINCT FROM 'array' OR v_breaks = '[]'::jsonb THEN
        RETURN NULL;
    END IF;
    FOR v_break IN SELECT b.value FROM jsonb_array_elements(v_breaks) AS b (value) LOOP
        IF jsonb_typeof(v_break) <> 'array' OR v_break::text !~ '^[[][1-9][0-9]{0,8}, [1-9][0-9]{0,8}[]]$' THEN
            RETURN 'must be pairs of whole numbers from 1 to 999999999: the character of body at which another page begins, and that page';
        END IF;
        v_place := (v_break ->> 0)::integer;
        IF v_place <= v_before THEN
            RETURN format('must be in the order of the text, and %s does not come after %s', v_place, v_before);
        END IF;
        v_before := v_place;
    END LOOP;
    IF v_place >= char_length(chunk ->> 'body') THEN
        RETURN format('has a page that begins at character %s, and body has %s', v_place, char_length(chunk ->> 'body'));
    END IF;
    IF coalesce(jsonb_typeof(chunk -> 'page'), 'null') = 'null' THEN
        RETURN 'needs "page", the page that body begins on';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION sift._page_breaks_problem(jsonb) IS 'What is wrong with the page_breaks of a chunk that is given; NULL where nothing is.';
REVOKE ALL ON FUNCTION sift._page_breaks_problem(jsonb) FROM PUBLIC;
