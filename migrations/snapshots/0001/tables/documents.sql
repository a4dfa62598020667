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
    observed_at    timestamptz NOT NULL,
    valid_from     timestamptz,
    valid_to       timestamptz,
    access_list_id bigint NOT NULL,
    length         integer NOT NULL,
    run_id         bigint,
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
CREATE INDEX documents_metadata_idx ON sift.documents USING gin (metadata jsonb_path_ops);
COMMENT ON TABLE sift.documents IS 'The current version of each document; everything derived from it is reached from here.';
COMMENT ON COLUMN sift.documents.key IS 'Stable name of the source: a path, a URL, a citekey.';
COMMENT ON COLUMN sift.documents.version IS 'Counts from 1, one up with every replacement.';
COMMENT ON COLUMN sift.documents.content_hash IS 'sha256 of the source; the same hash is the same document, and is not indexed again.';
COMMENT ON COLUMN sift.documents.parser IS 'Parser and its version, as name/version.';
COMMENT ON COLUMN sift.documents.chunker IS 'Chunker and its parameters, as name/parameters.';
COMMENT ON COLUMN sift.documents.length IS 'Characters of the text that was chunked.';
REVOKE ALL ON TABLE sift.documents FROM PUBLIC;
ALTER TABLE sift.documents ENABLE ROW LEVEL SECURITY;
