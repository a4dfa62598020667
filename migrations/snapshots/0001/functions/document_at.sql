-- A document as it was at a time: what a citation of a search of the past leads to.
--
--   SELECT title, version, text FROM sift.document_at('acme', 'handbook/travel.md', '2024-05-31', principals => '{group:staff}');
--
-- Permissions are those of today. The text is put together from the chunks, so that the spans of hits hold in it; what lay between chunks is
-- blank. A document that was not there and one the caller may not see are the same: no row.
CREATE OR REPLACE FUNCTION sift.document_at(
    tenant     text,
    key        text,
    at         timestamptz DEFAULT NULL,
    principals text[] DEFAULT NULL
)
RETURNS TABLE (
    title          text,
    version        integer,
    text           text,
    metadata       jsonb,
    source_uri     text,
    source_version text,
    content_hash   text,
    current_from   timestamptz,
    current_to     timestamptz
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.title, r.version, r.text, r.metadata, r.source_uri, r.source_version, r.content_hash, r.current_from, r.current_to
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._document_at(c.role_id, c.proof, document_at.tenant, document_at.key, document_at.at, document_at.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.document_at(text, text, timestamptz, text[]) IS
    'A document as it was at a time (NULL: as it is), for today''s permissions: title, version, text, metadata, and from when to when that held. No row where it was not there or the caller may not see it; text is NULL where the tenant kept no history.';
REVOKE ALL ON FUNCTION sift.document_at(text, text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_at(text, text, timestamptz, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
