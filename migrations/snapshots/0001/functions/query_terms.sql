-- What a query searches for, what of it is left out and why, and what was added.
--
--   SELECT * FROM sift.query_terms('acme', 'How does +MRI differ from "computed tomography"? -dental');
--
-- principals: for whom a trusted application asks, as in sift.search; a prefix is told to stand for terms of visible chunks alone.
CREATE OR REPLACE FUNCTION sift.query_terms(
    tenant          text,
    query           text,
    plain           boolean DEFAULT false,
    strip_questions boolean DEFAULT NULL,
    expand          boolean DEFAULT NULL,
    principals      text[] DEFAULT NULL
)
RETURNS TABLE (term text, kept boolean, reason text, origin text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.term, r.kept, r.reason, r.origin
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._judge_terms(c.role_id, c.proof, query_terms.tenant, query_terms.query, query_terms.plain,
                                         query_terms.strip_questions, query_terms.expand, query_terms.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.query_terms(text, text, boolean, boolean, boolean, text[]) IS
    'The terms a query of this tenant searches for (kept), in order, and the words left out, each with the reason: stopword, too short, repeated, part of a number, question word, excluded. Of what is searched for, reason tells what was cut, added for an acronym, or part of a phrase, required, or a term of a prefix; origin names the acronym, phrase, term or prefix as it was typed.';
REVOKE ALL ON FUNCTION sift.query_terms(text, text, boolean, boolean, boolean, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.query_terms(text, text, boolean, boolean, boolean, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
