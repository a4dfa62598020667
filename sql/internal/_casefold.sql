-- Full case folding of text in NFKC, by the frozen map. lower() folds ASCII only, under the collation "C" on every server.
CREATE OR REPLACE FUNCTION sift._casefold(text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_text     text COLLATE "C" := lower(text COLLATE "C");
    v_from     text COLLATE "C" := '';
    v_to       text COLLATE "C" := '';
    v_char     text COLLATE "C";
    v_position integer;
    v_target   text COLLATE "C";
BEGIN
    IF octet_length(v_text) = length(v_text) OR v_text !~ ('[' || sift._analyzer_table('foldable') || ']') THEN
        RETURN v_text;
    END IF;
    -- Few distinct characters need folding in one text, so the map is looked up for those alone.
    FOR v_char IN
        SELECT DISTINCT c.char
        FROM string_to_table(regexp_replace(v_text, '[^' || sift._analyzer_table('foldable') || ']+', '', 'g'), NULL) AS c(char)
    LOOP
        v_position := strpos(sift._analyzer_table('fold_from') COLLATE "C", v_char);
        IF v_position > 0 THEN
            v_from := v_from || v_char;
            v_to := v_to || substr(sift._analyzer_table('fold_to'), v_position, 1);
        ELSE
            v_target := substring(sift._analyzer_table('fold_full') COLLATE "C" FROM '(?:^| )' || v_char || '([^ ]+)');
            v_text := replace(v_text, v_char, v_target);
        END IF;
    END LOOP;
    RETURN translate(v_text, v_from, v_to);
END
$$;
COMMENT ON FUNCTION sift._casefold(text) IS 'Full case folding by the frozen map; expects NFKC.';
REVOKE ALL ON FUNCTION sift._casefold(text) FROM PUBLIC;
