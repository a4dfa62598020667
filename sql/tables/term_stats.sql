-- Document frequencies. The df of a term is the sum of df over its rows here and in posting_blocks: a packed block counts itself, and
-- these rows hold what blocks do not, the postings that are rows and the losses. A writer inserts what it changed and never waits for
-- another; sift.fold_statistics adds rows up later.
CREATE TABLE sift.term_stats (
    tenant_id      integer NOT NULL,
    term           text NOT NULL COLLATE "C",
    delta_id       bigint GENERATED ALWAYS AS IDENTITY,
    df             bigint NOT NULL,
    max_tf         integer NOT NULL,
    min_doc_length integer NOT NULL,
    CONSTRAINT term_stats_pkey PRIMARY KEY (tenant_id, term, delta_id) INCLUDE (df, max_tf, min_doc_length)
);
COMMENT ON TABLE sift.term_stats IS 'Document frequency of each term outside packed blocks, as a sum over rows. The bounds only ever widen, so they hold after deletes.';
COMMENT ON COLUMN sift.term_stats.df IS 'Chunks gained (or lost, negative) by the transaction that wrote this row.';
COMMENT ON COLUMN sift.term_stats.max_tf IS 'No posting of the term that is a row has a greater tf than the maximum over its rows; 0 in rows of a loss.';
COMMENT ON COLUMN sift.term_stats.min_doc_length IS 'No posting of the term that is a row lies in a shorter chunk than the minimum over its rows; 2147483647 in rows of a loss.';
REVOKE ALL ON TABLE sift.term_stats FROM PUBLIC;
ALTER TABLE sift.term_stats ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.term_stats ALTER COLUMN tenant_id SET STATISTICS 0;
