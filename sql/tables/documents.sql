-- The current version of each document.
CREATE TABLE sift.documents (
    tenant_id      integer NOT NULL,
    document_id    bigint GENERATED ALWAYS AS IDENTITY,
    key            text NOT NULL,
    version        integer NOT NULL,
    title          text,
    source_uri     text,
    source_version text,
    metadata       jsonb NOT NULL DEFAULT '{}'::jsonb,
    content_hash   bytea NOT NULL,
    parser         text,
    chunker        text,
    language       text,
    license        text,
    classification text,
    observed_at    timestamptz NOT NULL,
    valid_from     timestamptz,
    valid_to       timestamptz,
    retain_until   timestamptz,
    access_list_id bigint NOT NULL,
    length         integer NOT NULL,
    run_id         bigint,
    current_from   timestamptz NOT NULL DEFAULT pg_catalog.now(),
    updated_at     timestamptz NOT NULL,
    CONSTRAINT documents_pkey PRIMARY KEY (tenant_id, document_id),
    CONSTRAINT documents_key_key UNIQUE (tenant_id, key),
    CONSTRAINT documents_access_list_id_fkey FOREIGN KEY (tenant_id, access_list_id)
        REFERENCES sift.access_lists (tenant_id, access_list_id),
    CONSTRAINT documents_key_check CHECK (key <> '' AND pg_catalog.octet_length(key) <= 2000),
    CONSTRAINT documents_metadata_check CHECK (pg_catalog.jsonb_typeof(metadata) = 'object')
);
-- The list first: an index that began with tenant_id would look as good as the primary key for finding one row while the planner
-- knows nothing of a new tenant, and foreign keys would be checked by reading all of its documents.
CREATE INDEX documents_access_list_id_idx ON sift.documents (access_list_id, tenant_id);
-- What came after a time: searches of the past leave it out.
CREATE INDEX documents_current_from_idx ON sift.documents (current_from, tenant_id);
CREATE INDEX documents_metadata_idx ON sift.documents USING gin (metadata jsonb_path_ops);
COMMENT ON TABLE sift.documents IS 'The current version of each document; everything derived from it is reached from here.';
COMMENT ON COLUMN sift.documents.key IS 'Stable name of the source: a path, a URL, a citekey.';
COMMENT ON COLUMN sift.documents.version IS 'Counts from 1, one up with every replacement.';
COMMENT ON COLUMN sift.documents.content_hash IS 'sha256 of the source; the same hash is the same document, and is not indexed again.';
COMMENT ON COLUMN sift.documents.parser IS 'Parser and its version, as name/version.';
COMMENT ON COLUMN sift.documents.chunker IS 'Chunker and its parameters, as name/parameters.';
COMMENT ON COLUMN sift.documents.classification IS 'How confidential it is, in the user''s own words: public, internal, confidential; NULL where nobody said.';
COMMENT ON COLUMN sift.documents.retain_until IS 'Until when it is to be kept; NULL where nobody said. Nothing is deleted by this alone.';
COMMENT ON COLUMN sift.documents.current_from IS 'Since when this version is current: start of the transaction that stored it, never before what it replaced.';
COMMENT ON COLUMN sift.documents.updated_at IS 'Since when everything in this row but the access list is as it is.';
COMMENT ON COLUMN sift.documents.length IS 'Characters of the text that was chunked.';
REVOKE ALL ON TABLE sift.documents FROM PUBLIC;
ALTER TABLE sift.documents ENABLE ROW LEVEL SECURITY;
-- As of every table: without statistics of tenant_id a tenant counts as one two-hundredth of the table. With them, one that has come since the
-- last ANALYZE counts as empty; every index that begins with tenant_id then looks as good as any other, and one row is found by reading
-- all of the tenant's (docs/decisions/0007-new-tenants.md).
ALTER TABLE sift.documents ALTER COLUMN tenant_id SET STATISTICS 0;
