-- A field a filter may speak of: its column, written here and nowhere else, and the type of its values.
CREATE OR REPLACE FUNCTION sift._filter_field(
    field             text,
    OUT field_type    text,
    OUT column_name   text,
    OUT may_be_null   boolean,
    OUT metadata_path text[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_fields CONSTANT text[] := ARRAY[
        'key', 'title', 'source_uri', 'source_version', 'parser', 'chunker', 'language', 'license', 'classification', 'observed_at',
        'valid_from', 'valid_to', 'retain_until', 'version', 'length', 'updated_at', 'kind', 'page', 'ordinal', 'section', 'doc_length', 'entity'];
    c_step   CONSTANT text := '(?:"(?:[^"]|"")+"|[^."]+)';
    v_name   text := CASE WHEN char_length(field) > 100 THEN left(field, 100) || '…' ELSE field END;
    v_near   text;
BEGIN
    CASE
        WHEN field IN ('key') THEN
            field_type := 'text'; column_name := 'd.' || field; may_be_null := false;
        WHEN field IN ('title', 'source_uri', 'source_version', 'parser', 'chunker', 'language', 'license', 'classification') THEN
            field_type := 'text'; column_name := 'd.' || field; may_be_null := true;
        WHEN field IN ('observed_at', 'updated_at') THEN
            field_type := 'timestamp'; column_name := 'd.' || field; may_be_null := false;
        WHEN field IN ('valid_from', 'valid_to', 'retain_until') THEN
            field_type := 'timestamp'; column_name := 'd.' || field; may_be_null := true;
        WHEN field IN ('version', 'length') THEN
            field_type := 'integer'; column_name := 'd.' || field; may_be_null := false;
        WHEN field IN ('kind') THEN
            field_type := 'text'; column_name := 'c.' || field; may_be_null := false;
        WHEN field IN ('ordinal', 'doc_length') THEN
            field_type := 'integer'; column_name := 'c.' || field; may_be_null := false;
        WHEN field IN ('page') THEN
            field_type := 'integer'; column_name := 'c.' || field; may_be_null := true;
        WHEN field IN ('section') THEN
            field_type := 'texts'; column_name := 'c.section_path'; may_be_null := false;
        WHEN field IN ('entity') THEN
            -- Rows of sift.chunk_entities, not a column.
            field_type := 'texts'; may_be_null := false;
        WHEN field LIKE 'metadata.%' THEN
            IF substr(field, 10) !~ ('^' || c_step || E'(?:\\.' || c_step || ')*$') THEN
                RAISE EXCEPTION USING ERRCODE = 'PS004',
                    MESSAGE = format('filter field "%s" is not a path', v_name),
                    HINT = 'Steps are separated by single dots: metadata.a.b; one with a dot or a quote in it is quoted: metadata."a.b".';
            END IF;
            field_type := 'json';
            may_be_null := true;
            metadata_path := ARRAY(
                SELECT CASE WHEN m.step[1] LIKE '"%' THEN replace(substr(m.step[1], 2, char_length(m.step[1]) - 2), '""', '"')
                            ELSE m.step[1] END
                FROM regexp_matches(substr(field, 10), c_step, 'g') WITH ORDINALITY AS m (step, position)
                ORDER BY m.position);
            IF cardinality(metadata_path) > 16 THEN
                RAISE EXCEPTION USING ERRCODE = 'PS004',
                    MESSAGE = format('filter field "%s" has %s steps; the limit is 16', v_name, cardinality(metadata_path)),
            HINT = 'Keep what is filtered by nearer to the top of the metadata.';
            END IF;
        ELSE
            v_near := sift._nearest_name(field, CASE WHEN left(field, 1) = '$' THEN ARRAY['$and', '$or', '$not', '$nor'] ELSE c_fields END);
            RAISE EXCEPTION USING ERRCODE = 'PS004',
                MESSAGE = format('unknown filter field "%s"', v_name),
                HINT = coalesce('Did you mean "' || v_near || '"? ', '')
                    || format('Fields: %s; your own fields are written metadata.NAME.', array_to_string(c_fields, ', '));
    END CASE;
END
$$;
COMMENT ON FUNCTION sift._filter_field(text) IS 'Column and type of a filter field, or the steps of a metadata path; PS004 with the nearest name where there is none.';
REVOKE ALL ON FUNCTION sift._filter_field(text) FROM PUBLIC;
