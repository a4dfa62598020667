-- The windows of a text in parts for the terms of a query; see sift._choose_windows.
CREATE OR REPLACE FUNCTION sift._windows(analyzer text, texts text[], terms text[], windows integer, width integer)
RETURNS TABLE (
    text_no      integer,
    window_start integer,
    window_end   integer,
    anchor       integer,
    body         text,
    highlights   jsonb,
    covered      text[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT w.text_no, w.window_start, w.window_end, w.anchor, w.body, w.highlights,
           ARRAY(SELECT _windows.terms[u.n] FROM unnest(w.terms) WITH ORDINALITY AS u(n, position) ORDER BY u.position)
    FROM sift._find_terms(_windows.analyzer, _windows.texts, _windows.terms) AS f
    CROSS JOIN LATERAL sift._choose_windows(_windows.texts, f.text_nos, f.starts, f.ends, f.term_nos, _windows.windows, _windows.width) AS w
    ORDER BY w.text_no, w.window_start;
END
$$;
COMMENT ON FUNCTION sift._windows(text, text[], text[], integer, integer) IS
    'The windows of a text in parts that cover most of the terms of a query, with highlights and the terms covered.';
REVOKE ALL ON FUNCTION sift._windows(text, text[], text[], integer, integer) FROM PUBLIC;
