-- Postings as rows: those of chunks that came in small batches and are not packed yet (posting_blocks), and of the few chunks
-- that do not fit the packed form.
CREATE TABLE sift.chunk_terms (
    tenant_id  integer NOT NULL,
    term       text NOT NULL COLLATE "C",
    chunk_id   bigint NOT NULL,
    tf         integer NOT NULL,
    doc_length integer NOT NULL,
    CONSTRAINT chunk_terms_pkey PRIMARY KEY (tenant_id, term, chunk_id) INCLUDE (tf, doc_length)
);
COMMENT ON TABLE sift.chunk_terms IS 'Postings of the newest chunks, one row each; the primary key answers BM25 by an index-only scan.';
COMMENT ON COLUMN sift.chunk_terms.tf IS 'How often the term occurs in the chunk.';
COMMENT ON COLUMN sift.chunk_terms.doc_length IS 'The chunk''s number of tokens.';
REVOKE ALL ON TABLE sift.chunk_terms FROM PUBLIC;
ALTER TABLE sift.chunk_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunk_terms ALTER COLUMN tenant_id SET STATISTICS 0;
