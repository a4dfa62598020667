-- The best window of each of several texts for the terms of a query, in the order of the texts: of each hit what a result page shows.
CREATE OR REPLACE FUNCTION sift._snippets(
    analyzer text,
    texts    text[],
    terms    text[],
    width    integer,
    OUT snippets   text[],
    OUT starts     integer[],
    OUT highlights jsonb[],
    OUT anchors    integer[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_found  record;
    v_window record;
    v_first  integer := 1;
    v_last   integer := 0;
BEGIN
    SELECT f.* INTO v_found FROM sift._find_terms(analyzer, texts, terms) AS f;
    FOR t IN 1 .. coalesce(cardinality(texts), 0) LOOP
        WHILE v_found.text_nos[v_last + 1] = t LOOP
            v_last := v_last + 1;
        END LOOP;
        SELECT w.* INTO v_window
        FROM sift._choose_windows(
            ARRAY[texts[t]], array_fill(1, ARRAY[v_last - v_first + 1]), v_found.starts[v_first:v_last], v_found.ends[v_first:v_last],
            v_found.term_nos[v_first:v_last], 1, width) AS w;
        snippets[t] := coalesce(v_window.body, '');
        starts[t] := coalesce(v_window.window_start, 0);
        highlights[t] := coalesce(v_window.highlights, '[]'::jsonb);
        anchors[t] := coalesce(v_window.anchor, 0);
        v_first := v_last + 1;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._snippets(text, text[], text[], integer) IS 'The best window of each of several texts: text, where it starts, highlights in it, and where the first of the words stands that it was chosen for.';
REVOKE ALL ON FUNCTION sift._snippets(text, text[], text[], integer) FROM PUBLIC;
