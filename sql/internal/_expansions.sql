-- The expansions of the acronyms a text holds, in the order in which these stand in it. An acronym is found as it is written, capitals included:
-- IT is not in "how is it". It stands alone between white space, with or without punctuation at its ends, or between any characters that are
-- neither letter nor number nor mark: CI and CD are found in CI/CD, as is CI/CD.
CREATE OR REPLACE FUNCTION sift._expansions(tenant_id integer, text text)
RETURNS TABLE (acronym text, expansion text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id integer := tenant_id;
    v_edge      CONSTANT text := E'[!-/:-@\\[-`{-~\u00a1\u00ab\u00bb\u00bf\u2013\u2014\u2018-\u201f\u2026]+';
    v_word      text := '[' || sift._analyzer_table('alphanumeric') || sift._analyzer_table('mark') || ']+';
BEGIN
    RETURN QUERY
    WITH words AS (
        SELECT m.match[1] AS word, m.place
        FROM regexp_matches(_expansions.text COLLATE "C", '[^' || sift._blank() || ']+', 'g') WITH ORDINALITY AS m (match, place)
    ),
    spellings AS (
        SELECT x.spelling, min(x.place) AS place
        FROM (SELECT w.word AS spelling, w.place FROM words AS w
              UNION ALL
              SELECT regexp_replace(w.word COLLATE "C", '^' || v_edge || '|' || v_edge || '$', '', 'g'), w.place FROM words AS w
              UNION ALL
              SELECT m.match[1], w.place
              FROM words AS w
              CROSS JOIN LATERAL regexp_matches(w.word COLLATE "C", v_word, 'g') AS m (match)) AS x
        WHERE length(x.spelling) BETWEEN 2 AND 100
        GROUP BY x.spelling
    )
    SELECT a.acronym, a.expansion
    FROM spellings AS s
    CROSS JOIN LATERAL (
        SELECT v.acronym, v.expansion FROM sift.acronyms AS v
        WHERE v.tenant_id = v_tenant_id AND v.acronym = s.spelling OFFSET 0) AS a
    ORDER BY s.place, a.acronym, a.expansion;
END
$$;
COMMENT ON FUNCTION sift._expansions(integer, text) IS 'The expansions of the acronyms that a text holds.';
REVOKE ALL ON FUNCTION sift._expansions(integer, text) FROM PUBLIC;
