-- Where terms occur in one text, for any text and analyzer: the text is split, as it is written, into words and runs of scripts written
-- without spaces, and each distinct one that may hold a term is analyzed. The rules are those of pgsift.domain.windows.
CREATE OR REPLACE FUNCTION sift._find_terms_slowly(analyzer text, text text, terms text[])
RETURNS TABLE (char_start integer, char_end integer, term_no integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_compounds boolean := analyzer = 'identifiers';
    v_joiners   text := CASE WHEN v_compounds THEN sift._window_table('joiners') ELSE '' END;
    v_known     jsonb := '{}'::jsonb;
    v_unit      record;
    v_tokens    text[];
    v_folded    text COLLATE "C";
    v_lead      integer;
    v_tail      text;
    v_found     boolean;
BEGIN
    FOR v_unit IN
        SELECT p.unit, p.is_run, (p.past - length(p.unit))::integer AS char_start, p.past::integer AS char_end
        FROM (
            SELECT m.match[2] AS unit, m.match[2] COLLATE "C" ~ ('^[' || sift._window_table('unspaced') || ']') AS is_run,
                   sum(length(m.match[1]) + length(m.match[2])) OVER (ORDER BY m.position) AS past
            FROM regexp_matches(_find_terms_slowly.text COLLATE "C",
                '([^' || sift._window_table('word') || sift._window_table('unspaced') || v_joiners || ']*)'
                '([' || sift._window_table('unspaced') || '][' || sift._window_table('unspaced') || sift._window_table('joined') || ']*'
                '|[' || sift._window_table('word') || v_joiners || ']+)', 'g') WITH ORDINALITY AS m(match, position)
        ) AS p
    LOOP
        IF v_unit.is_run THEN
            RETURN QUERY
            SELECT v_unit.char_start + r.char_start, v_unit.char_start + r.char_end, r.term_no
            FROM sift._find_in_run(analyzer, v_unit.unit, terms) AS r;
            CONTINUE;
        END IF;
        v_tokens := NULL;
        IF NOT v_known ? v_unit.unit THEN
            v_found := octet_length(v_unit.unit) > length(v_unit.unit);
            IF NOT v_found THEN
                -- The first letters of a word are those of its stem; all of them stand in what the stem was made of.
                v_folded := lower(v_unit.unit COLLATE "C");
                SELECT bool_or(strpos(v_folded, left(t.term, CASE WHEN analyzer = 'english' THEN greatest(1, length(t.term) - 2) ELSE length(t.term) END)) > 0)
                INTO v_found
                FROM unnest(terms) AS t(term);
            END IF;
            IF v_found THEN
                v_tokens := sift._tokens(analyzer, v_unit.unit, false);
                v_known := v_known || jsonb_build_object(v_unit.unit, to_jsonb(ARRAY(
                    SELECT t.position FROM unnest(terms) WITH ORDINALITY AS t(term, position) WHERE t.term = ANY (v_tokens) ORDER BY t.position)));
            ELSE
                v_known := v_known || jsonb_build_object(v_unit.unit, '[]'::jsonb);
            END IF;
        END IF;
        CONTINUE WHEN v_known -> v_unit.unit = '[]'::jsonb;
        v_lead := 0;
        v_tail := '';
        IF v_compounds THEN
            v_lead := coalesce(length(substring(v_unit.unit COLLATE "C" FROM '^[' || v_joiners || ']+')), 0);
            v_tail := coalesce(substring(v_unit.unit COLLATE "C" FROM '[' || v_joiners || ']+$'), '');
            v_tail := CASE WHEN starts_with(v_tail, '++') THEN right(v_tail, -2) WHEN starts_with(v_tail, '#') THEN right(v_tail, -1) ELSE v_tail END;
        END IF;
        RETURN QUERY
        SELECT v_unit.char_start + v_lead, v_unit.char_end - length(v_tail), e.number::integer
        FROM jsonb_array_elements_text(v_known -> v_unit.unit) AS e(number);
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._find_terms_slowly(text, text, text[]) IS 'Where terms occur in one text, whatever its characters.';
REVOKE ALL ON FUNCTION sift._find_terms_slowly(text, text, text[]) FROM PUBLIC;
