-- Token vectors of chunks, all of one chunk in one row. In half precision: 180 tokens of 128 dimensions are 47 kB, and would be 93 kB in
-- single. They are read for the candidates of a search alone, by chunk, so there is no index on them and no history of them.
CREATE TABLE sift.chunk_token_embeddings (
    tenant_id      integer NOT NULL,
    chunk_id       bigint NOT NULL,
    token_model_id integer NOT NULL,
    embeddings     halfvec[] NOT NULL,
    CONSTRAINT chunk_token_embeddings_pkey PRIMARY KEY (tenant_id, chunk_id, token_model_id),
    CONSTRAINT chunk_token_embeddings_chunk_id_fkey FOREIGN KEY (tenant_id, chunk_id)
        REFERENCES sift.chunks (tenant_id, chunk_id) ON DELETE CASCADE,
    CONSTRAINT chunk_token_embeddings_embeddings_check CHECK (
        pg_catalog.array_ndims(embeddings) = 1 AND pg_catalog.cardinality(embeddings) BETWEEN 1 AND 4096)
);
-- Out of line and as they are: such numbers do not compress.
ALTER TABLE sift.chunk_token_embeddings ALTER COLUMN embeddings SET STORAGE EXTERNAL;
COMMENT ON TABLE sift.chunk_token_embeddings IS 'One vector per token of a chunk, for late interaction; per model.';
REVOKE ALL ON TABLE sift.chunk_token_embeddings FROM PUBLIC;
ALTER TABLE sift.chunk_token_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunk_token_embeddings ALTER COLUMN tenant_id SET STATISTICS 0;
