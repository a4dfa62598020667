-- The windows of a text in parts that cover most of the terms, given where these occur (sift._find_terms). The rules are those of
-- pgsift.domain.windows: the candidate with the most distinct terms first, of equals the first of the text; none overlaps another; a window
-- that touches a table is widened to it. anchor is where the first of the words stands that made the choice. highlights are spans
-- [start, end) from window_start on; term_nos the terms that occur, in the order of the query.
CREATE OR REPLACE FUNCTION sift._choose_windows(
    texts    text[],
    text_nos integer[],
    starts   integer[],
    ends     integer[],
    term_nos integer[],
    windows  integer,
    width    integer
)
RETURNS TABLE (
    text_no      integer,
    window_start integer,
    window_end   integer,
    anchor       integer,
    body         text,
    highlights   jsonb,
    terms        integer[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_max_table CONSTANT integer := 4000;
    v_blanks    CONSTANT text := E' \t\n\x0b\f\r';
    v_found     integer := coalesce(cardinality(_choose_windows.starts), 0);
    v_count     integer := 0;
    v_distinct  integer;
    v_most      integer;
    v_counts    integer[];
    v_zero      integer[];
    v_max_term  integer := 1;
    v_last      integer;
    v_term      integer;
    v_text_no   integer;
    v_best_first integer;
    v_best_last integer;
    v_start     integer;
    v_end       integer;
    v_left      integer;
    v_right     integer;
    v_low       integer;
    v_high      integer;
    v_lowest    integer;
    v_highest   integer;
    v_length    integer;
    v_taken_texts  integer[] := '{}'::integer[];
    v_taken_starts integer[] := '{}'::integer[];
    v_taken_ends   integer[] := '{}'::integer[];
    v_taken     boolean;
    v_text      text COLLATE "C";
    v_ascii     boolean;
    v_class     text;
    v_space     text;
    v_part      text COLLATE "C";
    v_tables    record;
    v_numbers   integer[];
    v_spans     text;
    v_from      integer;
    v_to        integer;
    v_bodies    text[] := '{}'::text[];
    v_rows      jsonb := '[]'::jsonb;
BEGIN
    FOR f IN 1 .. v_found LOOP
        IF term_nos[f] > v_max_term THEN
            v_max_term := term_nos[f];
        END IF;
    END LOOP;
    v_zero := array_fill(0, ARRAY[v_max_term]);
    WHILE v_count < windows LOOP
        v_best_first := NULL;
        IF v_found > 0 THEN
            v_most := 0;
            v_counts := v_zero;
            v_distinct := 0;
            v_last := 0;
            FOR f IN 1 .. v_found LOOP
                v_text_no := text_nos[f];
                v_start := starts[f];
                v_term := term_nos[f];
                IF v_last < f THEN
                    v_last := f;
                    v_taken := false;
                    FOR k IN 1 .. cardinality(v_taken_starts) LOOP
                        IF v_taken_texts[k] = v_text_no AND v_taken_starts[k] < ends[f] AND v_start < v_taken_ends[k] THEN
                            v_taken := true;
                        END IF;
                    END LOOP;
                    CONTINUE WHEN v_taken;
                    v_counts[v_term] := v_counts[v_term] + 1;
                    IF v_counts[v_term] = 1 THEN
                        v_distinct := v_distinct + 1;
                    END IF;
                END IF;
                <<further>>
                WHILE v_last < v_found LOOP
                    EXIT WHEN text_nos[v_last + 1] <> v_text_no OR ends[v_last + 1] - v_start > width;
                    -- Nothing that was chosen lies between, or reaches into it: all of that begins before its end and ends after v_start.
                    FOR k IN 1 .. cardinality(v_taken_starts) LOOP
                        EXIT further WHEN v_taken_texts[k] = v_text_no AND v_taken_starts[k] < ends[v_last + 1] AND v_start < v_taken_ends[k];
                    END LOOP;
                    v_last := v_last + 1;
                    v_counts[term_nos[v_last]] := v_counts[term_nos[v_last]] + 1;
                    IF v_counts[term_nos[v_last]] = 1 THEN
                        v_distinct := v_distinct + 1;
                    END IF;
                END LOOP;
                IF v_distinct > v_most THEN
                    v_most := v_distinct;
                    v_best_first := f;
                    v_best_last := v_last;
                END IF;
                v_counts[v_term] := v_counts[v_term] - 1;
                IF v_counts[v_term] = 0 THEN
                    v_distinct := v_distinct - 1;
                END IF;
            END LOOP;
            EXIT WHEN v_best_first IS NULL;
            v_text_no := text_nos[v_best_first];
            v_start := starts[v_best_first];
            v_end := ends[v_best_last];
            v_text := texts[v_text_no];
        ELSE
            -- The beginning of the text.
            EXIT WHEN v_count > 0;
            FOR n IN 1 .. coalesce(cardinality(texts), 0) LOOP
                v_text := texts[n];
                v_start := length(v_text) - length(regexp_replace(v_text, '^[' || sift._window_table('space') || ']+', ''));
                IF v_start < length(v_text) THEN
                    v_best_first := n;
                    EXIT;
                END IF;
            END LOOP;
            EXIT WHEN v_best_first IS NULL;
            v_text_no := v_best_first;
            v_end := v_start;
        END IF;

        v_length := length(v_text);
        v_ascii := octet_length(v_text) = v_length;
        IF NOT v_ascii THEN
            v_class := sift._window_table('starts');
            v_space := sift._window_table('space');
        END IF;
        v_lowest := 0;
        v_highest := v_length;
        FOR k IN 1 .. cardinality(v_taken_starts) LOOP
            IF v_taken_texts[k] = v_text_no AND v_taken_ends[k] <= v_start THEN
                v_lowest := greatest(v_lowest, v_taken_ends[k]);
            ELSIF v_taken_texts[k] = v_text_no AND v_taken_starts[k] >= v_end THEN
                v_highest := least(v_highest, v_taken_starts[k]);
            END IF;
        END LOOP;
        -- Context on both sides, between words.
        IF v_end - v_start >= width THEN
            v_left := v_start;
            v_right := v_start + width;
        ELSE
            v_left := greatest(v_lowest, v_start - (width - (v_end - v_start)) / 2);
            v_right := least(v_highest, v_left + width);
            v_left := greatest(v_lowest, v_right - width);
            IF v_left < v_start THEN
                v_part := substr(v_text, v_left + 1, v_start - v_left);
                IF v_ascii THEN
                    -- As below, without regular expressions: the server keeps few of them compiled, and the stemmer needs many.
                    v_part := translate(v_part, E'\t\n\x0b\f\r', '     ');
                    IF v_left > v_lowest AND strpos(v_blanks, substr(v_text, v_left, 1)) = 0 THEN
                        v_part := CASE WHEN strpos(v_part, ' ') > 0 THEN substr(v_part, strpos(v_part, ' ')) ELSE '' END;
                    END IF;
                    v_left := v_start - length(ltrim(v_part, ' '));
                ELSE
                    IF v_left > v_lowest AND substr(v_text, v_left, 1) !~ ('[' || v_space || ']') THEN
                        v_part := regexp_replace(v_part, '^[^' || v_space || v_class || ']+', '');
                    END IF;
                    v_left := v_start - length(regexp_replace(v_part, '^[' || v_space || ']+', ''));
                END IF;
            END IF;
            IF v_right > v_end THEN
                v_part := substr(v_text, v_end + 1, v_right - v_end);
                IF v_ascii THEN
                    v_part := translate(v_part, E'\t\n\x0b\f\r', '     ');
                    IF v_right < v_highest AND strpos(v_blanks, substr(v_text, v_right + 1, 1)) = 0 THEN
                        v_part := CASE WHEN strpos(v_part, ' ') > 0 THEN left(v_part, length(v_part) + 1 - strpos(reverse(v_part), ' ')) ELSE '' END;
                    END IF;
                    v_right := v_end + length(rtrim(v_part, ' '));
                ELSE
                    IF v_right < v_highest AND substr(v_text, v_right + 1, 1) !~ ('[' || v_space || v_class || ']') THEN
                        v_part := regexp_replace(v_part, '[' || v_class || ']?[^' || v_space || v_class || ']*$', '');
                    END IF;
                    v_right := v_end + length(regexp_replace(v_part, '[' || v_space || ']+$', ''));
                END IF;
            END IF;
        END IF;
        -- The tables it touches.
        v_low := v_left;
        v_high := v_right;
        IF strpos(v_text, E'\n|') > 0 THEN
            v_space := sift._window_table('space');
            SELECT x.starts, x.ends INTO v_tables FROM sift._tables_in(v_text) AS x;
            FOR n IN 1 .. cardinality(v_tables.starts) LOOP
                v_from := v_tables.starts[n];
                v_to := v_tables.ends[n];
                CONTINUE WHEN v_from >= v_right OR v_to <= v_left;
                IF greatest(v_right, v_to) - least(v_left, v_from) <= v_max_table THEN
                    v_left := least(v_left, v_from);
                    v_right := greatest(v_right, v_to);
                ELSIF v_from < v_end AND v_to > v_start THEN
                    v_left := v_from;
                    v_right := v_to;
                    IF v_to - v_from > v_max_table THEN
                        v_part := substr(v_text, v_from + 1, v_max_table + 1);
                        v_right := v_from + CASE WHEN strpos(v_part, E'\n') > 0 THEN length(regexp_replace(v_part, E'\n[^\n]*$', '')) ELSE v_max_table END;
                    END IF;
                    v_low := least(v_low, v_from);
                    v_high := greatest(v_high, v_to);
                    EXIT;
                ELSIF v_from >= v_end THEN
                    v_right := v_end + length(regexp_replace(substr(v_text, v_end + 1, greatest(v_end, v_from) - v_end), '[' || v_space || ']+$', ''));
                    v_low := least(v_low, v_left);
                    v_high := v_right;
                    EXIT;
                ELSE
                    v_left := v_start - length(regexp_replace(substr(v_text, v_to + 1, v_start - v_to), '^[' || v_space || ']+', ''));
                    v_low := v_left;
                END IF;
                v_low := least(v_low, v_left);
                v_high := greatest(v_high, v_right);
            END LOOP;
        END IF;
        v_taken_texts := array_append(v_taken_texts, v_text_no);
        v_taken_starts := array_append(v_taken_starts, v_low);
        v_taken_ends := array_append(v_taken_ends, v_high);
        v_part := substr(v_text, v_left + 1, v_right - v_left);
        CONTINUE WHEN v_part = ANY (v_bodies);

        -- Spans that touch become one.
        v_counts := v_zero;
        v_spans := '';
        v_from := NULL;
        v_to := NULL;
        FOR n IN 1 .. v_found LOOP
            CONTINUE WHEN text_nos[n] <> v_text_no OR starts[n] >= v_right OR ends[n] <= v_left;
            v_counts[term_nos[n]] := 1;
            IF v_to IS NOT NULL AND greatest(starts[n], v_left) - v_left <= v_to THEN
                v_to := greatest(v_to, least(ends[n], v_right) - v_left);
            ELSE
                IF v_to IS NOT NULL THEN
                    v_spans := v_spans || format('[%s, %s],', v_from, v_to);
                END IF;
                v_from := greatest(starts[n], v_left) - v_left;
                v_to := least(ends[n], v_right) - v_left;
            END IF;
        END LOOP;
        IF v_to IS NOT NULL THEN
            v_spans := v_spans || format('[%s, %s]', v_from, v_to);
        END IF;
        v_numbers := array_positions(v_counts, 1);
        v_count := v_count + 1;
        IF windows = 1 THEN
            text_no := v_text_no;
            window_start := v_left;
            window_end := v_right;
            anchor := v_start;
            body := v_part;
            highlights := ('[' || v_spans || ']')::jsonb;
            terms := v_numbers;
            RETURN NEXT;
            RETURN;
        END IF;
        v_bodies := array_append(v_bodies, v_part::text);
        v_rows := v_rows || jsonb_build_object('text_no', v_text_no, 'window_start', v_left, 'window_end', v_right, 'anchor', v_start, 'body', v_part,
            'highlights', ('[' || v_spans || ']')::jsonb, 'terms', to_jsonb(v_numbers));
    END LOOP;
    RETURN QUERY
    SELECT r.text_no, r.window_start, r.window_end, r.anchor, r.body, r.highlights, r.terms
    FROM jsonb_to_recordset(v_rows) AS r (text_no integer, window_start integer, window_end integer, anchor integer, body text, highlights jsonb,
                                          terms integer[])
    ORDER BY r.text_no, r.window_start;
END
$$;
COMMENT ON FUNCTION sift._choose_windows(text[], integer[], integer[], integer[], integer[], integer, integer) IS
    'The windows of a text in parts that cover most of the terms, in the order of the text.';
REVOKE ALL ON FUNCTION sift._choose_windows(text[], integer[], integer[], integer[], integer[], integer, integer) FROM PUBLIC;
