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

-- The chunks whose postings are rows. Whoever moves or removes the rows of a chunk first locks its row here, and passes over those
-- that somebody else holds: nobody waits, so nobody deadlocks.
CREATE TABLE sift.unpacked_chunks (
    tenant_id  integer NOT NULL,
    chunk_id   bigint NOT NULL,
    oversize   boolean NOT NULL,
    CONSTRAINT unpacked_chunks_pkey PRIMARY KEY (tenant_id, chunk_id)
);
COMMENT ON TABLE sift.unpacked_chunks IS 'The chunks whose postings are rows of chunk_terms.';
COMMENT ON COLUMN sift.unpacked_chunks.oversize IS 'The chunk does not fit the packed form (see posting_blocks) and stays as rows.';
REVOKE ALL ON TABLE sift.unpacked_chunks FROM PUBLIC;
ALTER TABLE sift.unpacked_chunks ENABLE ROW LEVEL SECURITY;
