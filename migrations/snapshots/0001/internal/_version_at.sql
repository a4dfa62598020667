-- What was known of a document at a time, in the columns of sift.documents that filters and results read, with the access list that counts
-- today for somebody who sees the lists given (sift._list_today). No row where the document was not there.
CREATE OR REPLACE FUNCTION sift._version_at(tenant_id integer, document_id bigint, as_of timestamptz, lists bigint[])
RETURNS TABLE (
    key            text,
    version        integer,
    title          text,
    source_uri     text,
    source_version text,
    metadata       jsonb,
    parser         text,
    chunker        text,
    language       text,
    license        text,
    classification text,
    observed_at    timestamptz,
    valid_from     timestamptz,
    valid_to       timestamptz,
    retain_until   timestamptz,
    length         integer,
    updated_at     timestamptz,
    access_list_id bigint
)
LANGUAGE plpgsql STABLE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_tenant_id   integer := tenant_id;
    v_document_id bigint := document_id;
    v_row         record;
BEGIN
    SELECT h.* INTO v_row
    FROM sift.document_versions AS h
    WHERE h.tenant_id = v_tenant_id AND h.document_id = v_document_id AND h.current_from <= as_of
      AND (h.current_to IS NULL OR h.current_to > as_of)
    ORDER BY h.version DESC, h.revision DESC
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT v_row.key, v_row.version, v_row.title, v_row.source_uri, v_row.source_version, coalesce(v_row.metadata, '{}'::jsonb),
        v_row.parser, v_row.chunker, v_row.language, v_row.license, v_row.classification, v_row.observed_at, v_row.valid_from,
        v_row.valid_to, v_row.retain_until, v_row.length, v_row.current_from,
        sift._list_today(v_tenant_id, v_document_id, v_row.key, lists);
END
$$;
COMMENT ON FUNCTION sift._version_at(integer, bigint, timestamptz, bigint[]) IS
    'What was known of a document at a time, with the access list that counts today; no row where it was not there.';
REVOKE ALL ON FUNCTION sift._version_at(integer, bigint, timestamptz, bigint[]) FROM PUBLIC;
