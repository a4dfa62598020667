-- The chunks of a version of a document that are passages of its text, in the order of the text: not its bibliography, and not claims.
CREATE OR REPLACE FUNCTION sift._chunks_of(tenant_id integer, document_id bigint, version integer)
RETURNS TABLE (chunk_id bigint, ordinal integer, page integer, page_breaks integer[], section_path text[], char_start integer, body text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_version     integer := version;
BEGIN
    RETURN QUERY
    SELECT u.chunk_id, u.ordinal, u.page, u.page_breaks, u.section_path, u.char_start, u.body
    FROM (
        SELECT c.chunk_id, c.ordinal, c.page, c.page_breaks, c.section_path, c.char_start, c.body
        FROM sift.chunks AS c
        JOIN sift.documents AS d ON d.document_id = c.document_id
        WHERE c.tenant_id = v_tenant_id AND d.tenant_id = v_tenant_id AND c.document_id = v_document_id AND d.version = v_version
          AND c.kind NOT IN ('reference', 'claim')
        UNION ALL
        SELECT h.chunk_id, h.ordinal, h.page, h.page_breaks, h.section_path, h.char_start, h.body
        FROM sift.chunk_history AS h
        WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.version = v_version AND h.kind NOT IN ('reference', 'claim')
    ) AS u
    ORDER BY u.char_start, u.ordinal;
END
$$;
COMMENT ON FUNCTION sift._chunks_of(integer, bigint, integer) IS 'The chunks of a version that are passages of its text, in order.';
REVOKE ALL ON FUNCTION sift._chunks_of(integer, bigint, integer) FROM PUBLIC;
