-- Models whose vectors ingest keeps current beside those of the tenant's active one.
CREATE TABLE sift.tenant_models (
    tenant_id  integer NOT NULL,
    model_id   integer NOT NULL,
    kept_since timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT tenant_models_pkey PRIMARY KEY (tenant_id, model_id)
);
COMMENT ON TABLE sift.tenant_models IS 'Models kept current for a tenant beside its active one (tenants.model_id). One with vectors and without a row here is retired.';
REVOKE ALL ON TABLE sift.tenant_models FROM PUBLIC;
ALTER TABLE sift.tenant_models ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.tenant_models ALTER COLUMN tenant_id SET STATISTICS 0;
