-- Where terms occur in a run of a script written without spaces: the characters, and the pairs of characters, they consist of. Where
-- normalizing the run joins characters otherwise than within their clusters, the run as a whole is the occurrence.
CREATE OR REPLACE FUNCTION sift._find_in_run(analyzer text, run text, terms text[])
RETURNS TABLE (char_start integer, char_end integer, term_no integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_folded   text COLLATE "C" := sift._casefold(sift._normalize(run));
    v_clusters text[];
    v_normal   text[] := '{}'::text[];
    v_cluster  text;
    v_starts   integer[] := '{}'::integer[];
    v_ends     integer[] := '{}'::integer[];
    v_position integer := 0;
    v_part     text COLLATE "C";
    v_chars    text[];
BEGIN
    IF NOT EXISTS (SELECT FROM unnest(terms) AS t(term) WHERE strpos(v_folded, t.term COLLATE "C") > 0) THEN
        RETURN;
    END IF;
    v_clusters := ARRAY(
        SELECT m.match[1] FROM regexp_matches(run COLLATE "C", '(.[' || sift._window_table('joined') || ']*)', 'g') WITH ORDINALITY AS m(match, position)
        ORDER BY m.position);
    FOREACH v_cluster IN ARRAY v_clusters LOOP
        v_part := sift._casefold(sift._normalize(v_cluster));
        v_normal := array_append(v_normal, v_part::text);
        FOR i IN 1 .. length(v_part) LOOP
            v_starts := array_append(v_starts, v_position);
            v_ends := array_append(v_ends, v_position + length(v_cluster));
        END LOOP;
        v_position := v_position + length(v_cluster);
    END LOOP;
    IF array_to_string(v_normal, '') COLLATE "C" <> v_folded
        OR v_folded !~ ('^[' || sift._analyzer_table('unspaced') || sift._analyzer_table('mark') || ']*$')
    THEN
        RETURN QUERY
        SELECT 0, length(run), t.position::integer
        FROM unnest(terms) WITH ORDINALITY AS t(term, position)
        WHERE t.term = ANY (sift._tokens(analyzer, run, false));
        RETURN;
    END IF;
    v_chars := string_to_array(v_folded, NULL);
    RETURN QUERY
    SELECT v_starts[c.place], v_ends[c.place + length(t.term) - 1], t.position::integer
    FROM unnest(terms) WITH ORDINALITY AS t(term, position)
    CROSS JOIN generate_subscripts(v_chars, 1) AS c(place)
    WHERE (length(t.term) = 1 AND v_chars[c.place] COLLATE "C" = t.term)
       OR (length(t.term) = 2 AND v_chars[c.place] || v_chars[c.place + 1] COLLATE "C" = t.term);
END
$$;
COMMENT ON FUNCTION sift._find_in_run(text, text, text[]) IS 'Where terms occur in a run of a script written without spaces.';
REVOKE ALL ON FUNCTION sift._find_in_run(text, text, text[]) FROM PUBLIC;
