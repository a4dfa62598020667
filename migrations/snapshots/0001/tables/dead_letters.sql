-- What could not be ingested, and why.
CREATE TABLE sift.dead_letters (
    tenant_id      integer NOT NULL,
    dead_letter_id bigint GENERATED ALWAYS AS IDENTITY,
    run_id         bigint,
    key            text,
    source_uri     text,
    stage          text NOT NULL,
    reason         text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT pg_catalog.now(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (tenant_id, dead_letter_id),
    CONSTRAINT dead_letters_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES sift.tenants (tenant_id)
);
CREATE INDEX dead_letters_key_idx ON sift.dead_letters (tenant_id, key);
COMMENT ON TABLE sift.dead_letters IS 'Sources that could not be ingested, with the stage that failed and the reason.';
COMMENT ON COLUMN sift.dead_letters.stage IS 'read, parse, chunk, embed or store.';
REVOKE ALL ON TABLE sift.dead_letters FROM PUBLIC;
ALTER TABLE sift.dead_letters ENABLE ROW LEVEL SECURITY;
