-- Whether a text has the form of a question in English, or ends with a question mark. A question without the mark begins with an interrogative
-- and an auxiliary (what is, how many), or with an auxiliary and a subject (can i): the keywords "where clause" and "who guidelines" do not.
CREATE OR REPLACE FUNCTION sift._is_question(text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_words   text[];
    v_shouted boolean;
    v_first   text;
    v_second  text;
BEGIN
    IF text COLLATE "C" ~ (E'[?\uff1f\u061f][' || sift._blank() || E'"\')\u2019\u201d]*$') THEN
        RETURN true;
    END IF;
    v_words := regexp_match(text COLLATE "C", '^[' || sift._blank() || ']*([^' || sift._blank() || ']+)[' || sift._blank() || ']+([^' || sift._blank() || ']+)');
    IF v_words IS NULL OR length(v_words[1]) > 100 OR length(v_words[2]) > 100 THEN
        RETURN false;
    END IF;
    v_shouted := text COLLATE "C" !~ '[a-z]';
    v_first := sift._question_base(v_words[1], true, v_shouted);
    IF v_first = ANY (sift._question_table('interrogatives')) THEN
        v_second := sift._question_base(v_words[2], false, v_shouted);
        RETURN v_second = ANY (sift._question_table('auxiliaries') || sift._question_table('after_interrogative'));
    END IF;
    IF v_first = ANY (sift._question_table('auxiliaries')) THEN
        v_second := sift._question_base(v_words[2], false, v_shouted);
        RETURN v_second = ANY (sift._question_table('subjects'));
    END IF;
    RETURN false;
END
$$;
COMMENT ON FUNCTION sift._is_question(text) IS 'Whether a text has the form of a question.';
REVOKE ALL ON FUNCTION sift._is_question(text) FROM PUBLIC;
