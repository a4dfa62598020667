-- What could not be ingested, and why: one row per source that is missing now. It goes when the source is ingested.
CREATE TABLE sift.dead_letters (
    tenant_id      integer NOT NULL,
    dead_letter_id bigint GENERATED ALWAYS AS IDENTITY,
    run_id         bigint,
    failures       integer NOT NULL DEFAULT 1,
    key            text,
    source_uri     text,
    source_hash    bytea NOT NULL,
    stage          text NOT NULL,
    reason         text NOT NULL,
    origin         jsonb,
    created_at     timestamptz NOT NULL DEFAULT pg_catalog.now(),
    failed_at      timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (tenant_id, dead_letter_id),
    CONSTRAINT dead_letters_source_key UNIQUE (tenant_id, source_hash),
    CONSTRAINT dead_letters_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
CREATE INDEX dead_letters_key_idx ON sift.dead_letters (tenant_id, key);
COMMENT ON TABLE sift.dead_letters IS 'Sources that could not be ingested and are missing, with the stage that failed and the reason.';
COMMENT ON COLUMN sift.dead_letters.run_id IS 'The run it failed in last.';
COMMENT ON COLUMN sift.dead_letters.failures IS 'How often it failed.';
COMMENT ON COLUMN sift.dead_letters.source_hash IS 'sha256 of what it is known by: its key, else its address, else stage and reason.';
COMMENT ON COLUMN sift.dead_letters.stage IS 'read, parse, chunk, embed or store.';
COMMENT ON COLUMN sift.dead_letters.origin IS 'Where a client reads it again: path of the file, and the folder or file that was given (root), with the prefix of keys; NULL where it came from no file.';
COMMENT ON COLUMN sift.dead_letters.created_at IS 'When it failed first.';
COMMENT ON COLUMN sift.dead_letters.failed_at IS 'When it failed last.';
REVOKE ALL ON TABLE sift.dead_letters FROM PUBLIC;
ALTER TABLE sift.dead_letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.dead_letters ALTER COLUMN tenant_id SET STATISTICS 0;
