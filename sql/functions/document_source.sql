-- The bytes a document was made of, as it was at a time, where the ingest was told to keep them. Permissions are those of today.
CREATE OR REPLACE FUNCTION sift.document_source(
    tenant     text,
    key        text,
    at         timestamptz DEFAULT NULL,
    principals text[] DEFAULT NULL
)
RETURNS TABLE (version integer, media_type text, compression text, length bigint, content bytea)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.version, r.media_type, r.compression, r.length, r.content
    FROM sift._caller AS c
    CROSS JOIN LATERAL sift._document_source(c.role_id, c.proof, document_source.tenant, document_source.key, document_source.at, document_source.principals) AS r;
END
$$;
COMMENT ON FUNCTION sift.document_source(text, text, timestamptz, text[]) IS
    'The source bytes of a document at a time (NULL: now), compressed as compression says; no row where none were kept, it was not there, or the caller may not see it. A record (application/json), which may hold its access list, is for applications and writers alone.';
REVOKE ALL ON FUNCTION sift.document_source(text, text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sift.document_source(text, text, timestamptz, text[]) TO sift_owner, sift_writer, sift_app, sift_reader;
