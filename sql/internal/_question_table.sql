-- The English words that make a question, as data: what pgsift.domain.query has under the same names.
--
--   interrogatives        what a question may begin with, and loses
--   auxiliaries           likewise, in their contractions too
--   after_interrogative   after an interrogative these make a question too: how many, how to
--   subjects              after an auxiliary these do: can i, is there
CREATE OR REPLACE FUNCTION sift._question_table(name text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE name
        WHEN 'interrogatives' THEN '{what,which,who,whom,whose,when,where,why,how}'::text[]
        WHEN 'auxiliaries' THEN
            '{am,is,are,was,were,be,been,being,do,does,did,have,has,had,can,could,shall,should,will,would,may,might,must}'::text[]
        WHEN 'after_interrogative' THEN '{many,much,long,often,far,old,to}'::text[]
        WHEN 'subjects' THEN '{i,you,we,they,he,she,it,there,one,anyone,someone}'::text[]
    END;
END
$$;
COMMENT ON FUNCTION sift._question_table(text) IS 'A list of the English words that make a question: interrogatives, auxiliaries, after_interrogative, subjects.';
REVOKE ALL ON FUNCTION sift._question_table(text) FROM PUBLIC;
