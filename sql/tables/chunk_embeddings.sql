-- Vectors, one partition and one HNSW index per model (sift.register_model makes both). Tenant and access list stand beside the
-- vector, so that permission needs no join. A model has one precision, so one of the two vector columns is NULL throughout a partition.
CREATE TABLE sift.chunk_embeddings (
    tenant_id      integer NOT NULL,
    model_id       integer NOT NULL,
    chunk_id       bigint NOT NULL,
    access_list_id bigint NOT NULL,
    text_hash      bytea NOT NULL,
    embedding      vector,
    half_embedding halfvec,
    -- The chunk before the model: deleting a chunk, directly or by the cascade below, looks for it under every model.
    CONSTRAINT chunk_embeddings_pkey PRIMARY KEY (tenant_id, chunk_id, model_id),
    CONSTRAINT chunk_embeddings_chunk_id_fkey FOREIGN KEY (tenant_id, chunk_id)
        REFERENCES sift.chunks (tenant_id, chunk_id) ON DELETE CASCADE,
    CONSTRAINT chunk_embeddings_one_check CHECK ((embedding IS NULL) <> (half_embedding IS NULL))
) PARTITION BY LIST (model_id);
-- 16 bytes of the hash tell texts apart as well as 32, and a vector of 384 dimensions then fits a page five times instead of four.
-- The vector stands in the row, never out of line: a scan that computes distances would otherwise fetch each vector through the TOAST index. The
-- longest vector of either type (8,008 bytes) and its row still fit a page.
ALTER TABLE sift.chunk_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE sift.chunk_embeddings ALTER COLUMN half_embedding SET STORAGE PLAIN;
CREATE INDEX chunk_embeddings_access_list_id_idx ON sift.chunk_embeddings (tenant_id, access_list_id, chunk_id);
CREATE INDEX chunk_embeddings_text_hash_idx ON sift.chunk_embeddings (tenant_id, text_hash, chunk_id);
COMMENT ON TABLE sift.chunk_embeddings IS 'One vector per chunk and model.';
COMMENT ON COLUMN sift.chunk_embeddings.access_list_id IS 'That of the chunk, kept here so that permission is checked before ranking and without a join.';
COMMENT ON COLUMN sift.chunk_embeddings.text_hash IS 'The first 16 bytes of the sha256 of the text that was embedded (title and body): the same text is not embedded twice.';
REVOKE ALL ON TABLE sift.chunk_embeddings FROM PUBLIC;
ALTER TABLE sift.chunk_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunk_embeddings ALTER COLUMN tenant_id SET STATISTICS 0;
