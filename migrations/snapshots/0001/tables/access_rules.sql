-- Which access list a new document gets that comes without one: that of the longest prefix of its key, else the tenant's default.
CREATE TABLE sift.access_rules (
    tenant_id      integer NOT NULL,
    key_prefix     text NOT NULL,
    access_list_id bigint NOT NULL,
    CONSTRAINT access_rules_pkey PRIMARY KEY (tenant_id, key_prefix),
    CONSTRAINT access_rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id),
    CONSTRAINT access_rules_access_list_id_fkey FOREIGN KEY (tenant_id, access_list_id)
        REFERENCES sift.access_lists (tenant_id, access_list_id),
    CONSTRAINT access_rules_key_prefix_check CHECK (key_prefix <> '' AND pg_catalog.octet_length(key_prefix) <= 2000)
);
CREATE INDEX access_rules_access_list_id_idx ON sift.access_rules (access_list_id, tenant_id);
COMMENT ON TABLE sift.access_rules IS 'Access lists by key prefix, for documents ingested without one; the empty prefix is sift.tenants.default_access_list_id.';
REVOKE ALL ON TABLE sift.access_rules FROM PUBLIC;
ALTER TABLE sift.access_rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.access_rules ALTER COLUMN tenant_id SET STATISTICS 0;
