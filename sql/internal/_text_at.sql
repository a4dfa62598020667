-- The text of a version, put together from its chunks: each body at its place, overlaps once, gaps filled with blanks and a line feed, so that
-- every span counts the same characters as in the source. Claims with sources are not part of it. NULL where its chunks were not kept.
CREATE OR REPLACE FUNCTION sift._text_at(tenant_id integer, document_id bigint, version integer) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_version     integer := version;
    v_parts       text[] := '{}'::text[];
    v_end         integer := 0;
    v_chunk       record;
BEGIN
    FOR v_chunk IN
        SELECT c.char_start, c.char_start + char_length(c.body) AS char_end, c.body, c.ordinal
        FROM sift.chunks AS c
        JOIN sift.documents AS d ON d.document_id = c.document_id
        WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.document_id = v_document_id AND d.version = v_version AND c.claim IS NULL
        UNION ALL
        SELECT h.char_start, h.char_start + char_length(h.body), h.body, h.ordinal
        FROM sift.chunk_history AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.version = v_version AND h.claim IS NULL
        ORDER BY char_start, ordinal
    LOOP
        IF v_chunk.char_start > v_end THEN
            v_parts := v_parts || (repeat(' ', v_chunk.char_start - v_end - 1) || E'\n');
            v_end := v_chunk.char_start;
        END IF;
        IF v_chunk.char_end > v_end THEN
            v_parts := v_parts || substr(v_chunk.body, 1 + v_end - v_chunk.char_start);
            v_end := v_chunk.char_end;
        END IF;
    END LOOP;
    IF cardinality(v_parts) = 0 AND EXISTS (
        SELECT FROM sift.document_versions AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.version = v_version AND cardinality(h.chunk_ids) > 0)
    THEN
        RETURN NULL;
    END IF;
    RETURN array_to_string(v_parts, '');
END
$$;
COMMENT ON FUNCTION sift._text_at(integer, bigint, integer) IS 'The text of a version, put together from its chunks so that every span holds; NULL where they were not kept.';
REVOKE ALL ON FUNCTION sift._text_at(integer, bigint, integer) FROM PUBLIC;
