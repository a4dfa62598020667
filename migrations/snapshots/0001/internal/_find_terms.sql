-- Where terms occur in texts: the word of a text from which the analyzer makes the term. The number of the text, start and end of the
-- word (characters from 0, one past the last), the number of the term (from 1); in the order of texts, places and terms.
--
-- In most texts each character folds by itself, to one or more: there the terms' beginnings are looked for in the folded text, only the words
-- found are analyzed, each once for all texts, and their places are told in the text as written. Texts in which characters join, and the
-- analyzer "identifiers", go through sift._find_terms_slowly, which splits the whole text; both find the same.
CREATE OR REPLACE FUNCTION sift._find_terms(
    analyzer text,
    texts    text[],
    terms    text[],
    OUT text_nos integer[],
    OUT starts   integer[],
    OUT ends     integer[],
    OUT term_nos integer[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_count    integer := coalesce(cardinality(terms), 0);
    v_english  boolean := analyzer = 'english';
    v_plain    boolean := analyzer <> 'identifiers';
    v_prefixes text[] := '{}'::text[];
    v_runs     boolean[] := '{}'::boolean[];  -- is the term one of a script written without spaces
    v_words    text[] := '{}'::text[];        -- words that may make a term, and the number of the one they do, or 0
    v_numbers  integer[];
    v_stopwords text := ' ' || sift._analyzer_table('stopwords') || ' ';
    v_text     text COLLATE "C";
    v_folded   text COLLATE "C";
    v_class    text;
    v_prefix   text COLLATE "C";
    v_pieces   text[];
    v_last     integer;
    v_length   integer;
    v_position integer;
    v_before   text COLLATE "C";
    v_rest     text COLLATE "C";
    v_word     text COLLATE "C";
    v_number   integer;
    v_at       integer;
    v_from     integer;
    v_slow     boolean;
    v_places   integer[];
    v_written  integer[];
    v_grown    integer[];
    v_text_nos integer[] := '{}'::integer[];
    v_starts   integer[] := '{}'::integer[];
    v_ends     integer[] := '{}'::integer[];
    v_term_nos integer[] := '{}'::integer[];
BEGIN
    FOR n IN 1 .. v_count LOOP
        v_prefix := terms[n];
        v_runs := array_append(v_runs, octet_length(v_prefix) > length(v_prefix)
            AND v_prefix ~ ('^[' || sift._analyzer_table('unspaced') || sift._analyzer_table('mark') || ']'));
        IF octet_length(v_prefix) > 250 OR (v_runs[n] AND v_prefix !~ ('^[' || sift._analyzer_table('unspaced') || ']')) THEN
            v_plain := false;
        END IF;
        -- What every word begins with that has this stem: stemming takes letters off the end, and what it puts there instead is an e, an i
        -- for a y, ie for ying, le for ility, or the y of sky.
        IF v_english AND length(v_prefix) > 1 THEN
            v_prefix := CASE
                WHEN length(v_prefix) = 3 AND right(v_prefix, 2) = 'ie' THEN left(v_prefix, 1)
                WHEN length(v_prefix) > 3 AND right(v_prefix, 3) = 'ble' THEN left(v_prefix, -2)
                WHEN right(v_prefix, 1) IN ('e', 'i') OR right(v_prefix, 2) = 'bl' OR v_prefix = 'sky' THEN left(v_prefix, -1)
                ELSE v_prefix END;
        END IF;
        v_prefixes := array_append(v_prefixes, v_prefix::text);
    END LOOP;

    FOR t IN 1 .. CASE WHEN v_count = 0 THEN 0 ELSE coalesce(cardinality(texts), 0) END LOOP
        v_text := texts[t];
        v_slow := NOT v_plain;
        IF v_slow THEN
            NULL;
        ELSIF octet_length(v_text) = length(v_text) THEN
            v_folded := lower(v_text);
            v_class := 'a-z0-9';
        ELSIF v_text IS NFKC NORMALIZED THEN
            v_folded := sift._casefold(v_text);
            v_class := sift._window_table('word');
            -- U+0345 is a mark that folds to a letter.
            v_slow := strpos(v_text, E'\u0345') > 0 OR (true = ANY (v_runs) AND v_text ~ ('[' || sift._window_table('joined') || ']'));
        ELSIF v_text ~ ('[' || sift._window_table('uneven') || ']|[^' || sift._analyzer_table('known') || '][^' || sift._analyzer_table('known') || ']') THEN
            v_slow := true;
        ELSE
            v_folded := sift._casefold(sift._normalize(v_text));
            v_class := sift._window_table('word');
        END IF;
        v_from := cardinality(v_starts);
        FOR n IN 1 .. CASE WHEN v_slow THEN 0 ELSE v_count END LOOP
            v_prefix := v_prefixes[n];
            v_pieces := string_to_array(v_folded, v_prefix);
            v_last := cardinality(v_pieces);
            CONTINUE WHEN v_last = 1;
            v_length := length(v_prefix);
            v_position := -v_length;
            FOR p IN 2 .. v_last LOOP
                v_position := v_position + v_length + length(v_pieces[p - 1]);
                v_rest := v_pieces[p];
                IF v_runs[n] THEN
                    v_text_nos := array_append(v_text_nos, t);
                    v_starts := array_append(v_starts, v_position);
                    v_ends := array_append(v_ends, v_position + v_length);
                    v_term_nos := array_append(v_term_nos, n);
                    -- A pair of equal characters overlaps itself.
                    IF v_length = 2 AND left(v_prefix, 1) = right(v_prefix, 1)
                        AND (left(v_rest, 1) = left(v_prefix, 1) OR (v_rest = '' AND p < v_last))
                    THEN
                        v_text_nos := array_append(v_text_nos, t);
                        v_starts := array_append(v_starts, v_position + 1);
                        v_ends := array_append(v_ends, v_position + 3);
                        v_term_nos := array_append(v_term_nos, n);
                    END IF;
                    CONTINUE;
                END IF;
                v_before := right(v_pieces[p - 1], 1);
                IF v_before = '' AND p > 2 THEN
                    v_before := right(v_prefix, 1);
                END IF;
                IF v_before BETWEEN 'a' AND 'z' OR v_before BETWEEN '0' AND '9' THEN
                    CONTINUE;
                ELSIF octet_length(v_before) > 1 THEN
                    CONTINUE WHEN v_before ~ ('[' || v_class || ']') AND v_before !~ ('[' || sift._window_table('joined') || ']');
                    IF v_before ~ ('[' || v_class || ']') THEN
                        v_slow := true;  -- a mark: whether it ends a word or a run, the whole text tells
                        EXIT;
                    END IF;
                END IF;
                v_word := left(v_rest, 32);
                IF v_class = 'a-z0-9' THEN
                    v_word := left(v_word, length(v_word) - length(ltrim(v_word, 'abcdefghijklmnopqrstuvwxyz0123456789')));
                ELSE
                    v_word := substring(v_word FROM '^[' || v_class || ']*');
                END IF;
                IF length(v_word) = least(32, length(v_rest)) THEN
                    -- It goes on, perhaps over the next occurrences of its own beginning.
                    v_rest := array_to_string(v_pieces[p:least(p + 300, v_last)], v_prefix);
                    v_word := substring(v_rest FROM '^[' || v_class || ']*');
                    IF length(v_word) = length(v_rest) AND p + 300 < v_last THEN
                        v_slow := true;
                        EXIT;
                    END IF;
                END IF;
                v_word := v_prefix || v_word;
                IF v_english THEN
                    -- Which of them have this stem is asked of all at once, in the end.
                    v_at := array_position(v_words, v_word::text);
                    IF v_at IS NULL THEN
                        v_words := array_append(v_words, v_word::text);
                        v_at := cardinality(v_words);
                    END IF;
                ELSE
                    CONTINUE WHEN v_word <> terms[n] COLLATE "C";
                END IF;
                v_text_nos := array_append(v_text_nos, t);
                v_starts := array_append(v_starts, v_position);
                v_ends := array_append(v_ends, v_position + length(v_word));
                v_term_nos := array_append(v_term_nos, CASE WHEN v_english THEN v_count * v_at + n ELSE n END);
            END LOOP;
            EXIT WHEN v_slow;
        END LOOP;
        IF NOT v_slow AND length(v_folded) <> length(v_text) AND cardinality(v_starts) > v_from THEN
            -- Where characters grew: their places in the folded text and as written, and by how much all up to each did.
            v_places := '{}'::integer[];
            v_written := '{}'::integer[];
            v_grown := '{}'::integer[];
            v_position := 0;
            v_word := NULL;
            v_number := 0;
            FOR v_rest IN
                SELECT m.match[1] FROM regexp_matches(v_text, '([^' || sift._window_table('longer') || ']*.)', 'g') WITH ORDINALITY AS m (match, position)
                ORDER BY m.position
            LOOP
                v_position := v_position + length(v_rest);
                IF right(v_rest, 1) IS DISTINCT FROM v_word THEN
                    v_word := right(v_rest, 1);
                    v_length := length(sift._casefold(sift._normalize(v_word)));
                END IF;
                v_written := array_append(v_written, v_position - 1);
                v_places := array_append(v_places, v_position - 1 + v_number);
                v_number := v_number + v_length - 1;
                v_grown := array_append(v_grown, v_number);
            END LOOP;
            FOR o IN v_from + 1 .. cardinality(v_starts) LOOP
                v_at := width_bucket(v_starts[o], v_places);
                v_starts[o] := greatest(v_starts[o] - CASE WHEN v_at > 1 THEN v_grown[v_at - 1] ELSE 0 END
                                        - CASE WHEN v_at > 0 THEN least(v_starts[o] - v_places[v_at], v_grown[v_at] - CASE WHEN v_at > 1 THEN v_grown[v_at - 1] ELSE 0 END) ELSE 0 END, 0);
                v_at := width_bucket(v_ends[o] - 1, v_places);
                IF v_at > 0 THEN
                    v_ends[o] := greatest(v_ends[o] - v_grown[v_at], v_written[v_at] + 1);
                END IF;
            END LOOP;
        END IF;
        IF v_slow THEN
            v_text_nos := v_text_nos[:v_from];
            v_starts := v_starts[:v_from];
            v_ends := v_ends[:v_from];
            v_term_nos := v_term_nos[:v_from];
            SELECT v_text_nos || array_agg(t), v_starts || array_agg(s.char_start), v_ends || array_agg(s.char_end), v_term_nos || array_agg(s.term_no)
            INTO v_text_nos, v_starts, v_ends, v_term_nos
            FROM sift._find_terms_slowly(analyzer, v_text, terms) AS s;
        END IF;
    END LOOP;

    IF cardinality(v_words) > 0 THEN
        -- A stopword makes no term, and one that is cut at 256 bytes another one.
        SELECT array_agg(coalesce(array_position(terms, s.stem), 0) ORDER BY s.position) INTO v_numbers
        FROM unnest(sift._stem_english(ARRAY(
                 SELECT CASE WHEN octet_length(w.word) > 256 THEN sift._cut_token(w.word)
                             WHEN length(w.word) > 1 AND strpos(v_stopwords, ' ' || w.word || ' ') = 0 THEN w.word ELSE '' END
                 FROM unnest(v_words) WITH ORDINALITY AS w (word, position)
                 ORDER BY w.position))) WITH ORDINALITY AS s (stem, position);
        FOR o IN 1 .. cardinality(v_term_nos) LOOP
            IF v_term_nos[o] > v_count THEN
                v_number := (v_term_nos[o] - 1) % v_count + 1;
                v_at := (v_term_nos[o] - v_number) / v_count;
                v_term_nos[o] := CASE WHEN v_numbers[v_at] = v_number THEN v_number ELSE 0 END;
            END IF;
        END LOOP;
    END IF;
    SELECT array_agg(u.text_no ORDER BY u.text_no, u.char_start, u.char_end, u.term_no),
           array_agg(u.char_start ORDER BY u.text_no, u.char_start, u.char_end, u.term_no),
           array_agg(u.char_end ORDER BY u.text_no, u.char_start, u.char_end, u.term_no),
           array_agg(u.term_no ORDER BY u.text_no, u.char_start, u.char_end, u.term_no)
    INTO text_nos, starts, ends, term_nos
    FROM unnest(v_text_nos, v_starts, v_ends, v_term_nos) AS u (text_no, char_start, char_end, term_no)
    WHERE u.term_no > 0;
END
$$;
COMMENT ON FUNCTION sift._find_terms(text, text[], text[]) IS 'Where terms occur in texts: text, start, end and term of each occurrence, in order.';
REVOKE ALL ON FUNCTION sift._find_terms(text, text[], text[]) FROM PUBLIC;
