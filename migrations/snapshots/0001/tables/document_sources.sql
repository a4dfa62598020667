-- The bytes documents were made of, where an ingest was told to keep them, so that what is derived can be made anew.
CREATE TABLE sift.document_sources (
    tenant_id   integer NOT NULL,
    document_id bigint NOT NULL,
    version     integer NOT NULL,
    media_type  text NOT NULL,
    compression text NOT NULL,
    length      bigint NOT NULL,
    content     bytea NOT NULL,
    CONSTRAINT document_sources_pkey PRIMARY KEY (tenant_id, document_id, version),
    CONSTRAINT document_sources_compression_check CHECK (compression IN ('none', 'zlib'))
);
ALTER TABLE sift.document_sources ALTER COLUMN content SET STORAGE EXTERNAL;
COMMENT ON TABLE sift.document_sources IS 'Source bytes of document versions, compressed by the client.';
COMMENT ON COLUMN sift.document_sources.compression IS 'none, or zlib (RFC 1950).';
COMMENT ON COLUMN sift.document_sources.length IS 'Bytes before compression.';
REVOKE ALL ON TABLE sift.document_sources FROM PUBLIC;
ALTER TABLE sift.document_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_sources ALTER COLUMN tenant_id SET STATISTICS 0;
