-- The lengths of the document unit. A table of its own, so that a writer inserts and never updates, and N and avgdl are read from one narrow index.
CREATE TABLE sift.document_lengths (
    tenant_id   integer NOT NULL,
    document_id bigint NOT NULL,
    doc_length  integer NOT NULL,
    CONSTRAINT document_lengths_pkey PRIMARY KEY (tenant_id, document_id) INCLUDE (doc_length)
);
COMMENT ON TABLE sift.document_lengths IS 'Documents with at least one token, and how many they have: the document unit''s lengths.';
COMMENT ON COLUMN sift.document_lengths.doc_length IS 'Tokens of all chunks but references, overlaps once.';
REVOKE ALL ON TABLE sift.document_lengths FROM PUBLIC;
ALTER TABLE sift.document_lengths ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.document_lengths ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE sift.document_lengths ALTER COLUMN tenant_id SET STATISTICS 0;
