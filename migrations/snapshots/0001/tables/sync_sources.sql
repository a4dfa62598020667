-- Sources that are kept in step with the store: folders and feeds.
CREATE TABLE sift.sync_sources (
    tenant_id       integer NOT NULL,
    sync_source_id  bigint GENERATED ALWAYS AS IDENTITY,
    run_id          bigint,
    name            text NOT NULL,
    kind            text NOT NULL,
    location        text NOT NULL,
    prefix          text NOT NULL,
    options         jsonb NOT NULL,
    transformation  text NOT NULL,
    watermark       text,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT pg_catalog.now(),
    started_at      timestamptz,
    finished_at     timestamptz,
    counts          jsonb,
    CONSTRAINT sync_sources_pkey PRIMARY KEY (tenant_id, sync_source_id),
    CONSTRAINT sync_sources_name_key UNIQUE (tenant_id, name),
    CONSTRAINT sync_sources_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT sync_sources_name_check CHECK (name <> '' AND pg_catalog.octet_length(name) <= 2000),
    CONSTRAINT sync_sources_kind_check CHECK (kind IN ('folder', 'feed'))
);
COMMENT ON TABLE sift.sync_sources IS 'Folders and feeds that are synchronized, how, and what came of it last.';
COMMENT ON COLUMN sift.sync_sources.run_id IS 'The last run.';
COMMENT ON COLUMN sift.sync_sources.location IS 'Where it is, as a URI.';
COMMENT ON COLUMN sift.sync_sources.prefix IS 'What stands before every key.';
COMMENT ON COLUMN sift.sync_sources.options IS 'What else the client was told: access list, format, classification.';
COMMENT ON COLUMN sift.sync_sources.transformation IS 'What made chunks and vectors of the last complete run: cleaning, chunker, analyzer, embedder. Where it is another, everything is read again.';
COMMENT ON COLUMN sift.sync_sources.watermark IS 'The latest version, or time of change, that a complete run has met.';
COMMENT ON COLUMN sift.sync_sources.started_at IS 'When the last run began.';
COMMENT ON COLUMN sift.sync_sources.finished_at IS 'When a run was complete last.';
COMMENT ON COLUMN sift.sync_sources.counts IS 'What that run counted.';
REVOKE ALL ON TABLE sift.sync_sources FROM PUBLIC;
ALTER TABLE sift.sync_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.sync_sources ALTER COLUMN tenant_id SET STATISTICS 0;
