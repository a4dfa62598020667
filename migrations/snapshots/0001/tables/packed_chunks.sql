-- The blocks of packed postings (posting_blocks). Whoever rewrites blocks first locks their rows here: upkeep passes over those that
-- somebody else holds, a delete waits for them by rising number.
CREATE TABLE sift.packed_chunks (
    tenant_id      integer NOT NULL,
    block_no       bigint GENERATED ALWAYS AS IDENTITY,
    chunks         integer NOT NULL,
    first_chunk_id bigint NOT NULL,
    last_chunk_id  bigint NOT NULL,
    chunk_ids      bigint[] NOT NULL,
    CONSTRAINT packed_chunks_pkey PRIMARY KEY (tenant_id, block_no)
);
-- Not compressed: a delete rewrites the array, and compressing it would cost more than all the rest of the delete.
ALTER TABLE sift.packed_chunks ALTER COLUMN chunk_ids SET STORAGE EXTERNAL;
COMMENT ON TABLE sift.packed_chunks IS 'The blocks, and which chunks each holds.';
COMMENT ON COLUMN sift.packed_chunks.chunks IS 'Number of chunk_ids.';
COMMENT ON COLUMN sift.packed_chunks.chunk_ids IS 'The chunks, rising; some may have been replaced since.';
REVOKE ALL ON TABLE sift.packed_chunks FROM PUBLIC;
ALTER TABLE sift.packed_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.packed_chunks ALTER COLUMN tenant_id SET STATISTICS 0;
