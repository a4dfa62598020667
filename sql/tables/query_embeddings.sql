-- Vectors of queries, put here by whoever can compute them, so that a caller with nothing but text gets the dense leg too.
CREATE TABLE sift.query_embeddings (
    tenant_id integer NOT NULL,
    model_id  integer NOT NULL,
    query     text NOT NULL COLLATE "C",
    embedding real[] NOT NULL,
    cached_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT query_embeddings_pkey PRIMARY KEY (tenant_id, model_id, query),
    CONSTRAINT query_embeddings_query_check CHECK (pg_catalog.octet_length(query) <= 2000)
);
COMMENT ON TABLE sift.query_embeddings IS 'Cache of query vectors by exact text (blanks trimmed at both ends), per tenant and model.';
REVOKE ALL ON TABLE sift.query_embeddings FROM PUBLIC;
ALTER TABLE sift.query_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.query_embeddings ALTER COLUMN tenant_id SET STATISTICS 0;
