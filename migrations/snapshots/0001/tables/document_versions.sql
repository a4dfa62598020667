-- Every version that was ever current, and tombstones: what, when, by whom, why.
CREATE TABLE sift.document_versions (
    tenant_id      integer NOT NULL,
    document_id    bigint NOT NULL,
    version        integer NOT NULL,
    key            text NOT NULL,
    event          text NOT NULL,
    title          text,
    source_uri     text,
    source_version text,
    content_hash   bytea NOT NULL,
    parser         text,
    chunker        text,
    run_id         bigint,
    reason         text,
    changed_by     text NOT NULL,
    changed_at     timestamptz NOT NULL,
    CONSTRAINT document_versions_pkey PRIMARY KEY (tenant_id, document_id, version),
    CONSTRAINT document_versions_event_check CHECK (event IN ('created', 'replaced', 'deleted'))
);
CREATE INDEX document_versions_key_idx ON sift.document_versions (tenant_id, key);
COMMENT ON TABLE sift.document_versions IS 'One row per version that was ever current, and one per deletion; it outlives its document.';
COMMENT ON COLUMN sift.document_versions.event IS 'created, replaced (this version took the place of the one before), or deleted (a tombstone).';
REVOKE ALL ON TABLE sift.document_versions FROM PUBLIC;
ALTER TABLE sift.document_versions ENABLE ROW LEVEL SECURITY;
