-- What was searched for, where the caller had it recorded: the query, its settings, and what came back. Searches themselves write nothing.
CREATE TABLE sift.query_log (
    tenant_id          integer NOT NULL,
    query_id           bigint GENERATED ALWAYS AS IDENTITY,
    asked_at           timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    asked_by           text NOT NULL,
    query              text,
    principals         text[],
    settings           jsonb NOT NULL,
    defaults           jsonb NOT NULL,
    query_embedding    real[],
    hits               jsonb NOT NULL,
    payload_bytes      bigint,
    payload_characters bigint,
    milliseconds       double precision,
    CONSTRAINT query_log_pkey PRIMARY KEY (tenant_id, query_id),
    CONSTRAINT query_log_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT query_log_settings_check CHECK (pg_catalog.jsonb_typeof(settings) = 'object'),
    CONSTRAINT query_log_hits_check CHECK (pg_catalog.jsonb_typeof(hits) = 'array')
);
CREATE INDEX query_log_asked_at_idx ON sift.query_log (tenant_id, asked_at);
COMMENT ON TABLE sift.query_log IS 'Queries that their callers had recorded, with settings and results; written by sift.log_query alone.';
COMMENT ON COLUMN sift.query_log.asked_by IS 'The role set by SET ROLE, or else the login, of the caller.';
COMMENT ON COLUMN sift.query_log.principals IS 'For whom it was asked, as given; NULL where the caller did not say.';
COMMENT ON COLUMN sift.query_log.settings IS 'Arguments of the search that were given.';
COMMENT ON COLUMN sift.query_log.defaults IS 'What held for arguments that were not given: settings of the tenant and of its model at that time.';
COMMENT ON COLUMN sift.query_log.query_embedding IS 'The vector that was searched with, so that a replay needs no model.';
COMMENT ON COLUMN sift.query_log.hits IS 'What came back, best first: rank, chunk_id, document_id, key, document_version and scores; of a purged document the rank alone, and purged.';
COMMENT ON COLUMN sift.query_log.payload_bytes IS 'Bytes of the texts that came back, in UTF-8.';
COMMENT ON COLUMN sift.query_log.milliseconds IS 'How long it took, as the caller measured it.';
REVOKE ALL ON TABLE sift.query_log FROM PUBLIC;
ALTER TABLE sift.query_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.query_log ALTER COLUMN tenant_id SET STATISTICS 0;
