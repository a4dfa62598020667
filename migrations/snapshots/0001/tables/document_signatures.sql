-- What is kept of the text of a document to find its near-duplicates; gone with the text.
CREATE TABLE sift.document_signatures (
    tenant_id   integer NOT NULL,
    document_id bigint NOT NULL,
    text_id     bigint NOT NULL,
    shingles    integer NOT NULL,
    token_hash  bytea,
    bands       bigint[] NOT NULL,
    anchors     bigint[] NOT NULL,
    CONSTRAINT document_signatures_pkey PRIMARY KEY (tenant_id, document_id) INCLUDE (text_id),
    CONSTRAINT document_signatures_document_id_fkey FOREIGN KEY (tenant_id, document_id)
        REFERENCES sift.documents (tenant_id, document_id)
);
-- Neither begins with tenant_id, for the reason given in documents.
CREATE INDEX document_signatures_text_id_idx ON sift.document_signatures (text_id, tenant_id);
CREATE INDEX document_signatures_token_hash_idx ON sift.document_signatures (token_hash, tenant_id);
COMMENT ON TABLE sift.document_signatures IS 'Signatures of documents'' texts, by which near-duplicates are found.';
COMMENT ON COLUMN sift.document_signatures.text_id IS 'Number of the text: the same for documents whose tokens are the same, never given twice, made of nothing that the text says.';
COMMENT ON COLUMN sift.document_signatures.shingles IS 'Number of distinct shingles.';
COMMENT ON COLUMN sift.document_signatures.token_hash IS 'sha256 of the tokens in their order; NULL where there is no token.';
COMMENT ON COLUMN sift.document_signatures.bands IS 'Its rows in signature_bands; none for a text that is too short to be anything but a copy.';
COMMENT ON COLUMN sift.document_signatures.anchors IS 'Its rows in signature_anchors; none for a text that is too short to be anything but a copy.';
REVOKE ALL ON TABLE sift.document_signatures FROM PUBLIC;
ALTER TABLE sift.document_signatures ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_signatures ALTER COLUMN tenant_id SET STATISTICS 0;
