-- The vectors of the chunks in chunk_history, in a type of the server's own: a model's precision gives the same bits back.
CREATE TABLE sift.vector_history (
    tenant_id integer NOT NULL,
    chunk_id  bigint NOT NULL,
    model_id  integer NOT NULL,
    text_hash bytea NOT NULL,
    embedding real[] NOT NULL,
    CONSTRAINT vector_history_pkey PRIMARY KEY (tenant_id, chunk_id, model_id),
    CONSTRAINT vector_history_chunk_id_fkey FOREIGN KEY (tenant_id, chunk_id)
        REFERENCES sift.chunk_history (tenant_id, chunk_id) ON DELETE CASCADE
);
COMMENT ON TABLE sift.vector_history IS 'Vectors of the chunks of superseded and deleted versions.';
COMMENT ON COLUMN sift.vector_history.text_hash IS 'As in chunk_embeddings.';
REVOKE ALL ON TABLE sift.vector_history FROM PUBLIC;
ALTER TABLE sift.vector_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.vector_history ALTER COLUMN tenant_id SET STATISTICS 0;
