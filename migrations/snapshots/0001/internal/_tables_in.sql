-- Where the tables of a text stand: two or more consecutive lines that begin with |; without the line feed at the end.
CREATE OR REPLACE FUNCTION sift._tables_in(text text, OUT starts integer[], OUT ends integer[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_line     text;
    v_position integer := 0;
    v_rows     integer := 0;
    v_first    integer;
    v_last     integer;
BEGIN
    starts := '{}'::integer[];
    ends := '{}'::integer[];
    IF strpos(text, E'\n|') = 0 THEN
        RETURN;
    END IF;
    FOREACH v_line IN ARRAY string_to_array(text || E'\n', E'\n') LOOP
        IF starts_with(v_line, '|') THEN
            IF v_rows = 0 THEN
                v_first := v_position;
            END IF;
            v_last := v_position + length(v_line);
            v_rows := v_rows + 1;
        ELSE
            IF v_rows > 1 THEN
                starts := array_append(starts, v_first);
                ends := array_append(ends, v_last);
            END IF;
            v_rows := 0;
        END IF;
        v_position := v_position + length(v_line) + 1;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sift._tables_in(text) IS 'Where the tables of a text stand.';
REVOKE ALL ON FUNCTION sift._tables_in(text) FROM PUBLIC;
