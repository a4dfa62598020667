-- What corpus_stats holds per access list, for the whole tenant: a search reads N and the total length from few rows, however many lists the tenant has.
CREATE TABLE sift.corpus_totals (
    tenant_id      integer NOT NULL,
    delta_id       bigint GENERATED ALWAYS AS IDENTITY,
    chunks         bigint NOT NULL,
    total_length   bigint NOT NULL,
    CONSTRAINT corpus_totals_pkey PRIMARY KEY (tenant_id, delta_id) INCLUDE (chunks, total_length)
);
COMMENT ON TABLE sift.corpus_totals IS 'N and total length of the corpus: sums over the tenant''s rows.';
COMMENT ON COLUMN sift.corpus_totals.chunks IS 'Chunks with at least one term gained, or lost, by the transaction that wrote this row.';
COMMENT ON COLUMN sift.corpus_totals.total_length IS 'Tokens gained or lost, likewise.';
REVOKE ALL ON TABLE sift.corpus_totals FROM PUBLIC;
ALTER TABLE sift.corpus_totals ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.corpus_totals ALTER COLUMN tenant_id SET STATISTICS 0;
