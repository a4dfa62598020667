-- Release manifests: what the corpus was made of at one moment, in numbers and hashes.
CREATE TABLE sift.manifests (
    tenant_id   integer NOT NULL,
    manifest_id bigint GENERATED ALWAYS AS IDENTITY,
    parent_id   bigint,
    name        text NOT NULL,
    summary     jsonb NOT NULL,
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT manifests_pkey PRIMARY KEY (tenant_id, manifest_id),
    CONSTRAINT manifests_name_key UNIQUE (tenant_id, name),
    CONSTRAINT manifests_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT manifests_name_check CHECK (name <> '' AND name <> 'now' AND pg_catalog.octet_length(name) <= 200)
);
COMMENT ON TABLE sift.manifests IS 'What the corpus was made of at one moment: counts, digests, models, settings.';
COMMENT ON COLUMN sift.manifests.parent_id IS 'The manifest it follows.';
COMMENT ON COLUMN sift.manifests.summary IS 'counts, digests, models, settings and versions, as sift.create_manifest returns them.';
REVOKE ALL ON TABLE sift.manifests FROM PUBLIC;
ALTER TABLE sift.manifests ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.manifests ALTER COLUMN tenant_id SET STATISTICS 0;
