-- Number of vectors per model and access list, as a sum over rows (see term_stats): the size of the visible set decides how it is searched.
CREATE TABLE sift.embedding_stats (
    tenant_id      integer NOT NULL,
    model_id       integer NOT NULL,
    access_list_id bigint NOT NULL,
    delta_id       bigint GENERATED ALWAYS AS IDENTITY,
    vectors        bigint NOT NULL,
    CONSTRAINT embedding_stats_pkey PRIMARY KEY (tenant_id, model_id, access_list_id, delta_id) INCLUDE (vectors)
);
COMMENT ON TABLE sift.embedding_stats IS 'Vectors per model and access list: the sum of vectors over the rows.';
REVOKE ALL ON TABLE sift.embedding_stats FROM PUBLIC;
ALTER TABLE sift.embedding_stats ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.embedding_stats ALTER COLUMN tenant_id SET STATISTICS 0;
