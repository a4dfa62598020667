-- Entities a chunk mentions, as given at ingest.
CREATE TABLE sift.chunk_entities (
    tenant_id integer NOT NULL,
    entity    text NOT NULL COLLATE "C",
    chunk_id  bigint NOT NULL,
    CONSTRAINT chunk_entities_pkey PRIMARY KEY (tenant_id, entity, chunk_id),
    CONSTRAINT chunk_entities_chunk_id_fkey FOREIGN KEY (tenant_id, chunk_id)
        REFERENCES sift.chunks (tenant_id, chunk_id) ON DELETE CASCADE
);
CREATE INDEX chunk_entities_chunk_id_idx ON sift.chunk_entities (tenant_id, chunk_id);
COMMENT ON TABLE sift.chunk_entities IS 'Mentions of entities, supplied with the chunk.';
REVOKE ALL ON TABLE sift.chunk_entities FROM PUBLIC;
ALTER TABLE sift.chunk_entities ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.chunk_entities ALTER COLUMN tenant_id SET STATISTICS 0;
