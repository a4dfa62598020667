-- The word of the lists of sift._question_table that a word is a form of (what's, don't), or what it is itself; empty for names and acronyms,
-- which are written with capitals: May, WHO. first: it is the first word of its text; shouted: the text has capitals alone.
CREATE OR REPLACE FUNCTION sift._question_base(word text, first boolean, shouted boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_edge CONSTANT text := E'[!-/:-@\\[-`{-~\u00a1\u00ab\u00bb\u00bf\u2013\u2014\u2018-\u201f\u2026]+';
    v_bare  text COLLATE "C" := regexp_replace(word COLLATE "C", '^' || v_edge || '|' || v_edge || '$', '', 'g');
    v_lower text COLLATE "C" := lower(v_bare COLLATE "C");  -- of ASCII alone
    v_base  text COLLATE "C";
BEGIN
    IF NOT shouted AND v_bare <> 'I' AND substr(v_bare, CASE WHEN first THEN 2 ELSE 1 END) <> substr(v_lower, CASE WHEN first THEN 2 ELSE 1 END) THEN
        RETURN '';
    END IF;
    v_base := regexp_replace(v_lower, E'(?:n[\u0027\u2019]t|[\u0027\u2019](?:s|re|d|ll|ve))$', '');
    RETURN CASE WHEN substr(v_lower, length(v_base) + 1, 1) <> 'n' THEN v_base
                WHEN v_base = 'ca' THEN 'can' WHEN v_base = 'wo' THEN 'will' WHEN v_base = 'sha' THEN 'shall' ELSE v_base END;
END
$$;
COMMENT ON FUNCTION sift._question_base(text, boolean, boolean) IS 'The listed word that a word is a form of, or what it is itself; empty for names and acronyms.';
REVOKE ALL ON FUNCTION sift._question_base(text, boolean, boolean) FROM PUBLIC;
