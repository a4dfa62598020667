-- The parts of a query in their order, and its plain text, without operators and without what is excluded: what an embedder is given.
--
--   "co simulation"   a phrase; in a question, which quotes more than it demands, quotation marks without a sign are words
--   +word +"…"        required        -word -"…"   excluded        pre*   the text goes on (open)
--
-- Operators stand at the beginning of a word. Whatever is not exactly that is words, so there is no syntax error. Neighbouring words are one
-- part of kind word. pgsift.domain.query.parse_query is the twin. A query with very many parts is cut to 64 that are not words: what follows
-- is words, and not looked at where it was excluded.
CREATE OR REPLACE FUNCTION sift._parse_query(
    query text, verbatim boolean, OUT plain_text text, OUT kinds text[], OUT texts text[], OUT opens boolean[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_most CONSTANT integer := 64;
    v_blank  text := sift._blank();
    v_asks   boolean;
    v_signed text;
    v_open   text;
    v_any    text;
    v_words  text[] := '{}';
    v_plain  text[] := '{}';
    v_count  integer := 0;
    v_piece  record;
    v_kind   text;
    v_text   text;
    v_goes_on boolean;
BEGIN
    kinds := ARRAY['word'];
    texts := ARRAY[query];
    opens := ARRAY[false];
    plain_text := query;
    IF verbatim OR query COLLATE "C" !~ ('["*]|(?:^|[' || v_blank || '])[+-]') THEN
        RETURN;
    END IF;
    v_asks := sift._is_question(query);
    v_any := '[' || sift._analyzer_table('alphanumeric') || ']';
    v_signed := '^[+-](?![' || sift._analyzer_table('number') || '])' || v_any;
    v_open := '^' || v_any || '[' || sift._analyzer_table('alphanumeric') || sift._analyzer_table('mark') || E'_./@:&#\\\\-]*['
        || sift._analyzer_table('alphanumeric') || sift._analyzer_table('mark') || E']\\*$';
    kinds := '{}';
    texts := '{}';
    opens := '{}';
    FOR v_piece IN
        SELECT m.match[1] AS sign, m.match[2] AS phrase, m.match[3] AS tail, m.match[4] AS word
        FROM regexp_matches(query COLLATE "C",
            '([+-]?)"([^"' || v_blank || '][^"]*)"([^' || v_blank || ']*)|((?![+-]?"[^"' || v_blank || '][^"]*")[^' || v_blank || ']+)',
            'g') WITH ORDINALITY AS m (match, place)
        ORDER BY m.place
    LOOP
        v_kind := NULL;
        v_goes_on := false;
        IF v_piece.phrase IS NOT NULL THEN
            IF (v_asks AND v_piece.sign = '') OR v_piece.phrase COLLATE "C" !~ v_any THEN
                v_text := v_piece.sign || '"' || v_piece.phrase || '"' || v_piece.tail;
                v_piece.tail := '';
            ELSE
                v_kind := CASE v_piece.sign WHEN '' THEN 'phrase' WHEN '+' THEN 'required' ELSE 'excluded' END;
                v_text := v_piece.phrase;
            END IF;
        ELSE
            v_text := v_piece.word;
            IF v_text COLLATE "C" ~ v_signed THEN
                v_kind := CASE left(v_text, 1) WHEN '+' THEN 'required' ELSE 'excluded' END;
                v_text := substr(v_text, 2);
            END IF;
            IF right(v_text, 1) = '*' AND v_text COLLATE "C" ~ v_open THEN
                v_kind := coalesce(v_kind, 'word');
                v_text := left(v_text, -1);
                v_goes_on := true;
            END IF;
        END IF;
        IF v_kind IS NOT NULL THEN
            v_count := v_count + 1;
            IF v_count > v_most THEN
                v_text := CASE WHEN v_kind = 'excluded' THEN '' ELSE v_text END;
                v_kind := NULL;
            END IF;
        END IF;
        IF v_kind IS NULL THEN
            IF v_text <> '' THEN
                v_words := array_append(v_words, v_text);
                v_plain := array_append(v_plain, v_text);
            END IF;
        ELSE
            IF v_words <> '{}' THEN
                kinds := array_append(kinds, 'word');
                texts := array_append(texts, array_to_string(v_words, ' '));
                opens := array_append(opens, false);
                v_words := '{}';
            END IF;
            kinds := array_append(kinds, v_kind);
            texts := array_append(texts, v_text);
            opens := array_append(opens, v_goes_on);
            IF v_kind <> 'excluded' THEN
                v_plain := array_append(v_plain, v_text);
            END IF;
        END IF;
        IF v_piece.tail <> '' THEN
            v_words := array_append(v_words, v_piece.tail);
            v_plain := array_append(v_plain, v_piece.tail);
        END IF;
    END LOOP;
    IF v_count = 0 THEN
        kinds := ARRAY['word'];
        texts := ARRAY[query];
        opens := ARRAY[false];
        RETURN;
    END IF;
    IF v_words <> '{}' THEN
        kinds := array_append(kinds, 'word');
        texts := array_append(texts, array_to_string(v_words, ' '));
        opens := array_append(opens, false);
    END IF;
    plain_text := array_to_string(v_plain, ' ');
END
$$;
COMMENT ON FUNCTION sift._parse_query(text, boolean) IS 'The parts of a query, each with its kind, its text and whether it goes on, and the plain text; verbatim: all of it is words.';
REVOKE ALL ON FUNCTION sift._parse_query(text, boolean) FROM PUBLIC;
