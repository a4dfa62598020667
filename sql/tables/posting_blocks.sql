-- Packed postings. A block is a set of chunks that were written, or packed, together; it has one row here per term. A posting is
--     (chunk_id << 23) | (doc_length << 8) | tf     chunk_id < 2^40, doc_length < 2^15, tf < 2^8
-- and an array rises, so that a chunk is found by binary search. All postings of a chunk lie in one block, or all are rows of
-- chunk_terms. A block is replaced by a larger one, and changed only to take deleted chunks out (sift._remove_packed). The postings of a chunk
-- that was replaced stay until then; without its row in sift.chunks a chunk is visible to nobody, and term_stats has already taken it off df.
--
-- The block comes before the term in the key: a new block is appended to the index instead of being strewn over all of it, and there are
-- few blocks to look a term up in.
CREATE TABLE sift.posting_blocks (
    tenant_id      integer NOT NULL,
    df             integer NOT NULL,
    block_no       bigint NOT NULL,
    max_tf         smallint NOT NULL,
    min_doc_length smallint NOT NULL,
    min_length_2   smallint NOT NULL,
    min_length_3   smallint NOT NULL,
    min_length_5   smallint NOT NULL,
    term           text NOT NULL COLLATE "C",
    postings       bigint[] NOT NULL,
    CONSTRAINT posting_blocks_pkey PRIMARY KEY (tenant_id, block_no, term)
);
-- Not compressed: the arrays do not shrink enough to be worth inflating on every read.
ALTER TABLE sift.posting_blocks ALTER COLUMN postings SET STORAGE EXTERNAL;
COMMENT ON TABLE sift.posting_blocks IS 'Packed postings, one row per term and block.';
COMMENT ON COLUMN sift.posting_blocks.df IS 'Number of postings.';
COMMENT ON COLUMN sift.posting_blocks.max_tf IS 'The greatest tf of the postings.';
COMMENT ON COLUMN sift.posting_blocks.min_doc_length IS 'The smallest document length of the postings.';
COMMENT ON COLUMN sift.posting_blocks.min_length_2 IS 'The smallest document length of the postings with a tf of 2 or more; 32767 where there is none. With the other bounds it tells how much a posting can contribute at most, whatever k1, b and avgdl.';
COMMENT ON COLUMN sift.posting_blocks.min_length_3 IS 'Likewise for a tf of 3 or more.';
COMMENT ON COLUMN sift.posting_blocks.min_length_5 IS 'Likewise for a tf of 5 or more.';
COMMENT ON COLUMN sift.posting_blocks.postings IS '(chunk_id << 23) | (doc_length << 8) | tf, rising.';
REVOKE ALL ON TABLE sift.posting_blocks FROM PUBLIC;
ALTER TABLE sift.posting_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.posting_blocks ALTER COLUMN tenant_id SET STATISTICS 0;
