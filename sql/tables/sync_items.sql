-- Which document belongs to which synchronized source: one at most, so that two sources do not overwrite each other in turns.
CREATE TABLE sift.sync_items (
    tenant_id      integer NOT NULL,
    sync_source_id bigint NOT NULL,
    key            text NOT NULL,
    content_hash   bytea NOT NULL,
    mark           text,
    CONSTRAINT sync_items_pkey PRIMARY KEY (tenant_id, key),
    CONSTRAINT sync_items_sync_source_id_fkey FOREIGN KEY (tenant_id, sync_source_id)
        REFERENCES sift.sync_sources (tenant_id, sync_source_id)
);
-- Not beginning with tenant_id, for the reason given in documents.
CREATE INDEX sync_items_sync_source_id_idx ON sift.sync_items (sync_source_id, tenant_id, key);
COMMENT ON TABLE sift.sync_items IS 'The documents of synchronized sources.';
COMMENT ON COLUMN sift.sync_items.content_hash IS 'That of the document when the source gave it.';
COMMENT ON COLUMN sift.sync_items.mark IS 'By what a change is seen without reading: size and time of a file, version of a record.';
REVOKE ALL ON TABLE sift.sync_items FROM PUBLIC;
ALTER TABLE sift.sync_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.sync_items ALTER COLUMN tenant_id SET STATISTICS 0;
