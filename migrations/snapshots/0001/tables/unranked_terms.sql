-- What the document unit counts beside the postings: terms of chunks that are not ranked, and with a negative tf the terms of overlaps, whose
-- postings repeat those of the chunk before. The tf of a term in a document is the sum over the postings of its chunks and these rows.
CREATE TABLE sift.unranked_terms (
    tenant_id integer NOT NULL,
    term      text NOT NULL COLLATE "C",
    chunk_id  bigint NOT NULL,
    tf        integer NOT NULL,
    CONSTRAINT unranked_terms_pkey PRIMARY KEY (tenant_id, term, chunk_id) INCLUDE (tf)
);
-- Finds what goes with a chunk; not with tenant_id first, for the reason given in documents.
CREATE INDEX unranked_terms_chunk_id_idx ON sift.unranked_terms (chunk_id, tenant_id);
COMMENT ON TABLE sift.unranked_terms IS 'What the document unit counts beside the postings: terms of chunks that are not ranked, and, negative, of overlaps.';
COMMENT ON COLUMN sift.unranked_terms.tf IS 'How often the term occurs in a chunk that is not ranked; in one that is, minus how often in its overlap.';
REVOKE ALL ON TABLE sift.unranked_terms FROM PUBLIC;
ALTER TABLE sift.unranked_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.unranked_terms ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE sift.unranked_terms ALTER COLUMN tenant_id SET STATISTICS 0;
