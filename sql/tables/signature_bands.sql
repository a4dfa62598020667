-- Bands of the MinHash signatures: documents that share one are compared.
CREATE TABLE sift.signature_bands (
    tenant_id   integer NOT NULL,
    band        bigint NOT NULL,
    document_id bigint NOT NULL,
    CONSTRAINT signature_bands_pkey PRIMARY KEY (tenant_id, band, document_id)
);
COMMENT ON TABLE sift.signature_bands IS 'Hashes of the bands of documents'' MinHash signatures; documents that share one are compared.';
REVOKE ALL ON TABLE sift.signature_bands FROM PUBLIC;
ALTER TABLE sift.signature_bands ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.signature_bands ALTER COLUMN tenant_id SET STATISTICS 0;
