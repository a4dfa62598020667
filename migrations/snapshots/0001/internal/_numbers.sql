-- The numbers in a text, each once and written one way: what claims are checked by.
--
-- A number is decimal digits of any script, with or without a fraction after a point (0.5, .5), groups of three digits set apart by commas
-- or thin spaces (12,500), and an exponent (1e-5). A sign in front counts (-, U+2212 and an en dash alike) unless a letter, a digit, a closing bracket or a
-- percent sign precedes it: 3-5 and IL-6 hold no negative number. Digits after a letter belong to a word: B12, H2O. A percent sign and a unit
-- are not part of a number. Equal are numbers of equal value: 0.50, .5 and 0.5; +3 and 3; 12,500 and 12500; not 50% and 0.5, not -3 and 3.
-- Superscripts, subscripts, fractions and numerals in one character stand for themselves, those next to each other together, unless a letter
-- precedes them.
CREATE OR REPLACE FUNCTION sift._numbers(text text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_letter CONSTANT text := E'A-Za-z_\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u024F\u0370-\u052F';
    c_zeros  CONSTANT text := E'\u0660\u06F0\u07C0\u0966\u09E6\u0A66\u0AE6\u0B66\u0BE6\u0C66\u0CE6\u0D66\u0DE6\u0E50\u0ED0\u0F20'
                              '\u1040\u1090\u17E0\u1810\u1946\u19D0\u1A80\u1A90\u1B50\u1BB0\u1C40\u1C50\uA620\uA8D0\uA900\uA9D0'
                              '\uA9F0\uAA50\uABF0\uFF10\U000104A0\U00010D30\U00011066\U000110F0\U00011136\U000111D0\U000112F0'
                              '\U00011450\U000114D0\U00011650\U000116C0\U00011730\U000118E0\U00011950\U00011C50\U00011D50'
                              '\U00011DA0\U00016A60\U00016AC0\U00016B50\U0001D7CE\U0001D7D8\U0001D7E2\U0001D7EC\U0001D7F6'
                              '\U0001E140\U0001E2F0\U0001E950\U0001FBF0';
    -- Numerals that are no decimal digits, and the signs among superscripts and subscripts.
    c_other  CONSTANT text := E'\u00B2\u00B3\u00B9\u00BC-\u00BE\u2070\u2074-\u207B\u2080-\u208B\u2150-\u218B\u2460-\u249B'
                              '\u24EA-\u24FF\u2776-\u2793\u3021-\u3029\u3220-\u3229\u3280-\u3289';
    c_power  CONSTANT text := E'(?:[eE][-+\u2212]?[0-9]{1,3}(?![0-9' || c_letter || '.]))?';
    c_number CONSTANT text := E'(?:[1-9][0-9]{0,2}(?:[,\u2009\u202F][0-9]{3})+(?![0-9])|[0-9]+)(?:[.][0-9]+)?' || c_power
                              || '|(?<![0-9.' || c_letter || '])[.][0-9]+' || c_power;
    c_token  CONSTANT text := '[' || c_letter || '][0-9' || c_letter || c_other || ']*'
                              || '|(?:(?<![]0-9)%' || c_letter || E'])([-+\u2212\u2013]))?(' || c_number || ')|([' || c_other || ']+)';
    v_text   text := text;
BEGIN
    IF octet_length(v_text) > char_length(v_text) AND v_text COLLATE pg_catalog."C" ~ (
        SELECT '[' || string_agg(z.zero || '-' || chr(ascii(z.zero) + 9), '') || ']' FROM string_to_table(c_zeros, NULL) AS z (zero))
    THEN
        v_text := translate(v_text,
            (SELECT string_agg(chr(ascii(z.zero) + d.digit), '' ORDER BY z.n, d.digit)
             FROM string_to_table(c_zeros, NULL) WITH ORDINALITY AS z (zero, n) CROSS JOIN generate_series(0, 9) AS d (digit)),
            repeat('0123456789', char_length(c_zeros)));
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT CASE WHEN n.minus AND o.value <> '0' THEN '-' ELSE '' END || o.value
        FROM regexp_matches(v_text COLLATE pg_catalog."C", c_token, 'g') AS m (found)
        CROSS JOIN LATERAL (SELECT m.found[1] <> '+' AS minus,
                                   translate(m.found[2], E'\u2212,\u2009\u202F', '-') AS digits) AS n
        -- More digits than numbers have are compared as they are written.
        CROSS JOIN LATERAL (SELECT CASE WHEN m.found[3] IS NOT NULL THEN m.found[3]
                                        WHEN char_length(n.digits) <= 1000 THEN trim_scale(n.digits::numeric)::text ELSE n.digits END AS value) AS o
        WHERE m.found[2] IS NOT NULL OR (m.found[3] IS NOT NULL AND m.found[3] ~ E'[^\u207A\u207B\u208A\u208B]')
        ORDER BY 1);
END
$$;
COMMENT ON FUNCTION sift._numbers(text) IS 'The distinct values of the numbers in a text, each written one way.';
REVOKE ALL ON FUNCTION sift._numbers(text) FROM PUBLIC;
