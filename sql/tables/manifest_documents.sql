-- The documents a manifest lists. A purge of a document leaves a hash of its key here and nothing else.
CREATE TABLE sift.manifest_documents (
    tenant_id    integer NOT NULL,
    manifest_id  bigint NOT NULL,
    document_id  bigint,
    version      integer NOT NULL,
    key          text NOT NULL,
    content_hash bytea,
    access_hash  bytea,
    CONSTRAINT manifest_documents_pkey PRIMARY KEY (tenant_id, manifest_id, key),
    CONSTRAINT manifest_documents_manifest_id_fkey FOREIGN KEY (tenant_id, manifest_id)
        REFERENCES sift.manifests (tenant_id, manifest_id)
);
-- Not beginning with tenant_id, for the reason given in documents.
CREATE INDEX manifest_documents_document_id_idx ON sift.manifest_documents (document_id, tenant_id);
COMMENT ON TABLE sift.manifest_documents IS 'The documents of each manifest: key, version, hashes.';
COMMENT ON COLUMN sift.manifest_documents.access_hash IS 'sha256 of its access list.';
REVOKE ALL ON TABLE sift.manifest_documents FROM PUBLIC;
ALTER TABLE sift.manifest_documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.manifest_documents ALTER COLUMN tenant_id SET STATISTICS 0;
