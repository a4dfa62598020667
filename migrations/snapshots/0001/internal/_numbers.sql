-- The numbers in a text, each once and written one way: what claims are checked by.
--
-- A number is ASCII digits, with or without a fraction after a point (0.5, .5), groups of three digits set apart by commas or thin spaces
-- (12,500), and an exponent (1e-5). A sign in front counts (-, U+2212 and an en dash alike) unless a letter, a digit, a closing bracket or a
-- percent sign precedes it: 3-5 and IL-6 hold no negative number. Digits after a letter belong to a word: B12, H2O. A percent sign and a unit
-- are not part of a number. Equal are numbers of equal value: 0.50, .5 and 0.5; +3 and 3; 12,500 and 12500; not 50% and 0.5, not -3 and 3.
CREATE OR REPLACE FUNCTION sift._numbers(text text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_letter CONSTANT text := E'A-Za-z_\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u024F\u0370-\u052F';
    c_power  CONSTANT text := E'(?:[eE][-+\u2212]?[0-9]{1,3}(?![0-9' || c_letter || '.]))?';
    c_number CONSTANT text := E'(?:[1-9][0-9]{0,2}(?:[,\u2009\u202F][0-9]{3})+(?![0-9])|[0-9]+)(?:[.][0-9]+)?' || c_power
                              || '|(?<![0-9.' || c_letter || '])[.][0-9]+' || c_power;
    c_token  CONSTANT text := '[' || c_letter || '][0-9' || c_letter || ']*'
                              || '|(?:(?<![]0-9)%' || c_letter || E'])([-+\u2212\u2013]))?(' || c_number || ')';
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT CASE WHEN n.minus AND o.value <> '0' THEN '-' ELSE '' END || o.value
        FROM regexp_matches(text COLLATE pg_catalog."C", c_token, 'g') AS m (found)
        CROSS JOIN LATERAL (SELECT m.found[1] <> '+' AS minus,
                                   translate(m.found[2], E'\u2212,\u2009\u202F', '-') AS digits) AS n
        -- More digits than numbers have are compared as they are written.
        CROSS JOIN LATERAL (SELECT CASE WHEN char_length(n.digits) <= 1000 THEN trim_scale(n.digits::numeric)::text ELSE n.digits END AS value) AS o
        WHERE m.found[2] IS NOT NULL
        ORDER BY 1);
END
$$;
COMMENT ON FUNCTION sift._numbers(text) IS 'The distinct values of the numbers in a text, each written one way.';
REVOKE ALL ON FUNCTION sift._numbers(text) FROM PUBLIC;
