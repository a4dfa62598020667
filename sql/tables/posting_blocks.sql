-- Postings packed by term and block: those of a batch of chunks that were written, or sealed, together.
CREATE TABLE sift.posting_blocks (
    tenant_id      integer NOT NULL,
    term           text NOT NULL COLLATE "C",
    block_no       bigint NOT NULL,
    postings       bigint[] NOT NULL,
    CONSTRAINT posting_blocks_pkey PRIMARY KEY (tenant_id, term, block_no)
);
COMMENT ON TABLE sift.posting_blocks IS 'Packed postings, one row per term and block.';
REVOKE ALL ON TABLE sift.posting_blocks FROM PUBLIC;
ALTER TABLE sift.posting_blocks ENABLE ROW LEVEL SECURITY;
