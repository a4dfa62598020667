-- A few runs of words of each text, chosen by their hashes: a text that contains another whole has them too, however long it is.
CREATE TABLE sift.signature_anchors (
    tenant_id   integer NOT NULL,
    anchor      bigint NOT NULL,
    document_id bigint NOT NULL,
    CONSTRAINT signature_anchors_pkey PRIMARY KEY (tenant_id, anchor, document_id)
);
COMMENT ON TABLE sift.signature_anchors IS 'The eight shingles of each document whose hashes (sift._anchor) are the smallest; what contains the document is found by them.';
REVOKE ALL ON TABLE sift.signature_anchors FROM PUBLIC;
ALTER TABLE sift.signature_anchors ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.signature_anchors ALTER COLUMN tenant_id SET STATISTICS 0;
