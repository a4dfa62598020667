-- One row per run of an ingest, for the record and for resuming.
CREATE TABLE sift.ingest_runs (
    tenant_id   integer NOT NULL,
    run_id      bigint GENERATED ALWAYS AS IDENTITY,
    source      text,
    parameters  jsonb NOT NULL DEFAULT '{}'::jsonb,
    started_by  text NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT pg_catalog.now(),
    finished_at timestamptz,
    summary     jsonb,
    CONSTRAINT ingest_runs_pkey PRIMARY KEY (tenant_id, run_id),
    CONSTRAINT ingest_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
COMMENT ON TABLE sift.ingest_runs IS 'Runs of an ingest: who, when, from where, with which parameters, and what came of it.';
REVOKE ALL ON TABLE sift.ingest_runs FROM PUBLIC;
ALTER TABLE sift.ingest_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.ingest_runs ALTER COLUMN tenant_id SET STATISTICS 0;
