-- The chunks whose postings are rows. Whoever moves or removes the rows of a chunk first locks its row here. Packing and replacing
-- pass over those that somebody else holds; a delete waits for them, before it waits for any block, and nobody who holds one waits for it.
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
ALTER TABLE sift.unpacked_chunks ALTER COLUMN tenant_id SET STATISTICS 0;
