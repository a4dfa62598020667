-- The text of a version between two characters, as it stands in the source: the bodies of chunks at their places, what two of them share once,
-- and between them the white space that is kept with them (lead). Where none is kept, line feeds stand for it. Claims with sources are no text.
-- With it the page it begins on.
CREATE OR REPLACE FUNCTION sift._context_at(
    tenant_id integer, document_id bigint, version integer, char_start integer, char_end integer, OUT body text, OUT page integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_version     integer := version;
    v_start       integer := char_start;
    v_stop        integer := char_end;
    v_parts       text[] := '{}'::text[];
    v_end         integer := char_start;
    v_chunk       record;
BEGIN
    FOR v_chunk IN
        SELECT u.char_start, u.body, u.lead, u.page, u.page_breaks
        FROM (
            SELECT c.char_start, c.ordinal, c.body, c.lead, c.page, c.page_breaks
            FROM sift.chunks AS c
            JOIN sift.documents AS d ON d.document_id = c.document_id
            WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.document_id = v_document_id AND d.version = v_version
              AND c.kind <> 'claim' AND c.char_start < v_stop AND c.char_end > v_start
            UNION ALL
            SELECT h.char_start, h.ordinal, h.body, h.lead, h.page, h.page_breaks
            FROM sift.chunk_history AS h
            WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.version = v_version
              AND h.kind <> 'claim' AND h.char_start < v_stop AND h.char_end > v_start
        ) AS u
        ORDER BY u.char_start, u.ordinal
    LOOP
        IF page IS NULL AND v_chunk.char_start <= v_start THEN
            page := sift._page_at(v_chunk.page, v_chunk.page_breaks, v_start - v_chunk.char_start);
        END IF;
        IF v_chunk.char_start > v_end THEN
            v_parts := v_parts || lpad(right(coalesce(v_chunk.lead, ''), v_chunk.char_start - v_end), v_chunk.char_start - v_end, E'\n');
            v_end := v_chunk.char_start;
        END IF;
        IF v_chunk.char_start + char_length(v_chunk.body) > v_end THEN
            v_parts := v_parts || substr(v_chunk.body, 1 + v_end - v_chunk.char_start);
            v_end := v_chunk.char_start + char_length(v_chunk.body);
        END IF;
    END LOOP;
    body := left(array_to_string(v_parts, ''), v_stop - v_start);
END
$$;
COMMENT ON FUNCTION sift._context_at(integer, bigint, integer, integer, integer) IS 'The text of a version between two characters, put together from its chunks, and the page it begins on.';
REVOKE ALL ON FUNCTION sift._context_at(integer, bigint, integer, integer, integer) FROM PUBLIC;
