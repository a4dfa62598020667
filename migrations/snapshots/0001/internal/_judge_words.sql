-- The words of a query text, each with the term it becomes, or kept false and the reason why it becomes none. Repeated terms are not sorted out.
CREATE OR REPLACE FUNCTION sift._judge_words(analyzer text, text text)
RETURNS TABLE (term text, kept boolean, reason text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words text[];
    v_stems text[];
    v_stop  text[] := string_to_array(sift._analyzer_table('stopwords'), ' ');
    v_other text := '^[' || sift._analyzer_table('unspaced') || ']';
BEGIN
    v_words := CASE WHEN analyzer = 'identifiers' THEN sift._identifier_words(text, true) ELSE sift._words(text, true) END;
    v_words := ARRAY(
        SELECT CASE WHEN octet_length(w.word) > 256 THEN sift._cut_token(w.word) || '…' ELSE w.word END
        FROM unnest(v_words) WITH ORDINALITY AS w(word, position)
        WHERE w.word <> ''
        ORDER BY w.position
    );
    v_stems := ARRAY(SELECT rtrim(w.word, '…') FROM unnest(v_words) WITH ORDINALITY AS w(word, position) ORDER BY w.position);
    IF analyzer = 'english' THEN
        v_stems := sift._stem_english(v_stems);
    END IF;
    RETURN QUERY
    SELECT CASE WHEN j.reason IS NULL THEN j.stem ELSE ltrim(j.word, '.') END,
           j.reason IS NULL,
           coalesce(j.reason, CASE WHEN right(j.word, 1) = '…' THEN 'cut at 256 bytes' END)
    FROM (SELECT w.word, w.stem, w.position,
                 CASE
                     WHEN left(w.word, 1) = '.' THEN 'part of a number'
                     WHEN w.word COLLATE "C" = ANY (v_stop) THEN 'stopword'
                     WHEN length(w.word) < 2 AND w.word COLLATE "C" !~ v_other THEN 'too short'
                 END AS reason
          FROM unnest(v_words, v_stems) WITH ORDINALITY AS w(word, stem, position)) AS j
    ORDER BY j.position;
END
$$;
COMMENT ON FUNCTION sift._judge_words(text, text) IS 'The words of a query text with the terms they become, or the reason why not.';
REVOKE ALL ON FUNCTION sift._judge_words(text, text) FROM PUBLIC;
