-- A text without its interrogatives and auxiliaries, and those left out as they were written. Whether it is part of a question is for the
-- caller to know (sift._is_question).
CREATE OR REPLACE FUNCTION sift._strip_question(text text, OUT kept text, OUT stripped text[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_listed  text[] := sift._question_table('interrogatives') || sift._question_table('auxiliaries');
    v_shouted boolean := text COLLATE "C" !~ '[a-z]';
BEGIN
    SELECT coalesce(string_agg(w.word, ' ' ORDER BY w.place) FILTER (WHERE NOT w.listed), ''),
           coalesce(array_agg(w.word ORDER BY w.place) FILTER (WHERE w.listed), '{}'::text[])
    INTO kept, stripped
    FROM (SELECT m.match[1] AS word, m.place,
                 length(m.match[1]) <= 100
                 AND sift._question_base(m.match[1], m.place = 1, v_shouted) = ANY (v_listed) AS listed
          FROM regexp_matches(text COLLATE "C", '[^' || sift._blank() || ']+', 'g') WITH ORDINALITY AS m (match, place)) AS w;
END
$$;
COMMENT ON FUNCTION sift._strip_question(text) IS 'A text without interrogatives and auxiliaries, and those left out.';
REVOKE ALL ON FUNCTION sift._strip_question(text) FROM PUBLIC;
