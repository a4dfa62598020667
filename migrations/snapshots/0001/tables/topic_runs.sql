-- What the topics of a tenant were made of: one row, of the last run. Whoever stores a run locks it first.
CREATE TABLE sift.topic_runs (
    tenant_id  integer NOT NULL,
    run        integer NOT NULL,
    model      text NOT NULL,
    parameters jsonb NOT NULL,
    documents  integer NOT NULL,
    made_by    text NOT NULL,
    made_at    timestamptz NOT NULL,
    CONSTRAINT topic_runs_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT topic_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT topic_runs_parameters_check CHECK (pg_catalog.jsonb_typeof(parameters) = 'object')
);
COMMENT ON TABLE sift.topic_runs IS 'The last run of the topics of each tenant: when, by whom, of which vectors, with which parameters.';
COMMENT ON COLUMN sift.topic_runs.run IS 'Counts from 1; a run replaces the one before.';
COMMENT ON COLUMN sift.topic_runs.model IS 'Name of the embedding model whose vectors were clustered.';
COMMENT ON COLUMN sift.topic_runs.parameters IS 'Seed, settings and versions of the libraries, as the client gave them.';
COMMENT ON COLUMN sift.topic_runs.documents IS 'Documents that were placed, outliers included.';
COMMENT ON COLUMN sift.topic_runs.made_by IS 'The role set by SET ROLE, or else the login, of who stored it.';
REVOKE ALL ON TABLE sift.topic_runs FROM PUBLIC;
ALTER TABLE sift.topic_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.topic_runs ALTER COLUMN tenant_id SET STATISTICS 0;
