-- Number of chunks and tokens per access list, as a sum over rows (see term_stats).
CREATE TABLE sift.corpus_stats (
    tenant_id      integer NOT NULL,
    access_list_id bigint NOT NULL,
    delta_id       bigint GENERATED ALWAYS AS IDENTITY,
    chunks         bigint NOT NULL,
    total_length   bigint NOT NULL,
    CONSTRAINT corpus_stats_pkey PRIMARY KEY (tenant_id, access_list_id, delta_id) INCLUDE (chunks, total_length)
);
COMMENT ON TABLE sift.corpus_stats IS 'Size of the corpus per access list, so that the size of what a person sees is known before ranking.';
COMMENT ON COLUMN sift.corpus_stats.chunks IS 'Chunks with at least one term gained, or lost, by the transaction that wrote this row.';
COMMENT ON COLUMN sift.corpus_stats.total_length IS 'Tokens gained or lost, likewise.';
REVOKE ALL ON TABLE sift.corpus_stats FROM PUBLIC;
ALTER TABLE sift.corpus_stats ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.corpus_stats ALTER COLUMN tenant_id SET STATISTICS 0;
