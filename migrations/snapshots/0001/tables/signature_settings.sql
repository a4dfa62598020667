-- How the near-duplicates of a tenant were last looked for. The row is locked by whoever writes signatures, so that of two runs each
-- sees what the other stored. Texts with numbers below first_text_id were signed in another way, and are signed again.
CREATE TABLE sift.signature_settings (
    tenant_id     integer NOT NULL,
    threshold     double precision NOT NULL,
    first_text_id bigint NOT NULL,
    last_text_id  bigint NOT NULL,
    scheme        text NOT NULL,
    crowded       boolean NOT NULL,
    CONSTRAINT signature_settings_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT signature_settings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
COMMENT ON TABLE sift.signature_settings IS 'Threshold and scheme the near-duplicates of a tenant were looked for with, and the numbers given to texts.';
COMMENT ON COLUMN sift.signature_settings.crowded IS 'Whether there may be texts that share a band and were not compared, because many share it.';
REVOKE ALL ON TABLE sift.signature_settings FROM PUBLIC;
ALTER TABLE sift.signature_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sift.signature_settings ALTER COLUMN tenant_id SET STATISTICS 0;
